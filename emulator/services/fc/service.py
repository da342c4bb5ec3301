"""Function Compute as one object: built, started, called by other services, ended.

Operations act on its stores, and on parts for everything that takes more than a row; this module joins them.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Origin
from emulator.kernel.timers import Timers
from emulator.services.fc import limits
from emulator.services.fc.asynchronous.model import AsyncOutcome
from emulator.services.fc.asynchronous.queue import AsyncQueue
from emulator.services.fc.asynchronous.store import AsyncStore
from emulator.services.fc.capacity.admission import Admission
from emulator.services.fc.capacity.model import check_deletable
from emulator.services.fc.capacity.provisioning import InstanceList, Provisioner
from emulator.services.fc.capacity.store import CapacityStore
from emulator.services.fc.catalog.code import CodeStore, Packages, UnusedPackages
from emulator.services.fc.catalog.folder import Snapshot
from emulator.services.fc.catalog.following import Follower
from emulator.services.fc.catalog.layers import Layers, LayerStore
from emulator.services.fc.catalog.loading import Applied, Loader
from emulator.services.fc.catalog.resolving import FunctionKeys, Resolver
from emulator.services.fc.catalog.store import SCHEMA, CatalogStore
from emulator.services.fc.errors import DIALECT, function_not_found
from emulator.services.fc.invoke.invoking import FunctionCall, Invoked, Invoker
from emulator.services.fc.invoke.logbook import LogBook
from emulator.services.fc.model import FunctionName, Scope, family
from emulator.services.fc.ports import Instances, Platform, Ports
from emulator.services.fc.sessions.keeping import Sessions
from emulator.services.fc.sessions.store import SessionStore
from emulator.services.fc.sessions.visits import Reception
from emulator.services.fc.triggers.sources import EventSources
from emulator.services.fc.triggers.store import TriggerStore
from emulator.storage.database import CommitFailed, Database

__all__ = ["SCHEMA", "FunctionCompute"]

_log = logging.getLogger(__name__)

CODE_PATH = "/_localyun/code/"
"""Where the gateway serves `FunctionAdmin.code_download`."""

_NO_PORTS = Ports()


class FunctionCompute:
    """The service. One object per emulator; everything on the loop's thread.

    *code_folder* holds unpacked packages, *logbook* the functions' logs (its `LogBook.on_log` is the listener of the
    instance pool). *account* and *region* are the tenant the functions folder belongs to. *endpoint* returns the
    emulator's own address (``http://127.0.0.1:8868``), *ports* what other services do for this one.
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
        ports: Ports = _NO_PORTS,
    ) -> None:
        platform = Platform(database=database, clock=clock, ids=ids, timers=timers, ports=ports)
        self._clock = clock
        self._database = database
        self.ids = ids
        self._endpoint = endpoint
        self.instances = instances
        self.tenant = Tenant(account, region)
        self.logbook = logbook

        self.codes = codes = CodeStore(code_folder)
        self.packages = packages = Packages(codes, clock, ids, ports.objects)
        self.store = store = CatalogStore(database)
        self.unused_packages = UnusedPackages(platform, store, codes, packages)
        self.layer_store = layer_store = LayerStore(database)
        self.layers = layers = Layers(layer_store, codes)
        self.resolver = resolver = Resolver(store, codes, layers)

        self.capacity = capacity = CapacityStore(database)
        self._keys = keys = FunctionKeys(ports.credentials)
        self.provisioner = Provisioner(platform, capacity, store, resolver, instances, keys)
        self.admission = admission = Admission(capacity, resolver, self.provisioner.kept_ready)
        self.instance_list = InstanceList(store, resolver, instances)
        self.session_store = session_store = SessionStore(database)
        self.sessions = Sessions(platform, session_store, resolver, instances, keys, admission.most_instances)
        reception = Reception(self.sessions, instances, ids)
        self._interference = ports.interference
        self.invoker = invoker = Invoker(
            resolver, instances, ids, keys, admission, clock, ports, reception, timers.turns
        )

        self.async_store = AsyncStore(database)
        self.async_queue = AsyncQueue(platform, self.async_store, invoker, resolver, admission.room, self.catch_up)
        trigger_store = TriggerStore(database)
        self.sources = EventSources(platform, trigger_store, resolver, invoker, self._enqueue_for_trigger, endpoint)

        self._loader = Loader(store, ids, self.retire, self.tenant)
        database.on_rollback(self._loader.forget)
        self.follower: Follower | None = None
        self._shown_names: set[str] = set()
        self._expects_calls = False
        store.watch(self._expect_calls)

    async def start(self, functions_folder: Path | None = None) -> None:
        """Load the functions folder and watch it from now on; the first call may come when this returns.

        Functions of a folder loaded by an earlier start and not in this one are forgotten.
        """
        self._expect_calls()
        snapshot = Snapshot()
        if functions_folder is not None:
            self.follower = Follower(functions_folder, self._clock, self._take, self._database.writable)
            snapshot = await self.follower.first()
        await self._take_in_turns(snapshot)
        if self.follower is not None:
            self.follower.start()
        await self._go_on()

    def _expect_calls(self) -> None:
        """Have the instances prepare for the first call once there is a function, which many emulators never have."""
        if not self._expects_calls and self.store.has_functions():
            self._expects_calls = True
            self.instances.expect_calls()

    async def _go_on(self) -> None:
        self._expect_calls()
        self.unused_packages.remove_later(limits.CODE_SWEPT_AFTER_START_S)
        await self.sources.domains.start()  # before calls that are resumed may ask for them
        self.provisioner.start()
        await self.sessions.start()
        self.async_queue.start()
        await self.sources.start()

    async def close(self) -> None:
        """Stop watching, end the threads.

        Asynchronous calls that run are broken off and run again after the next start. The owner of the instance pool
        closes that before: instances still log on their way out.
        """
        await self.sources.close()
        await self.async_queue.close()
        await self.provisioner.close()
        self.sessions.close()
        if self.follower is not None:
            await self.follower.close()
            self.follower = None
        await self.unused_packages.close()
        await self.codes.close()
        await self.logbook.close()

    async def forget(self) -> None:
        """Delete what is kept neither in tables nor in `files`: the logs."""
        await self.logbook.clear()

    async def release(self) -> None:
        """Remove the packages that no function names any more."""
        await self.unused_packages.remove()

    async def reset(self) -> None:
        """Forget every resource, tag and log; functions of the folder are loaded anew."""
        await self.async_queue.close()
        await self.provisioner.close()
        # without a wait from here: a call that came in between would be left without its function
        known = self.store.keys()
        self.async_queue.clear()
        self.sessions.clear()
        self.capacity.clear()
        self.sources.clear()
        self.layer_store.clear()
        self.store.clear()
        self._keys.forget()
        self.retire(family(*key) for key in known)
        await self._take_again()
        await self.forget()
        await self.release()
        self.async_queue.start()
        self.provisioner.start()
        await self.sessions.start()

    def files(self) -> list[str]:
        """Return the packages the tables name, as paths below the emulator's folder."""
        return [f"code/{digest}.zip" for digest in self.store.digests()]

    async def suspend(self) -> None:
        """End what runs: tables and files are about to be replaced, and `resume` goes on from them."""
        self._shown_names = set(self.sources.host_names())
        if self.follower is not None:
            await self.follower.pause()  # an edit would arm triggers again
        await self.sources.close()
        await self.async_queue.close()
        await self.provisioner.close()
        self.sessions.close()
        self.instances.end_all()
        await self.unused_packages.suspend()

    async def resume(self) -> None:
        """Resume from what the tables hold now, after `suspend` and after every timer has been dropped."""
        await self.codes.unpack_missing(self.store.digests())
        self._keys.forget()
        self.sources.forget_names(self._shown_names - set(self.sources.host_names()))
        await asyncio.sleep(0)  # whoever is served while all this stands still
        await self._take_again()
        await self._go_on()

    def reset_function(self, service: str, function: str) -> int:
        """End the asynchronous calls and the warm instances of a function of the folder's tenant; return the calls.

        Raises: FunctionNotFound.
        """
        versions = self.store.versions_of(self.tenant, service, function)
        if not versions:
            raise function_not_found(function, service)
        ended = self.async_queue.stop_all(self.tenant, service, function)
        self.retire(family(self.tenant, service, function, version) for version in versions)
        return ended

    @property
    def edits_announced(self) -> bool:
        """Whether the kernel announces edits of the functions folder, so that `catch_up` need not look at files."""
        return self.follower is None or self.follower.announced

    def catch_up(self, service: str = "", function: str = "") -> "asyncio.Future[None] | None":
        """Return what to await before a function of the folder is used, None when all edits have been read.

        The names are those of the function that is needed, empty when it may be any; *service* is empty in 3.0.
        """
        if self.follower is None:
            return None
        task = self.follower.catch_up(service, function)
        return asyncio.shield(task) if task is not None else None

    async def _take_again(self) -> None:
        """Apply the last snapshot of the folder as a whole, as the store was replaced; calls wait for that."""
        self._loader.forget()
        taking = self._take_in_turns(self._loader.snapshot)
        await (taking if self.follower is None else self.follower.apart(taking))

    async def _take_in_turns(self, snapshot: Snapshot) -> None:
        now = self._clock.now()
        self._taken(snapshot, await self._loader.apply_in_turns(snapshot, now), now)

    def _take(self, snapshot: Snapshot) -> None:
        now = self._clock.now()
        self._taken(snapshot, self._loader.apply(snapshot, now, self.sources.triggers.unsettled), now)

    def _taken(self, snapshot: Snapshot, applied: Applied, now: Millis) -> None:
        self.resolver.why_unusable = snapshot.why_unusable
        heads = [function for function in applied.functions if not function.version]
        self.sources.triggers.follow_folder(self.tenant, heads, applied.scopes, applied.places, now)

    @property
    def problems(self) -> list[str]:
        """What is wrong with files of the functions folder, each with its place; edits are seen as they are made."""
        return [*self._loader.problems, *self.sources.triggers.problems]

    async def invoke(
        self,
        tenant: Tenant,
        name: FunctionName,
        event: bytes,
        *,
        request_id: str | None = None,
        origin: Origin = "client",
    ) -> Invoked:
        """Run a function and return how it ended; a failed function is a result with ``error_type``.

        Raises: FcError, with the code and status an HTTP caller would get.
        """
        if (edits := self.catch_up(name.service, name.function)) is not None:
            await edits
        call = self._call(name, event, origin, request_id)
        async with self._interference.around(call.subject, DIALECT):
            return await self.invoker.invoke(tenant, call)

    async def invoke_async(
        self,
        tenant: Tenant,
        name: FunctionName,
        event: bytes,
        *,
        key: str,
        task_id: str = "",
        origin: Origin = "async",
    ) -> str:
        """Queue an asynchronous call and return its request id once the call is committed.

        A call with a *key* that is known already (one queued at most a day after the other has ended) is not queued
        again: its request id is returned. With a *task_id* a record of that name is kept.

        Raises: FcError, with the code and status an HTTP caller would get; CommitFailed.
        """
        if (edits := self.catch_up(name.service, name.function)) is not None:
            await edits
        call = self._call(name, event, origin)
        async with self._interference.around(call.subject, DIALECT):
            accepted = self.async_queue.accept(
                tenant, call, key=key, task_id=task_id, task_mode=True if task_id else None
            )
            await self._database.committed()
        return accepted.request_id

    def _call(self, name: FunctionName, event: bytes, origin: Origin, request_id: str | None = None) -> FunctionCall:
        return FunctionCall(
            service=name.service,
            function=name.function,
            qualifier=name.qualifier,
            event=event,
            request_id=request_id or self.ids.uuid(),
            now=self._clock.now(),
            origin=origin,
        )

    def _enqueue_for_trigger(self, tenant: Tenant, call: FunctionCall, key: str) -> str:
        """Queue a call as an `Enqueue` does, unless a fault keeps the trigger from it, or from knowing of it."""
        with self._interference.within(call.subject, DIALECT):
            return self.async_queue.accept(tenant, call, key=key).request_id

    async def completion(self, tenant: Tenant, request_id: str) -> AsyncOutcome:
        """Wait for the end of an asynchronous call, through all its retries, and return how it ended.

        The wait itself ends with the emulator. After a restart: `invoke_async` with the same key gives the same
        request id, and this waits anew or returns what is known: the result of such a call is kept for a day,
        shortened to 1 MB.

        Raises: LookupError for a call that is not known (any more).
        """
        return await self.async_queue.completions.wait(tenant, request_id)

    def check_function_removable(self, tenant: Tenant, service: str, function: str) -> None:
        """Check that no trigger and no instances kept ready keep a function from being deleted.

        Raises: FunctionNotEmpty, ProvisionConfigExist, ResidentScalingConfigExists.
        """
        self.sources.triggers.check_none(tenant, service, function)
        check_deletable(self.capacity.of_function(tenant, service, function))

    def forget_function(self, tenant: Tenant, service: str, function: str) -> None:
        """Remove the configurations, waiting calls and sessions of a deleted function."""
        self.capacity.delete(*self.capacity.of_function(tenant, service, function))
        self.async_queue.forget_function(tenant, service, function)
        self.sessions.end_of(self.session_store.of_function(tenant, service, function))

    def check_qualifier_removable(self, tenant: Tenant, scope: Scope, qualifier: str) -> None:
        """Check that no instances kept ready keep a version or alias from being deleted.

        Raises: ProvisionConfigExist, ResidentScalingConfigExists.
        """
        check_deletable(self.capacity.of_qualifier(tenant, scope, qualifier))

    def forget_qualifier(self, tenant: Tenant, scope: Scope, qualifier: str) -> None:
        """Remove the configurations and sessions of a deleted version or alias; queued calls through it fail later."""
        self.capacity.delete(*self.capacity.of_qualifier(tenant, scope, qualifier))
        self.async_queue.forget_qualifier(tenant, scope, qualifier)
        if scope.function:
            self.sessions.end_of(self.session_store.of_function(tenant, "", scope.function, qualifier))

    def retire(self, families: Iterable[str]) -> None:
        """End the warm instances of *families* after the commit: their configuration, code or function has changed."""
        families = list(families)

        def effect(failure: CommitFailed | None) -> None:
            if failure is None:
                for name in families:
                    self.instances.retire_family(name)

        self._database.after_commit(effect)

    def code_url(self, token: str) -> str:
        """Return the address a token's zip is served at."""
        return f"{self._endpoint().rstrip('/')}{CODE_PATH}{token}"
