"""The resources of Function Compute, through its two APIs: 2016-08-15 for services, 2023-03-30 for functions alone."""

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from emulator.deploy.model import Refused, Resource
from emulator.deploy.provider import (
    ActualState,
    ApiClient,
    Attributes,
    Content,
    Identity,
    Immutable,
    ResourceProvider,
    is_not_there,
    same,
)
from emulator.kernel.crc64 import checksum
from emulator.kernel.frozen import replace
from emulator.services.fc.catalog import fields as catalog


def path_of(template: str, identity: Identity) -> str:
    """Return a path with the parts of an identity in it, percent-encoded."""
    return template.format(*(quote(part, safe="") for part in identity))


def get(api: ApiClient, path: str) -> Content | None:
    """Return what GET shows, None when it is not there."""
    try:
        return api.functions("GET", path)
    except Refused as error:
        if is_not_there(error):
            return None
        raise


def remove(api: ApiClient, path: str) -> None:
    """DELETE, also what is gone already."""
    try:
        api.functions("DELETE", path)
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
        shows: Mapping[str, str] | None = None,
    ) -> None:
        self._collection = collection
        self._item = item
        self._name = name
        self._keeps = keeps
        self._fixed = fixed
        self._as_text = as_text
        self._shows = shows or {}

    def find(self, api: ApiClient, identity: Identity, attributes: Attributes) -> ActualState | None:
        """Return what GET shows."""
        del attributes
        shown = get(api, path_of(self._item, identity))
        return None if shown is None else ActualState(self._opened(shown))

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """POST it."""
        body = {self._name: resource.identity[-1], **self._body(resource)}
        return ActualState(self._opened(api.functions("POST", path_of(self._collection, resource.identity), body)))

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """PUT what may change."""
        del actual
        body = {name: value for name, value in self._body(resource).items() if name not in self._fixed}
        return ActualState(self._opened(api.functions("PUT", path_of(self._item, resource.identity), body)))

    def delete(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """DELETE it."""
        del attributes
        remove(api, path_of(self._item, identity))

    def differs(self, resource: Resource, actual: ActualState) -> bool:
        """Compare property by property."""
        return any(
            not same(wanted, actual.content.get(name), exact=name in _EXACT)
            for name, wanted in resource.properties.items()
            if name != "code"
        )

    def is_fixed(self, resource: Resource, actual: ActualState) -> bool:
        """Compare what cannot be changed."""
        return any(not same(resource.properties.get(name), actual.content.get(name)) for name in self._fixed)

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """Keep what can be written."""
        del api
        kept = {name: actual.content[name] for name in self._keeps if actual.content.get(name) is not None}
        return replace(resource, properties=kept, package=None)

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """PUT back; what had no value before gets an empty one where the update gave it one."""
        emptied = {name: _empty(actual.content[name]) for name in self._keeps if actual.content.get(name) is not None}
        self.update(api, replace(saved, properties={**emptied, **saved.properties}), actual)

    def attributes(self, actual: ActualState) -> dict[str, str]:
        """Return ids and addresses."""
        flat = {**actual.content, **(actual.content.get("httpTrigger") or {})}
        return {name: str(flat[member]) for name, member in self._shows.items() if flat.get(member) is not None}

    def _body(self, resource: Resource) -> dict[str, Any]:
        return {
            name: json.dumps(value, ensure_ascii=False) if name in self._as_text else value
            for name, value in resource.properties.items()
        }

    def _opened(self, shown: Content) -> Content:
        """Return an answer with its JSON texts as what they stand for."""
        opened = dict(shown)
        for name in self._as_text:
            if isinstance(shown.get(name), str) and shown[name]:
                opened[name] = json.loads(shown[name])
        return opened


def _empty(value: Any) -> Any:
    if isinstance(value, (str, list, dict)):
        return type(value)()
    return value


class Function(Plain):
    """A function: its code goes along when it is another than the one that is there."""

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """POST settings and code."""
        return super().create(api, with_code(resource))

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """PUT settings, and the code when it has changed."""
        changed = resource.package is None or checksum(resource.package) != str(actual.content.get("codeChecksum"))
        return super().update(api, with_code(resource) if changed else resource, actual)

    def differs(self, resource: Resource, actual: ActualState) -> bool:
        """Compare settings, and code by its checksum."""
        if resource.package is not None and checksum(resource.package) != str(actual.content.get("codeChecksum")):
            return True
        return super().differs(resource, actual)

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """Keep the settings and the code."""
        if str(actual.content.get("runtime", "")).startswith("custom-container"):
            return super().saved(api, resource, actual)  # its code is an image
        location = api.functions("GET", path_of(self._item, resource.identity) + "/code")
        package = api.download(str(location["url"])) if location.get("url") else None
        return replace(super().saved(api, resource, actual), package=package)


_ALLOCATED: Content = {"alwaysAllocateCPU": False, "alwaysAllocateGPU": False}
"""What provisioned instances have when nothing is said."""

_SHOWN_ONLY = frozenset(
    {
        "resource", "current", "currentError", "functionArn", "defaultTarget", "targetInstances", "currentInstances",
        "createdTime", "lastModifiedTime", "service", "function", "qualifier",
    }
)  # fmt: skip
"""Members of answers that no PUT takes."""


class Setting:
    """A configuration that is put on a function: made and changed alike by PUT.

    Where the API has no DELETE, *off* is the body that undoes it; *unset* holds members that an answer leaves out.
    """

    def __init__(self, item: str, off: Content | None = None, unset: Content | None = None) -> None:
        self._item = item
        self._off = off
        self._unset = unset or {}

    def find(self, api: ApiClient, identity: Identity, attributes: Attributes) -> ActualState | None:
        """Return what GET shows; one that is off is none."""
        del attributes
        shown = get(api, path_of(self._item, identity))
        if shown is None or (self._off is not None and all(shown.get(key) == off for key, off in self._off.items())):
            return None
        return ActualState({**self._unset, **{name: value for name, value in shown.items() if value is not None}})

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """PUT it."""
        return ActualState(api.functions("PUT", path_of(self._item, resource.identity), resource.properties))

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """PUT it."""
        del actual
        return self.create(api, resource)

    def delete(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """DELETE it or switch it off."""
        del attributes
        path = path_of(self._item, identity)
        if self._off is None:
            remove(api, path)
        elif get(api, path) is not None:
            api.functions("PUT", path, self._off)

    def differs(self, resource: Resource, actual: ActualState) -> bool:
        """Compare property by property; the default target is what the API calls it in one of two places."""
        shown = dict(actual.content)
        if "defaultTarget" in shown:
            shown["target"] = shown["defaultTarget"]
        return not same(dict(resource.properties), shown)

    def is_fixed(self, resource: Resource, actual: ActualState) -> bool:
        """Everything can be changed."""
        del resource, actual
        return False

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """Keep all that a PUT takes."""
        del api
        shown = {name: value for name, value in actual.content.items() if value is not None and name not in _SHOWN_ONLY}
        if "defaultTarget" in actual.content:
            shown["target"] = actual.content["defaultTarget"]
        return replace(resource, properties=shown)

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """PUT what was there."""
        self.update(api, saved, actual)

    def attributes(self, actual: ActualState) -> dict[str, str]:
        """There are none."""
        del actual
        return {}


class Version(Immutable):
    """A published version: shown by its number, never changed."""

    def __init__(self, versions: str) -> None:
        self._versions = versions

    def find(self, api: ApiClient, identity: Identity, attributes: Attributes) -> ActualState | None:
        """Return the version that was noted."""
        number = attributes.get("VersionId")
        if not number:
            return None
        shown = get(api, f"{path_of(self._versions, identity)}?startKey={number}&limit=1")
        rows = (shown or {}).get("versions") or []
        return ActualState(rows[0]) if rows and rows[0].get("versionId") == number else None

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """Publish; when nothing has changed since the newest version, that one is it."""
        path = path_of(self._versions, resource.identity)
        try:
            return ActualState(api.functions("POST", path, resource.properties))
        except Refused as error:
            if error.code != "VersionPublishError":
                raise
            newest = api.functions("GET", f"{path}?limit=1").get("versions") or []
            if not newest:
                raise
            return ActualState(newest[0], False)

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """A version stays what it is."""
        del api, resource
        return actual

    def delete(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """Remove the version that was noted."""
        if number := attributes.get("VersionId"):
            remove(api, f"{path_of(self._versions, identity)}/{number}")

    def attributes(self, actual: ActualState) -> dict[str, str]:
        """Return the number."""
        return {"VersionId": str(actual.content.get("versionId", ""))}


class Layer:
    """A layer: each change publishes a version, and every version published here is taken away with it."""

    def __init__(self, versions: str) -> None:
        self._versions = versions

    def find(self, api: ApiClient, identity: Identity, attributes: Attributes) -> ActualState | None:
        """Return the version that was noted."""
        number = attributes.get("Version")
        shown = get(api, f"{path_of(self._versions, identity)}/{number}") if number else None
        return None if shown is None else ActualState({**shown, "versions": attributes.get("Versions", number)})

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """Publish a version."""
        body = with_code(resource).properties
        return ActualState(api.functions("POST", path_of(self._versions, resource.identity), body))

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """Publish another version; functions may still use the one before."""
        made = self.create(api, resource).content
        return ActualState({**made, "versions": f"{actual.content.get('versions')},{made['version']}"})

    def delete(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """Remove every version published by this deployment."""
        for number in attributes.get("Versions", "").split(","):
            if number:
                remove(api, f"{path_of(self._versions, identity)}/{number}")

    def differs(self, resource: Resource, actual: ActualState) -> bool:
        """Compare the content."""
        package = resource.package
        return package is not None and checksum(package) != str(actual.content.get("codeChecksum"))

    def is_fixed(self, resource: Resource, actual: ActualState) -> bool:
        """Another version can always be published."""
        del resource, actual
        return False

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """Keep the content."""
        location = (actual.content.get("code") or {}).get("location")
        kept = {name: actual.content.get(name) for name in ("compatibleRuntime", "description")}
        return replace(resource, properties=kept, package=api.download(str(location)) if location else None)

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Remove the version that the update published."""
        remove(api, f"{path_of(self._versions, saved.identity)}/{actual.content['version']}")

    def attributes(self, actual: ActualState) -> dict[str, str]:
        """Return number and resource name."""
        content = actual.content
        return {
            "Version": str(content.get("version")),
            "Versions": str(content.get("versions") or content.get("version")),
            "Arn": str(content.get("layerVersionArn") or content.get("arn")),
        }


class Invocation(Immutable):
    """A call of a function, made once and again when what is said about it changes."""

    def __init__(self, function: str) -> None:
        self._function = function

    def find(self, api: ApiClient, identity: Identity, attributes: Attributes) -> ActualState | None:
        """A call that was made stays made."""
        del api, identity
        return ActualState({"result": attributes["Result"]}) if "Result" in attributes else None

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """Call the function."""
        properties = resource.properties
        path = path_of(self._function, resource.identity)
        if properties.get("qualifier"):
            path += f"?qualifier={quote(str(properties['qualifier']), safe='')}"
        payload = str(properties.get("event") or "").encode("utf-8", "replace")
        answer, error = api.invoke(path, payload, asynchronous=bool(properties.get("async")))
        result = answer.decode("utf-8", "replace")
        if error and properties.get("checkError"):
            raise Refused(200, error, result[:500])
        return ActualState({"result": result[:4000], "error": error})

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """Call it again."""
        del actual
        return self.create(api, resource)

    def delete(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """What a call did cannot be undone."""

    def attributes(self, actual: ActualState) -> dict[str, str]:
        """Return what the function answered."""
        error = actual.content.get("error")
        return {"Result": str(actual.content["result"]), "ResultType": "Failure" if error else "Success"}


_V2, _V3 = "/2016-08-15", "/2023-03-30"

_SERVICE = tuple(row.wire for row in catalog.SERVICE)
_FUNCTION_2 = tuple(row.wire for row in catalog.FUNCTION_2)
_FUNCTION_3 = tuple(row.wire for row in catalog.FUNCTION_3)
_TRIGGER = ("triggerType", "triggerConfig", "sourceArn", "invocationRole", "qualifier", "description")
_TRIGGER_TELLS = {"TriggerId": "triggerId", "UrlInternet": "urlInternet", "UrlIntranet": "urlIntranet"}
_ALIAS = tuple(row.wire for row in catalog.ALIAS)
_DOMAIN = tuple(catalog.DOMAIN.fields)
_S2, _F2, _F3 = (
    _V2 + "/services/{0}",
    _V2 + "/services/{0}/functions/{1}",
    _V3 + "/functions/{0}",
)

FC_PROVIDERS: Mapping[str, ResourceProvider] = {
    "fc.service": Plain(_V2 + "/services", _S2, "serviceName", _SERVICE, shows={"ServiceId": "serviceId"}),
    "fc.function": Function(_S2 + "/functions", _F2, "functionName", _FUNCTION_2, shows={"FunctionId": "functionId"}),
    "fc.trigger": Plain(
        _F2 + "/triggers",
        _F2 + "/triggers/{2}",
        "triggerName",
        _TRIGGER,
        fixed=("triggerType", "sourceArn"),
        shows=_TRIGGER_TELLS | {"UrlIntranet": "urlInternet"},
    ),
    "fc.version": Version(_S2 + "/versions"),
    "fc.alias": Plain(_S2 + "/aliases", _S2 + "/aliases/{1}", "aliasName", _ALIAS),
    "fc.provision": Setting(_V2 + "/services/{0}.{1}/functions/{2}/provision-config", {"target": 0}, _ALLOCATED),
    "fc.async": Setting(_V2 + "/services/{0}.{2}/functions/{1}/async-invoke-config"),
    "fc.domain": Plain(_V2 + "/custom-domains", _V2 + "/custom-domains/{0}", "domainName", _DOMAIN),
    "fc.layer": Layer(_V2 + "/layers/{0}/versions"),
    "fc.invocation": Invocation(_F2 + "/invocations"),
    "fc3.function": Function(_V3 + "/functions", _F3, "functionName", _FUNCTION_3, shows={"FunctionId": "functionId"}),
    "fc3.trigger": Plain(
        _F3 + "/triggers",
        _F3 + "/triggers/{1}",
        "triggerName",
        _TRIGGER,
        fixed=("triggerType", "sourceArn"),
        as_text=("triggerConfig",),
        shows=_TRIGGER_TELLS,
    ),
    "fc3.version": Version(_F3 + "/versions"),
    "fc3.alias": Plain(_F3 + "/aliases", _F3 + "/aliases/{1}", "aliasName", _ALIAS),
    "fc3.provision": Setting(_F3 + "/provision-config?qualifier={1}", unset=_ALLOCATED),
    "fc3.scaling": Setting(_F3 + "/scaling-config?qualifier={1}"),
    "fc3.async": Setting(_F3 + "/async-invoke-config?qualifier={1}"),
    "fc3.concurrency": Setting(_F3 + "/concurrency"),
    "fc3.domain": Plain(_V3 + "/custom-domains", _V3 + "/custom-domains/{0}", "domainName", _DOMAIN),
    "fc3.layer": Layer(_V3 + "/layers/{0}/versions"),
    "fc3.invocation": Invocation(_F3 + "/invocations"),
}
