"""Resource access management as the gateway sees it, version 2015-05-01, spoken RPC."""

from emulator.dialect.rpc import RpcFront
from emulator.kernel.ids import Ids
from emulator.services.ram.policy_api import PolicyApi
from emulator.services.ram.role_api import RoleApi
from emulator.services.ram.service import AccessManagement
from emulator.services.ram.user_api import UserApi

VERSION = "2015-05-01"


class RamFront(RpcFront):
    """Roles, users with their access keys, groups, policies and who has them."""

    def __init__(self, service: AccessManagement, ids: Ids) -> None:
        operations = {
            **RoleApi(service.roles).operations,
            **UserApi(service.users).operations,
            **PolicyApi(service.policies, service.roles, service.users).operations,
        }
        super().__init__("ram", VERSION, operations, ids, upper_case_ids=True)
