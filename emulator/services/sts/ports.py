"""What the security token service needs from outside."""

from typing import Protocol

from emulator.kernel.identity import AccountId


class RoleDirectory(Protocol):
    """Knows the roles of each account."""

    def max_session_s(self, account: AccountId, role: str) -> int | None:
        """Return how long a session of *role* may last, in seconds; None when there is no such role."""
        ...
