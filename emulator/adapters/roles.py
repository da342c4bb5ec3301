"""Roles: temporary keys for functions, and which roles can be assumed."""

from emulator.auth.permissions.conditions import Facts
from emulator.kernel.clock import Clock
from emulator.kernel.identity import AccountId, Principal
from emulator.services.fc.runtime.model import Credentials
from emulator.services.ram.service import Authorizer
from emulator.services.sts.service import DURATION_S, TemporaryKeys

DEFAULT_ROLE = "AliyunFcDefaultRole"
"""The role of functions that name none."""


class RoleKeys:
    """Gives functions the temporary keys of their role (the port `CredentialIssuer`)."""

    def __init__(self, temporary: TemporaryKeys, clock: Clock) -> None:
        self._temporary = temporary
        self._clock = clock

    def for_role(self, account: AccountId, role_arn: str, session: str) -> Credentials:
        """Return keys of *role_arn*; a function without a role acts as the default one."""
        role = role_arn.rpartition("/")[2] or DEFAULT_ROLE
        keys = self._temporary.for_role(account, role, session, self._clock.now())
        return Credentials(
            access_key_id=keys.access_key_id,
            access_key_secret=keys.access_key_secret,
            security_token=keys.security_token,
        )


class AssumableRoles:
    """Knows who may assume which role (the port `RoleDirectory` of the token service).

    Unless permissions are *enforced*, a role need not exist, and each trusts everyone of its own account. A *foreign*
    role, of another account than the caller's, always has to exist and to name the caller.
    """

    def __init__(self, authorizer: Authorizer, *, enforced: bool) -> None:
        self._authorizer = authorizer
        self._enforced = enforced

    def max_session_s(self, account: AccountId, role: str, *, foreign: bool) -> int | None:
        """Return how long a session of *role* may last, in seconds; None when there is no such role."""
        known = self._authorizer.max_session_s(account, role)
        return DURATION_S.high if known is None and not (self._enforced or foreign) else known

    def may_assume(self, account: AccountId, role: str, caller: Principal, facts: Facts, *, foreign: bool) -> bool:
        """Whether *role* trusts the caller."""
        if not (self._enforced or foreign):
            return True
        return self._authorizer.may_assume(account, role, caller, facts)
