"""The configuration of session affinity: its kinds, its members, and its effect on a function's other settings.

Binding calls to instances is the part of ``sessions``. Source: alibabacloud_fc20230330, the four models of
affinity configurations; Function Compute 3.0, the pages on session affinity and isolation. Marked "assumed": what no
page or model says.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from emulator.kernel.frozen import frozen, replace
from emulator.services.fc import limits
from emulator.services.fc.codec import BODY
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import FunctionConfig, is_custom
from emulator.wire.schema.kinds import FLAG, JSON_TEXT, TEXT, Kind, Ruled, Text, duration, record, whole

NONE, HEADER, COOKIE, SSE, STREAMABLE = "NONE", "HEADER_FIELD", "GENERATED_COOKIE", "MCP_SSE", "MCP_STREAMABLE"
"""Kinds of affinity. The name of the last one is assumed, after a sister product; its model names no value."""

SHARE, SESSION_EXCLUSIVE, REQUEST_EXCLUSIVE = "SHARE", "SESSION_EXCLUSIVE", "REQUEST_EXCLUSIVE"
"""Modes of isolation. The name of the last one is assumed."""

_HEADER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{4,39}")


def _header_name(value: Any, field: str) -> str:
    name = str(value)
    if not _HEADER_NAME.fullmatch(name) or name.lower().startswith("x-fc-"):
        raise InvalidArgument(
            f"{field} '{name[:80]}' is invalid: it must have 5 to 40 letters, digits, '-' and '_', "
            "begin with a letter and not with x-fc-"
        )
    return name.lower()


def _not_above_ttl(members: dict[str, Any], field: str) -> dict[str, Any]:
    idle, ttl = (
        members.get("sessionIdleTimeoutInSeconds"),
        members.get("sessionTTLInSeconds", limits.SESSION_TTL_S.high),
    )
    if idle is not None and idle > ttl:
        raise InvalidArgument(f"{field}.sessionIdleTimeoutInSeconds {idle} must not be above sessionTTLInSeconds {ttl}")
    return members


TTL, IDLE = duration(limits.SESSION_TTL_S), duration(limits.SESSION_IDLE_S)
_PER_INSTANCE: Mapping[str, Kind] = {"sessionConcurrencyPerInstance": whole(limits.SESSIONS_PER_INSTANCE)}
_TIMES: Mapping[str, Kind] = {**_PER_INSTANCE, "sessionTTLInSeconds": TTL, "sessionIdleTimeoutInSeconds": IDLE}
_SHAPES: Mapping[str, Kind] = {
    HEADER: Ruled(
        record(affinityHeaderFieldName=Ruled(TEXT, _header_name), disableSessionIdReuse=FLAG, **_TIMES), _not_above_ttl
    ),
    COOKIE: Ruled(record(disableSessionIdReuse=FLAG, **_TIMES), _not_above_ttl),
    STREAMABLE: Ruled(record(**_TIMES), _not_above_ttl),
    SSE: record(sseEndpointPath=Text(limits.SSE_PATH_LENGTH), **_PER_INSTANCE),
}


@frozen
class Affinity:
    """The session affinity of a function. ``header`` is in lower case, ``sse_path`` begins with a slash.

    ``per_instance`` is how many sessions an instance may have; with ``exclusive`` it serves one session in its life.
    """

    kind: str
    header: str = ""
    ttl_s: int = limits.SESSION_TTL_S.default
    idle_s: int = limits.SESSION_IDLE_S.default
    reuse_disabled: bool = False
    sse_path: str = "/sse"
    per_instance: int = limits.SESSIONS_PER_INSTANCE.default
    exclusive: bool = False

    @property
    def has_api(self) -> bool:
        """Whether its sessions can be made, read and ended by operations."""
        return self.kind in {HEADER, COOKIE}


def affinity_of(config: FunctionConfig) -> Affinity | None:
    """Return the session affinity of a function, None when it has none."""
    kind = config.session_affinity or NONE
    if kind == NONE:
        return None
    try:
        members = BODY.reader(_SHAPES[kind])(
            json.loads(config.session_affinity_config or "{}"), "sessionAffinityConfig"
        )
    except (InvalidArgument, ValueError, KeyError):
        members = {}  # kept by a version that did not look into it
    if kind == HEADER and "affinityHeaderFieldName" not in members:
        return None
    exclusive = config.isolation_mode == SESSION_EXCLUSIVE
    wanted = members.get("sessionConcurrencyPerInstance", limits.SESSIONS_PER_INSTANCE.default)
    ttl = members.get("sessionTTLInSeconds", limits.SESSION_TTL_S.default)
    return Affinity(
        kind=kind,
        header=members.get("affinityHeaderFieldName", ""),
        ttl_s=ttl,
        idle_s=members.get("sessionIdleTimeoutInSeconds", min(ttl, limits.SESSION_IDLE_S.default)),
        reuse_disabled=members.get("disableSessionIdReuse", False),
        sse_path="/" + members.get("sseEndpointPath", "/sse").lstrip("/"),
        per_instance=1 if exclusive else min(wanted, config.instance_concurrency),
        exclusive=exclusive,
    )


def settled(config: FunctionConfig, given: Mapping[str, Any], before: FunctionConfig | None = None) -> FunctionConfig:
    """Return a function's settings adjusted to its affinity and isolation; *given* are those that its caller has set.

    A configuration without affinity is dropped, its header name is kept in lower case, and the instance concurrency
    becomes what the runtime allows unless it was given, now or when the function had affinity *before*; isolation of
    requests overrides one that was.

    Raises: InvalidArgument.
    Source: as the module's, and deployment tools that met these answers; that a built-in runtime refuses another
    concurrency than 1, and that isolation accepts 1 as well as 200, is assumed.
    """
    kind, mode = config.session_affinity or NONE, config.isolation_mode or SHARE
    if mode != SHARE and config.cpu is not None and config.cpu < limits.ISOLATION_CPU:
        raise InvalidArgument(f"instanceIsolationMode {mode} needs at least {limits.ISOLATION_CPU} cpu")
    if kind == NONE:
        if mode == SESSION_EXCLUSIVE:
            raise InvalidArgument(f"instanceIsolationMode {mode} needs a sessionAffinity")
        if mode == REQUEST_EXCLUSIVE:
            config = replace(config, instance_concurrency=1)
        if config.session_affinity_config is not None:
            config = replace(config, session_affinity=NONE, session_affinity_config=None)
        return config
    if mode == REQUEST_EXCLUSIVE or (mode == SESSION_EXCLUSIVE and kind == STREAMABLE):
        raise InvalidArgument(f"instanceIsolationMode {mode} cannot be combined with sessionAffinity {kind}")
    config = replace(config, session_affinity_config=_checked(kind, config.session_affinity_config))
    has_one = "instance_concurrency" in given or (before is not None and (before.session_affinity or NONE) != NONE)
    forced = limits.INSTANCE_CONCURRENCY.high if is_custom(config.runtime) else 1
    if has_one and config.instance_concurrency in {forced, 1 if mode == SESSION_EXCLUSIVE else forced}:
        return config
    if "instance_concurrency" in given:
        raise InvalidArgument(f"ConcurrencyLimit is invalid for session function, allowed: {forced}")
    return replace(config, instance_concurrency=forced)


def lowered(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a configuration as they are kept: the header's name in lower case."""
    return {
        name: value.lower() if name.lower() == "affinityheaderfieldname" and isinstance(value, str) else value
        for name, value in members.items()
    }


def _checked(kind: str, text: str | None) -> str | None:
    """Return the text of a configuration, with the header's name in lower case."""
    members = json.loads(text) if text else {}
    checked = BODY.reader(_SHAPES[kind])(members, "sessionAffinityConfig")
    if kind == HEADER and "affinityHeaderFieldName" not in checked:
        raise InvalidArgument("sessionAffinityConfig.affinityHeaderFieldName is required")
    kept = lowered(members)
    return text if kept == members else BODY.reader(JSON_TEXT)(kept, "sessionAffinityConfig")
