"""Resource access management as the gateway sees it, version 2015-05-01, spoken RPC."""

from collections.abc import Iterable

from emulator.kernel.identity import Demand
from emulator.kernel.ids import Ids
from emulator.services.ram import rights
from emulator.services.ram.policy_api import PolicyApi
from emulator.services.ram.role_api import RoleApi
from emulator.services.ram.service import AccessManagement
from emulator.services.ram.user_api import UserApi
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Parameters, UndeclaredRpcFront

VERSION = "2015-05-01"


class RamFront(UndeclaredRpcFront):
    """Roles, users with their access keys, groups, policies and who has them."""

    def __init__(self, service: AccessManagement, ids: Ids) -> None:
        operations = {
            **RoleApi(service.roles).operations,
            **UserApi(service.users).operations,
            **PolicyApi(service.policies, service.roles, service.users).operations,
        }
        super().__init__("ram", VERSION, operations, ids, upper_case_ids=True)

    def rights(  # type: ignore[override]  # until its operations are declared
        self, operation: str, parameters: Parameters, context: OperationRequest
    ) -> Iterable[Demand]:
        """Return the rights that a call of *operation* needs."""
        own_user = context.principal.arn.partition(":user/")[2] if context.principal else ""
        return rights.demands(context.tenant.account, operation, parameters, own_user)
