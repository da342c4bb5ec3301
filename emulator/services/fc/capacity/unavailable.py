"""Operations on what no development machine has: GPU instances for rent, and sessions with snapshots of instances.

They answer as the cloud does to an account that has none of it: lists are empty, nothing is found, and what would have
to be made is out of stock. Each checks what it names first.

Source: models of 2021-04-06 and 2023-03-30; codes are assumed.
"""

from emulator.http.message import Response
from emulator.services.fc.codec import V2021, V2023, json_body, page_answer, qualifier_of
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.service import FunctionCompute
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


@operation("ClaimGPUInstance", "POST /gpuInstances", api=V2021)
def claim_gpu_instance(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Refuse: there is no GPU instance to claim.

    Raises: OutOfStock. Source: alibabacloud_fc_open20210406; the code is assumed.
    """
    del fc, call
    raise FcError("OutOfStock", wanted="GPU instance")


@operation("ReleaseGPUInstance", "DELETE /gpuInstances/{instance}", api=V2021)
def release_gpu_instance(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Refuse: no GPU instance has been claimed.

    Raises: InstanceNotFound. Source: alibabacloud_fc_open20210406; the code is assumed.
    """
    raise FcError("InstanceNotFound", instance=call.path["instance"])


@operation("CreateSession", "POST /functions/{function}/sessions", api=V2023)
def create_session(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Refuse: a function has sessions when calls are bound to instances, which the emulator does not do.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument, OperationNotServed.
    Source: alibabacloud_fc20230330, CreateSession; codes are assumed.
    """
    service, function = "", call.path["function"]
    config = fc.resolver.function(call.tenant, service, function, qualifier_of(call)).config
    if (config.session_affinity or "NONE") == "NONE":
        raise InvalidArgument(f"the function '{function}' has no session affinity")
    raise FcError("OperationNotServed", operation="CreateSession")


@operation("ListSessions", "GET /functions/{function}/sessions", api=V2023)
def list_sessions(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List no sessions.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound. Source: alibabacloud_fc20230330, ListSessions.
    """
    _check(fc, call)
    return page_answer("sessions", [], None)


@operation("GetSession", "GET /functions/{function}/sessions/{session}", api=V2023)
@operation("UpdateSession", "PUT /functions/{function}/sessions/{session}", api=V2023)
@operation("DeleteSession", "DELETE /functions/{function}/sessions/{session}", api=V2023)
@operation("PauseSession", "PUT /functions/{function}/sessions/{session}/pause", api=V2023)
@operation("ResumeSession", "PUT /functions/{function}/sessions/{session}/resume", api=V2023)
def no_session(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Refuse: the session is not there.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, SessionNotFound.
    Source: alibabacloud_fc20230330, GetSession; the code is assumed.
    """
    _check(fc, call)
    raise FcError("SessionNotFound", session=call.path["session"])


@operation("CreateSnapshot", "POST /functions/{function}/snapshots", api=V2023)
def create_snapshot(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Refuse: there is no session to take a snapshot of.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, SessionNotFound.
    Source: alibabacloud_fc20230330, CreateSnapshot; the code is assumed.
    """
    _check(fc, call)
    raise FcError("SessionNotFound", session=str(json_body(call).get("sessionId") or ""))


@operation("GetSnapshot", "GET /functions/{function}/snapshots/{snapshot}", api=V2023)
@operation("DeleteSnapshot", "DELETE /functions/{function}/snapshots/{snapshot}", api=V2023)
def no_snapshot(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Refuse: the snapshot is not there.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, SnapshotNotFound.
    Source: alibabacloud_fc20230330, GetSnapshot; the code is assumed.
    """
    _check(fc, call)
    raise FcError("SnapshotNotFound", snapshot=call.path["snapshot"])


@operation("ListSnapshots", "GET /snapshots", api=V2023)
def list_snapshots(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List no snapshots.

    Raises: nothing. Source: alibabacloud_fc20230330, ListSnapshots.
    """
    return page_answer("snapshots", [], None)


def _check(fc: FunctionCompute, call: OperationRequest) -> None:
    fc.resolver.function(call.tenant, "", call.path["function"], qualifier_of(call))
