"""What ``localyun.yaml`` declares. Most folders have no such file, so what reads one is imported when there is one."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from emulator.config import Config
from emulator.kernel.clock import Clock
from emulator.kernel.identity import Tenant

if TYPE_CHECKING:
    from emulator.deploy.localyun_yaml import Declarations
    from emulator.deploy.seeds import Seeds
    from emulator.deploy.shapes import Part
    from emulator.oss.service import LazyStorage
    from emulator.services.mns.service import MessageService
    from emulator.services.ram.service import AccessManagement
    from emulator.services.workflow.service import Workflow


class Declared:
    """Queues and topics, and all else that a configuration declares: nothing without resources.

    Raises: ConfigError with the places of all that cannot be made.
    """

    faults: "Sequence[Part]" = ()
    _messaging: "Declarations | None" = None
    _seeds: "Seeds | None" = None

    def __init__(self, config: Config, tenant: Tenant, clock: Clock) -> None:
        if config.resources:
            from emulator.deploy.localyun_yaml import Declarations
            from emulator.deploy.seeds import Seeds

            self._messaging = Declarations(config, tenant)
            self._seeds = Seeds(config, tenant, clock)
            self.faults = self._seeds.faults

    def apply_messaging(self, service: "MessageService") -> None:
        """Make queues and topics; see `Declarations.apply`."""
        if self._messaging is not None:
            self._messaging.apply(service)

    async def apply(self, access: "AccessManagement", objects: "LazyStorage", workflow: "Workflow") -> None:
        """Make everything else; see `Seeds.apply`."""
        if self._seeds is not None:
            await self._seeds.apply(access, objects, workflow)

    async def deploy(self, environment: Mapping[str, str]) -> None:
        """Deploy the files; see `Seeds.deploy`."""
        if self._seeds is not None:
            await self._seeds.deploy(environment)

    async def ready(self, environment: Mapping[str, str]) -> None:
        """Run the commands for a ready emulator; see `Seeds.ready`."""
        if self._seeds is not None:
            await self._seeds.ready(environment)
