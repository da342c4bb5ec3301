"""Function Compute as the rest of the emulator sees it: built, started, called, ended.

The operations live in collaborators, one per kind of resource; here they are joined.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from emulator.kernel.clock import Clock
from emulator.kernel.identity import AccountId, Region, World
from emulator.kernel.ids import Ids
from emulator.kernel.timers import Timers
from emulator.services.fc.catalog import Catalog
from emulator.services.fc.code import CodeStore
from emulator.services.fc.domain_sqlite import DomainStore
from emulator.services.fc.effects import Effects, family
from emulator.services.fc.errors import FunctionNotFound
from emulator.services.fc.folder import FolderReader, Snapshot
from emulator.services.fc.functions import Functions
from emulator.services.fc.http_invoke import HttpInvoker
from emulator.services.fc.http_routing import HttpRouting
from emulator.services.fc.invoking import Call, Invoked, Invoker
from emulator.services.fc.loading import Loader
from emulator.services.fc.logbook import LogBook
from emulator.services.fc.model import Function
from emulator.services.fc.ports import CredentialIssuer, Instances, ObjectReader
from emulator.services.fc.publishing import Publishing
from emulator.services.fc.resolving import Resolver
from emulator.services.fc.sqlite import SCHEMA, SqliteStore
from emulator.services.fc.tagging import Tagging
from emulator.services.fc.trigger_model import Trigger, trigger_path
from emulator.services.fc.trigger_sqlite import TriggerStore
from emulator.services.fc.triggers import Triggers
from emulator.services.fc.watching import Watcher
from emulator.storage.database import Database

__all__ = ["SCHEMA", "FunctionCompute"]

_log = logging.getLogger(__name__)

CODE_PATH = "/_localyun/code/"
"""Where the gateway serves `FunctionCompute.code_download`."""


class FunctionCompute:
    """The service. One object per emulator; everything on the loop's thread.

    *code_folder* holds unpacked packages, *logbook* the functions' logs (its `LogBook.on_log` is the listener of the
    instance pool). *account* and *region* are the world the functions folder belongs to. *endpoint* returns the
    emulator's own address (``http://127.0.0.1:8868``). Without *credentials* functions get no keys; without *objects*
    code cannot come from a bucket.
    """

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        ids: Ids,
        timers: Timers,
        instances: Instances,
        code_folder: Path,
        logbook: LogBook,
        account: AccountId,
        region: Region,
        endpoint: Callable[[], str],
        credentials: CredentialIssuer | None = None,
        objects: ObjectReader | None = None,
    ) -> None:
        self._clock = clock
        self._ids = ids
        self._endpoint = endpoint
        self.world = World(account, region)
        self.logbook = logbook
        self.codes = CodeStore(code_folder)
        self.store = SqliteStore(database)
        self._effects = Effects(database, clock, timers, instances, self.store, self.codes)
        self.resolver = Resolver(self.store, self.codes)
        self.catalog = Catalog(self.store, ids, self._effects, self.resolver)
        self.functions = Functions(
            store=self.store,
            clock=clock,
            ids=ids,
            codes=self.codes,
            effects=self._effects,
            resolver=self.resolver,
            objects=objects,
        )
        self.publishing = Publishing(self.store, ids, self.codes, self.functions, self._effects, self.resolver)
        self.tagging = Tagging(self.store)
        self._trigger_store = TriggerStore(database)
        self.triggers = Triggers(self._trigger_store, database, self.resolver, ids)
        self.functions.check_deletable = self.triggers.check_none
        self.invoker = Invoker(self.resolver, instances, ids, credentials)
        self._domain_store = DomainStore(database)
        self.http_routing = HttpRouting(self._trigger_store, self._domain_store, self.resolver)
        self.http_invoker = HttpInvoker(self.invoker)
        self._loader = Loader(self.store, ids, self._effects, self.world)
        self._snapshot = Snapshot()
        self._watcher: Watcher | None = None

    # --- life ----------------------------------------------------------------------------------------------------

    async def start(self, functions_folder: Path | None = None) -> None:
        """Load the functions folder and watch it from now on; the first call may come when this returns.

        Functions of a folder loaded by an earlier start and not in this one are forgotten.
        """
        if functions_folder is not None:
            self._watcher = Watcher(FolderReader(functions_folder), self._clock, self._take)
            self._take(await self._watcher.first())
            self._watcher.start()
        else:
            self._take(Snapshot())
        self._effects.sweep_soon()

    async def close(self) -> None:
        """Stop watching, end the threads.

        The instance pool belongs to somebody else, who closes it first: instances still log on their way out.
        """
        if self._watcher is not None:
            await self._watcher.close()
            self._watcher = None
        await self._effects.close()
        await self.codes.close()
        await self.logbook.close()

    async def reset(self) -> None:
        """Forget every resource, tag and log; functions of the folder are loaded anew."""
        known = self.store.keys()
        self.store.clear()
        self._trigger_store.clear()
        self._domain_store.clear()
        self.invoker.forget_keys()
        self._take(self._snapshot)
        self._effects.retire(family(*key) for key in known)
        await self.logbook.clear()
        self._effects.sweep()

    def _take(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.resolver.unusable = dict(snapshot.unusable)
        now = self._clock.now()
        self._loader.apply(snapshot, now)
        loaded = self.store.loaded(self.world).functions.values()
        self.triggers.follow_folder(self.world, [function for function in loaded if not function.version], now)

    # --- calls from inside the emulator --------------------------------------------------------------------------

    async def invoke(
        self,
        world: World,
        service: str | None,
        function: str,
        qualifier: str | None,
        event: bytes,
        *,
        request_id: str | None = None,
        retry_count: int = 0,
        tracing: Mapping[str, str] | None = None,
    ) -> Invoked:
        """Run a function and return how it ended; a failed function is a result with ``error_type``.

        *service* is None for a function without one.

        Raises: FcError, with the code and status an HTTP caller would get.
        """
        call = Call(
            service=service or "",
            function=function,
            qualifier=qualifier,
            event=event,
            request_id=request_id or self._ids.uuid(),
            now=self._clock.now(),
            retry_count=retry_count,
            tracing=tracing or {},
        )
        return await self.invoker.invoke(world, call)

    def find(self, world: World, service: str | None, function: str, qualifier: str | None = None) -> Function:
        """Return a function as *qualifier* has it.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound.
        """
        return self.resolver.function(world, service or "", function, qualifier)

    # --- addresses of HTTP triggers -----------------------------------------------------------------------------

    def trigger_url(self, trigger: Trigger) -> str:
        """Return the address of an HTTP trigger that works from everywhere on this machine, without a final slash."""
        return f"{self._endpoint().rstrip('/')}{trigger_path(trigger)}"

    def trigger_host(self, world: World, trigger: Trigger) -> str:
        """Return the host name of an HTTP trigger; ``.localhost`` in place of its domain works too."""
        return f"{trigger.label}.{world.region}.fcapp.run"

    # --- what the gateway serves beside the API ------------------------------------------------------------------

    def code_download(self, token: str) -> bytes | None:
        """Return the zip behind a token of GetFunctionCode, None when there is none or its time is over."""
        return self.functions.download(token)

    def code_url(self, token: str) -> str:
        """Return the address a token's zip is served at."""
        return f"{self._endpoint().rstrip('/')}{CODE_PATH}{token}"

    def logs(self, function: str, lines: int, *, follow: bool) -> AsyncIterator[bytes]:
        """Yield the last *lines* lines of ``service/function`` or ``function``, then new ones while following.

        An empty *function* means all functions; their lines start with the function's name.

        Raises: FunctionNotFound when there is neither such a function nor a log of one.
        """
        if not function:
            return self.logbook.read_all(lines, follow=follow)
        service, _, name = function.rpartition("/")
        known = self.store.function(self.world, service, name) is not None or (service, name) in self.logbook.names()
        if not known:
            raise FunctionNotFound(function=name, service=service)
        return self.logbook.read(service, name, lines, follow=follow)

    def counts(self) -> dict[str, int]:
        """Return how many services and functions there are, for the status page."""
        return self.store.counts()
