"""Access keys: the installation's own and the temporary ones handed out by STS."""

from typing import Protocol

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import AccountId


@frozen
class AccessKey:
    """A key somebody may sign with.

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


class Keyring:
    """The keys of this installation, asked in order: its own, then each further source."""

    def __init__(self, own: AccessKey, *sources: KeySource) -> None:
        self.own = own
        self._sources = list(sources)

    def add(self, source: KeySource) -> None:
        """Ask *source* too from now on."""
        self._sources.append(source)

    def find(self, key_id: str) -> AccessKey | None:
        """Return the key of that id, expired or not; None when there never was one."""
        if key_id == self.own.key_id:
            return self.own
        for source in self._sources:
            key = source.find(key_id)
            if key is not None:
                return key
        return None
