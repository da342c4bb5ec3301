"""Resources that have code: their packages travel in requests and are compared by what is in them."""

from base64 import b64encode

from emulator.deploy.files import same_code
from emulator.deploy.model import Resource
from emulator.deploy.provider import ActualState, ApiClient, ResourceProvider
from emulator.kernel.crc64 import checksum
from emulator.kernel.frozen import replace


def with_code(resource: Resource) -> Resource:
    """Return a resource whose properties hold its package."""
    if resource.package is None:
        return resource
    code = {"zipFile": b64encode(resource.package).decode("ascii")}
    return replace(resource, properties={**resource.properties, "code": code})


class Packaged(ResourceProvider):
    """What has code."""

    def has_other_code(self, api: ApiClient, resource: Resource, actual: ActualState) -> bool:
        """Whether the files are others: what has another checksum may have been packed by another program."""
        return has_other_package(resource, actual) and not same_code(
            resource.package, self.saved(api, resource, actual).package
        )


def has_other_package(resource: Resource, actual: ActualState) -> bool:
    """Whether the checksum of a resource's package is not the one that the API shows."""
    return resource.package is not None and checksum(resource.package) != str(actual.content.get("codeChecksum"))
