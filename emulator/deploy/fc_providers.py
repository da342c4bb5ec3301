"""The resources of Function Compute, through its two APIs: 2016-08-15 for services, 2023-03-30 for functions alone."""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from emulator.deploy.errors import Refused
from emulator.deploy.model import Resource
from emulator.deploy.provider import Attributes, Cloud, Content, Identity, Kind, Live, Unchanging, is_not_there, same
from emulator.kernel.crc64 import checksum


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


_EXACT = frozenset({"environmentVariables", "additionalVersionWeight"})
"""Maps whose keys are the user's: one that is there too many counts as a difference."""


class Plain:
    """What is made by POST to a collection and changed by PUT to itself.

    *fixed* are the properties that cannot be changed, *as_text* those that travel as JSON text.
    """

    def __init__(
        self,
        collection: str,
        item: str,
        name: str,
        keeps: tuple[str, ...],
        *,
        fixed: tuple[str, ...] = (),
        as_text: tuple[str, ...] = (),
        tells: Mapping[str, str] | None = None,
    ) -> None:
        self._collection = collection
        self._item = item
        self._name = name
        self._keeps = keeps
        self._fixed = fixed
        self._as_text = as_text
        self._tells = tells or {}

    def find(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> Live | None:
        """Return what GET shows."""
        del attributes
        found = get(cloud, path_of(self._item, identity))
        return None if found is None else Live(self._opened(found))

    def create(self, cloud: Cloud, resource: Resource) -> Live:
        """POST it."""
        body = {self._name: resource.identity[-1], **self._body(resource)}
        return Live(self._opened(cloud.functions("POST", path_of(self._collection, resource.identity), body)))

    def update(self, cloud: Cloud, resource: Resource, live: Live) -> Live:
        """PUT what may change."""
        del live
        body = {name: value for name, value in self._body(resource).items() if name not in self._fixed}
        return Live(self._opened(cloud.functions("PUT", path_of(self._item, resource.identity), body)))

    def delete(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> None:
        """DELETE it."""
        del attributes
        remove(cloud, path_of(self._item, identity))

    def differs(self, resource: Resource, live: Live) -> bool:
        """Compare property by property."""
        return any(
            not same(wanted, live.content.get(name), exact=name in _EXACT)
            for name, wanted in resource.properties.items()
            if name != "code"
        )

    def is_fixed(self, resource: Resource, live: Live) -> bool:
        """Compare what cannot be changed."""
        return any(not same(resource.properties.get(name), live.content.get(name)) for name in self._fixed)

    def saved(self, cloud: Cloud, resource: Resource, live: Live) -> Resource:
        """Keep what can be written."""
        del cloud
        kept = {name: live.content[name] for name in self._keeps if live.content.get(name) is not None}
        return replace(resource, properties=kept, package=None)

    def undo_update(self, cloud: Cloud, saved: Resource, live: Live) -> None:
        """PUT back; what had no value before gets an empty one where the update gave it one."""
        emptied = {name: _empty(live.content[name]) for name in self._keeps if live.content.get(name) is not None}
        self.update(cloud, replace(saved, properties={**emptied, **saved.properties}), live)

    def attributes(self, live: Live) -> dict[str, str]:
        """Return ids and addresses."""
        flat = {**live.content, **(live.content.get("httpTrigger") or {})}
        return {name: str(flat[member]) for name, member in self._tells.items() if flat.get(member) is not None}

    def _body(self, resource: Resource) -> dict[str, Any]:
        return {
            name: json.dumps(value, ensure_ascii=False) if name in self._as_text else value
            for name, value in resource.properties.items()
        }

    def _opened(self, found: Content) -> Content:
        """Return an answer with its JSON texts as what they stand for."""
        opened = dict(found)
        for name in self._as_text:
            if isinstance(found.get(name), str) and found[name]:
                opened[name] = json.loads(found[name])
        return opened


def _empty(value: Any) -> Any:
    if isinstance(value, (str, list, dict)):
        return type(value)()
    return value


class Function(Plain):
    """A function: its code goes along when it is another than the one that is there."""

    def create(self, cloud: Cloud, resource: Resource) -> Live:
        """POST settings and code."""
        return super().create(cloud, with_code(resource))

    def update(self, cloud: Cloud, resource: Resource, live: Live) -> Live:
        """PUT settings, and the code when it has changed."""
        changed = resource.package is None or checksum(resource.package) != str(live.content.get("codeChecksum"))
        return super().update(cloud, with_code(resource) if changed else resource, live)

    def differs(self, resource: Resource, live: Live) -> bool:
        """Compare settings, and code by its checksum."""
        if resource.package is not None and checksum(resource.package) != str(live.content.get("codeChecksum")):
            return True
        return super().differs(resource, live)

    def saved(self, cloud: Cloud, resource: Resource, live: Live) -> Resource:
        """Keep the settings and the code."""
        location = cloud.functions("GET", path_of(self._item, resource.identity) + "/code")
        package = cloud.download(str(location["url"])) if location.get("url") else None
        return replace(super().saved(cloud, resource, live), package=package)


_SHOWN_ONLY = frozenset(
    {
        "resource", "current", "currentError", "functionArn", "defaultTarget", "targetInstances", "currentInstances",
        "createdTime", "lastModifiedTime", "service", "function", "qualifier",
    }
)  # fmt: skip
"""What answers tell and no PUT takes."""


class Setting:
    """A configuration that is put on a function: made and changed alike by PUT.

    Where the API has no DELETE, *off* is the body that undoes it.
    """

    def __init__(self, item: str, off: Content | None = None) -> None:
        self._item = item
        self._off = off

    def find(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> Live | None:
        """Return what GET shows; one that is off is none."""
        del attributes
        found = get(cloud, path_of(self._item, identity))
        if found is None or (self._off is not None and all(found.get(key) == off for key, off in self._off.items())):
            return None
        return Live(found)

    def create(self, cloud: Cloud, resource: Resource) -> Live:
        """PUT it."""
        return Live(cloud.functions("PUT", path_of(self._item, resource.identity), resource.properties))

    def update(self, cloud: Cloud, resource: Resource, live: Live) -> Live:
        """PUT it."""
        del live
        return self.create(cloud, resource)

    def delete(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> None:
        """DELETE it or switch it off."""
        del attributes
        path = path_of(self._item, identity)
        if self._off is None:
            remove(cloud, path)
        elif get(cloud, path) is not None:
            cloud.functions("PUT", path, self._off)

    def differs(self, resource: Resource, live: Live) -> bool:
        """Compare property by property; the default target is what the API calls it in one of two places."""
        shown = dict(live.content)
        if "defaultTarget" in shown:
            shown["target"] = shown["defaultTarget"]
        return not same(dict(resource.properties), shown)

    def is_fixed(self, resource: Resource, live: Live) -> bool:
        """Everything can be changed."""
        del resource, live
        return False

    def saved(self, cloud: Cloud, resource: Resource, live: Live) -> Resource:
        """Keep all that a PUT takes."""
        del cloud
        shown = {name: value for name, value in live.content.items() if value is not None and name not in _SHOWN_ONLY}
        if "defaultTarget" in live.content:
            shown["target"] = live.content["defaultTarget"]
        return replace(resource, properties=shown)

    def undo_update(self, cloud: Cloud, saved: Resource, live: Live) -> None:
        """PUT what was there."""
        self.update(cloud, saved, live)

    def attributes(self, live: Live) -> dict[str, str]:
        """There are none."""
        del live
        return {}


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


_V2, _V3 = "/2016-08-15", "/2023-03-30"

_FUNCTION_2 = (
    "runtime", "handler", "description", "timeout", "memorySize", "cpu", "diskSize", "instanceConcurrency",
    "environmentVariables", "customRuntimeConfig", "customDNS", "instanceLifecycleConfig", "layers", "initializer",
    "initializationTimeout", "instanceSoftConcurrency", "instanceType", "gpuMemorySize", "caPort",
    "customContainerConfig", "customHealthCheckConfig",
)  # fmt: skip
_SURROUNDINGS = ("role", "internetAccess", "logConfig", "vpcConfig", "nasConfig", "ossMountConfig", "tracingConfig")
_FUNCTION_3 = (
    "runtime", "handler", "description", "timeout", "memorySize", "cpu", "diskSize", "instanceConcurrency",
    "environmentVariables", "customRuntimeConfig", "customDNS", "instanceLifecycleConfig", "layers", *_SURROUNDINGS,
    "gpuConfig", "customContainerConfig", "disableOndemand", "idleTimeout",
)  # fmt: skip
_TRIGGER = ("triggerType", "triggerConfig", "sourceArn", "invocationRole", "qualifier", "description")
_TRIGGER_TELLS = {"TriggerId": "triggerId", "UrlInternet": "urlInternet", "UrlIntranet": "urlIntranet"}
_ALIAS = ("versionId", "description", "additionalVersionWeight")
_DOMAIN = ("protocol", "routeConfig", "certConfig", "tlsConfig", "authConfig")
_S2, _F2, _F3 = (
    _V2 + "/services/{0}",
    _V2 + "/services/{0}/functions/{1}",
    _V3 + "/functions/{0}",
)

REST_KINDS: Mapping[str, Kind] = {
    "fc.service": Plain(
        _V2 + "/services", _S2, "serviceName", ("description", *_SURROUNDINGS), tells={"ServiceId": "serviceId"}
    ),
    "fc.function": Function(_S2 + "/functions", _F2, "functionName", _FUNCTION_2, tells={"FunctionId": "functionId"}),
    "fc.trigger": Plain(
        _F2 + "/triggers",
        _F2 + "/triggers/{2}",
        "triggerName",
        _TRIGGER,
        fixed=("triggerType", "sourceArn"),
        tells=_TRIGGER_TELLS | {"UrlIntranet": "urlInternet"},
    ),
    "fc.version": Version(_S2 + "/versions"),
    "fc.alias": Plain(_S2 + "/aliases", _S2 + "/aliases/{1}", "aliasName", _ALIAS),
    "fc.provision": Setting(_V2 + "/services/{0}.{1}/functions/{2}/provision-config", {"target": 0}),
    "fc.async": Setting(_V2 + "/services/{0}.{2}/functions/{1}/async-invoke-config"),
    "fc.domain": Plain(_V2 + "/custom-domains", _V2 + "/custom-domains/{0}", "domainName", _DOMAIN),
    "fc.layer": Layer(_V2 + "/layers/{0}/versions"),
    "fc.invocation": Invocation(_F2 + "/invocations"),
    "fc3.function": Function(_V3 + "/functions", _F3, "functionName", _FUNCTION_3, tells={"FunctionId": "functionId"}),
    "fc3.trigger": Plain(
        _F3 + "/triggers",
        _F3 + "/triggers/{1}",
        "triggerName",
        _TRIGGER,
        fixed=("triggerType", "sourceArn"),
        as_text=("triggerConfig",),
        tells=_TRIGGER_TELLS,
    ),
    "fc3.version": Version(_F3 + "/versions"),
    "fc3.alias": Plain(_F3 + "/aliases", _F3 + "/aliases/{1}", "aliasName", _ALIAS),
    "fc3.provision": Setting(_F3 + "/provision-config?qualifier={1}"),
    "fc3.scaling": Setting(_F3 + "/scaling-config?qualifier={1}"),
    "fc3.async": Setting(_F3 + "/async-invoke-config?qualifier={1}"),
    "fc3.concurrency": Setting(_F3 + "/concurrency"),
    "fc3.domain": Plain(_V3 + "/custom-domains", _V3 + "/custom-domains/{0}", "domainName", _DOMAIN),
    "fc3.layer": Layer(_V3 + "/layers/{0}/versions"),
    "fc3.invocation": Invocation(_F3 + "/invocations"),
}
