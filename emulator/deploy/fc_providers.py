"""The resources of Function Compute, through its two APIs: 2016-08-15 for services, 2023-03-30 for functions alone."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import quote

from emulator.deploy.files import same_code
from emulator.deploy.model import Refused, Resource
from emulator.deploy.provider import (
    ActualState,
    ApiClient,
    Attributes,
    Content,
    Identity,
    Immutable,
    ResourceProvider,
)
from emulator.kernel.crc64 import checksum
from emulator.kernel.frozen import replace
from emulator.services.fc.catalog import domain_fields
from emulator.services.fc.catalog import fields as catalog
from emulator.wire.schema.kinds import Shape


def path_of(template: str, identity: Identity) -> str:
    """Return a path with the parts of an identity in it, percent-encoded."""
    return template.format(*(quote(part, safe="") for part in identity))


def with_code(resource: Resource) -> Resource:
    """Return a resource whose properties hold its package."""
    if resource.package is None:
        return resource
    code = {"zipFile": b64encode(resource.package).decode("ascii")}
    return replace(resource, properties={**resource.properties, "code": code})


class _Packaged(ResourceProvider):
    """What has code."""

    def has_other_code(self, api: ApiClient, resource: Resource, actual: ActualState) -> bool:
        """Whether the files are others: what has another checksum may have been packed by another program."""
        return _has_other_package(resource, actual) and not same_code(
            resource.package, self.saved(api, resource, actual).package
        )


def _has_other_package(resource: Resource, actual: ActualState) -> bool:
    return resource.package is not None and checksum(resource.package) != str(actual.content.get("codeChecksum"))


@dataclass(eq=False)
class _Rest(ResourceProvider):
    """What is made by POST to a *collection*, under its *name*, and changed by PUT to the *item*.

    *as_text* are the properties that travel as JSON text.
    """

    collection: str
    item: str
    name: str
    as_text: tuple[str, ...] = ()

    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content:
        return self._opened(api.functions("GET", path_of(self.item, identity)))

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        body = {self.name: resource.identity[-1], **self._body(resource)}
        return ActualState(self._opened(api.functions("POST", path_of(self.collection, resource.identity), body)))

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        body = {
            name: value
            for name, value in self._body(resource).items()
            if name not in self.fixed and (value != "" or self.value(name, actual))  # nothing need not be emptied
        }
        return ActualState(self._opened(api.functions("PUT", path_of(self.item, resource.identity), body)))

    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        api.functions("DELETE", path_of(self.item, identity))

    def attributes(self, actual: ActualState) -> dict[str, str]:
        return super().attributes(ActualState({**actual.content, **(actual.content.get("httpTrigger") or {})}))

    def _body(self, resource: Resource) -> dict[str, Any]:
        return {
            name: json.dumps(value, ensure_ascii=False) if name in self.as_text else value
            for name, value in resource.properties.items()
        }

    def _opened(self, shown: Content) -> Content:
        """Return an answer with its JSON texts as what they stand for."""
        opened = dict(shown)
        for name in self.as_text:
            if isinstance(shown.get(name), str) and shown[name]:
                opened[name] = json.loads(shown[name])
        return opened


class _Function(_Packaged, _Rest):
    """A function: its code goes along when it has changed, which its checksum says."""

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        given = {name: value for name, value in resource.properties.items() if value != ""}  # shown as null when unset
        return super().create(api, with_code(replace(resource, properties=given)))

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        changed = resource.package is None or _has_other_package(resource, actual)
        return super().update(api, with_code(resource) if changed else resource, actual)

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        settings = super().saved(api, resource, actual)
        if str(actual.content.get("runtime", "")).startswith("custom-container"):
            return settings  # its code is an image
        location = api.functions("GET", path_of(self.item, resource.identity) + "/code")
        return replace(settings, package=api.download(str(location["url"])) if location.get("url") else None)

    def _opened(self, shown: Content) -> Content:
        """Return an answer with its layers as a request names them; in 3.0 they are shown with their sizes."""
        opened = dict(super()._opened(shown))
        if opened.get("layers"):
            opened["layers"] = [layer["arn"] if isinstance(layer, dict) else layer for layer in opened["layers"]]
        return opened


_ALLOCATED: Content = {"alwaysAllocateCPU": False, "alwaysAllocateGPU": False}
"""What provisioned instances have when nothing is said."""

_SCHEDULED = ("scheduledActions", "targetTrackingPolicies")

_SHOWN_ONLY = frozenset(
    {
        "resource", "current", "currentError", "functionArn", "defaultTarget", "targetInstances", "currentInstances",
        "createdTime", "lastModifiedTime", "service", "function", "qualifier",
    }
)  # fmt: skip
"""Members of answers that no PUT takes."""


@dataclass(eq=False)
class _Trigger(_Rest):
    """A trigger. A function has one HTTP trigger, under whatever name: so one that is dropped goes first."""

    goes_first: ClassVar[bool] = True

    def receivers(self, resource: Resource) -> Iterator[str]:
        """Yield the topic that it listens to."""
        source = resource.properties.get("sourceArn")
        if self.needs_receivers(resource) and isinstance(source, str):
            yield source

    def needs_receivers(self, resource: Resource) -> bool:
        """A trigger of a topic is refused without it."""
        return resource.properties.get("triggerType") == "mns_topic"


@dataclass(eq=False)
class _Setting(ResourceProvider):
    """A configuration of a function: created and changed alike by PUT.

    Where the API has no DELETE, *off* is the body that undoes it, and one that is off does not exist; *unset* holds
    what members are that nobody has set, which an answer leaves out.
    """

    item: str
    off: Content | None = None
    unset: Content = field(default_factory=dict)

    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content | None:
        shown = api.functions("GET", path_of(self.item, identity))
        is_off = self.off is not None and all(shown.get(key) == off for key, off in self.off.items())
        is_off = is_off and not any(shown.get(name) for name in _SCHEDULED)  # what is off now may be on at night
        return None if is_off else {name: value for name, value in shown.items() if value is not None}

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        return ActualState(api.functions("PUT", path_of(self.item, resource.identity), resource.properties))

    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        path = path_of(self.item, identity)
        if self.off is None:
            api.functions("DELETE", path)
        else:
            api.functions("GET", path)  # refused when it does not exist
            api.functions("PUT", path, self.off)

    def value(self, name: str, actual: ActualState) -> Any:
        return _with_target({**self.unset, **actual.content}).get(name)

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        shown = _with_target(actual.content)
        kept = {name: value for name, value in shown.items() if value is not None and name not in _SHOWN_ONLY}
        return replace(resource, properties=kept)


class _Destinations(_Setting):
    """How asynchronous calls end: where their results go."""

    def receivers(self, resource: Resource) -> Iterator[str]:
        """Yield the queues, topics and functions that get the results."""
        sides = resource.properties.get("destinationConfig") or {}
        for name in ("onSuccess", "onFailure"):
            destination = (sides.get(name) or {}).get("destination")
            if isinstance(destination, str):
                yield destination


def _with_target(shown: Content) -> Content:
    """Return a setting with its ``target``, which the API calls ``defaultTarget`` in one of two places."""
    return shown | {"target": shown["defaultTarget"]} if "defaultTarget" in shown else shown


@dataclass(eq=False)
class _Version(Immutable):
    """A published version: shown by its number, never changed."""

    versions: str

    def stays(self, resource: Resource, actual: ActualState) -> bool:
        """Whatever the file says by now, it is published."""
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
        """Publish; when nothing has changed since the newest version, that one is it."""
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
        if number := attributes.get("VersionId"):
            api.functions("DELETE", f"{path_of(self.versions, identity)}/{number}")


@dataclass(eq=False)
class _Layer(_Packaged):
    """A layer: each change publishes a version, and every version published here is removed with it.

    ``acl`` is the layer's, not a version's: ``"1"`` opens it to every account.
    """

    renews: ClassVar[bool] = True

    versions: str
    acl: str

    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content | None:
        """Return the version that was recorded."""
        number = attributes.get("Version")
        if not number:
            return None
        shown = api.functions("GET", f"{path_of(self.versions, identity)}/{number}")
        return {**shown, "versions": attributes.get("Versions", number)}

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        body = dict(with_code(resource).properties)
        acl = body.pop("acl", None)
        made = api.functions("POST", path_of(self.versions, resource.identity), body)
        if acl is not None:
            api.functions("PUT", path_of(self.acl, resource.identity) + f"?acl={acl}")
        return ActualState(made)

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """Publish another version; functions may still use the one before."""
        made = self.create(api, resource).content
        return ActualState({**made, "versions": f"{actual.content.get('versions')},{made['version']}"})

    def delete(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        for number in filter(None, attributes.get("Versions", "").split(",")):
            super().delete(api, identity, {"Version": number})

    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        api.functions("DELETE", f"{path_of(self.versions, identity)}/{attributes['Version']}")

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        location = (actual.content.get("code") or {}).get("location")
        kept = {name: actual.content.get(name) for name in ("compatibleRuntime", "description", "license")}
        if str(actual.content.get("acl")) == "1":
            kept["acl"] = "1"
        return replace(resource, properties=kept, package=api.download(str(location)) if location else None)

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Remove the version that the update published."""
        super().delete(api, saved.identity, {"Version": str(actual.content["version"])})

    def attributes(self, actual: ActualState) -> dict[str, str]:
        content = actual.content
        return {
            "Version": str(content.get("version")),
            "Versions": str(content.get("versions") or content.get("version")),
            "Arn": str(content.get("layerVersionArn") or content.get("arn")),
        }


@dataclass(eq=False)
class _Invocation(Immutable):
    """A call of a function, made once and again when what is said about it changes; it cannot be undone."""

    renews: ClassVar[bool] = True

    function: str

    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content | None:
        """A call that was made stays made."""
        return {"result": attributes["Result"]} if "Result" in attributes else None

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        properties = resource.properties
        path = path_of(self.function, resource.identity)
        if properties.get("qualifier"):
            path += f"?qualifier={quote(str(properties['qualifier']), safe='')}"
        payload = str(properties.get("event") or "").encode("utf-8", "replace")
        answer, error = api.invoke(path, payload, asynchronous=bool(properties.get("async")))
        result = answer.decode("utf-8", "replace")
        if error and properties.get("checkError"):
            raise Refused(200, error, result[:500])
        return ActualState({"result": result[:4000], "error": error})

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        return self.create(api, resource)

    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """A call that was made stays made."""

    def attributes(self, actual: ActualState) -> dict[str, str]:
        error = actual.content.get("error")
        return {"Result": str(actual.content["result"]), "ResultType": "Failure" if error else "Success"}


_V2, _V3 = "/2016-08-15", "/2023-03-30"
_S2, _F2, _F3 = _V2 + "/services/{0}", _V2 + "/services/{0}/functions/{1}", _V3 + "/functions/{0}"


def _wires(table: Shape) -> tuple[str, ...]:
    return tuple(row.name for row in table)


def _function(collection: str, item: str, table: Shape) -> ResourceProvider:
    return _Function(collection, item, "functionName", keeps=_wires(table), tells={"FunctionId": "functionId"})


def _trigger(function: str, number: int, intranet: str, as_text: tuple[str, ...] = ()) -> ResourceProvider:
    return _Trigger(
        f"{function}/triggers",
        f"{function}/triggers/{{{number}}}",
        "triggerName",
        as_text,
        keeps=("triggerType", "triggerConfig", "sourceArn", "invocationRole", "qualifier", "description"),
        fixed=("triggerType", "sourceArn"),
        tells={"TriggerId": "triggerId", "UrlInternet": "urlInternet", "UrlIntranet": intranet},
    )


def _alias(owner: str) -> ResourceProvider:
    return _Rest(f"{owner}/aliases", f"{owner}/aliases/{{1}}", "aliasName", keeps=_wires(catalog.ALIAS))


def _version(owner: str) -> ResourceProvider:
    return _Version(f"{owner}/versions", tells={"VersionId": "versionId"})


def _domain(version: str) -> ResourceProvider:
    place, keeps = f"{version}/custom-domains", _wires(domain_fields.DOMAIN)
    return _Rest(place, f"{place}/{{0}}", "domainName", keeps=keeps)


FC_PROVIDERS: Mapping[str, ResourceProvider] = {
    "fc.service": _Rest(
        _V2 + "/services", _S2, "serviceName", keeps=_wires(catalog.SERVICE), tells={"ServiceId": "serviceId"}
    ),
    "fc.function": _function(_S2 + "/functions", _F2, catalog.FUNCTION_2),
    "fc.trigger": _trigger(_F2, 2, "urlInternet"),
    "fc.version": _version(_S2),
    "fc.alias": _alias(_S2),
    "fc.provision": _Setting(_V2 + "/services/{0}.{1}/functions/{2}/provision-config", {"target": 0}, _ALLOCATED),
    "fc.async": _Destinations(_V2 + "/services/{0}.{2}/functions/{1}/async-invoke-config"),
    "fc.domain": _domain(_V2),
    "fc.layer": _Layer(_V2 + "/layers/{0}/versions", _V2 + "/layers/{0}/acl"),
    "fc.invocation": _Invocation(_F2 + "/invocations"),
    "fc3.function": _function(_V3 + "/functions", _F3, catalog.FUNCTION_3),
    "fc3.trigger": _trigger(_F3, 1, "urlIntranet", ("triggerConfig",)),
    "fc3.version": _version(_F3),
    "fc3.alias": _alias(_F3),
    "fc3.provision": _Setting(_F3 + "/provision-config?qualifier={1}", unset=_ALLOCATED),
    "fc3.scaling": _Setting(_F3 + "/scaling-config?qualifier={1}"),
    "fc3.async": _Destinations(_F3 + "/async-invoke-config?qualifier={1}"),
    "fc3.concurrency": _Setting(_F3 + "/concurrency"),
    "fc3.domain": _domain(_V3),
    "fc3.layer": _Layer(_V3 + "/layers/{0}/versions", _V3 + "/layers/{0}/acl"),
    "fc3.invocation": _Invocation(_F3 + "/invocations"),
}
