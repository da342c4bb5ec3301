"""The properties of services, functions and their parts in files: the rows of the service, and notes.

Properties without effect here are noted; forms that only the components of ``s.yaml`` have are read too.

Source: the parameter tables of the API; the ROS resource types ``ALIYUN::FC::*`` and ``ALIYUN::FC3::*``; the schemas of
the components ``fc`` and ``fc3``.
"""

import hmac
import json
import re
from collections.abc import Mapping
from hashlib import sha1
from typing import Any, assert_never
from uuid import UUID

from emulator.deploy.notation import FILES, members
from emulator.deploy.places import LocatedValue
from emulator.kernel.phrases import Phrase
from emulator.kernel.spelling import suggestion
from emulator.services.fc.asynchronous import model as asynchronous
from emulator.services.fc.capacity import model as capacity
from emulator.services.fc.catalog import alias_fields, domain_fields
from emulator.services.fc.catalog import fields as catalog
from emulator.services.fc.triggers.model import TriggerKind, trigger_type_of
from emulator.wire.schema.kinds import (
    ANYTHING,
    FLAG,
    TEXT,
    TEXT_MAP,
    TEXTS,
    WHOLE,
    Also,
    Field,
    Items,
    Kind,
    Noted,
    Shape,
    member,
    needed,
    record,
)

_LONGEST_PROJECT = 63
_LONGEST_NAME_IN_A_STORE = 44
_NO_LOG = Phrase("logs go to the emulator's own log (localyun logs); stored, without effect")


def _shape(kind: Kind) -> Shape:
    assert isinstance(kind, Shape)
    return kind


_NAS = _shape(catalog.SERVICE["nasConfig"].kind)
_TRACING = catalog.SERVICE["tracingConfig"].kind
_MOUNT_POINTS = _NAS["mountPoints"].kind
assert isinstance(_MOUNT_POINTS, Items)
_MOUNT_POINT = _shape(_MOUNT_POINTS.kind)


def _mount_point(part: LocatedValue, capital: bool) -> dict[str, Any]:
    """Read a mount point; component fc splits its address into host and folder."""
    values = members(part, _MOUNT_POINT.extended(member("nasDir")), capital=capital)
    if folder := values.pop("nasDir", None):
        values["serverAddr"] = f"{values.get('serverAddr')}:{folder}"
    return values


def _tracing(part: LocatedValue, capital: bool) -> Any:
    """Read a tracing configuration; component fc says Enable or Disable."""
    if isinstance(part.value, str):
        part.note("there is no tracing here")
        return None
    return FILES.reader(_TRACING)(part, capital)


def _without_effect(name: str, why: str, kind: Kind | None = None) -> Noted:
    """Return the kind of a configuration that is stored without effect, and that files may also give as ``auto``."""
    unset = catalog.ALWAYS_SHOWN.get(name)
    noted = Phrase("{why}; stored, without effect", why=Phrase(why))
    return Noted(noted, kind or catalog.SERVICE[name].kind, or_auto=why, unset=unset)


_OWN: Mapping[str, Kind] = {
    "logConfig": Noted(
        _NO_LOG, catalog.SERVICE["logConfig"].kind, or_auto=_NO_LOG, unset=catalog.ALWAYS_SHOWN["logConfig"]
    ),
    "vpcConfig": _without_effect("vpcConfig", "there is no VPC here"),
    "nasConfig": _without_effect(
        "nasConfig",
        "no file system is mounted",
        _NAS.with_kinds(mountPoints=Items(Also(_MOUNT_POINT, _mount_point))),
    ),
    "ossMountConfig": _without_effect("ossMountConfig", "no bucket is mounted"),
    "tracingConfig": Also(_TRACING, _tracing),
}

SERVICE = catalog.SERVICE.with_kinds(**_OWN).extended(
    Field("vpcBinding", "", Noted("there is no VPC here"), names={"file": ("vpcBinding", "VpcBindings")}),
    member("tags", Noted("tags of services are set through the API")),
    member("resourceGroupId", Noted("there are no resource groups here")),
)
FUNCTION_2 = catalog.FUNCTION_2.with_kinds(**_OWN)
FUNCTION_3 = catalog.FUNCTION_3.with_kinds(**_OWN).extended(member("tags", Noted("tags are set through the API")))

DEFAULTS_2 = {"description": "", "memorySize": 128, "timeout": 3, "environmentVariables": {}, "initializer": ""}
"""The defaults of a function's properties, to which a property removed from a file returns."""

DEFAULTS_3 = {"description": "", "memorySize": 512, "timeout": 3, "environmentVariables": {}}

_METRICS: Mapping[str, Any] = {
    "enableInstanceMetrics": True, "enableRequestMetrics": True, "logBeginRule": "DefaultRegex",
    "logstore": "default-logs",
}  # fmt: skip


def log_of_auto(asked: object, account: str, region: str) -> dict[str, Any] | None:
    """Return the logConfig that component fc3 writes for ``auto`` and ``auto|logBeginRule=None``, None for others.

    Its project is the same for all functions of an account in a region.

    Source: devsapp/fc3, deploy/impl/function.ts and resources/sls/index.ts; its uuid-by-string hashes the account.
    """
    word, *settings = asked.split("|") if isinstance(asked, str) else [""]
    if word.lower() != "auto":
        return None
    number = UUID(bytes=sha1(account.encode(), usedforsecurity=False).digest()[:16], version=5)
    pairs = (setting.split("=")[:2] for setting in settings if setting.count("="))
    chosen = {key.strip(): _scalar(text.strip()) for key, text in pairs if key and text}
    return {**_METRICS, "project": f"serverless-{region}-{number}"[:_LONGEST_PROJECT], **chosen}


def is_log_of_auto(log: object, region: str) -> bool:
    """Whether a logConfig is the one for ``auto`` in *region*, in any account."""
    if not isinstance(log, dict) or {**log, "project": ""} != {**_METRICS, "project": ""}:
        return False
    return re.fullmatch(rf"serverless-{re.escape(region)}-[0-9a-f-]{{20,}}", str(log.get("project"))) is not None


def log_of_auto_service(asked: object, account: str, region: str, service: str) -> dict[str, Any] | None:
    """Return the logConfig that component fc writes into *service* for ``auto``, None for others.

    A name of more than 44 characters goes into the store's name as its first six and a hash.

    Source: devsapp/fc-deploy, lib/resource/sls.ts and lib/utils/utils.ts.
    """
    if not isinstance(asked, str) or asked.lower() != "auto":
        return None
    store = f"fc-service-{service}-logstore".lower()
    if len(service) > _LONGEST_NAME_IN_A_STORE:
        number = hmac.new(account.encode(), service.encode(), "md5").hexdigest()
        store = f"{service[:6]}-{number[:7]}-{region}"
    return {
        "project": f"{account}-{region}-logproject", "logstore": store,
        "enableRequestMetrics": True, "enableInstanceMetrics": True,
    }  # fmt: skip


def _scalar(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


_SIDE = record(needed("destination"))


def _side(part: LocatedValue, capital: bool) -> Any:
    """Read a destination of results: a resource name, or a map with it."""
    return {"destination": part.value} if isinstance(part.value, str) else members(part, _SIDE, capital=capital)


_SIDES = record(onSuccess=Also(_SIDE, _side), onFailure=Also(_SIDE, _side))
ASYNC_2 = asynchronous.CONFIG_2.with_kinds(destinationConfig=_SIDES)
ASYNC_3 = asynchronous.CONFIG_3.with_kinds(destinationConfig=_SIDES).extended(member("qualifier"))

PROVISION = capacity.PROVISION.without("defaultTarget")
SCALING = capacity.SCALING
CONCURRENCY = capacity.CONCURRENCY

ROUTE = domain_fields.ROUTE
CERTIFICATE = domain_fields.DOMAIN["certConfig"].kind
DOMAIN = Shape(
    "Domain",
    (
        needed("domainName"),
        *domain_fields.DOMAIN.with_kinds(
            wafConfig=Noted("there is no firewall here"), routeConfig=record(needed("routes", Items(ROUTE)))
        ),
    ),
)

VERSION = Shape("Version", (catalog.DESCRIPTION,))
ALIAS = Shape("Alias", (needed("aliasName"), *alias_fields.ALIAS))
LAYER = Shape("Layer", (needed("layerName"), *catalog.LAYER))


_LOG = record(sourceConfig=ANYTHING, jobConfig=ANYTHING, logConfig=ANYTHING, functionParameter=TEXT_MAP, enable=FLAG)
_CDN_EVENTS = record(eventName=TEXT, eventVersion=TEXT, notes=TEXT, filter=ANYTHING)
_RDS = record(subscriptionObjects=TEXTS, retry=WHOLE, concurrency=WHOLE, eventFormat=TEXT)
_TABLESTORE = record()


def _config(kind: TriggerKind) -> Kind:
    """Return the kind of a trigger's configuration.

    It is the service's; for event sources whose configuration the service passes on, that of the source, or any value.
    """
    match kind:
        case "http" | "timer" | "oss" | "mns_topic" | "eventbridge":
            return trigger_type_of(kind).config
        case "log":
            return _LOG
        case "cdn_events":
            return _CDN_EVENTS
        case "rds":
            return _RDS
        case "tablestore":
            return _TABLESTORE
        case _:
            assert_never(kind)


def trigger_config(part: LocatedValue, kind: TriggerKind) -> Any:
    """Return the configuration of a trigger of type *kind*; its names are matched without regard to case."""
    shape = _config(kind)
    return _members(part, shape) if isinstance(shape, Shape) else part.value


def _members(part: LocatedValue, shape: Shape) -> dict[str, Any]:
    fields = {each.name.lower(): each for each in shape}
    values: dict[str, Any] = {}
    for entry in part.entries():
        field = fields.get(entry.name.lower())
        if field is None:
            entry.problem("there is no such property", suggestion(entry.name, [each.name for each in shape]))
        elif entry.value is not None:
            kind = field.kind
            values[field.name] = _members(entry, kind) if isinstance(kind, Shape) else FILES.reader(kind)(entry, False)
    return values
