"""Deleting the state, all of it or a part, and deploying what the configuration names, at a start and after a reset."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from emulator.config import ConfigError
from emulator.kernel.identity import AccountId
from emulator.kernel.tasks import TaskGroup
from emulator.lab.service import Lab

if TYPE_CHECKING:
    from emulator.composition import Composition


class Resets:
    """Resets the *services*. What was asked for comes to its end, though the caller goes away.

    *close_door* makes requests wait while its context lasts. *surroundings* are the variables of what deploys; it is
    broken off once the emulator is to be *stopped*. Tasks belong to *background*.
    """

    def __init__(
        self,
        services: "Composition",
        lab: Lab,
        *,
        close_door: Callable[[], AbstractContextManager[None]],
        surroundings: Callable[[], Mapping[str, str]],
        stopped: asyncio.Event,
        background: TaskGroup,
    ) -> None:
        self._services = services
        self._lab = lab
        self._close_door = close_door
        self._surroundings = surroundings
        self._stopped = stopped
        self._background = background

    async def reset(self, scope: Mapping[str, str]) -> dict[str, Any]:
        """Delete the state of all services, or of the resource or service in *scope*; functions of the folder stay.

        Without a *scope* the clock returns to the machine's time too.

        Raises: ServiceError for a name that does not exist; ConfigError when the deployments fail.
        """
        if any(scope.values()):
            return await self._lab.alone(partial(self._reset_part, scope), "reset")
        deployed = await self._lab.alone(self._reset, "reset")
        if (error := await asyncio.shield(deployed)) is not None:
            raise error
        return {"status": "reset"}

    async def remove_account(self, account: AccountId) -> bool:
        """Delete an account, its key and its resources; return whether it existed."""

        async def remove() -> bool:
            there = self._services.accounts.has(account)
            if there:
                await self._lab.remove_account(account)
            return there

        return await self._lab.alone(remove, "remove an account")

    async def deploy(self) -> None:
        """Deploy the files that the configuration names, then inject the faults that it names.

        Raises: ConfigError.
        """
        working = asyncio.ensure_future(self._deploy())
        stopping = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            working.cancel()
        await asyncio.wait([working])
        if not working.cancelled():
            working.result()

    async def _reset_part(self, scope: Mapping[str, str]) -> dict[str, Any]:
        if not scope.get("service"):
            return await self._services.reset(scope)
        with self._close_door():  # until the resources of the configuration are there again
            return await self._services.reset(scope)

    async def _reset(self) -> asyncio.Task[ConfigError | None]:
        """Delete everything; return the task that deploys, for which requests need not wait."""
        with self._close_door():
            await self._lab.forget(self._services.forget)
            await self._services.seed()
        return self._background.spawn(self._deploy_again(), "deploy")

    async def _deploy_again(self) -> ConfigError | None:
        """Deploy as at the start; return why that has failed."""
        try:
            await self.deploy()
        except ConfigError as error:
            return error
        return None

    async def _deploy(self) -> None:
        if self._services.declared is not None:
            await self._services.declared.deploy(self._surroundings())
        self._services.arm_faults()
