"""Rehearsal of a plan: it is applied to an empty emulator first, with copies of the resources that the file refers to.

What a service would refuse is thus refused before anything is changed, and no check is written twice. Functions are
copied without their code, as it is not run. Calls of functions in the file are not rehearsed, as their results are not
known before.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from urllib.parse import quote
from zipfile import ZipFile

from emulator.deploy.inventory import inventory
from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import Blueprint, FileProblems, Problem, Record, Refused, Resource, StepFailed, has_token
from emulator.deploy.planner import Step, apply, plan
from emulator.deploy.provider import ApiClient, Identity


def rehearse(api: ApiClient, stage: ApiClient, blueprint: Blueprint, record: Record) -> None:
    """Apply a blueprint to *stage*, an empty emulator of the same account and region.

    Raises: FileProblems with the refusals of services; StepFailed when the removal of a resource that is no longer in
    the file is refused.
    """
    is_whole = _furnish(api, stage, blueprint, record)
    providers = {kind: provider.rehearsing() or provider for kind, provider in PROVIDERS.items()}
    under_way: list[Step] = []
    try:
        apply(stage, providers, plan(stage, providers, blueprint, record), under_way.append)
    except StepFailed as error:
        if not is_whole or not under_way:
            return  # the cause may be a resource that could not be copied to the stage
        resource = under_way[-1].resource
        if resource is None:
            raise
        if _waits_for_call(resource, blueprint):
            return
        what = f"{resource.type} {resource.logical}: {error.__cause__}"
        raise FileProblems([Problem(resource.line, resource.column, what)]) from error


def _waits_for_call(resource: Resource, blueprint: Blueprint) -> bool:
    return has_token(resource.properties) and any(
        PROVIDERS[each.kind].rehearsing() is not None for each in blueprint.resources
    )


def _furnish(api: ApiClient, stage: ApiClient, blueprint: Blueprint, record: Record) -> bool:
    """Copy the resources that the file names, directly or not, to *stage*; return whether all could be copied."""
    text = _text_of(blueprint.resources, (each.identity for each in record.entries))
    found: list[Resource] = []
    while len(more := inventory(_WithoutCode(api), named=_named_in(text))) > len(found):
        found, text = more, text + _text_of(more)
    brought = [_brought(stage, each) for each in found]
    for bucket, key in _objects(blueprint):
        with suppress(Refused):  # if it is missing, deploying what needs it reports that
            stage.objects("PUT", target := f"/{bucket}/{quote(key)}", api.objects("GET", target))
    return all(brought)


def _named_in(text: str) -> Callable[[str], bool]:
    return lambda name: name in text


def _text_of(resources: Iterable[Resource], identities: Iterable[Identity] = ()) -> str:
    parts = [[each.identity, dict(each.properties)] for each in resources]
    return json.dumps([parts, list(identities)], ensure_ascii=False, default=str)


def _objects(blueprint: Blueprint) -> Iterator[tuple[str, str]]:
    for each in blueprint.resources:
        code = each.properties.get("code")
        if isinstance(code, Mapping) and isinstance(code.get("ossObjectName"), str):
            yield str(code.get("ossBucketName")), code["ossObjectName"]


def _brought(stage: ApiClient, resource: Resource) -> bool:
    try:
        PROVIDERS[resource.kind].copied(stage, resource)
    except Refused:
        return False
    return True


def _empty_package() -> bytes:
    package = BytesIO()
    with ZipFile(package, "w") as archive:
        archive.writestr("rehearsal", "")
    return package.getvalue()


class _WithoutCode:
    """An emulator whose packages are replaced by an empty one: they are not run in a rehearsal, and may be large."""

    def __init__(self, api: ApiClient) -> None:
        self._package = _empty_package()
        self.functions = api.functions
        self.invoke = api.invoke
        self.rpc = api.rpc
        self.objects = api.objects

    def download(self, url: str) -> bytes:
        return self._package
