"""Resources with code: their packages are sent in requests and compared by content."""

from base64 import b64encode

from emulator.deploy.files import same_code
from emulator.deploy.model import Resource
from emulator.deploy.provider import ActualState, ApiClient, ResourceProvider
from emulator.kernel.crc64 import checksum
from emulator.kernel.frozen import replace


def with_code(resource: Resource) -> Resource:
    """Return a resource with its package in the properties."""
    if resource.package is None:
        return resource
    code = {"zipFile": b64encode(resource.package).decode("ascii")}
    return replace(resource, properties={**resource.properties, "code": code})


class Packaged(ResourceProvider):
    """A resource with code."""

    def has_other_code(self, api: ApiClient, resource: Resource, actual: ActualState) -> bool:
        """Whether the files differ; another checksum alone may come from another packing program."""
        return has_other_package(resource, actual) and not same_code(
            resource.package, self.saved(api, resource, actual).package
        )


def has_other_package(resource: Resource, actual: ActualState) -> bool:
    """Whether the checksum of a resource's package differs from the one that the API shows."""
    return resource.package is not None and checksum(resource.package) != str(actual.content.get("codeChecksum"))
