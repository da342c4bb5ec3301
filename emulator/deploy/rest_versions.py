"""What is numbered when it is made: published versions and layers; and calls, which are made once."""

from dataclasses import replace
from urllib.parse import quote

from emulator.deploy.failures import Refused
from emulator.deploy.kind import Attributes, Identity, Live, Unchanging
from emulator.deploy.model import Resource
from emulator.deploy.ports import Cloud
from emulator.deploy.rest_calls import get, path_of, remove, with_code
from emulator.kernel.crc64 import checksum


class Version(Unchanging):
    """A published version: found by its number, never changed."""

    def __init__(self, versions: str) -> None:
        self._versions = versions

    def find(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> Live | None:
        """Return the version that was noted."""
        number = attributes.get("VersionId")
        if not number:
            return None
        found = get(cloud, f"{path_of(self._versions, identity)}?startKey={number}&limit=1")
        rows = (found or {}).get("versions") or []
        return Live(rows[0]) if rows and rows[0].get("versionId") == number else None

    def create(self, cloud: Cloud, resource: Resource) -> Live:
        """Publish; when nothing has changed since the newest version, that one is it."""
        path = path_of(self._versions, resource.identity)
        try:
            return Live(cloud.functions("POST", path, resource.properties))
        except Refused as error:
            if error.code != "VersionPublishError":
                raise
            newest = cloud.functions("GET", f"{path}?limit=1").get("versions") or []
            if not newest:
                raise
            return Live(newest[0], False)

    def update(self, cloud: Cloud, resource: Resource, live: Live) -> Live:
        """A version stays what it is."""
        del cloud, resource
        return live

    def delete(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> None:
        """Remove the version that was noted."""
        if number := attributes.get("VersionId"):
            remove(cloud, f"{path_of(self._versions, identity)}/{number}")

    def attributes(self, live: Live) -> dict[str, str]:
        """Return the number."""
        return {"VersionId": str(live.content.get("versionId", ""))}


class Layer:
    """A layer: each change publishes a version, and every version published here is taken away with it."""

    def __init__(self, versions: str) -> None:
        self._versions = versions

    def find(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> Live | None:
        """Return the version that was noted."""
        number = attributes.get("Version")
        found = get(cloud, f"{path_of(self._versions, identity)}/{number}") if number else None
        return None if found is None else Live({**found, "versions": attributes.get("Versions", number)})

    def create(self, cloud: Cloud, resource: Resource) -> Live:
        """Publish a version."""
        body = with_code(resource).properties
        return Live(cloud.functions("POST", path_of(self._versions, resource.identity), body))

    def update(self, cloud: Cloud, resource: Resource, live: Live) -> Live:
        """Publish another version; functions may still use the one before."""
        made = self.create(cloud, resource).content
        return Live({**made, "versions": f"{live.content.get('versions')},{made['version']}"})

    def delete(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> None:
        """Remove every version published by this deployment."""
        for number in attributes.get("Versions", "").split(","):
            if number:
                remove(cloud, f"{path_of(self._versions, identity)}/{number}")

    def differs(self, resource: Resource, live: Live) -> bool:
        """Compare the content."""
        package = resource.package
        return package is not None and checksum(package) != str(live.content.get("codeChecksum"))

    def is_fixed(self, resource: Resource, live: Live) -> bool:
        """Another version can always be published."""
        del resource, live
        return False

    def saved(self, cloud: Cloud, resource: Resource, live: Live) -> Resource:
        """Keep the content."""
        location = (live.content.get("code") or {}).get("location")
        kept = {name: live.content.get(name) for name in ("compatibleRuntime", "description")}
        return replace(resource, properties=kept, package=cloud.download(str(location)) if location else None)

    def undo_update(self, cloud: Cloud, saved: Resource, live: Live) -> None:
        """Remove the version that the update published."""
        remove(cloud, f"{path_of(self._versions, saved.identity)}/{live.content['version']}")

    def attributes(self, live: Live) -> dict[str, str]:
        """Return number and resource name."""
        content = live.content
        return {
            "Version": str(content.get("version")),
            "Versions": str(content.get("versions") or content.get("version")),
            "Arn": str(content.get("layerVersionArn") or content.get("arn")),
        }


class Invocation(Unchanging):
    """A call of a function, made once and again when what is said about it changes."""

    def __init__(self, function: str) -> None:
        self._function = function

    def find(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> Live | None:
        """A call that was made stays made."""
        del cloud, identity
        return Live({"result": attributes["Result"]}) if "Result" in attributes else None

    def create(self, cloud: Cloud, resource: Resource) -> Live:
        """Call the function."""
        given = resource.properties
        path = path_of(self._function, resource.identity)
        if given.get("qualifier"):
            path += f"?qualifier={quote(str(given['qualifier']), safe='')}"
        payload = str(given.get("event") or "").encode("utf-8", "replace")
        answer, error = cloud.invoke(path, payload, asynchronous=bool(given.get("async")))
        result = answer.decode("utf-8", "replace")
        if error and given.get("checkError"):
            raise Refused(200, error, result[:500])
        return Live({"result": result[:4000], "error": error})

    def update(self, cloud: Cloud, resource: Resource, live: Live) -> Live:
        """Call it again."""
        del live
        return self.create(cloud, resource)

    def delete(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> None:
        """What a call did cannot be undone."""

    def attributes(self, live: Live) -> dict[str, str]:
        """Return what the function answered."""
        error = live.content.get("error")
        return {"Result": str(live.content["result"]), "ResultType": "Failure" if error else "Success"}
