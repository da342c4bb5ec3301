"""Function Compute as the rest of the emulator sees it: built, started, called, ended.

The operations live in collaborators, one per kind of resource; here they are joined.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from emulator.kernel.clock import Clock
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.timers import Timers
from emulator.services.fc import limits
from emulator.services.fc.asynchronous.configs import AsyncConfigs
from emulator.services.fc.asynchronous.model import AsyncOutcome
from emulator.services.fc.asynchronous.orders import Order
from emulator.services.fc.asynchronous.queue import AsyncQueue
from emulator.services.fc.asynchronous.sqlite import SqliteAsyncStore
from emulator.services.fc.asynchronous.tasks import Tasks
from emulator.services.fc.attachments import Attachments
from emulator.services.fc.capacity.admission import Admission
from emulator.services.fc.capacity.instances import InstanceList
from emulator.services.fc.capacity.provisioning import Provisioner
from emulator.services.fc.capacity.settings import Settings
from emulator.services.fc.capacity.sqlite import SqliteCapacityStore
from emulator.services.fc.catalog import Catalog
from emulator.services.fc.code import CodeStore
from emulator.services.fc.debugging import Debugging
from emulator.services.fc.effects import Effects, family
from emulator.services.fc.errors import FunctionNotFound
from emulator.services.fc.event_sources import EventSources
from emulator.services.fc.folder import FolderReader, Snapshot
from emulator.services.fc.functions import Functions
from emulator.services.fc.invoking import Call, Invoked, Invoker
from emulator.services.fc.layer_sqlite import LayerStore
from emulator.services.fc.layers import Layers
from emulator.services.fc.loading import Loader
from emulator.services.fc.logbook import LogBook
from emulator.services.fc.model import Function, Scope
from emulator.services.fc.ports import (
    CredentialIssuer,
    DestinationQueue,
    DestinationTopic,
    HostNames,
    Instances,
    ObjectReader,
    RoleGuard,
    TopicSubscriptions,
)
from emulator.services.fc.publishing import Publishing
from emulator.services.fc.resolving import Resolver
from emulator.services.fc.role_checks import RoleChecks
from emulator.services.fc.runtime.model import HttpCall, ShellCommand
from emulator.services.fc.sqlite import SCHEMA, SqliteStore
from emulator.services.fc.tagging import Tagging
from emulator.services.fc.terminal import Start
from emulator.services.fc.trigger_sqlite import TriggerStore
from emulator.services.fc.watching import Watcher
from emulator.storage.database import Database

__all__ = ["SCHEMA", "FunctionCompute"]

_log = logging.getLogger(__name__)

CODE_PATH = "/_localyun/code/"
"""Where the gateway serves `FunctionCompute.code_download`."""


class FunctionCompute:
    """The service. One object per emulator; everything on the loop's thread.

    *code_folder* holds unpacked packages, *logbook* the functions' logs (its `LogBook.on_log` is the listener of the
    instance pool). *account* and *region* are the tenant the functions folder belongs to. *endpoint* returns the
    emulator's own address (``http://127.0.0.1:8868``). Without *credentials* functions get no keys; without *objects*
    code cannot come from a bucket, and without *queue_destinations* and *topic_destinations* results of asynchronous
    calls go to functions only. Without *host_names* HTTP triggers are reached by their paths only, without *topics*
    topic triggers get no messages. Without *guard* roles may do everything.
    *async_retry_delay_ms* is the pause after the first failure of such a call.
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
        queue_destinations: DestinationQueue | None = None,
        topic_destinations: DestinationTopic | None = None,
        host_names: HostNames | None = None,
        topics: TopicSubscriptions | None = None,
        guard: RoleGuard | None = None,
        async_retry_delay_ms: int = limits.ASYNC_RETRY_DELAY_MS,
    ) -> None:
        self._clock = clock
        self._database = database
        self._ids = ids
        self._endpoint = endpoint
        self._instances = instances
        self.tenant = Tenant(account, region)
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
        self.attachments = Attachments(database, self.store, self.resolver)
        self._capacity_store = SqliteCapacityStore(database)
        admission = Admission(self._capacity_store, self.resolver, lambda place: self.provisioner.kept_ready(place))
        self.invoker = Invoker(self.resolver, instances, ids, credentials, admission)
        self.debugging = Debugging(self.invoker, instances)
        self.provisioner = Provisioner(
            settings=self._capacity_store,
            store=self.store,
            database=database,
            resolver=self.resolver,
            instances=instances,
            invoker=self.invoker,
            clock=clock,
            timers=timers,
        )
        self.store.on_change = self.provisioner.changed
        self.capacity = Settings(self._capacity_store, ids, self.resolver, admission, changed=self.provisioner.changed)
        async_store = SqliteAsyncStore(database)
        self.async_configs = AsyncConfigs(async_store, self.resolver)
        self.role_checks = checks = RoleChecks(guard, self.resolver, TriggerStore(database))
        self.async_queue = AsyncQueue(
            store=async_store,
            database=database,
            clock=clock,
            ids=ids,
            timers=timers,
            invoker=self.invoker,
            concurrency=admission.room,
            queue=queue_destinations,
            topic=topic_destinations,
            check_destination=checks.check_destination,
            retry_delay_ms=async_retry_delay_ms,
        )
        self.tasks = Tasks(async_store, self.resolver, self.async_queue.stop)
        self.instance_list = InstanceList(self.store, self.resolver, instances)
        self.sources = EventSources(
            database=database,
            clock=clock,
            ids=ids,
            timers=timers,
            resolver=self.resolver,
            invoker=self.invoker,
            enqueue=self.enqueue,
            endpoint=endpoint,
            host_names=host_names,
            topics=topics,
            may_fire=checks.may_fire,
        )
        self.layers = Layers(LayerStore(database), self.codes, self.functions, self._effects)
        self.functions.check_layers = self.layers.check
        self.resolver.layer_folders = self.layers.folders
        self._join()
        self._loader = Loader(self.store, ids, self._effects, self.tenant)
        self._snapshot = Snapshot()
        self._watcher: Watcher | None = None

    def _join(self) -> None:
        """Let what is deleted take along what hangs on it, unless that forbids it."""

        def check_function(tenant: Tenant, service: str, name: str) -> None:
            self.sources.triggers.check_none(tenant, service, name)
            self.capacity.check_deletable(tenant, service, name)

        def forget_function(tenant: Tenant, service: str, name: str) -> None:
            self.async_queue.forget_function(tenant, service, name)
            self.capacity.forget_function(tenant, service, name)

        def check_qualifier(tenant: Tenant, scope: Scope, qualifier: str) -> None:
            self.capacity.check_qualifier_deletable(tenant, scope.service, scope.function, qualifier)

        def forget_qualifier(tenant: Tenant, scope: Scope, qualifier: str) -> None:
            self.async_queue.forget_qualifier(tenant, scope.service, scope.function or None, qualifier)
            self.capacity.forget_qualifier(tenant, scope.service, scope.function, qualifier)

        self.functions.check_deletable = check_function
        self.functions.forget = forget_function
        self.publishing.check_deletable = check_qualifier
        self.publishing.forget = forget_qualifier

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
        self.provisioner.start()
        self.async_queue.start()
        self.sources.start()

    async def close(self) -> None:
        """Stop watching, end the threads.

        Asynchronous calls that run are broken off and run again after the next start. The instance pool belongs to
        somebody else, who closes it first: instances still log on their way out.
        """
        await self.sources.close()
        await self.async_queue.close()
        await self.provisioner.close()
        if self._watcher is not None:
            await self._watcher.close()
            self._watcher = None
        await self._effects.close()
        await self.codes.close()
        await self.logbook.close()

    async def reset(self) -> None:
        """Forget every resource, tag and log; functions of the folder are loaded anew."""
        known = self.store.keys()
        await self.async_queue.reset()
        await self.provisioner.close()
        self._capacity_store.clear()
        self.sources.clear()
        self.attachments.clear()
        self.layers.clear()
        self.store.clear()
        self.invoker.forget_keys()
        self._take(self._snapshot)
        self._effects.retire(family(*key) for key in known)
        await self.logbook.clear()
        self._effects.sweep()
        self.provisioner.start()

    def _take(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.resolver.unusable = dict(snapshot.unusable)
        now = self._clock.now()
        self._loader.apply(snapshot, now)
        loaded = self.store.loaded(self.tenant).functions.values()
        self.sources.follow_folder(self.tenant, loaded, now)

    # --- calls from inside the emulator --------------------------------------------------------------------------

    async def invoke(
        self,
        tenant: Tenant,
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
        return await self.invoker.invoke(tenant, call)

    def shell(self, instance_id: str, order: ShellCommand) -> Start:
        """Return what starts a command beside an instance."""
        return partial(self._instances.shell, instance_id, order)

    def debug(self, function: str, event: bytes, *, wait: bool, port: int) -> AsyncIterator[dict[str, Any]]:
        """Call ``[service[.qualifier]/]function`` of the installation's tenant under a debugger; `Debugging.steps`.

        Raises: FcError.
        """
        place, _, name = function.rpartition("/")
        service, _, qualifier = place.partition(".")
        now = self._clock.now()
        call = Call(
            service=service,
            function=name,
            qualifier=qualifier or None,
            event=event,
            request_id=self._ids.uuid(),
            now=now,
        )
        return self.debugging.steps(self.tenant, call, wait=wait, port=port)

    def enqueue(
        self,
        tenant: Tenant,
        service: str | None,
        function: str,
        qualifier: str | None,
        event: bytes,
        *,
        key: str = "",
        task_id: str = "",
        request_id: str | None = None,
        http: HttpCall | None = None,
    ) -> str:
        """Queue an asynchronous call in the transaction of this moment and return its request id.

        A call with a *key* that is known already (one queued at most a day after the other has ended) is not queued
        again: its request id is returned. With a *task_id* a record of that name is kept. With *http* the call serves
        that request, whose body is *event*. The call is safe once the transaction is committed.

        Raises: FcError, with the code and status an HTTP caller would get.
        """
        order = Order(
            service=service or "",
            function=function,
            qualifier=qualifier,
            event=event,
            request_id=request_id or self._ids.uuid(),
            now=self._clock.now(),
            task_mode=True if task_id else None,
            task_id=task_id,
            key=key,
            http=http,
        )
        return self.async_queue.accept(tenant, order).request_id

    async def invoke_async(
        self,
        tenant: Tenant,
        service: str | None,
        function: str,
        qualifier: str | None,
        event: bytes,
        *,
        key: str,
        task_id: str = "",
        request_id: str | None = None,
    ) -> str:
        """Queue an asynchronous call as `enqueue` does, and return its request id once the call is safe.

        Raises: FcError; CommitFailed.
        """
        queued = self.enqueue(
            tenant, service, function, qualifier, event, key=key, task_id=task_id, request_id=request_id
        )
        await self._database.committed()
        return queued

    async def completion(self, tenant: Tenant, request_id: str) -> AsyncOutcome:
        """Wait for the end of an asynchronous call, through all its retries, and return how it ended.

        The wait itself ends with the emulator. After a restart: `invoke_async` with the same key gives the same
        request id, and this waits anew or returns what is known.

        Raises: LookupError for a call that is not known (any more).
        """
        return await self.async_queue.completion(tenant, request_id)

    def find(self, tenant: Tenant, service: str | None, function: str, qualifier: str | None = None) -> Function:
        """Return a function as *qualifier* has it.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound.
        """
        return self.resolver.function(tenant, service or "", function, qualifier)

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
        known = self.store.function(self.tenant, service, name) is not None or (service, name) in self.logbook.names()
        if not known:
            raise FunctionNotFound(function=name, service=service)
        return self.logbook.read(service, name, lines, follow=follow)

    def counts(self) -> dict[str, int]:
        """Return how many services and functions there are, for the status page."""
        return self.store.counts()
