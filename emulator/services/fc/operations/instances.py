"""Operations on instances: lists of living ones, and GPU instances for rent, which no development machine has.

The latter answer as the cloud does to an account without such instances: none is found, and a new one is out of stock.

Source: models of 2021-04-06 and 2023-03-30; codes of what is not there are assumed.
"""

from typing import Any

from emulator.http.message import Response
from emulator.services.fc import codec, limits
from emulator.services.fc.codec import V2021, V2023, WITH_SERVICES
from emulator.services.fc.errors import FcError
from emulator.services.fc.model import LATEST
from emulator.services.fc.runtime.model import InstanceInfo
from emulator.services.fc.service import FunctionCompute
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


@operation("ListInstances", "GET /services/{service}/functions/{function}/instances", api=WITH_SERVICES)
def list_instances_of_qualifier(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the instances behind a qualifier of a function in a service.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument.
    Source: API reference, ListInstances; alibabacloud_fc_open20210406.
    """
    instances = fc.instance_list.of_qualifier(call.tenant, *codec.function_of(call), codec.qualifier_of(call))
    rows = [
        {"instanceId": info.instance_id, "versionId": _version_id(info)}
        for info in _named(instances, _many(call, "instanceIds"))
    ]
    return codec.json_answer({"instances": rows[: codec.page_size(call, allowed=limits.INSTANCE_LIST)]})


@operation("ListInstances", "GET /functions/{function}/instances", api=V2023)
def list_instances(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the living instances behind a qualifier; without one, or with ``withAllActive``, those of all versions.

    An instance is ``Running`` whether or not it has a call, but for the moments it starts and stops; assumed.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument. Source: alibabacloud_fc20230330.
    """
    listing, (service, function) = fc.instance_list, codec.function_of(call)
    qualifier = codec.qualifier_of(call)
    if qualifier and not codec.truth(codec.query(call, "withAllActive")):
        instances = listing.of_qualifier(call.tenant, service, function, qualifier)
    else:
        instances = listing.of_function(call.tenant, service, function)
    states = {state.lower() for state in _many(call, "instanceStatus")}
    begin, end = codec.whole_number(call, "startTimeMs"), codec.whole_number(call, "endTimeMs")
    start = codec.query(call, "startKey")
    rows = [
        _instance(info, qualifier)
        for info in sorted(_named(instances, _many(call, "instanceIds")), key=lambda info: info.instance_id)
        if info.instance_id >= start
        and (not states or _STATUS[info.state].lower() in states)
        and (end is None or info.started_at <= end)
        and (begin is None or call.now >= begin)
    ]
    rows = rows[: codec.page_size(call, allowed=limits.INSTANCE_LIST)]
    return codec.json_answer({"requestId": call.request_id, "instances": rows})


_STATUS = {"starting": "Starting", "idle": "Running", "busy": "Running", "stopping": "Stopping"}


def _instance(info: InstanceInfo, qualifier: str | None) -> dict[str, Any]:
    return {
        "instanceId": info.instance_id,
        "versionId": _version_id(info),
        "qualifier": qualifier or info.version,
        "status": _STATUS[info.state],
        "resourceType": "Provisioned" if info.provisioned else "OnDemand",
        "createdTimeMs": info.started_at,
    }


def _version_id(info: InstanceInfo) -> str:
    return "0" if info.version == LATEST else info.version


def _named(instances: list[InstanceInfo], wanted: list[str]) -> list[InstanceInfo]:
    return [info for info in instances if not wanted or info.instance_id in wanted]


def _many(call: OperationRequest, name: str) -> list[str]:
    """Read a list: repeated parameters, numbered ones (``instanceIds.1=a``), or one with JSON."""
    values = []
    for key, value in call.http.query_pairs:
        if key == name or (key.startswith(f"{name}.") and key[len(name) + 1 :].isdigit()):
            values += [str(item) for item in codec.json_list(value, name)]
    return values


@operation("ClaimGPUInstance", "POST /gpuInstances", api=V2021)
def claim_gpu_instance(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Refuse: there is no GPU instance to claim.

    Raises: OutOfStock. Source: alibabacloud_fc_open20210406; assumed: the code.
    """
    raise FcError("OutOfStock", wanted="GPU instance")


@operation("ReleaseGPUInstance", "DELETE /gpuInstances/{instance}", api=V2021)
def release_gpu_instance(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Refuse: no GPU instance has been claimed.

    Raises: InstanceNotFound. Source: alibabacloud_fc_open20210406; assumed: the code.
    """
    raise FcError("InstanceNotFound", instance=call.path["instance"])
