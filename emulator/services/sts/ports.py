"""What the security token service needs from outside."""

from typing import Protocol

from emulator.auth.permissions.conditions import Facts
from emulator.kernel.identity import AccountId, Principal


class RoleDirectory(Protocol):
    """Knows the roles of each account."""

    def max_session_s(self, account: AccountId, role: str) -> int | None:
        """Return how long a session of *role* may last, in seconds; None when there is no such role."""
        ...

    def may_assume(self, account: AccountId, role: str, caller: Principal, facts: Facts) -> bool:
        """Tell whether *role* trusts the caller; *facts* is what conditions can be about."""
        ...
