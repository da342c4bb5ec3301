"""The plain resource types of ROS, for reading and writing templates: ``ALIYUN::FC``, ``FC3``, ``FNF``, ``MNS`` ...

Source: Resource Orchestration Service, reference of resource types.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from emulator.deploy import fc_fields as fields
from emulator.deploy import service_fields
from emulator.deploy.build import (
    ATTACHMENT_TYPE,
    POLICY_TYPE,
    ROLE_TYPE,
    Build,
    Event,
    add_calls_2,
    policy_properties,
    role_properties,
    trigger_properties,
    trigger_type,
)
from emulator.deploy.files import packed_text
from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import Resource
from emulator.deploy.notation import document, members, uncapitalised, written_members
from emulator.deploy.places import LocatedValue
from emulator.deploy.provider import decoded
from emulator.kernel.frozen import frozen
from emulator.kernel.names import FLOW
from emulator.services.mns.queues.model import QUEUE
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC
from emulator.services.ram import model as roles
from emulator.wire.schema.kinds import (
    AS_WRITTEN,
    FLAG,
    JSON_TEXT,
    NUMBER,
    TEXT,
    Field,
    Noted,
    Shape,
    member,
    needed,
    record,
)

Values = dict[str, Any]


@frozen(kw_only=False)
class Reading:
    """A resource in a file: its part, the part with its properties, and their values by name in the API."""

    build: Build
    part: LocatedValue
    place: LocatedValue
    values: Values


@frozen(kw_only=False)
class RosType:
    """A plain resource type: its kind and all its properties, those of the identity included.

    ``defaults`` are members of the body that a file may leave out, ``beside`` are properties that are not part of the
    body. ``convert`` makes the body from the values read, or returns None after a problem; ``also`` adds further
    resources. ``names`` are the properties of the identity, if attributes have other names. ``written`` returns the
    properties from which a body is read: the inverse of ``convert``.
    """

    kind: str
    table: tuple[Field, ...]
    defaults: Mapping[str, Any] = {}
    beside: tuple[str, ...] = ()
    convert: Callable[[Reading], Values | None] = lambda it: it.build.with_role(it.values)
    also: Callable[[Reading, Resource], None] = lambda it, made: None
    names: tuple[str, ...] = ()
    written: Callable[["RosType", Values], Values] = lambda own, body: written_members(own.table, body, capital=True)

    @property
    def identity(self) -> tuple[str, ...]:
        """The properties that make up the identity, without the name in the file of an `is_named_by_file`."""
        return self.names or PROVIDERS[self.kind].names

    def __call__(self, build: Build, part: LocatedValue, type_name: str) -> None:
        """Add a resource of a template."""
        self.add(build, part, build.properties(part), type_name, capital=True)

    def add(
        self, build: Build, part: LocatedValue, place: LocatedValue, type_name: str = "", *, capital: bool = False
    ) -> None:
        """Add a resource whose properties are at *place*; without *capital* their names begin in lower case."""
        it = Reading(build, part, place, members(place, self.table, capital=capital))
        package = _package(place, it.values) if _CODE in self.table else None
        properties = self.convert(it)
        if properties is None:
            return
        names = [uncapitalised(name) for name in self.identity]
        identity = [it.values.get(name) or ("LATEST" if name == "qualifier" else "") for name in names]
        if PROVIDERS[self.kind].is_named_by_file:
            identity.append(part.name)
        own = {name: value for name, value in properties.items() if name not in (*names, *self.beside)}
        body = {**self.defaults, **own}
        self.also(it, build.add(part, self.kind, tuple(identity), body, type_name=type_name, package=package))


_SERVICE_NAME = needed("serviceName")
_FUNCTION_NAME = needed("functionName")
_QUALIFIER = member("qualifier")

_CODE = member("code", record(zipFile=TEXT, sourceCode=TEXT, ossBucketName=TEXT, ossObjectName=TEXT, checksum=TEXT))
_SOURCE_FILES = {"python": "index.py", "nodejs": "index.js", "php": "index.php"}


def _package(place: LocatedValue, values: Values) -> bytes | None:
    """Return the package; for code in a bucket return None and put its place into *values*.

    The text of a handler is packed under the file name that the runtime expects.
    """
    code, runtime, where = values.pop("code", None), str(values.get("runtime", "")), place.member("Code")
    if code is None:
        if not runtime.startswith("custom-container") and not where.is_unknown:
            place.problem("Code is missing")
        return None
    if source := code.get("sourceCode"):
        name = next((name for prefix, name in _SOURCE_FILES.items() if runtime.startswith(prefix)), "index.py")
        return packed_text(name, source)
    if zipped := code.get("zipFile"):
        package = decoded(zipped)
        if package is None:
            where.member("ZipFile").problem("is not base64 of a zip archive")
        return package
    if code.get("ossBucketName") and code.get("ossObjectName"):
        values["code"] = {name: code[name] for name in ("ossBucketName", "ossObjectName")}
    else:
        where.problem("needs ZipFile, SourceCode, or OssBucketName and OssObjectName")
    return None


def _trigger(it: Reading) -> Values | None:
    if "triggerType" not in it.values:
        return None
    kind, config = trigger_type(it.place.member("TriggerType")), it.place.member("TriggerConfig")
    if isinstance(config.value, str):
        config = config.with_value(_opened(config))
    if kind is None:
        return None
    event = Event(
        kind=kind,
        config=config,
        role=it.values.get("invocationRole"),
        qualifier=it.values.get("qualifier"),
        source=it.values.get("sourceArn"),
        description=it.values.get("description"),
    )
    return trigger_properties(it.build, event)


def _opened(part: LocatedValue) -> Any:
    try:
        return json.loads(part.value)
    except (ValueError, RecursionError):
        part.problem("is not JSON")
        return {}


def _flow(it: Reading) -> Values:
    it.values["name"] = it.values.get("name") or it.build.default_name(it.part, FLOW)
    return service_fields.flow_properties(it.values)


def _calls_2(it: Reading, made: Resource) -> None:
    add_calls_2(it.build, it.part, made, it.values.get("asyncConfiguration"), "ALIYUN::FC::AsyncConfiguration")


def _settings_3(it: Reading, made: Resource) -> None:
    """Add the asynchronous call settings and the limit of instances of a function."""
    if calls := it.values.get("asyncInvokeConfig"):
        identity = (*made.identity, calls.pop("qualifier", None) or "LATEST")
        logical, type_name = f"{made.logical}/async", f"{_FC3}AsyncInvokeConfig"
        it.build.add(it.part, "fc3.async", identity, calls, type_name=type_name, logical=logical)
    limit = it.values.get("concurrencyConfig")
    if not limit and (reserved := it.values.get("reservedConcurrency")):
        limit = {"reservedConcurrency": reserved}
    if limit:
        logical, type_name = f"{made.logical}/concurrency", f"{_FC3}ConcurrencyConfig"
        it.build.add(it.part, "fc3.concurrency", made.identity, limit, type_name=type_name, logical=logical)


_FC3 = "ALIYUN::FC3::"
_TRIGGER = (
    _FUNCTION_NAME,
    needed("triggerName"),
    needed("triggerType"),
    member("triggerConfig", AS_WRITTEN),
    member("sourceArn"),
    member("invocationRole"),
    member("description"),
    _QUALIFIER,
)
_INVOCATION = (
    _FUNCTION_NAME,
    member("event", JSON_TEXT),
    _QUALIFIER,
    member("async", FLAG),
    member("serviceRegionId", Noted("there is one region")),
    member("executeVersion"),
    member("checkError", FLAG),
)


_FUNCTION_2 = (
    *fields.FUNCTION_2,
    _SERVICE_NAME,
    _FUNCTION_NAME,
    _CODE,
    member("asyncConfiguration", fields.ASYNC_2),
    member("projectName", Noted("logs go to the emulator's own log")),
    member("tags", Noted("tags of functions are set through the API")),
)
_SETTINGS_3 = (
    member("asyncInvokeConfig", fields.ASYNC_3),
    member("concurrencyConfig", fields.CONCURRENCY),
    member("reservedConcurrency", NUMBER),
)
_FUNCTION_3 = (*fields.FUNCTION_3, _FUNCTION_NAME, _CODE, *_SETTINGS_3)
_OF_FUNCTION_3 = (_FUNCTION_NAME, _QUALIFIER)
_ALIAS = {"description": "", "additionalVersionWeight": {}}
_DOMAIN = (*fields.DOMAIN, member("apiVersion"))
_HTTP = {"protocol": "HTTP"}


def _needed(*names: str) -> tuple[Field, ...]:
    return tuple(needed(name) for name in names)


def _messages(table: Shape, *also: Field) -> RosType:
    """Return the type of queues, topics or subscriptions; *also* are further properties."""
    names = tuple(uncapitalised(name) for name in PROVIDERS[f"mns.{table.title.lower()}"].names)
    return RosType(
        f"mns.{table.title.lower()}",
        (*_needed(*names), *service_fields.fields_of(table), *also),
        convert=lambda it: service_fields.message_properties(it.build, table, it.values),
        written=lambda own, body: service_fields.file_values(table, body, capital=True),
    )


def _written_in_small(own: RosType, body: Values) -> Values:
    """Return the members of a body, whose names begin with a capital letter in the API too."""
    return written_members(own.table, {uncapitalised(name): value for name, value in body.items()}, capital=True)


BUCKET = ("AccessControl", "StorageClass")
"""The properties of a bucket in files."""


def _role_written(own: RosType, body: Values) -> Values:
    others = {each.name: body.get(each.name) for each in roles.ROLE.of_form("file")}
    return {**others, "AssumeRolePolicyDocument": document(body["AssumeRolePolicyDocument"])}


def _policy_written(own: RosType, body: Values) -> Values:
    return {"PolicyDocument": document(body["PolicyDocument"]), "Description": body.get("Description")}


_TAGS = member("tags", Noted("tags are set through the API"))

ROS_TYPES: Mapping[str, RosType] = {
    "ALIYUN::FC::Service": RosType("fc.service", (_SERVICE_NAME, *fields.SERVICE), {"description": ""}),
    "ALIYUN::FC::Function": RosType(
        "fc.function", _FUNCTION_2, fields.DEFAULTS_2, ("asyncConfiguration",), also=_calls_2
    ),
    "ALIYUN::FC::Trigger": RosType("fc.trigger", (*_TRIGGER, _SERVICE_NAME), convert=_trigger),
    "ALIYUN::FC::Version": RosType("fc.version", (_SERVICE_NAME, *fields.VERSION)),
    "ALIYUN::FC::Alias": RosType("fc.alias", (_SERVICE_NAME, *fields.ALIAS), _ALIAS),
    "ALIYUN::FC::ProvisionConfig": RosType(
        "fc.provision", (*_needed("serviceName", "functionName", "qualifier"), *fields.PROVISION)
    ),
    "ALIYUN::FC::CustomDomain": RosType("fc.domain", _DOMAIN, _HTTP, ("apiVersion",)),
    "ALIYUN::FC::Layer": RosType("fc.layer", (*fields.LAYER, _CODE)),
    "ALIYUN::FC::FunctionInvoker": RosType("fc.invocation", (*_INVOCATION, _SERVICE_NAME)),
    _FC3 + "Function": RosType(
        "fc3.function", _FUNCTION_3, fields.DEFAULTS_3, tuple(each.name for each in _SETTINGS_3), also=_settings_3
    ),
    _FC3 + "Trigger": RosType("fc3.trigger", _TRIGGER, convert=_trigger),
    _FC3 + "Version": RosType("fc3.version", (_FUNCTION_NAME, *fields.VERSION)),
    _FC3 + "Alias": RosType("fc3.alias", (_FUNCTION_NAME, *fields.ALIAS), _ALIAS),
    _FC3 + "ProvisionConfig": RosType("fc3.provision", (*_OF_FUNCTION_3, *fields.PROVISION)),
    _FC3 + "ScalingConfig": RosType("fc3.scaling", (*_OF_FUNCTION_3, *fields.SCALING)),
    _FC3 + "ConcurrencyConfig": RosType(
        "fc3.concurrency", (*_OF_FUNCTION_3, *fields.CONCURRENCY), beside=("qualifier",)
    ),
    _FC3 + "AsyncInvokeConfig": RosType("fc3.async", (*_OF_FUNCTION_3, *fields.ASYNC_3.without("qualifier"))),
    _FC3 + "CustomDomain": RosType("fc3.domain", _DOMAIN, _HTTP, ("apiVersion",)),
    _FC3 + "LayerVersion": RosType("fc3.layer", (*fields.LAYER, _CODE)),
    _FC3 + "FunctionInvoker": RosType("fc3.invocation", _INVOCATION),
    "ALIYUN::FNF::Flow": RosType("fnf.flow", service_fields.FLOW, convert=_flow, written=_written_in_small),
    "ALIYUN::FNF::Schedule": RosType(
        "fnf.schedule",
        service_fields.SCHEDULE,
        convert=lambda it: service_fields.schedule_properties(it.values),
        written=_written_in_small,
    ),
    "ALIYUN::MNS::Queue": _messages(QUEUE, _TAGS),
    "ALIYUN::MNS::Topic": _messages(TOPIC, _TAGS),
    "ALIYUN::MNS::Subscription": _messages(SUBSCRIPTION),
    "ALIYUN::OSS::Bucket": RosType(
        "oss.bucket",
        service_fields.BUCKET,
        convert=lambda it: service_fields.bucket_properties(it.values),
        names=("BucketName",),
        written=lambda own, body: {name: body.get(name) for name in BUCKET},
    ),
    ROLE_TYPE: RosType(
        "ram.role",
        service_fields.ROLE,
        convert=lambda it: role_properties(it.values.get("assumeRolePolicyDocument", {}), it.values),
        also=lambda it, made: service_fields.add_policies_of_role(it.build, it.part, made, it.values),
        written=_role_written,
    ),
    POLICY_TYPE: RosType(
        "ram.policy",
        service_fields.POLICY,
        convert=lambda it: policy_properties(it.values.get("policyDocument", {}), it.values.get("description")),
        also=lambda it, made: service_fields.add_roles_of_policy(it.build, it.part, made, it.values),
        written=_policy_written,
    ),
    ATTACHMENT_TYPE: RosType(
        "ram.attachment", _needed("policyName", "policyType", "roleName"), written=lambda own, body: {}
    ),
}
"""The types by their names in templates."""
