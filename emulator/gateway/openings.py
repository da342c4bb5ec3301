"""Opening a product: the calls that an account makes once before it uses one, in the cloud as an order.

Every product of the emulator is open from the start, so each of these calls is answered as by an account that has
opened the product before. Nothing is ordered and nothing is kept.
"""

import sys
from collections.abc import Iterable, Mapping

from emulator.kernel.errors import ErrorRow, ServiceError
from emulator.kernel.identity import Demand
from emulator.kernel.ids import Ids
from emulator.wire.operation import Actions, operation, operations_of
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import MissingParameter, PopError, Reply, RpcFront

_PRODUCTS = frozenset({"fc", "fnf", "mns", "oss"})
"""Product codes of what is here. Source: terraform-provider-alicloud; that ``fc`` and ``oss`` are codes is assumed."""

ERRORS: Mapping[str, ErrorRow] = {
    "ORDER.OPEND": ErrorRow(400, "The service has been opened already."),  # the spelling is the service's
    "NotServed": ErrorRow(404, "This emulator does not support orders of {product}.", "InvalidAction.NotFound"),
}


class OpeningError(PopError):
    """An error of an order. Source: code from terraform-provider-alicloud, status and texts assumed."""

    table = ERRORS


@operation("OpenFcService")
@operation("OpenOssService")
def open_product(service: None, call: OperationRequest) -> Reply:
    """Refuse to open a product, as it has been opened before.

    Raises: ORDER.OPEND. Source: terraform-provider-alicloud, data sources of services.
    """
    raise OpeningError("ORDER.OPEND")


@operation("CreateInstance")
def order_instance(service: None, call: OperationRequest) -> Reply:
    """Refuse to open the product ``ProductCode``, as it has been opened before.

    Raises: MissingParameter, ORDER.OPEND, InvalidAction.NotFound for a product that is not here.
    Source: Business Support System (2017-12-14), CreateInstance; terraform-provider-alicloud.
    """
    product = call.parameters.get("ProductCode", "")
    if not product:
        raise MissingParameter(name="ProductCode")
    if product not in _PRODUCTS:
        raise OpeningError("NotServed", product=product)
    raise OpeningError("ORDER.OPEND")


@operation("QueryAvailableInstances")
def query_available_instances(service: None, call: OperationRequest) -> Reply:
    """Return the opened product ``ProductCode``, each without one; nothing for a product that is not here.

    Source: Business Support System (2017-12-14), QueryAvailableInstances; the instance's id is assumed.
    """
    wanted = call.parameters.get("ProductCode", "")
    opened = sorted(_PRODUCTS if not wanted else _PRODUCTS & {wanted})
    account = call.tenant.account
    instances = [
        {
            "InstanceID": f"{product}-{account}",
            "ProductCode": product,
            "ProductType": "",
            "SubscriptionType": "PayAsYouGo",
            "Status": "Normal",
            "Region": call.region,
            "OwnerId": int(account),
        }
        for product in opened
    ]
    data = {"PageNum": 1, "PageSize": len(instances), "TotalCount": len(instances), "InstanceList": instances}
    return {"Success": True, "Code": "Success", "Message": "Successful!", "Data": data}


class OpeningFront(RpcFront):
    """Orders of products, of whichever product and version: an action is unique to one."""

    def __init__(self, ids: Ids) -> None:
        super().__init__("opening", "", Actions(operations_of(sys.modules[__name__])), None, ids)

    def unknown_action(self, action: str) -> ServiceError:
        """Return an error that names the operation."""
        return PopError("InvalidAction.NotFound", f"The action '{action}' is not served by this emulator.")

    def rights(self, operation: str, call: OperationRequest) -> Iterable[Demand]:
        """Return no rights: every key may ask."""
        return ()
