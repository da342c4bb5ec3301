"""Operations on what no development machine has: GPU instances for rent, and sessions with snapshots of instances.

They answer as the cloud does to an account that has none of it: lists are empty, nothing is found, and what would have
to be made is out of stock. Each checks what it names first.

Source: models of 2021-04-06 and 2023-03-30; codes are assumed.
"""

from emulator.http.message import Response
from emulator.services.fc.codec import Exchange
from emulator.services.fc.dialects.routing import Route
from emulator.services.fc.errors import FcError, InvalidArgument


def claim_gpu_instance(exchange: Exchange) -> Response:
    """Refuse: there is no GPU instance to claim."""
    del exchange
    raise FcError("OutOfStock", wanted="GPU instance")


def release_gpu_instance(exchange: Exchange) -> Response:
    """Refuse: no GPU instance has been claimed."""
    raise FcError("InstanceNotFound", instance=exchange.segment("instance"))


def create_session(exchange: Exchange) -> Response:
    """Refuse: a function has sessions when calls are bound to instances, which the emulator does not do."""
    service, function = "", exchange.segment("function")
    config = exchange.service.resolver.function(exchange.tenant, service, function, exchange.qualifier).config
    if (config.session_affinity or "NONE") == "NONE":
        raise InvalidArgument(f"the function '{function}' has no session affinity")
    raise FcError("OperationNotServed", operation="CreateSession")


def list_sessions(exchange: Exchange) -> Response:
    """List no sessions."""
    _check(exchange)
    return exchange.answer({"sessions": [], "nextToken": ""})


def no_session(exchange: Exchange) -> Response:
    """Refuse: the session is not there."""
    _check(exchange)
    raise FcError("SessionNotFound", session=exchange.segment("session"))


def create_snapshot(exchange: Exchange) -> Response:
    """Refuse: there is no session to take a snapshot of."""
    _check(exchange)
    raise FcError("SessionNotFound", session=str(exchange.body().get("sessionId") or ""))


def no_snapshot(exchange: Exchange) -> Response:
    """Refuse: the snapshot is not there."""
    _check(exchange)
    raise FcError("SnapshotNotFound", snapshot=exchange.segment("snapshot"))


def list_snapshots(exchange: Exchange) -> Response:
    """List no snapshots."""
    return exchange.answer({"snapshots": [], "nextToken": ""})


def _check(exchange: Exchange) -> None:
    exchange.service.resolver.function(exchange.tenant, "", exchange.segment("function"), exchange.qualifier)


_F = "/functions/{function}"
_SESSION = _F + "/sessions/{session}"
_SNAPSHOT = _F + "/snapshots/{snapshot}"

GPU_ROUTES = (
    Route("POST", "/gpuInstances", "ClaimGPUInstance", claim_gpu_instance),
    Route("DELETE", "/gpuInstances/{instance}", "ReleaseGPUInstance", release_gpu_instance),
)

SESSION_ROUTES = (
    Route("POST", _F + "/sessions", "CreateSession", create_session),
    Route("GET", _F + "/sessions", "ListSessions", list_sessions),
    Route("GET", _SESSION, "GetSession", no_session),
    Route("PUT", _SESSION, "UpdateSession", no_session),
    Route("DELETE", _SESSION, "DeleteSession", no_session),
    Route("PUT", _SESSION + "/pause", "PauseSession", no_session),
    Route("PUT", _SESSION + "/resume", "ResumeSession", no_session),
    Route("POST", _F + "/snapshots", "CreateSnapshot", create_snapshot),
    Route("GET", "/snapshots", "ListSnapshots", list_snapshots),
    Route("GET", _SNAPSHOT, "GetSnapshot", no_snapshot),
    Route("DELETE", _SNAPSHOT, "DeleteSnapshot", no_snapshot),
)
