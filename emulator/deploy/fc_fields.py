"""The properties of services, functions and what belongs to them, by their names in the API.

Source: the parameter tables of the API; the ROS resource types ``ALIYUN::FC::*`` and ``ALIYUN::FC3::*``; the schemas of
the components ``fc`` and ``fc3``.
"""

from collections.abc import Mapping
from typing import Any, cast

from emulator.deploy.shapes import (
    Field,
    Like,
    MapOf,
    Part,
    Reader,
    anything,
    json_text,
    list_of,
    lowered,
    map_of,
    members,
    noted,
    number,
    suggestion,
    switch,
    text,
    text_map,
    texts,
)
from emulator.services.fc.attributes import (
    Anything,
    Check,
    Flag,
    Items,
    OneOf,
    Ruled,
    Shape,
    Text,
    TextMap,
    Whole,
)
from emulator.services.fc.attributes import Field as Row
from emulator.services.fc.catalog import fields as catalog

_AUTO = "auto"
_NO_LOG = "logs go to the emulator's own log (localyun logs); kept, without effect"


def or_auto(read: Reader, why: str) -> Reader:
    """Make a reader that also takes the text ``auto``, which asks for a resource of the cloud and has no effect."""

    def read_or_auto(part: Part, capital: bool) -> Any:
        if isinstance(part.value, str) and part.value.lower() == _AUTO:
            part.note(f"auto: {why}")
            return None
        return read(part, capital)

    return Like(read_or_auto, read)


def with_note(read: Reader, why: str) -> Reader:
    """Make a reader of what is kept as given but has no effect."""

    def read_with_note(part: Part, capital: bool) -> Any:
        part.note(why)
        return read(part, capital)

    return Like(read_with_note, read)


# --- from the service's tables ---------------------------------------------------------------------------------------

_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "vSwitchIds": ("vswitchIds", "vSwitchIDs", "VSwitchIds"),
    "mountDir": ("fcDir",),
    "httpGetUrl": ("HttpGetURL", "httpGetURL"),
}
"""Other spellings of fields in files."""

_REQUIRED = frozenset({"runtime", "image", "serverAddr"})


def fields_of(kinds: Mapping[str, Check], own: Mapping[str, Reader]) -> tuple[Field, ...]:
    """Return a field for each row of a table of the service; *own* are readers in place of what a kind suggests."""
    return tuple(
        Field(name, own.get(name) or _reader(name, kind, own), name in _REQUIRED, _SPELLINGS.get(name, ()))
        for name, kind in kinds.items()
    )


def _reader(name: str, kind: Check, own: Mapping[str, Reader]) -> Reader:
    match kind:
        case Shape():
            return map_of(*fields_of(kind.fields, own))
        case Items():
            return texts if isinstance(kind.kind, (Text, OneOf)) else list_of(_reader(name, kind.kind, own))
        case Ruled():
            return _reader(name, kind.kind, own)
        case Text() | OneOf():
            return json_text if name in {"command", "args"} else text  # those of an image are lists in a text
        case Flag():
            return switch
        case Whole():
            return number
        case TextMap():
            return text_map
        case Anything():
            return lowered
        case _:
            return _RULED.get(name, anything)


_RULED: Mapping[str, Reader] = {"cpu": number, "environmentVariables": text_map, "layers": texts}
"""Readers of fields whose kind is a rule of its own."""


def _kinds(table: tuple[Row, ...]) -> dict[str, Check]:
    return {row.wire: row.kind for row in table}


_MOUNT_POINT = MapOf(fields_of(cast("Any", _kinds(catalog.SERVICE)["nasConfig"]).fields["mountPoints"].kind.fields, {}))


def _mount_point(part: Part, capital: bool) -> dict[str, Any]:
    """Read a mount point; component fc splits its address into host and folder."""
    values = members(part, (*_MOUNT_POINT.table, Field("nasDir", text)), capital=capital)
    if folder := values.pop("nasDir", None):
        values["serverAddr"] = f"{values.get('serverAddr')}:{folder}"
    return values


def _tracing(part: Part, capital: bool) -> Any:
    """Read a tracing configuration; component fc says Enable or Disable."""
    if isinstance(part.value, str):
        part.note("there is no tracing here")
        return None
    return _reader("tracingConfig", _kinds(catalog.SERVICE)["tracingConfig"], {})(part, capital)


def _without_effect(name: str, why: str) -> Reader:
    """Make the reader of a configuration that is kept and has no effect."""
    own = {"mountPoints": list_of(Like(_mount_point, _MOUNT_POINT))} if name == "nasConfig" else {}
    return or_auto(with_note(_reader(name, _kinds(catalog.SERVICE)[name], own), f"{why}; kept, without effect"), why)


_OWN: Mapping[str, Reader] = {
    "logConfig": or_auto(with_note(_reader("logConfig", _kinds(catalog.SERVICE)["logConfig"], {}), _NO_LOG), _NO_LOG),
    "vpcConfig": _without_effect("vpcConfig", "there is no VPC here"),
    "nasConfig": _without_effect("nasConfig", "no file system is mounted"),
    "ossMountConfig": _without_effect("ossMountConfig", "no bucket is mounted"),
    "tracingConfig": Like(_tracing, _reader("tracingConfig", _kinds(catalog.SERVICE)["tracingConfig"], {})),
}

SERVICE = (
    *fields_of(_kinds(catalog.SERVICE), _OWN),
    Field("vpcBinding", noted("there is no VPC here"), also=("VpcBindings",)),
    Field("tags", noted("tags of services are set through the API")),
    Field("resourceGroupId", noted("there are no resource groups here")),
)

FUNCTION_2 = fields_of(_kinds(catalog.FUNCTION_2), _OWN)

FUNCTION_3 = (*fields_of(_kinds(catalog.FUNCTION_3), _OWN), Field("tags", noted("tags are set through the API")))

DEFAULTS_2 = {"description": "", "memorySize": 128, "timeout": 3, "environmentVariables": {}, "initializer": ""}
"""What a function is without a property: a property that a file no longer has goes back to this."""

DEFAULTS_3 = {"description": "", "memorySize": 512, "timeout": 3, "environmentVariables": {}}

_DESTINATION = map_of(Field("destination", text, required=True))


def _side(part: Part, capital: bool) -> Any:
    """Read where results go: a resource name, or a map with it."""
    return {"destination": part.value} if isinstance(part.value, str) else _DESTINATION(part, capital)


_DESTINATIONS = map_of(Field("onSuccess", Like(_side, _DESTINATION)), Field("onFailure", Like(_side, _DESTINATION)))
ASYNC = (
    Field("destinationConfig", _DESTINATIONS, also=("destination", "Destination")),
    Field("maxAsyncEventAgeInSeconds", number),
    Field("maxAsyncRetryAttempts", number),
)
ASYNC_2 = (*ASYNC, Field("statefulInvocation", switch))
ASYNC_3 = (*ASYNC, Field("asyncTask", switch, also=("AsyncTask", "statefulInvocation")), Field("qualifier", text))

_WINDOW = (Field("name", text), Field("startTime", text), Field("endTime", text), Field("timeZone", text))
_ACTIONS = list_of(map_of(*_WINDOW, Field("target", number), Field("scheduleExpression", text)))
_METRIC = (Field("metricType", text), Field("metricTarget", number))
PROVISION = (
    Field("target", number, also=("defaultTarget", "DefaultTarget")),
    Field("alwaysAllocateCPU", switch),
    Field("alwaysAllocateGPU", switch),
    Field("scheduledActions", _ACTIONS),
    Field(
        "targetTrackingPolicies",
        list_of(map_of(*_WINDOW, *_METRIC, Field("minCapacity", number), Field("maxCapacity", number))),
    ),
)
SCALING = (
    Field("minInstances", number),
    Field("residentPoolId", text),
    Field("enableOnDemandScaling", switch),
    Field("enableMixMode", switch),
    Field("requestDispatchPolicy", text),
    Field("scheduledPolicies", _ACTIONS),
    Field(
        "horizontalScalingPolicies",
        list_of(map_of(*_WINDOW, *_METRIC, Field("minInstances", number), Field("maxInstances", number))),
    ),
)
CONCURRENCY = (Field("reservedConcurrency", number, required=True),)

_REWRITES = list_of(map_of(Field("match", text, required=True), Field("replacement", text, required=True)))
ROUTE = (
    Field("path", text),
    Field("serviceName", text),
    Field("functionName", text),
    Field("qualifier", text),
    Field("methods", texts),
    Field(
        "rewriteConfig",
        map_of(Field("equalRules", _REWRITES), Field("wildcardRules", _REWRITES), Field("regexRules", _REWRITES)),
    ),
)
CERTIFICATE = map_of(Field("certName", text), Field("certificate", text), Field("privateKey", text))
DOMAIN = (
    Field("domainName", text, required=True),
    Field("protocol", text),
    Field("certConfig", CERTIFICATE),
    Field("tlsConfig", lowered),
    Field("authConfig", lowered),
    Field("wafConfig", noted("there is no firewall here")),
)
ROUTES = map_of(Field("routes", list_of(map_of(*ROUTE)), required=True))

VERSION = (Field("description", text),)
ALIAS = (
    Field("aliasName", text, required=True),
    Field("versionId", text, required=True),
    Field("description", text),
    Field("additionalVersionWeight", lambda part, capital: {each.name: number(each) for each in part.entries()}),
)
LAYER = (
    Field("layerName", text, required=True),
    Field("compatibleRuntime", texts, required=True),
    Field("description", text),
)


def _filter(part: Part, capital: bool) -> Any:
    """Read which objects count: ``{Key: {Prefix, Suffix}}``."""
    return _known(part, {"key": ("key", lambda key, _: _known(key, _PREFIX, capital))}, capital)


def _lower(part: Part, capital: bool) -> Any:
    """Read a word; templates write it in capitals."""
    found = text(part, capital)
    return found.lower() if found else found


_PREFIX: Mapping[str, tuple[str, Reader]] = {"prefix": ("prefix", text), "suffix": ("suffix", text)}

_CONFIGS: Mapping[str, Mapping[str, tuple[str, Reader]]] = {
    "http": {
        "authtype": ("authType", _lower),
        "methods": ("methods", texts),
        "disableurlinternet": ("disableURLInternet", switch),
        "authconfig": ("authConfig", anything),
        "corsconfig": ("corsConfig", anything),
    },
    "timer": {
        "cronexpression": ("cronExpression", text),
        "payload": ("payload", text),
        "enable": ("enable", switch),
    },
    "oss": {"events": ("events", texts), "filter": ("filter", _filter)},
    "mns_topic": {
        "filtertag": ("filterTag", text),
        "notifycontentformat": ("notifyContentFormat", text),
        "notifystrategy": ("notifyStrategy", text),
    },
    "log": {
        "sourceconfig": ("sourceConfig", anything),
        "jobconfig": ("jobConfig", anything),
        "logconfig": ("logConfig", anything),
        "functionparameter": ("functionParameter", text_map),
        "enable": ("enable", switch),
    },
    "cdn_events": {
        "eventname": ("eventName", text),
        "eventversion": ("eventVersion", text),
        "notes": ("notes", text),
        "filter": ("filter", anything),
    },
    "rds": {
        "subscriptionobjects": ("subscriptionObjects", list_of(text)),
        "retry": ("retry", number),
        "concurrency": ("concurrency", number),
        "eventformat": ("eventFormat", text),
    },
    "tablestore": {},
}
"""Names in lower case -> the API's name and the reader. A type that is missing here (eventbridge) takes anything."""

TRIGGER_TYPES = frozenset({*_CONFIGS, "eventbridge"})


def trigger_config(part: Part, kind: str) -> Any:
    """Return the configuration of a trigger of type *kind*."""
    table = _CONFIGS.get(kind)
    return part.value if table is None else _known(part, table, capital=False)


def _known(part: Part, table: Mapping[str, tuple[str, Reader]], capital: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in part.entries():
        name, read = table.get(entry.name.lower(), ("", anything))
        if not name:
            known = [name for name, _ in table.values()]
            entry.problem(f"there is no such property{suggestion(entry.name, known)}")
        elif entry.value is not None:
            found[name] = read(entry, capital)
    return found
