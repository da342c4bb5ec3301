"""The resources of Function Compute, through its two APIs: 2016-08-15 for services, 2023-03-30 for functions alone."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

from emulator.deploy.function_settings import ALLOCATED, Destinations, Setting
from emulator.deploy.model import Refused, Resource
from emulator.deploy.numbered import Layer, Version
from emulator.deploy.packaged import Packaged, has_other_package, with_code
from emulator.deploy.provider import (
    LATEST,
    ActualState,
    ApiClient,
    Attributes,
    Content,
    Disagreement,
    Group,
    Identity,
    Immutable,
    Lead,
    Reference,
    ResourceProvider,
    Route,
    opened,
    path_of,
    role_in,
)
from emulator.kernel.frozen import replace
from emulator.services.fc.catalog import affinity, alias_fields, domain_fields
from emulator.services.fc.catalog import fields as catalog
from emulator.services.fc.codec import BODY
from emulator.services.fc.model import ServiceConfig
from emulator.wire.schema.kinds import Shape


@dataclass(eq=False)
class _Rest(ResourceProvider):
    """Resources created by POST to a *collection*, under their *name*, and changed by PUT to the *item*.

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
            if name not in self.fixed and (value != "" or self.value(name, actual))  # unset already: not cleared
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
        """Return an answer with the values of its JSON texts."""
        opened = dict(shown)
        for name in self.as_text:
            if isinstance(shown.get(name), str) and shown[name]:
                opened[name] = json.loads(shown[name])
        return opened


class _Function(Packaged, _Rest):
    """A function; its code is sent when its checksum has changed."""

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        given = {name: value for name, value in resource.properties.items() if value != ""}  # null in answers
        return super().create(api, with_code(replace(resource, properties=given)))

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        changed = resource.package is None or has_other_package(resource, actual)
        return super().update(api, with_code(resource) if changed else resource, actual)

    def disagreements(self, resource: Resource, actual: ActualState) -> Iterator[Disagreement]:
        """Yield the differences from the file; the header's name of sessions is compared without regard to case."""
        config = opened(resource.properties.get("sessionAffinityConfig"))
        if isinstance(config, dict):
            given = {**resource.properties, "sessionAffinityConfig": affinity.lowered(config)}
            resource = replace(resource, properties=given)
        return super().disagreements(resource, actual)

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        settings = super().saved(api, resource, actual)
        if str(actual.content.get("runtime", "")).startswith("custom-container"):
            return settings  # the code is an image
        location = api.functions("GET", path_of(self.item, resource.identity) + "/code")
        return replace(settings, package=api.download(str(location["url"])) if location.get("url") else None)

    def _opened(self, shown: Content) -> Content:
        """Return an answer with its layers as a request names them; API 3.0 returns them with their sizes."""
        opened = dict(super()._opened(shown))
        if opened.get("layers"):
            opened["layers"] = [layer["arn"] if isinstance(layer, dict) else layer for layer in opened["layers"]]
        return opened


DEFAULT_TRIGGER_ROLE = "AliyunFCDefaultRole"
"""The role of a trigger whose file names none, as tools add one; triggers of the functions folder need none."""


@dataclass(eq=False)
class _Trigger(_Rest):
    """A trigger. A function has one HTTP trigger at most, so removed ones are deleted before others are created."""

    goes_first: ClassVar[bool] = True

    alias: str = ""
    """The kind of the aliases that triggers can be for."""

    def alias_of(self, resource: Resource) -> Reference:
        """Return the alias that its qualifier names."""
        return self.alias, (resource.identity[0], str(resource.properties.get("qualifier") or LATEST))

    def disagreements(self, resource: Resource, actual: ActualState) -> Iterator[Disagreement]:
        """Yield the differences from the file; the default role equals none."""
        for each in super().disagreements(resource, actual):
            stands_in = str(each.wanted).endswith(f":role/{DEFAULT_TRIGGER_ROLE}") and not each.actual
            if each.path != ("invocationRole",) or not stands_in:
                yield each

    def receivers(self, resource: Resource) -> Iterator[str]:
        """Yield the topic of its events."""
        source = resource.properties.get("sourceArn")
        if self.needs_receivers(resource) and isinstance(source, str):
            yield source

    def needs_receivers(self, resource: Resource) -> bool:
        """Whether it is the trigger of a topic, which the service refuses without the topic."""
        return resource.properties.get("triggerType") == "mns_topic"


@dataclass(eq=False)
class _Alias(_Rest):
    """An alias of the newest *version*, a kind; *mentioned* is the pattern of its ARN in definitions."""

    version: str = ""
    mentioned: str = ""

    def needs(self, resource: Resource, there: Iterable[Resource]) -> Iterator[Reference]:
        """Yield its parents and the version that it leads to."""
        yield from super().needs(resource, there)
        yield self.version_of(resource.identity)

    def version_of(self, identity: Identity) -> Reference:
        """Return the reference to the newest version."""
        return self.version, (identity[0], "version")

    def mention(self, identity: Identity) -> str:
        """Return the regular expression of its ARNs."""
        return self.mentioned.format(*map(re.escape, identity)) + "(?![A-Za-z0-9_-])"


@dataclass(eq=False)
class _Domain(_Rest):
    """A custom domain; *function* and *alias* are the kinds that its routes lead to."""

    function: str = ""
    alias: str = ""

    def routes(self, resource: Resource) -> Iterator[Route]:
        """Yield the routes."""
        for route in (resource.properties.get("routeConfig") or {}).get("routes") or []:
            names = tuple(str(name) for name in (route.get("serviceName"), route.get("functionName")) if name)
            alias = (self.alias, (*names[:1], str(route.get("qualifier") or LATEST)))
            yield Route(content=route, function=(self.function, names), alias=alias)


@dataclass(eq=False)
class _Invocation(Immutable):
    """A call of a function, made when it is new or changed in the file; it cannot be undone."""

    renews: ClassVar[bool] = True
    is_named_by_file: ClassVar[bool] = True

    function: str

    def rehearsing(self) -> ResourceProvider:
        """Return a provider that makes no call, and has no result."""
        return _Unheard(names=self.names, groups=self.groups)

    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content | None:
        """Return the recorded result, as a call that was made stays made."""
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
        """Do nothing: a call that was made stays made."""

    def attributes(self, actual: ActualState) -> dict[str, str]:
        error = actual.content.get("error")
        return {"Result": str(actual.content["result"]), "ResultType": "Failure" if error else "Success"}


class _Unheard(Immutable):
    """A call that is not made, for rehearsals."""

    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content | None:
        return None

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        return ActualState({})

    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """Do nothing."""


_V2, _V3 = "/2016-08-15", "/2023-03-30"
_S2, _F2, _F3 = _V2 + "/services/{0}", _V2 + "/services/{0}/functions/{1}", _V3 + "/functions/{0}"
_IN_SERVICE, _OF_FUNCTION_2, _OF_FUNCTION_3 = ("fc.service", (0,)), ("fc.function", (0, 1)), ("fc3.function", (0,))
_QUALIFIED = ("FunctionName", "Qualifier")
_TOPIC = Lead("sourceArn", re.compile(r":/topics/([^/]+)$"), "mns.topic")


def _wires(table: Shape) -> tuple[str, ...]:
    return tuple(row.name for row in table)


def _trigger(prefix: str, function: str, intranet: str, as_text: tuple[str, ...] = ()) -> ResourceProvider:
    owner = _OF_FUNCTION_2 if prefix == "fc" else _OF_FUNCTION_3
    names = ("ServiceName", "FunctionName", "TriggerName") if prefix == "fc" else ("FunctionName", "TriggerName")
    return _Trigger(
        f"{function}/triggers",
        f"{function}/triggers/{{{len(names) - 1}}}",
        "triggerName",
        as_text,
        alias=f"{prefix}.alias",
        names=names,
        groups=(Group.TRIGGERS,),
        inside=(owner,),
        leads=(role_in("invocationRole"), _TOPIC),
        keeps=("triggerType", "triggerConfig", "sourceArn", "invocationRole", "qualifier", "description"),
        fixed=("triggerType", "sourceArn"),
        tells={"TriggerId": "triggerId", "UrlInternet": "urlInternet", "UrlIntranet": intranet},
    )


def _alias(prefix: str, path: str, owner: tuple[str, tuple[int, ...]], name: str, mentioned: str) -> ResourceProvider:
    return _Alias(
        f"{path}/aliases",
        f"{path}/aliases/{{1}}",
        "aliasName",
        version=f"{prefix}.version",
        mentioned=mentioned,
        names=(name, "AliasName"),
        groups=(Group.ALIASES,),
        inside=(owner,),
        keeps=_wires(alias_fields.ALIAS),
    )


def _version(path: str, owner: tuple[str, tuple[int, ...]], name: str, functions: str = "") -> ResourceProvider:
    return Version(
        f"{path}/versions",
        path,
        functions,
        names=(name,),
        groups=(Group.VERSIONS, Group.ALIASES),
        inside=(owner,),
        tells={"VersionId": "versionId"},
    )


def _domain(prefix: str, version: str) -> ResourceProvider:
    place = f"{version}/custom-domains"
    return _Domain(
        place,
        f"{place}/{{0}}",
        "domainName",
        function=f"{prefix}.function",
        alias=f"{prefix}.alias",
        names=("DomainName",),
        groups=(Group.DOMAINS,),
        keeps=_wires(domain_fields.DOMAIN),
    )


def _layer(version: str) -> ResourceProvider:
    place = version + "/layers/{0}"
    made = {"Arn": "arn", "Version": "version"}
    return Layer(f"{place}/versions", f"{place}/acl", names=("LayerName",), groups=(Group.LAYERS,), tells=made)


def _invocation(function: str, names: tuple[str, ...]) -> ResourceProvider:
    return _Invocation(f"{function}/invocations", names=names, groups=(), tells={"Result": "result", "ResultType": ""})


FC_PROVIDERS: Mapping[str, ResourceProvider] = {
    "fc.service": _Rest(
        _V2 + "/services",
        _S2,
        "serviceName",
        names=("ServiceName",),
        groups=(Group.SERVICES, Group.FUNCTIONS),
        formed={"ARN": "acs:fc:{region}:{account}:services/{0}"},
        leads=(role_in("role"),),
        keeps=_wires(catalog.SERVICE),
        tells={"ServiceId": "serviceId"},
        usual=BODY.write(catalog.SERVICE, ServiceConfig()),
    ),
    "fc.function": _Function(
        _S2 + "/functions",
        _F2,
        "functionName",
        names=("ServiceName", "FunctionName"),
        groups=(Group.FUNCTIONS,),
        formed=dict.fromkeys(("ARN", "Arn"), "acs:fc:{region}:{account}:services/{0}/functions/{1}"),
        inside=(_IN_SERVICE,),
        keeps=_wires(catalog.FUNCTION_2),
        tells={"FunctionId": "functionId"},
    ),
    "fc.trigger": _trigger("fc", _F2, "urlInternet"),
    "fc.version": _version(_S2, _IN_SERVICE, "ServiceName", "fc.function"),
    "fc.alias": _alias("fc", _S2, _IN_SERVICE, "ServiceName", r"services/{0}\.{1}"),
    "fc.provision": Setting(
        _V2 + "/services/{0}.{1}/functions/{2}/provision-config",
        {"target": 0},
        ALLOCATED,
        ("fc.alias", 1),
        names=("ServiceName", "Qualifier", "FunctionName"),
        groups=(Group.FUNCTIONS,),
        inside=(("fc.function", (0, 2)),),
    ),
    "fc.async": Destinations(
        _V2 + "/services/{0}.{2}/functions/{1}/async-invoke-config",
        alias=("fc.alias", 2),
        names=("ServiceName", "FunctionName", "Qualifier"),
        groups=(Group.FUNCTIONS,),
        inside=(_OF_FUNCTION_2,),
    ),
    "fc.domain": _domain("fc", _V2),
    "fc.layer": _layer(_V2),
    "fc.invocation": _invocation(_F2, ("ServiceName", "FunctionName")),
    "fc3.function": _Function(
        _V3 + "/functions",
        _F3,
        "functionName",
        names=("FunctionName",),
        groups=(Group.FUNCTIONS,),
        formed=dict.fromkeys(("ARN", "Arn"), "acs:fc:{region}:{account}:functions/{0}"),
        leads=(role_in("role"),),
        keeps=_wires(catalog.FUNCTION_3),
        tells={"FunctionId": "functionId"},
    ),
    "fc3.trigger": _trigger("fc3", _F3, "urlIntranet", ("triggerConfig",)),
    "fc3.version": _version(_F3, _OF_FUNCTION_3, "FunctionName"),
    "fc3.alias": _alias("fc3", _F3, _OF_FUNCTION_3, "FunctionName", "functions/{0}[/.]{1}"),
    "fc3.provision": Setting(
        _F3 + "/provision-config?qualifier={1}",
        unset=ALLOCATED,
        alias=("fc3.alias", 1),
        names=_QUALIFIED,
        groups=(Group.FUNCTIONS,),
        inside=(_OF_FUNCTION_3,),
    ),
    "fc3.scaling": Setting(
        _F3 + "/scaling-config?qualifier={1}",
        alias=("fc3.alias", 1),
        names=_QUALIFIED,
        groups=(Group.FUNCTIONS,),
        inside=(_OF_FUNCTION_3,),
    ),
    "fc3.async": Destinations(
        _F3 + "/async-invoke-config?qualifier={1}",
        alias=("fc3.alias", 1),
        names=_QUALIFIED,
        groups=(Group.FUNCTIONS,),
        inside=(_OF_FUNCTION_3,),
    ),
    "fc3.concurrency": Setting(
        _F3 + "/concurrency", names=("FunctionName",), groups=(Group.FUNCTIONS,), inside=(_OF_FUNCTION_3,)
    ),
    "fc3.domain": _domain("fc3", _V3),
    "fc3.layer": _layer(_V3),
    "fc3.invocation": _invocation(_F3, ("FunctionName",)),
}
