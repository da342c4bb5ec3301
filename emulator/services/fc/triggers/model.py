"""Triggers, which call functions besides InvokeFunction: their configurations and host names; custom domains.

Source: Function Compute, formats of events for different triggers.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeGuard, assert_never, cast, get_args

from emulator.kernel.cron import LENIENT, CronError, parse_schedule
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.kernel.names import OF_QUEUES_AND_TOPICS
from emulator.services.fc import limits
from emulator.services.fc.codec import BODY
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.kinds import METHOD
from emulator.services.fc.model import LATEST, Resource, Struct
from emulator.services.fc.triggers.http_access import read_rules
from emulator.wire.schema.kinds import ANYTHING, FLAG, TEXT, Items, Kind, OneOf, Ruled, Text, record

TriggerKind = Literal[
    "http", "timer", "oss", "mns_topic", "log", "tablestore", "cdn_events", "eventbridge", "rds"
]  # fmt: skip
AuthKind = Literal["anonymous", "function", "jwt"]

_OUTSIDE_LABEL = r"[^a-z0-9-]+"


@frozen
class Trigger(Resource):
    """A trigger of a function. ``service`` is empty for a 3.0 function.

    ``config`` is checked and under the API's own names. ``qualifier`` is a version, an alias or ``LATEST``. ``label``
    is the first label of an HTTP trigger's own host names, empty for other kinds. ``folder`` is the file it was read
    from, empty when it was made by the API.
    """

    service: str
    function: str
    name: str
    kind: TriggerKind
    config: Struct
    source_arn: str = ""
    role: str = ""
    qualifier: str = LATEST
    description: str = ""
    label: str = ""
    folder: str = ""

    @property
    def auth(self) -> AuthKind:
        """The kind of authentication that an HTTP trigger asks for."""
        kind: AuthKind = self.config.get("authType", "function")
        return kind

    @property
    def enabled(self) -> bool:
        """Whether a trigger that can be switched off is on; the others always are."""
        return bool(self.config.get("enable", self.config.get("triggerEnable", True)))


@frozen
class Domain(Resource):
    """A custom domain. ``config`` is checked and under the API's own names; ``api`` is the version that made it.

    ``name`` is in lower case, ``config["domainName"]`` as it was written.
    """

    name: str
    tenant: Tenant
    api: str
    config: Struct

    @property
    def https(self) -> bool:
        """Whether it is served over HTTPS."""
        return is_https(self.config.get("protocol"))

    @property
    def routes(self) -> Sequence[Struct]:
        """Its routes, in the API's form."""
        routes: Sequence[Struct] = (self.config.get("routeConfig") or {}).get("routes") or ()
        return routes


def is_https(protocol: str | None) -> bool:
    """Whether a custom domain with this ``protocol``, or without one, is served over HTTPS."""
    return protocol is not None and "HTTPS" in protocol


Fire = Callable[[Tenant, Trigger, bytes, str], str]
"""Queues a call of a trigger's function: tenant, trigger, event, key; returns its request id.

It is queued in the current transaction, and not again for a key that is known. Raises: FcError.
"""


def host_label(service: str, function: str, trigger_id: str) -> str:
    """Return the first label of the trigger's host names: readable, a valid host label, different for every trigger."""
    readable = re.sub(_OUTSIDE_LABEL, "-", f"{function}-{service}".lower()).strip("-")[:48].strip("-") or "function"
    number = int.from_bytes(sha256(trigger_id.encode()).digest()[:8], "big")
    letters = ""
    for _ in range(10):
        number, letter = divmod(number, 26)
        letters += chr(ord("a") + letter)
    return f"{readable}-{letters}"


TriggerKey = tuple[str, Tenant, str, str, str]
"""The key of a trigger's timer and reader: a constant word, the tenant, service, function and name."""


def trigger_key(tenant: Tenant, trigger: Trigger) -> TriggerKey:
    """Return the key of a trigger."""
    return ("fc trigger", tenant, trigger.service, trigger.function, trigger.name)


def trigger_path(trigger: Trigger) -> str:
    """Return the path an HTTP trigger is served under on every host name, without a final slash.

    Source: the form of 2.0 is the cloud's; the one of 3.0 is the emulator's own.
    """
    qualifier = "" if trigger.qualifier == LATEST else f".{trigger.qualifier}"
    if trigger.service:
        return f"/2016-08-15/proxy/{trigger.service}{qualifier}/{trigger.function}"
    return f"/2023-03-30/proxy/{trigger.function}{qualifier}"


KINDS = frozenset(get_args(TriggerKind))
_KIND = OneOf(KINDS)


class TriggerType(NamedTuple):
    """The properties that all triggers of a kind share.

    ``config`` is the kind of its configuration; one that is ``passed_on`` is for another service, which checks it.
    ``needs_source`` and ``needs_role`` say whether a trigger has to name its event source and the role that its source
    calls with. ``caller`` is the service that calls, for permissions; empty where none are checked.
    """

    config: Kind
    needs_source: bool = False
    needs_role: bool = False
    passed_on: bool = False
    caller: str = ""


# texts, not compiled patterns: few starts need them, and the library keeps what it has compiled
_OBJECT_EVENT = r"oss:(?:ObjectCreated|ObjectRemoved|ObjectModified|ObjectReplication):(?:\*|[A-Za-z]+)"
_TOPIC_ARN = rf"acs:mns:[^:]*:[^:]*:/?topics/({OF_QUEUES_AND_TOPICS})(?:/messages)?"
_BUCKET_ARN = r"acs:oss:[^:]*:[^:]*:([a-z0-9][a-z0-9-]*)"


def config_of(kind: TriggerKind, value: object) -> Struct:
    """Check a trigger's configuration: an object, or a string that holds one.

    Raises: InvalidArgument.
    """
    config = _opened(value)
    known: dict[str, Any] = BODY.reader(trigger_type_of(kind).config)(config, "triggerConfig")
    match kind:
        case "http":
            return _http(known)
        case "timer":
            return _timer(known)
        case "oss":
            if not known.get("events"):
                raise InvalidArgument("triggerConfig.events is required for an oss trigger")
            return known
        case "mns_topic":
            return _completed(known, {"notifyContentFormat": "STREAM", "notifyStrategy": "BACKOFF_RETRY"})
        case "log" | "tablestore" | "cdn_events" | "eventbridge" | "rds":  # checked by the services that fire them
            return known
        case _:
            assert_never(kind)


def is_kind(text: str) -> TypeGuard[TriggerKind]:
    """Whether there are triggers of the kind *text*."""
    return text in KINDS


def kind_of(value: object) -> TriggerKind:
    """Check the type of a trigger.

    Raises: InvalidArgument.
    """
    if not value:
        raise InvalidArgument("triggerType is required")
    return cast(TriggerKind, BODY.reader(_KIND)(value, "triggerType"))


def check_source(kind: TriggerKind, source_arn: str, role: str, *, role_needed: bool = True) -> None:
    """Check that a trigger names its event source, and the role its source calls with.

    Raises: InvalidArgument.
    """
    known = trigger_type_of(kind)
    if known.needs_source and not source_arn:
        raise InvalidArgument(f"sourceArn is required for a trigger of type {kind}")
    if kind == "mns_topic" and not topic_of(source_arn):
        raise InvalidArgument(
            f"sourceArn '{source_arn[:200]}' is invalid: it must name a topic, in letters, digits and '-'"
        )
    if kind == "oss" and not bucket_of(source_arn):
        raise InvalidArgument(f"sourceArn '{source_arn[:200]}' is invalid: it must name a bucket")
    if role_needed and known.needs_role and not role:
        raise InvalidArgument(f"invocationRole is required for a trigger of type {kind}")


def topic_of(source_arn: str) -> str:
    """Return the topic in a resource name, empty when it is not that of a topic."""
    match = re.fullmatch(_TOPIC_ARN, source_arn)
    return match[1] if match else ""


def can_name_queue(name: str) -> bool:
    """Whether a queue can have this name."""
    return re.fullmatch(OF_QUEUES_AND_TOPICS, name) is not None


def bucket_of(source_arn: str) -> str:
    """Return the bucket in a resource name, empty when it is not that of a bucket."""
    match = re.fullmatch(_BUCKET_ARN, source_arn)
    return match[1] if match else ""


def rule_arn(tenant: Tenant, service: str, function: str, name: str, config: Struct) -> str:
    """Return the resource name of the rule that the service makes for an EventBridge trigger.

    Source: fc-go-sdk client_test.go; the rule of a 3.0 function is assumed.
    """
    source = config.get("eventSourceConfig")
    kind = source.get("eventSourceType") if isinstance(source, Mapping) else None
    bus = f"{kind}-{function}-{name}" if kind and kind != "Default" else "default"
    rule = "-".join(part for part in (service, function, name) if part)
    return f"acs:eventbridge:{tenant.region}:{tenant.account}:eventbus/{bus}/rule/{rule}"


def _opened(value: object) -> Mapping[str, Any]:
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise InvalidArgument("triggerConfig must be a string that holds JSON") from None
    if not isinstance(value, dict):
        raise InvalidArgument("triggerConfig must be an object")
    return value


def _schedule(expression: str, field: str) -> str:
    try:
        parse_schedule(expression, LENIENT)
    except CronError as error:
        raise InvalidArgument(f"{field} '{expression[:100]}' is invalid: {error}") from error
    return expression


def _payload(payload: str, field: str) -> str:
    if len(payload.encode("utf-8", "replace")) > limits.ASYNC_PAYLOAD_BYTES:
        raise InvalidArgument(f"{field} must not be larger than {limits.ASYNC_PAYLOAD_BYTES} bytes")
    return payload


def _object_event(value: Any, field: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(_OBJECT_EVENT, value):
        raise InvalidArgument(f"{field} '{str(value)[:80]}' is not the name of an object event")
    return value


def _completed(known: Struct, unsaid: Struct) -> Struct:
    """Return *known* in the order in which it was sent, followed by the members of *unsaid* that it lacks.

    Source: terraform-provider-alicloud compares the text of ``config_mns`` as it stands.
    """
    return {**known, **unsaid, **known}


def _http(known: dict[str, Any]) -> Struct:
    if not known.get("methods"):
        raise InvalidArgument("triggerConfig.methods is required for an http trigger")
    if known.get("authType") == "jwt":
        read_rules(known.get("authConfig"), "triggerConfig.authConfig")
    return _completed(known | {"methods": list(dict.fromkeys(known["methods"]))}, {"authType": "function"})


def _timer(known: dict[str, Any]) -> Struct:
    if "cronExpression" not in known:
        raise InvalidArgument("triggerConfig.cronExpression is required for a timer trigger")
    return _completed(known, {"payload": "", "enable": True})


_HTTP = TriggerType(
    record(
        authType=OneOf(frozenset({"anonymous", "function", "jwt"}), fold=str.lower),
        methods=Items(METHOD),
        disableURLInternet=FLAG,
        authConfig=ANYTHING,
        corsConfig=ANYTHING,
    )
)
_TIMER = TriggerType(
    record(cronExpression=Ruled(Text(limits.CRON_LENGTH, 1), _schedule), enable=FLAG, payload=Ruled(TEXT, _payload))
)
_OSS = TriggerType(
    record(
        events=Items(Ruled(TEXT, _object_event, alone=True)),
        filter=record(key=record(prefix=TEXT, suffix=TEXT)),
    ),
    needs_source=True, needs_role=True, caller="oss.aliyuncs.com",
)  # fmt: skip
_MNS_TOPIC = TriggerType(
    record(
        filterTag=Text(limits.FILTER_TAG_LENGTH),
        notifyContentFormat=OneOf(frozenset({"STREAM", "JSON"})),
        notifyStrategy=OneOf(frozenset({"BACKOFF_RETRY", "EXPONENTIAL_DECAY_RETRY"})),
    ),
    needs_source=True, needs_role=True, caller="mns.aliyuncs.com",
)  # fmt: skip
_Names = Mapping[str, "_Names"]
"""Names of members in the API's spelling; each with those of the object in it, where that has names of the API."""


def _names(*plain: str, **deeper: "_Names") -> "_Names":
    return {**{name: {} for name in plain}, **deeper}


def _stored(names: "_Names") -> Kind:
    """Return the kind of an object of which only the letter case of *names* is changed.

    Source: Funcraft sends ``Enable`` to the API.
    """
    return Ruled(ANYTHING, lambda value, _: _spelled(value, names))


def _spelled(value: Any, names: "_Names") -> Any:
    if not names or not isinstance(value, Mapping):
        return value
    known = {name.lower(): name for name in names}
    config: Mapping[str, Any] = value
    members = [(known.get(key.lower(), key), member) for key, member in config.items()]
    return {key: _spelled(member, names.get(key, {})) for key, member in members}


_LOG = TriggerType(
    _stored(
        _names(
            "functionParameter", "enable",
            sourceConfig=_names("logstore", "startTime"),
            jobConfig=_names("maxRetryTime", "triggerInterval"),
            logConfig=_names("project", "logstore"),
        )
    ),
    needs_source=True, needs_role=True, passed_on=True,
)  # fmt: skip
_TABLESTORE = TriggerType(ANYTHING, needs_source=True, needs_role=True, passed_on=True)
_CDN_EVENTS = TriggerType(
    _stored(_names("eventName", "eventVersion", "notes", filter=_names("domain"))),
    needs_source=True, needs_role=True, passed_on=True,
)  # fmt: skip
_RDS = TriggerType(
    _stored(_names("subscriptionObjects", "retry", "concurrency", "eventFormat")), needs_role=True, passed_on=True
)
_EVENTBRIDGE = TriggerType(
    _stored(
        _names(
            "triggerEnable", "asyncInvocationType", "eventRuleFilterPattern", "runOptions",
            eventSinkConfig=_names("deliveryOption"),
            eventSourceConfig=_names("eventSourceType", "eventSourceParameters"),
        )
    ),
    passed_on=True,
)  # fmt: skip


def trigger_type_of(kind: TriggerKind) -> TriggerType:
    """Return the properties that all triggers of *kind* share."""
    match kind:
        case "http":
            return _HTTP
        case "timer":
            return _TIMER
        case "oss":
            return _OSS
        case "mns_topic":
            return _MNS_TOPIC
        case "log":
            return _LOG
        case "tablestore":
            return _TABLESTORE
        case "cdn_events":
            return _CDN_EVENTS
        case "rds":
            return _RDS
        case "eventbridge":
            return _EVENTBRIDGE
        case _:
            assert_never(kind)
