"""Resources identified by a number that is assigned on creation: versions of services, functions and layers."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from emulator.deploy.model import Refused, Resource
from emulator.deploy.packaged import Packaged, with_code
from emulator.deploy.provider import (
    ActualState,
    ApiClient,
    Attributes,
    Content,
    Identity,
    Immutable,
    Reference,
    ResourceProvider,
    is_not_there,
    path_of,
)
from emulator.kernel.frozen import replace


@dataclass(eq=False)
class Numbered(ResourceProvider):
    """Resources published under the next number each time; *versions* is the path of the list of versions.

    ``listed`` is the member of an answer with the versions, ``number`` the member of a version with its number,
    ``attribute`` the name of the attribute with that number.
    """

    listed: ClassVar[str]
    number: ClassVar[str]
    attribute: ClassVar[str]

    versions: str

    def newest(self, api: ApiClient, identity: Identity) -> Attributes:
        """Return the number of the newest version as an attribute, none where no version is published."""
        try:
            rows = api.functions("GET", f"{path_of(self.versions, identity)}?limit=1").get(self.listed) or []
        except Refused as error:
            if is_not_there(error):
                return {}
            raise
        return {self.attribute: str(rows[0][self.number])} if rows else {}

    def copied(self, api: ApiClient, resource: Resource) -> None:
        """Publish versions up to the number of the newest one, then delete those the original does not have."""
        last = int(resource.properties[self.attribute])
        kept = {last, *map(int, str(resource.properties.get("Older", "")).split())}
        for number in range(1, last + 1):
            self.publish(api, resource, number)
        for number in {*range(1, last + 1)} - kept:
            api.functions("DELETE", f"{path_of(self.versions, resource.identity)}/{number}")

    @abstractmethod
    def publish(self, api: ApiClient, resource: Resource, number: int) -> None:
        """Publish one version, which gets *number*."""


@dataclass(eq=False)
class Version(Numbered, Immutable):
    """A published version of the resource at the path *owner*; it never changes."""

    is_snapshot: ClassVar[bool] = True
    is_named_by_file: ClassVar[bool] = True
    listed: ClassVar[str] = "versions"
    number: ClassVar[str] = "versionId"
    attribute: ClassVar[str] = "VersionId"

    owner: str
    functions: str = ""
    """The kind of the functions in a service, which a version of the service contains."""

    def needs(self, resource: Resource, there: Iterable[Resource]) -> Iterator[Reference]:
        """Yield the resource that is published, and the functions that the version contains."""
        yield from super().needs(resource, there)
        for each in there:
            if each.kind == self.functions and each.identity[0] == resource.identity[0]:
                yield each.kind, each.identity

    def publish(self, api: ApiClient, resource: Resource, number: int) -> None:
        """Change the resource and publish it, as the service publishes no version without a change."""
        api.functions("PUT", path_of(self.owner, resource.identity), {"description": f"version {number}"})
        description = resource.properties.get("description") or ""
        api.functions("POST", path_of(self.versions, resource.identity), {"description": description})

    def stays(self, resource: Resource, actual: ActualState) -> bool:
        """Return True: a published version never changes, whatever the file says."""
        return True

    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content | None:
        """Return the version that was recorded."""
        number = attributes.get("VersionId")
        if not number:
            return None
        shown = api.functions("GET", f"{path_of(self.versions, identity)}?startKey={number}&limit=1")
        rows = shown.get("versions") or []
        return dict(rows[0]) if rows and rows[0].get("versionId") == number else None

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """Publish; if nothing has changed since the newest version, return that one."""
        path = path_of(self.versions, resource.identity)
        try:
            return ActualState(api.functions("POST", path, resource.properties))
        except Refused as error:
            if error.code != "VersionPublishError":
                raise
            newest = api.functions("GET", f"{path}?limit=1").get("versions") or []
            if not newest:
                raise
            return ActualState(newest[0], False)

    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """Delete the version that was recorded."""
        if number := attributes.get("VersionId"):
            api.functions("DELETE", f"{path_of(self.versions, identity)}/{number}")


_OF_LAYER = ("compatibleRuntime", "description", "license")


@dataclass(eq=False)
class Layer(Numbered, Packaged):
    """A layer: each change publishes a version; deleting it deletes every version published here.

    ``acl`` is the layer's, not a version's: ``"1"`` opens it to every account.
    """

    renews: ClassVar[bool] = True
    listed: ClassVar[str] = "layers"
    number: ClassVar[str] = "version"
    attribute: ClassVar[str] = "Version"

    acl: str

    def publish(self, api: ApiClient, resource: Resource, number: int) -> None:
        """Publish a version."""
        given = {name: resource.properties.get(name) for name in (*_OF_LAYER, "acl")}
        kept = {name: value for name, value in given.items() if value is not None}
        self.create(api, replace(resource, properties=kept))

    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content | None:
        """Return the version that was recorded."""
        number = attributes.get("Version")
        if not number:
            return None
        shown = api.functions("GET", f"{path_of(self.versions, identity)}/{number}")
        return {**shown, "versions": attributes.get("Versions", number)}

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """Publish a version, and set the layer's ``acl`` if the file has one."""
        body = dict(with_code(resource).properties)
        acl = body.pop("acl", None)
        made = api.functions("POST", path_of(self.versions, resource.identity), body)
        if acl is not None:
            api.functions("PUT", path_of(self.acl, resource.identity) + f"?acl={acl}")
        return ActualState(made)

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """Publish another version; the one before stays, as functions may use it."""
        made = self.create(api, resource).content
        return ActualState({**made, "versions": f"{actual.content.get('versions')},{made['version']}"})

    def delete(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """Delete every version that a deployment has published."""
        for number in filter(None, attributes.get("Versions", "").split(",")):
            super().delete(api, identity, {"Version": number})

    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """Delete one version."""
        api.functions("DELETE", f"{path_of(self.versions, identity)}/{attributes['Version']}")

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """Return the newest version with its code."""
        location = (actual.content.get("code") or {}).get("location")
        kept = {name: actual.content.get(name) for name in _OF_LAYER}
        if str(actual.content.get("acl")) == "1":
            kept["acl"] = "1"
        return replace(resource, properties=kept, package=api.download(str(location)) if location else None)

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Remove the version that the update published."""
        super().delete(api, saved.identity, {"Version": str(actual.content["version"])})

    def attributes(self, actual: ActualState) -> dict[str, str]:
        """Return number and ARN of the newest version, and the numbers of all that the deployment has published."""
        content = actual.content
        return {
            "Version": str(content.get("version")),
            "Versions": str(content.get("versions") or content.get("version")),
            "Arn": str(content.get("layerVersionArn") or content.get("arn")),
        }
