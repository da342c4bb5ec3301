"""What the API shows of asynchronous calls: configurations, one per function and qualifier, and records of tasks."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.paging import Page, cut
from emulator.services.fc import limits
from emulator.services.fc.asynchronous.model import (
    AsyncCall,
    AsyncConfig,
    StoredConfig,
    TaskEvent,
    TaskQuery,
)
from emulator.services.fc.asynchronous.store import AsyncStore
from emulator.services.fc.catalog.resolving import Resolver
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import FunctionRef


class AsyncConfigs:
    """Puts, gets, deletes and lists configurations; ``service`` is empty for functions of 3.0."""

    def __init__(self, store: AsyncStore, resolver: Resolver) -> None:
        self._store = store
        self._resolver = resolver

    def put(self, ref: FunctionRef, values: Mapping[str, Any], now: Millis) -> StoredConfig:
        """Set the attributes in *values*; of a configuration that is there already the others stay.

        The next attempt of calls that wait already goes by it; only whether a call is a task is settled at its start.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound.
        """
        self._resolver.function(*ref)
        old = self._store.config(ref)
        if old is None:
            new = StoredConfig(lane=ref, config=AsyncConfig(**values), created_at=now, modified_at=now)
        else:
            new = replace(old, config=replace(old.config, **values), modified_at=now)
        self._store.put_config(new)
        return new

    def get(self, ref: FunctionRef) -> StoredConfig:
        """Return the configuration of exactly this qualifier.

        Raises: as `put`; AsyncConfigNotExists.
        """
        self._resolver.function(*ref)
        stored = self._store.config(ref)
        if stored is None:
            raise FcError("AsyncConfigNotExists", function=ref.function, qualifier=ref.qualifier)
        return stored

    def delete(self, ref: FunctionRef) -> None:
        """Remove the configuration of exactly this qualifier.

        Raises: as `get`.
        """
        self.get(ref)
        self._store.delete_configs(*ref)

    def page(self, tenant: Tenant, service: str, function: str | None, marker: str, limit: int) -> Page[StoredConfig]:
        """Return the configurations of a function, or of all functions in *service*, by function and qualifier.

        Raises: ServiceNotFound, FunctionNotFound.
        """
        if function is not None:
            self._resolver.function(tenant, service, function)
        first, _, second = marker.partition("/")
        rows = self._store.configs(tenant, service, function, (first, second), limit)
        return cut(rows, limit, lambda row: f"{row.lane.function}/{row.lane.qualifier}")


_TASK_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def check_task_id(task_id: str) -> str:
    """Check an id a caller has chosen for a task.

    Raises: InvalidArgument.
    """
    if len(task_id) > limits.ASYNC_ID_LENGTH or not _TASK_ID.fullmatch(task_id):
        raise InvalidArgument(
            f"async invocation id '{task_id[:200]}' is invalid: it must have 1 to {limits.ASYNC_ID_LENGTH} letters, "
            "digits, '_' and '-' and must start with a letter or '_'"
        )
    return task_id


class Tasks:
    """The records of every account; ``service`` is empty for functions of 3.0."""

    def __init__(self, store: AsyncStore, resolver: Resolver, stop: Callable[[AsyncCall], None]) -> None:
        self._store = store
        self._resolver = resolver
        self._stop = stop

    def page(self, tenant: Tenant, service: str, function: str, query: TaskQuery) -> Page[AsyncCall]:
        """Return the tasks of a function that *query* asks for.

        Raises: ServiceNotFound, FunctionNotFound.
        """
        self._resolver.function(tenant, service, function)
        rows = self._store.tasks(tenant, service, function, query)
        return cut(rows, query.limit, lambda call: str(call.seq))

    def get(self, tenant: Tenant, service: str, function: str, task_id: str, qualifier: str | None) -> AsyncCall:
        """Return a task; with a *qualifier* only when it was called through that.

        Raises: ServiceNotFound, FunctionNotFound, StatefulAsyncInvocationNotFound.
        """
        self._resolver.function(tenant, service, function)
        call = self._store.task(tenant, service, function, task_id)
        if call is None or (qualifier or call.lane.qualifier) != call.lane.qualifier:
            raise FcError("StatefulAsyncInvocationNotFound", task=task_id, function=function)
        return call

    def events(self, call: AsyncCall) -> list[TaskEvent]:
        """Return what has happened to a task, in order."""
        return self._store.events(call)

    def stop(self, tenant: Tenant, service: str, function: str, task_id: str, qualifier: str | None) -> None:
        """End a task that waits or runs; one that has ended stays as it is.

        Raises: as `get`.
        """
        self._stop(self.get(tenant, service, function, task_id, qualifier))

    def functions(self, tenant: Tenant, marker: str, limit: int) -> Page[tuple[str, str, str]]:
        """Return (service, function, qualifier) of the 2.0 functions that run tasks."""
        rows = [row for row in self._store.task_lanes(tenant) if "/".join(row) >= marker]
        return cut(rows[: limit + 1], limit, "/".join)
