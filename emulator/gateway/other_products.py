"""Endpoint location: which host a product is called by in a region.

The Python core SDK asks this service, by HTTPS, for products it finds in none of its own tables. The answer names the
cloud's own hosts, which lead here as those of the SDKs' tables do.
"""

import re
from collections.abc import Iterable, Mapping

from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Demand
from emulator.kernel.ids import Ids
from emulator.wire.pop_errors import InvalidActionNotFound, MissingParameter, PopError
from emulator.wire.request import Answer, OperationRequest
from emulator.wire.rpc import Parameters, Reply, RpcFront

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
_REGION = re.compile(r"[a-z]+(?:-[a-z0-9]+)+", re.ASCII)


class RegionUnknown(PopError):
    """What is asked for is no region. Source: the code and text that aliyun-python-sdk-core looks for."""

    code = "InvalidRegionId"
    http_status = 404
    template = "The specified region does not exist."


class ProductUnknown(PopError):
    """Nothing here has that service code. Source: the code and text that aliyun-python-sdk-core looks for."""

    code = "Illegal Parameter"
    http_status = 404
    template = "Please check the parameters"


class LocationFront(RpcFront):
    """DescribeEndpoints for the products of this emulator."""

    def __init__(self, ids: Ids) -> None:
        super().__init__("location", VERSION, {"DescribeEndpoints": _describe}, ids, upper_case_ids=True)

    def rights(self, operation: str, parameters: Parameters, context: OperationRequest) -> Iterable[Demand]:
        """Everybody with a key may ask."""
        del operation, parameters, context
        return ()


def _describe(context: OperationRequest, parameters: Parameters) -> Reply:
    """Return the public host of the product ``ServiceCode`` in the region ``Id``; there is none of another ``Type``.

    Raises: MissingParameter, RegionUnknown, ProductUnknown.
    """
    del context
    region, product = parameters.get("Id", "").lower(), parameters.get("ServiceCode", "").lower()
    if not region:
        raise MissingParameter(name="Id")
    if not product:
        raise MissingParameter(name="ServiceCode")
    if _REGION.fullmatch(region) is None:
        raise RegionUnknown
    if product not in _HOSTS:
        raise ProductUnknown
    entry = {
        "Endpoint": _HOSTS[product].format(region=region),
        "Id": region,
        "Namespace": "",
        "Protocols": {"Protocols": ["HTTP", "HTTPS"]},
        "SerivceCode": product,  # spelled like this by the service; its client knows
        "Type": _PUBLIC,
    }
    found = [entry] if parameters.get("Type", _PUBLIC) == _PUBLIC else []
    return {"Endpoints": {"Endpoint": found}, "Success": True}


class NotEmulated(InvalidActionNotFound):
    """An operation of a service that this emulator does not serve."""

    template = "The action '{action}' of {service} is not served by this emulator."


class UnavailableFront(RpcFront):
    """A service known by its API version, none of whose operations is served."""

    def __init__(self, name: str, title: str, ids: Ids, version: str = "") -> None:
        super().__init__(name, version, {}, ids, upper_case_ids=True)
        self._title = title

    def unknown_action(self, action: str) -> ServiceError:
        """Return an error that names the service."""
        return NotEmulated(action=action, service=self._title)


def unavailable_fronts(ids: Ids) -> dict[str, RpcFront]:
    """Return the front of the neighbour that SDKs know: resource orchestration."""
    return {"ros": UnavailableFront("ros", "Resource Orchestration", ids)}


class UnknownVersionFront(RpcFront):
    """Where RPC calls of no API version, or of one that nobody knows, end: refused after authentication."""

    def __init__(self, ids: Ids) -> None:
        super().__init__("rpc", "-", {}, ids, upper_case_ids=True)

    def handle(self, context: OperationRequest) -> Answer:
        """Refuse the call.

        Raises: MissingAction, MissingParameter, InvalidVersion.
        """
        if context.action and not context.version:
            raise MissingParameter(name="Version")
        return super().handle(context)
