"""Records of asynchronous tasks: list, get, stop."""

import re
from collections.abc import Callable

from emulator.kernel.identity import Tenant
from emulator.kernel.paging import Page, cut
from emulator.services.fc import limits
from emulator.services.fc.asynchronous.model import AsyncCall, TaskEvent, TaskQuery
from emulator.services.fc.asynchronous.store import AsyncStore
from emulator.services.fc.errors import InvalidArgument, StatefulAsyncInvocationNotFound
from emulator.services.fc.resolving import Resolver

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
            raise StatefulAsyncInvocationNotFound(task=task_id, function=function)
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
