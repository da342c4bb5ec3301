"""Endpoint location (which host a product has), and products that have a host and API versions but no operations.

The Python core SDK asks for the endpoint, by HTTPS, of products it finds in none of its own tables. The answer names
the cloud's own hosts, which lead here as those of the SDKs' tables do.
"""

import re
import sys
from collections.abc import Iterable, Mapping

from emulator.kernel.errors import ErrorRow, ServiceError
from emulator.kernel.identity import Demand
from emulator.kernel.ids import Ids
from emulator.wire.operation import Actions, operation, operations_of
from emulator.wire.request import Answer, OperationRequest
from emulator.wire.rpc import MissingParameter, PopError, Reply, RpcFront

VERSION = "2015-06-12"

_HOSTS: Mapping[str, str] = {
    "fc": "{region}.fc.aliyuncs.com",
    "fnf": "{region}.fnf.aliyuncs.com",
    "mns": "mns-open.{region}.aliyuncs.com",
    "oss": "oss-{region}.aliyuncs.com",
    "ram": "ram.aliyuncs.com",
    "sts": "sts.{region}.aliyuncs.com",
}
"""Service code -> host. Source: endpoint tables of the SDKs; that ``mns`` means its management API is assumed."""

_PUBLIC = "openAPI"
_REGION = r"[a-z]+(?:-[a-z0-9]+)+"


ERRORS: Mapping[str, ErrorRow] = {
    "InvalidRegionId": ErrorRow(404, "The specified region does not exist."),
    "Illegal Parameter": ErrorRow(404, "Please check the parameters"),  # no product has that service code
}


class LocationError(PopError):
    """An error of endpoint location. Source: the codes and texts that aliyun-python-sdk-core looks for."""

    table = ERRORS


@operation("DescribeEndpoints")
def describe_endpoints(service: None, call: OperationRequest) -> Reply:
    """Return the public host of the product ``ServiceCode`` in the region ``Id``; there is none of another ``Type``.

    Raises: MissingParameter, InvalidRegionId, Illegal Parameter.
    Source: aliyun-python-sdk-core, endpoint/location_service_endpoint_resolver.py.
    """
    parameters = call.parameters
    region, product = parameters.get("Id", "").lower(), parameters.get("ServiceCode", "").lower()
    if not region:
        raise MissingParameter(name="Id")
    if not product:
        raise MissingParameter(name="ServiceCode")
    if re.fullmatch(_REGION, region) is None:
        raise LocationError("InvalidRegionId")
    if product not in _HOSTS:
        raise LocationError("Illegal Parameter")
    endpoint = {
        "Endpoint": _HOSTS[product].format(region=region),
        "Id": region,
        "Namespace": "",
        "Protocols": {"Protocols": ["HTTP", "HTTPS"]},
        "SerivceCode": product,  # the service spells it so, and its client expects that
        "Type": _PUBLIC,
    }
    endpoints = [endpoint] if parameters.get("Type", _PUBLIC) == _PUBLIC else []
    return {"Endpoints": {"Endpoint": endpoints}, "Success": True}


class LocationFront(RpcFront):
    """DescribeEndpoints for the products of this emulator."""

    def __init__(self, ids: Ids) -> None:
        actions = Actions(operations_of(sys.modules[__name__]))
        super().__init__("location", VERSION, actions, None, ids)

    def rights(self, operation: str, call: OperationRequest) -> Iterable[Demand]:
        """Return no rights: every key may ask."""
        return ()


class OrchestrationFront(RpcFront):
    """Resource Orchestration, which SDKs call: none of its operations is served."""

    def __init__(self, ids: Ids) -> None:
        super().__init__("ros", "", Actions(()), None, ids)

    def unknown_action(self, action: str) -> ServiceError:
        """Return an error that names the service."""
        text = f"The action '{action}' of Resource Orchestration is not served by this emulator."
        return PopError("InvalidAction.NotFound", text)


class UnknownVersionFront(RpcFront):
    """Refuses RPC calls without an API version, or of an unknown one, after authentication."""

    def __init__(self, ids: Ids) -> None:
        super().__init__("rpc", "-", Actions(()), None, ids)

    def handle(self, call: OperationRequest) -> Answer:
        """Refuse the call.

        Raises: MissingAction, MissingParameter, InvalidVersion.
        """
        if call.action and not call.version:
            raise MissingParameter(name="Version")
        return super().handle(call)
