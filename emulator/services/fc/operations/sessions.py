"""Operations on sessions, and on snapshots of them, which need a kind of function that does not run here.

Only sessions by header and by cookie have operations; those of MCP servers begin and end with their clients. A session
created by an operation does not differ from one that a call begins.

Source: alibabacloud_fc20230330, models and paths; Function Compute 3.0, session lifecycle, deep hibernation; codes and
statuses of refusals are assumed.
"""

from emulator.http.message import Response
from emulator.services.fc import codec, limits
from emulator.services.fc.catalog.affinity import COOKIE, HEADER
from emulator.services.fc.catalog.resolving import Target
from emulator.services.fc.codec import V2023
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.invoke.invoking import refusal
from emulator.services.fc.model import FunctionRef
from emulator.services.fc.runtime.model import RuntimeFailure
from emulator.services.fc.service import FunctionCompute
from emulator.services.fc.sessions.codec import changed_session, new_session, new_snapshot, render_session
from emulator.services.fc.sessions.marks import checked_id
from emulator.services.fc.sessions.model import Session, Status
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest

_ONE = "/functions/{function}/sessions/{session}"


@operation("CreateSession", "POST /functions/{function}/sessions", api=V2023)
async def create_session(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Start a session with an existing or new instance, which is initialized before this responds.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument, SessionAlreadyExists, InvocationDisabled,
    ResourceExhausted, CAExited. Source: alibabacloud_fc20230330, CreateSession; an empty id is generated: comment in
    its model.
    """
    target = _target(fc, call)
    affinity = target.affinity
    if affinity is None or not affinity.has_api:
        kind = "no session affinity" if affinity is None else f"the session affinity {affinity.kind}"
        raise InvalidArgument(f"the function '{call.path['function']}' has {kind}")
    values = new_session(codec.json_body(call))
    if snapshot := values.pop("snapshot_id", ""):
        raise FcError("SnapshotNotFound", snapshot=snapshot)
    wanted = values.pop("session_id", "")
    if wanted and affinity.kind != HEADER:
        raise InvalidArgument(f"sessionId cannot be chosen with the session affinity {affinity.kind}")
    drawn = fc.ids.hex(32) if affinity.kind == HEADER else fc.ids.uuid()
    session_id = checked_id(wanted) if wanted else drawn
    if values.get("idle_s", 0) > values.get("ttl_s", affinity.ttl_s):
        raise InvalidArgument("sessionIdleTimeoutInSeconds must not be above sessionTTLInSeconds")
    fc.admission.check_enabled(call.tenant, "", call.path["function"])
    try:
        session = await fc.sessions.create(codec.ref_of(call), session_id, target, values, call.request_id)
    except RuntimeFailure as failure:
        raise refusal(failure) from failure
    return _answer(fc, session)


@operation("GetSession", f"GET {_ONE}", api=V2023)
def get_session(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return a session that has not ended.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, SessionNotFound. Source: alibabacloud_fc20230330,
    GetSession; paused sessions: page on deep hibernation.
    """
    return _answer(fc, _named(fc, call))


@operation("ListSessions", "GET /functions/{function}/sessions", api=V2023)
def list_sessions(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the sessions of a function, newest first; expired ones are listed for three days.

    Without a qualifier those of all qualifiers are listed.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument. Source: alibabacloud_fc20230330,
    ListSessions; assumed: order, page size, the three days, and that a list without a qualifier covers all qualifiers.
    """
    _target(fc, call)
    qualifier = codec.qualifier_of(call) or ""
    function = FunctionRef(call.tenant, "", call.path["function"], qualifier)
    limit = codec.page_size(call, allowed=limits.SESSION_LIST)
    before = codec.parse_number(codec.page_marker(call), "nextToken")
    found = fc.session_store.page(
        function, before, limit, session_id=codec.query(call, "sessionId"), status=_status(call), kinds=(HEADER, COOKIE)
    )
    marker = str(found[limit - 1].seq) if len(found) > limit else None
    rows = [render_session(each, fc.sessions.instance_id(each)) for each in found[:limit]]
    return codec.page_answer("sessions", rows, marker)


@operation("UpdateSession", f"PUT {_ONE}", api=V2023)
def update_session(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Change members of an active session, which keeps its instance.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, SessionNotFound, SessionNotActive, InvalidArgument.
    Source: alibabacloud_fc20230330, UpdateSession; assumed: a time to live that has passed ends it immediately.
    """
    body = codec.json_body(call)
    session = _named(fc, call)
    if session.status is not Status.ACTIVE:
        raise FcError("SessionNotActive", session=session.session_id, status=session.status.value)
    return _answer(fc, fc.sessions.update(session, changed_session(body, session)))


@operation("DeleteSession", f"DELETE {_ONE}", api=V2023)
def delete_session(fc: FunctionCompute, call: OperationRequest) -> Response:
    """End a session; its id can be used again. Running calls fail if it is isolated, else they end normally.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, SessionNotFound. Source: alibabacloud_fc20230330,
    DeleteSession; assumed: an expired session is unknown.
    """
    fc.sessions.delete(_named(fc, call))
    return codec.no_content()


@operation("PauseSession", f"PUT {_ONE}/pause", api=V2023)
def pause_session(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Pause an active session of an isolated container; its instance ends.

    What the instance had in memory and in files of its own is not kept here, with ``fileSystemOnly`` or without.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, SessionNotFound, SessionNotActive, InvalidArgument.
    Source: alibabacloud_fc20230330, PauseSession; which functions allow it: page on deep hibernation.
    """
    return _answer(fc, fc.sessions.pause(_named(fc, call)))


@operation("ResumeSession", f"PUT {_ONE}/resume", api=V2023)
async def resume_session(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Resume a paused session in another instance; its time to live has continued to run.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, SessionNotFound, SessionNotPaused, ResourceExhausted,
    CAExited. Source: alibabacloud_fc20230330, ResumeSession; page on deep hibernation.
    """
    session, target = _named(fc, call), _target(fc, call)
    try:
        return _answer(fc, await fc.sessions.resume(session, target, call.request_id))
    except RuntimeFailure as failure:
        raise refusal(failure) from failure


@operation("CreateSnapshot", "POST /functions/{function}/snapshots", api=V2023)
def create_snapshot(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Refuse: snapshots need micro-sandboxes, which do not run here.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, SessionNotFound, InvalidArgument. Source:
    alibabacloud_fc20230330, CreateSnapshot; assumed: the code.
    """
    _target(fc, call)
    session_id, description = new_snapshot(codec.json_body(call))
    if len(description.encode()) > limits.SNAPSHOT_DESCRIPTION_BYTES or not all(map(str.isprintable, description)):
        raise InvalidArgument(
            f"description must have at most {limits.SNAPSHOT_DESCRIPTION_BYTES} bytes and no control characters"
        )
    fc.sessions.live(codec.ref_of(call), session_id)
    raise InvalidArgument(f"the function '{call.path['function']}' is not a micro-sandbox; only these have snapshots")


@operation("GetSnapshot", "GET /functions/{function}/snapshots/{snapshot}", api=V2023)
def get_snapshot(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Refuse: the snapshot does not exist.

    Raises: FunctionNotFound, SnapshotNotFound. Source: alibabacloud_fc20230330, GetSnapshot.
    """
    _target(fc, call)
    raise FcError("SnapshotNotFound", snapshot=call.path["snapshot"])


@operation("DeleteSnapshot", "DELETE /functions/{function}/snapshots/{snapshot}", api=V2023)
def delete_snapshot(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Succeed without effect: no snapshot exists.

    Raises: FunctionNotFound. Source: alibabacloud_fc20230330, DeleteSnapshot.
    """
    _target(fc, call)
    return codec.no_content()


@operation("ListSnapshots", "GET /snapshots", api=V2023)
def list_snapshots(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return an empty list.

    Raises: InvalidArgument. Source: alibabacloud_fc20230330, ListSnapshots; assumed: the code.
    """
    codec.page_size(call, allowed=limits.SNAPSHOT_LIST)
    if codec.query(call, "sessionId") and not codec.query(call, "functionName"):
        raise InvalidArgument("sessionId needs functionName")
    return codec.page_answer("snapshots", [], None)


def _target(fc: FunctionCompute, call: OperationRequest) -> Target:
    """Return the target of a new session; an alias chooses its version here.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound.
    """
    return fc.resolver.target(call.tenant, "", call.path["function"], codec.qualifier_of(call), fc.ids.fraction())


def _named(fc: FunctionCompute, call: OperationRequest) -> Session:
    """Return the session that the path names.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, SessionNotFound.
    """
    lane = codec.ref_of(call)
    fc.resolver.function(call.tenant, "", lane.function, codec.qualifier_of(call))
    session = fc.sessions.live(lane, call.path["session"])
    if session.kind not in {HEADER, COOKIE}:
        raise FcError("SessionNotFound", session=session.session_id)
    return session


def _status(call: OperationRequest) -> Status | None:
    text = codec.query(call, "sessionStatus")
    try:
        return Status(text) if text else None
    except ValueError:
        choices = ", ".join(Status)
        raise InvalidArgument(f"sessionStatus '{text[:40]}' is invalid: it must be one of {choices}") from None


def _answer(fc: FunctionCompute, session: Session) -> Response:
    return codec.json_answer(render_session(session, fc.sessions.instance_id(session)))
