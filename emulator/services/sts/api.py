"""The operations of the security token service, version 2015-04-01."""

from collections.abc import Iterable

from emulator.auth.permissions.conditions import facts_of
from emulator.kernel.identity import AccountId, Demand
from emulator.kernel.ids import Ids
from emulator.services.sts.errors import InvalidDurationSeconds, RoleNotFound
from emulator.services.sts.limits import DURATION_S
from emulator.services.sts.ports import RoleDirectory
from emulator.services.sts.service import TemporaryKeys
from emulator.services.sts.wire import parse_assume_role, render_assumed_role, render_caller_identity
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Parameters, Reply, UndeclaredRpcFront

VERSION = "2015-04-01"
ASSUME_ROLE = "sts:AssumeRole"


class StsFront(UndeclaredRpcFront):
    """AssumeRole and GetCallerIdentity.

    Without *roles* every role name of the caller's own account exists and allows the longest session.
    """

    def __init__(self, keys: TemporaryKeys, ids: Ids, roles: RoleDirectory | None = None) -> None:
        operations = {"AssumeRole": self._assume_role, "GetCallerIdentity": self._get_caller_identity}
        super().__init__("sts", VERSION, operations, ids, upper_case_ids=True)
        self._keys = keys
        self._roles = roles

    def allows_anonymous(self, context: OperationRequest) -> bool:
        """Let the one unsigned action of the real service through, to be told that it does not exist here."""
        return context.action.lower() == "assumerolewithoidc"

    def rights(  # type: ignore[override]  # until its operations are declared
        self, operation: str, parameters: Parameters, context: OperationRequest
    ) -> Iterable[Demand]:
        """Return the right to assume the role; everybody may ask who it is."""
        del context
        role = parameters.get("RoleArn", "")
        return [Demand(ASSUME_ROLE, role)] if operation == "AssumeRole" and role else []

    def _assume_role(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """Hand out a temporary key for a role's session.

        The real service refuses the account's own keys with NoPermission: only users and roles may assume a role.
        Here the account's key is the one key everybody has, so it is let through.

        Raises: what `parse_assume_role` raises, RoleNotFound, NoPermission for a caller whom the role does not trust,
        InvalidDurationSeconds, TooManyKeys.
        """
        request = parse_assume_role(parameters)
        account = context.tenant.account
        longest_s = self._longest_session_s(account, request.role) if request.account == account else None
        if longest_s is None:
            raise RoleNotFound(arn=request.role_arn)
        if not self._trusts(context, request.role):
            raise self.denied(Demand(ASSUME_ROLE, request.role_arn), context)
        if request.duration_s > longest_s:
            raise InvalidDurationSeconds(low=DURATION_S.low, high=longest_s)
        credentials = self._keys.issue(
            account, request.role, request.session_name, request.duration_s, context.now, policy=request.policy
        )
        return render_assumed_role(request, credentials)

    def _trusts(self, context: OperationRequest, role: str) -> bool:
        if self._roles is None or context.principal is None:
            return True
        return self._roles.may_assume(context.tenant.account, role, context.principal, facts_of(context))

    def _longest_session_s(self, account: AccountId, role: str) -> int | None:
        return DURATION_S.high if self._roles is None else self._roles.max_session_s(account, role)

    def _get_caller_identity(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """Tell the caller who it is."""
        del parameters
        assert context.principal is not None  # unsigned requests get no further than the unknown action
        return render_caller_identity(context.principal)
