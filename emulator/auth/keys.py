"""Access keys: the installation's own and the temporary ones handed out by STS."""

from typing import Protocol

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import AccountId


@frozen
class AccessKey:
    """A key that requests may be signed with.

    ``token`` and ``expires_at`` are set for temporary keys only; ``arn`` is the identity it stands for, ``policy`` the
    document that narrows what a temporary key may do, if any.
    """

    key_id: str
    secret: str
    account: AccountId
    arn: str
    token: str | None = None
    expires_at: Millis | None = None
    active: bool = True
    policy: str = ""


class KeySource(Protocol):
    """Somewhere keys are kept."""

    def find(self, key_id: str) -> AccessKey | None:
        """Return the key of that id, expired or not; None when there never was one."""
        ...
