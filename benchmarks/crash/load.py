"""What a kind of load offers to the run."""

from collections.abc import Coroutine
from typing import Any, Protocol


class Load(Protocol):
    """Clients that work on the emulator, and checks of what they were told."""

    async def prepare(self) -> None:
        """Make the resources the clients need; nothing is killed meanwhile."""
        ...

    def clients(self) -> list[Coroutine[Any, Any, None]]:
        """Return the clients of one stretch of load; each ends when `Site.over` is set or its connection breaks."""
        ...

    async def audit(self) -> None:
        """Compare the emulator, just started and without load, with the record."""
        ...

    async def settle(self) -> None:
        """Wait until everything accepted has come to its end, and compare that with the record."""
        ...
