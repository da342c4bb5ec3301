"""What is kept of flow versions and aliases, and the draw between two versions."""

from typing import NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen


@frozen
class VersionRecord:
    """A published version; ``description`` is its own, not the flow's."""

    number: int
    description: str
    created_at: Millis


class Route(NamedTuple):
    """A version an alias leads to; ``weight`` counts against the other one's."""

    version: int
    weight: int


@frozen
class AliasRecord:
    """An alias: a name for one version, or for two that are drawn from by weight."""

    name: str
    description: str
    routes: tuple[Route, ...]
    created_at: Millis

    def draw(self, fraction: float) -> int:
        """Return the version that *fraction*, a random number in [0, 1), falls on."""
        left = fraction * sum(route.weight for route in self.routes)
        for route in self.routes[:-1]:
            if left < route.weight:
                return route.version
            left -= route.weight
        return self.routes[-1].version
