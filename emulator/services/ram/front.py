"""The front of resource access management, version 2015-05-01, spoken RPC; and the rights that its calls need."""

from collections.abc import Iterable, Iterator, Mapping

from emulator.kernel.identity import AccountId, Demand
from emulator.kernel.ids import Ids
from emulator.services.ram import codec, policies, roles, users
from emulator.services.ram.service import AccessManagement
from emulator.wire.operation import Actions, operations_of
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import RpcFront

VERSION = "2015-05-01"

_KINDS = (("RoleName", "role"), ("UserName", "user"), ("GroupName", "group"))
_WITHOUT_NAME = {
    "ListRoles": "role", "ListUsers": "user", "ListGroups": "group", "ListPolicies": "policy",
}  # fmt: skip


class RamFront(RpcFront):
    """The front of resource access management: roles, users, access keys, groups, policies, attachments, tags."""

    def __init__(self, service: AccessManagement, ids: Ids) -> None:
        actions = Actions(operations_of(users, roles, policies))
        super().__init__("ram", VERSION, actions, service, ids)

    def rights(self, operation: str, call: OperationRequest) -> Iterable[Demand]:
        """Return the rights that a call of *operation* needs."""
        own_user = call.principal.arn.partition(":user/")[2] if call.principal else ""
        return demands(call.tenant.account, operation, call.parameters, own_user)


def demands(account: AccountId, operation: str, parameters: Mapping[str, str], own_user: str) -> Iterator[Demand]:
    """Yield the rights that a call of *operation* needs: on a user, group, role or policy; attaching needs two.

    *own_user* is the caller, whose keys are meant when the request names no user. Source: the pages of the operations,
    "RAM authorization"; that a caller's rights on its own keys follow from its policies like all others is assumed.
    """
    names = [
        f"acs:ram:*:{account}:{kind}/{parameters[parameter]}" for parameter, kind in _KINDS if parameters.get(parameter)
    ]
    if "AccessKey" in operation and not names:
        names.append(f"acs:ram:*:{account}:user/{own_user or '*'}")
    if parameters.get("PolicyName"):
        owner = "system" if parameters.get("PolicyType") == "System" else account
        names.append(f"acs:ram:*:{owner}:policy/{parameters['PolicyName']}")
    if "ResourceType" in parameters:
        kind_of_tagged = parameters["ResourceType"]
        tagged = codec.names(parameters, "ResourceNames") or ["*"]
        names += [f"acs:ram:*:{account}:{kind_of_tagged}/{name}" for name in tagged]
    if not names:
        kind = _WITHOUT_NAME.get(operation)
        names.append(f"acs:ram:*:{account}:{kind}/*" if kind else f"acs:ram:*:{account}:*")
    for name in names:
        yield Demand(f"ram:{operation}", name)
