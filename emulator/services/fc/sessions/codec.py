"""The bodies of requests and answers about sessions and snapshots."""

from collections.abc import Mapping
from typing import Any

from emulator.services.fc.catalog.affinity import IDLE, TTL
from emulator.services.fc.catalog.structures import JUICE_FS, NAS, OSS_MOUNT, POLAR_FS
from emulator.services.fc.codec import BODY, times_of
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.sessions.model import Session
from emulator.wire.schema.kinds import (
    ABSENT,
    FLAG,
    TEXT,
    TEXT_MAP,
    TEXTS,
    Field,
    Items,
    MapOf,
    Shape,
    Text,
    member,
    record,
)

_TRANSFORM = record(headers=TEXT_MAP, headerValueReplacements=Items(record(placeholder=TEXT, value=TEXT)))
_NETWORK_UPDATE = record(allowOut=TEXTS, denyOut=TEXTS, rules=MapOf(Items(record(transform=_TRANSFORM))))
_NETWORK = _NETWORK_UPDATE.extended(member("allowPublicTraffic", FLAG), member("maskRequestHost"))

CHANGED = Shape(
    "Session",
    (
        Field("sessionTTLInSeconds", "ttl_s", TTL),
        Field("sessionIdleTimeoutInSeconds", "idle_s", IDLE),
        Field("disableSessionIdReuse", "reuse_disabled", FLAG),
        member("nasConfig", NAS),
        member("ossMountConfig", OSS_MOUNT),
        member("polarFsConfig", POLAR_FS),
        member("juiceFsConfig", JUICE_FS),
        member("allowInternetAccess", FLAG),
        member("enableAutoPause", FLAG),
        member("enableAutoResume", FLAG),
        member("network", _NETWORK_UPDATE),
    ),
)
"""The fields of a session that a request may change."""

NEW = CHANGED.with_kinds(network=_NETWORK).extended(
    Field("sessionId", "session_id", TEXT), Field("snapshotId", "snapshot_id", TEXT)
)
"""The fields of a session that a request for a new one may set."""

_NEW_SNAPSHOT = record(sessionId=Text(shortest=1), description=TEXT)


def new_session(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields in a request for a session, attribute -> value.

    Raises: InvalidArgument.
    """
    return BODY.read(NEW, body)


def new_snapshot(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return the session that a request for a snapshot names, and its description.

    Raises: InvalidArgument.
    """
    values = BODY.read(_NEW_SNAPSHOT, body)
    if "sessionId" not in values:
        raise InvalidArgument("sessionId is required")
    return values["sessionId"], values.get("description", "")


def changed_session(body: Mapping[str, Any], session: Session) -> dict[str, Any]:
    """Return the changed fields in a request about *session*; its network is changed member by member.

    Raises: InvalidArgument.
    """
    network = body.get("network")
    if isinstance(network, dict) and network.get("rules", ABSENT) is None:
        raise InvalidArgument("network.rules must not be null")
    values = BODY.read(CHANGED, body)
    if "network" in values:
        values["network"] = {**session.settings.get("network", {}), **values["network"]}
    return values


def render_session(session: Session, instance_id: str) -> dict[str, Any]:
    """Write a session, which *instance_id* serves."""
    return {
        "sessionId": session.session_id,
        "functionName": session.lane.function,
        "qualifier": session.lane.qualifier,
        "sessionAffinityType": session.kind,
        "sessionTTLInSeconds": session.ttl_s,
        "sessionIdleTimeoutInSeconds": session.idle_s,
        "disableSessionIdReuse": session.reuse_disabled,
        "sessionStatus": session.status.value,
        "containerId": instance_id,
        **times_of(session),
        "enableAutoPause": False,
        "enableAutoResume": False,
        **session.settings,
    }
