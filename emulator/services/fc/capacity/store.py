"""What capacity needs remembered; `emulator.services.fc.capacity.sqlite` is the one implementation."""

from typing import Protocol

from emulator.kernel.identity import Tenant
from emulator.services.fc.capacity.model import Kind, Place, Setting


class CapacityStore(Protocol):
    """The configurations of every account."""

    @property
    def generation(self) -> int:
        """A number that grows with every change, for those who keep something derived."""
        ...

    def get(self, kind: Kind, place: Place) -> Setting | None:
        """Return the configuration of exactly this place."""
        ...

    def of_function(self, tenant: Tenant, service: str, function: str) -> list[Setting]:
        """Return everything configured for a function."""
        ...

    def list(self, kind: Kind, tenant: Tenant | None = None) -> list[Setting]:
        """Return the configurations of a kind by service, function and qualifier, of one tenant or of all."""
        ...

    def put(self, setting: Setting) -> None:
        """Write a configuration, new or not."""
        ...

    def delete(self, setting: Setting) -> None:
        """Remove a configuration."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...
