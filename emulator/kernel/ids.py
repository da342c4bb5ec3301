"""Ids and random draws: the only source of randomness, so that tests can count instead.

What is drawn follows from a seed when there is one, so that the same input gives the same ids. Secrets never do.
"""

import hashlib
import os
from collections.abc import Callable
from typing import NamedTuple, Protocol


class Ids(Protocol):
    """Makes identifiers and draws random numbers."""

    def uuid(self) -> str:
        """Return a random (version 4) UUID as lower-case hyphenated text."""
        ...

    def unseeded_uuid(self) -> str:
        """Return a UUID that does not come from the seed.

        For read-only requests: looking at the emulator must not change the ids that are drawn later.
        """
        ...

    def hex(self, digits: int) -> str:
        """Return *digits* lower-case hexadecimal digits."""
        ...

    def fraction(self) -> float:
        """Return a number in [0, 1)."""
        ...

    def secret(self, size: int) -> bytes:
        """Return *size* bytes that cannot be guessed; they follow from no seed."""
        ...


class Drawn(NamedTuple):
    """The position in the random draws: the number of the series, and how many draws were taken from it."""

    series: int
    draws: int


class SeededDraws:
    """Bytes that follow from a seed, a series and a count.

    Each run on a state draws from a series of its own, so that no id comes twice. The bytes of draw *n* are SHAKE-256
    over seed, series and *n*: setting ``drawn`` to an earlier position repeats the draws from there.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.drawn = Drawn(0, 0)

    def __call__(self, size: int) -> bytes:
        """Return the next *size* bytes."""
        series, draws = self.drawn
        self.drawn = Drawn(series, draws + 1)
        return hashlib.shake_256(b"%d/%d/%d" % (self.seed, series, draws)).digest(size)


class SystemDraws:
    """Bytes from the system's random generator, fetched 4 KB at a time because each request needs some.

    Not to be used across a fork: parent and child would draw the same bytes.
    """

    _PIECE = 16
    _PIECES = 256

    def __init__(self) -> None:
        self._supply: list[bytes] = []

    def __call__(self, size: int) -> bytes:
        """Return *size* bytes; thread-safe, because ``list.pop`` hands out each piece once."""
        if size > self._PIECE:
            return os.urandom(size)
        try:
            return self._supply.pop()[:size]
        except IndexError:
            fetched = os.urandom(self._PIECE * self._PIECES)
            self._supply = [fetched[at : at + self._PIECE] for at in range(0, len(fetched), self._PIECE)]
            return self._supply.pop()[:size]


class RandomIds:
    """Ids that cannot be guessed, unless *draw* gives bytes that follow from a seed; *secrets* never does."""

    def __init__(self, draw: Callable[[int], bytes] = os.urandom, secrets: Callable[[int], bytes] = os.urandom) -> None:
        self._draw = draw
        self._secrets = secrets

    def uuid(self) -> str:
        """Return a random (version 4) UUID as lower-case hyphenated text."""
        text = self._draw(16).hex()
        variant = "89ab"[int(text[16], 16) & 3]
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"

    def unseeded_uuid(self) -> str:
        """Return a UUID that follows from no seed."""
        return RandomIds(self._secrets).uuid()

    def hex(self, digits: int) -> str:
        """Return *digits* lower-case hexadecimal digits."""
        return self._draw((digits + 1) // 2).hex()[:digits]

    def fraction(self) -> float:
        """Return a number in [0, 1)."""
        return int.from_bytes(self._draw(6)) / (1 << 48)  # the module random is slow to import

    def secret(self, size: int) -> bytes:
        """Return *size* bytes that cannot be guessed."""
        return self._secrets(size)


class CountingIds:
    """Ids that count up, for tests that compare whole answers."""

    def __init__(self) -> None:
        self._last = 0

    def uuid(self) -> str:
        """Return ``00000000-0000-4000-8000-`` followed by the count."""
        self._last += 1
        return f"00000000-0000-4000-8000-{self._last:012x}"

    def unseeded_uuid(self) -> str:
        """Return what `uuid` does."""
        return self.uuid()

    def hex(self, digits: int) -> str:
        """Return the count, padded to *digits*."""
        self._last += 1
        return f"{self._last:0{digits}x}"[-digits:]

    def fraction(self) -> float:
        """Return 0."""
        return 0.0

    def secret(self, size: int) -> bytes:
        """Return the count as *size* bytes."""
        self._last += 1
        return self._last.to_bytes(size, "big")
