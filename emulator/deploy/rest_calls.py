"""Calls that every resource of Function Compute needs."""

from base64 import b64encode
from dataclasses import replace
from urllib.parse import quote

from emulator.deploy.failures import Refused
from emulator.deploy.kind import Content, Identity, is_not_there
from emulator.deploy.model import Resource
from emulator.deploy.ports import Cloud


def path_of(template: str, identity: Identity) -> str:
    """Return a path with the parts of an identity in it, percent-encoded."""
    return template.format(*(quote(part, safe="") for part in identity))


def get(cloud: Cloud, path: str) -> Content | None:
    """Return what GET shows, None when it is not there."""
    try:
        return cloud.functions("GET", path)
    except Refused as error:
        if is_not_there(error):
            return None
        raise


def remove(cloud: Cloud, path: str) -> None:
    """DELETE, also what is gone already."""
    try:
        cloud.functions("DELETE", path)
    except Refused as error:
        if not is_not_there(error):
            raise


def with_code(resource: Resource) -> Resource:
    """Return a resource whose properties hold its package."""
    if resource.package is None:
        return resource
    code = {"zipFile": b64encode(resource.package).decode("ascii")}
    return replace(resource, properties={**resource.properties, "code": code})
