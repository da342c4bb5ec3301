"""Access keys: the installation's own and the temporary ones handed out by STS."""

from typing import Protocol

from emulator.kernel.clock import MINUTE, Millis
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


REMEMBERED_MS = 15 * MINUTE
CAPACITY = 65_536


class NonceMemory:
    """Nonces by key id, each kept until no request dated with it could pass the clock check.

    Holds at most *capacity*; when full the oldest is forgotten, which costs replay protection of that one request
    rather than refusing a new caller. Memory per nonce is the same however long the nonce is.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._until: dict[int, Millis] = {}

    def is_new(self, key_id: str, nonce: str, now: Millis, date: Millis) -> bool:
        """Remember the nonce of a request dated *date*; return whether it was unknown."""
        # 64 bits of the interpreter's keyed hash: two nonces of 65,536 meet about once in 10**10 full memories
        entry = hash((key_id, nonce))
        known_until = self._until.get(entry)
        if known_until is not None and known_until > now:
            return False
        self._forget(now)
        self._until.pop(entry, None)
        self._until[entry] = Millis(max(now, date) + REMEMBERED_MS)
        return True

    def __len__(self) -> int:
        return len(self._until)

    def _forget(self, now: Millis) -> None:
        """Drop what is over, and one more when full; entries stand nearly in the order they end."""
        while self._until:
            oldest = next(iter(self._until))
            if self._until[oldest] > now and len(self._until) < self._capacity:
                return
            del self._until[oldest]
