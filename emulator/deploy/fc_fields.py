"""The properties of services, functions and what belongs to them, by their names in the API.

Source: the parameter tables of the API; the ROS resource types ``ALIYUN::FC::*`` and ``ALIYUN::FC3::*``; the schemas of
the components ``fc`` and ``fc3``.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from emulator.deploy.shapes import (
    Field,
    Like,
    ListOf,
    LocatedValue,
    MapOf,
    Reader,
    anything,
    json_text,
    lowered,
    map_of,
    members,
    noted,
    number,
    switch,
    text,
    text_map,
    texts,
)
from emulator.kernel.spelling import suggestion
from emulator.services.fc.asynchronous import model as asynchronous
from emulator.services.fc.attributes import (
    ANYTHING,
    FLAG,
    TEXT,
    TEXT_MAP,
    TEXTS,
    WHOLE,
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
from emulator.services.fc.capacity import model as capacity
from emulator.services.fc.catalog import fields as catalog
from emulator.services.fc.triggers.model import TRIGGER_CONFIGS

_AUTO = "auto"
_NO_LOG = "logs go to the emulator's own log (localyun logs); kept, without effect"


def or_auto(read: Reader, why: str) -> Reader:
    """Make a reader that also takes the text ``auto``, which asks for a resource of the cloud and has no effect."""

    def read_or_auto(part: LocatedValue, capital: bool) -> Any:
        if isinstance(part.value, str) and part.value.lower() == _AUTO:
            part.note(f"auto: {why}")
            return None
        return read(part, capital)

    return Like(read_or_auto, read)


def with_note(read: Reader, why: str) -> Reader:
    """Make a reader of what is kept as given but has no effect."""

    def read_with_note(part: LocatedValue, capital: bool) -> Any:
        part.note(why)
        return read(part, capital)

    return Like(read_with_note, read)


_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "vSwitchIds": ("vswitchIds", "vSwitchIDs", "VSwitchIds"),
    "mountDir": ("fcDir",),
    "httpGetUrl": ("HttpGetURL", "httpGetURL"),
    "destinationConfig": ("destination", "Destination"),
    "asyncTask": ("AsyncTask", "statefulInvocation"),
}
"""Other spellings of fields in files."""

_REQUIRED = frozenset(
    {
        "runtime", "image", "serverAddr", "destination", "reservedConcurrency", "match", "replacement", "versionId",
        "compatibleRuntime",
    }
)  # fmt: skip


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
        case Items(kind=OneOf(fold=fold)) if fold is not None:
            return _folded(fold, texts)
        case Items():
            item = text if isinstance(kind.kind, (Text, OneOf)) else _reader(name, kind.kind, own)
            return texts if item is text else ListOf(item)
        case Ruled():
            return _reader(name, kind.kind, own)
        case OneOf(fold=fold) if fold is not None:
            return _folded(fold, text)
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


def _folded(fold: Callable[[str], str], read: Reader) -> Reader:
    """Make a reader of a word, or a list of words, in the spelling that the service keeps."""

    def read_folded(part: LocatedValue, capital: bool) -> Any:
        value = read(part, capital)
        return [fold(word) for word in value if word] if isinstance(value, list) else value and fold(value)

    return read_folded


_RULED: Mapping[str, Reader] = {
    "cpu": number,
    "environmentVariables": text_map,
    "layers": texts,
    "metricTarget": number,
    "versionId": text,
    "events": text,
    "additionalVersionWeight": lambda part, capital: {each.name: number(each) for each in part.entries()},
}
"""Readers of fields whose kind is a rule of its own."""


def _kinds(table: tuple[Row, ...]) -> dict[str, Check]:
    return {row.wire: row.kind for row in table}


_MOUNT_POINT = MapOf(fields_of(cast("Any", _kinds(catalog.SERVICE)["nasConfig"]).fields["mountPoints"].kind.fields, {}))


def _mount_point(part: LocatedValue, capital: bool) -> dict[str, Any]:
    """Read a mount point; component fc splits its address into host and folder."""
    values = members(part, (*_MOUNT_POINT.table, Field("nasDir", text)), capital=capital)
    if folder := values.pop("nasDir", None):
        values["serverAddr"] = f"{values.get('serverAddr')}:{folder}"
    return values


def _tracing(part: LocatedValue, capital: bool) -> Any:
    """Read a tracing configuration; component fc says Enable or Disable."""
    if isinstance(part.value, str):
        part.note("there is no tracing here")
        return None
    return _reader("tracingConfig", _kinds(catalog.SERVICE)["tracingConfig"], {})(part, capital)


def _without_effect(name: str, why: str) -> Reader:
    """Make the reader of a configuration that is kept and has no effect."""
    own = {"mountPoints": ListOf(Like(_mount_point, _MOUNT_POINT))} if name == "nasConfig" else {}
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


def _side(part: LocatedValue, capital: bool) -> Any:
    """Read where results go: a resource name, or a map with it."""
    return {"destination": part.value} if isinstance(part.value, str) else _DESTINATION(part, capital)


_SIDES = {name: Like(_side, _DESTINATION) for name in ("onSuccess", "onFailure")}
ASYNC_2 = fields_of(_kinds(asynchronous.CONFIG_2), _SIDES)
ASYNC_3 = (*fields_of(_kinds(asynchronous.CONFIG_3), _SIDES), Field("qualifier", text))


def _without(shape: Shape, *names: str) -> dict[str, Check]:
    return {name: kind for name, kind in shape.fields.items() if name not in names}


PROVISION = (
    Field("target", number, also=("defaultTarget", "DefaultTarget")),
    *fields_of(_without(capacity.PROVISION, "target", "defaultTarget"), {}),
)
SCALING = fields_of(capacity.SCALING.fields, {})
CONCURRENCY = fields_of(capacity.CONCURRENCY.fields, {})

ROUTE = fields_of(catalog.ROUTE.fields, {})
ROUTES = map_of(Field("routes", ListOf(map_of(*ROUTE)), required=True))
CERTIFICATE = _reader("certConfig", catalog.DOMAIN.fields["certConfig"], {})
DOMAIN = (
    Field("domainName", text, required=True),
    *fields_of(_without(catalog.DOMAIN, "routeConfig"), {"wafConfig": noted("there is no firewall here")}),
    Field("routeConfig", ROUTES),
)

VERSION = fields_of(_kinds((catalog.DESCRIPTION,)), {})
ALIAS = (Field("aliasName", text, required=True), *fields_of(_kinds(catalog.ALIAS), {}))
LAYER = (Field("layerName", text, required=True), *fields_of(_kinds(catalog.LAYER), {}))


_CONFIGS: Mapping[str, Check] = {
    **TRIGGER_CONFIGS,  # type: ignore[dict-item]  # its keys are texts
    "log": Shape(
        sourceConfig=ANYTHING, jobConfig=ANYTHING, logConfig=ANYTHING, functionParameter=TEXT_MAP, enable=FLAG
    ),
    "cdn_events": Shape(eventName=TEXT, eventVersion=TEXT, notes=TEXT, filter=ANYTHING),
    "rds": Shape(subscriptionObjects=TEXTS, retry=WHOLE, concurrency=WHOLE, eventFormat=TEXT),
    "tablestore": Shape(),
}
"""The configurations that the service checks, and those that it passes on as the services they are for know them.

One that is not a `Shape` (eventbridge) takes anything.
"""

TRIGGER_TYPES = frozenset(_CONFIGS)


def trigger_config(part: LocatedValue, kind: str) -> Any:
    """Return the configuration of a trigger of type *kind*; the case of its names does not count."""
    shape = _CONFIGS.get(kind, ANYTHING)
    return _members(part, shape) if isinstance(shape, Shape) else part.value


def _members(part: LocatedValue, shape: Shape) -> dict[str, Any]:
    names = {name.lower(): name for name in shape.fields}
    values: dict[str, Any] = {}
    for entry in part.entries():
        name = names.get(entry.name.lower(), "")
        if not name:
            entry.problem(f"there is no such property{suggestion(entry.name, list(shape.fields))}")
        elif entry.value is not None:
            kind = shape.fields[name]
            values[name] = _members(entry, kind) if isinstance(kind, Shape) else _reader(name, kind, {})(entry, False)
    return values
