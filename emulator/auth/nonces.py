"""Which nonces have been seen lately, so that a recorded request cannot be sent again."""

from emulator.kernel.clock import MINUTE, Millis

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
        """Remember the nonce of a request dated *date*; tell whether it was unknown."""
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
