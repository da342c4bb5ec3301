"""What asynchronous invocation needs remembered; `emulator.services.fc.asynchronous.sqlite` is the one implementation.

Lists return one item more than asked for when there are more.
"""

from collections.abc import Iterable
from typing import Protocol

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.services.fc.asynchronous.model import AsyncCall, Lane, Status, StoredConfig, TaskEvent, TaskQuery


class AsyncStore(Protocol):
    """Configurations, calls, and events of tasks."""

    # --- configurations ------------------------------------------------------------------------------------------

    def config(self, lane: Lane) -> StoredConfig | None:
        """Return the configuration of exactly this qualifier."""
        ...

    def configs(
        self, tenant: Tenant, service: str, function: str | None, start: tuple[str, str], limit: int
    ) -> list[StoredConfig]:
        """Return configurations by (function, qualifier) from *start* on, of one *function* or of all."""
        ...

    def put_config(self, config: StoredConfig) -> None:
        """Write a configuration, new or not."""
        ...

    def delete_configs(self, tenant: Tenant, service: str, function: str | None, qualifier: str | None) -> bool:
        """Remove a configuration; without *function* or *qualifier* those of all. Return whether there was any."""
        ...

    # --- calls ---------------------------------------------------------------------------------------------------

    def add(self, call: AsyncCall) -> AsyncCall:
        """Write a new call and return it with its number."""
        ...

    def update(self, call: AsyncCall) -> None:
        """Write what has changed about a call."""
        ...

    def delete(self, call: AsyncCall) -> None:
        """Remove a call with its events."""
        ...

    def due(self, lane: Lane, now: Millis, limit: int) -> list[AsyncCall]:
        """Return up to *limit* waiting calls whose instant has come, the earliest first."""
        ...

    def keep_due(self, now: Millis, before: Millis) -> None:
        """Make due at *now* what became due up to *before*."""
        ...

    def next_due(self, lane: Lane) -> Millis | None:
        """Return the instant of the earliest waiting call."""
        ...

    def lanes(self) -> list[Lane]:
        """Return the queues in which a call waits."""
        ...

    def interrupted(self) -> list[AsyncCall]:
        """Return the calls that were running or being stopped when the emulator ended."""
        ...

    def open_numbers(self) -> dict[str, int]:
        """Return how many calls have not ended, by status."""
        ...

    def open_calls(self, tenant: Tenant, service: str, function: str) -> list[AsyncCall]:
        """Return the calls of a function that have not ended."""
        ...

    def delete_waiting(self, tenant: Tenant, service: str, function: str) -> None:
        """Remove the waiting calls of a function of which no record is kept."""
        ...

    def by_request(self, tenant: Tenant, request_id: str) -> AsyncCall | None:
        """Return a call by its request id."""
        ...

    def by_key(self, tenant: Tenant, call_key: str) -> AsyncCall | None:
        """Return a call by its caller's own name for it."""
        ...

    def purge(self, tasks_before: Millis, others_before: Millis) -> None:
        """Remove the records of calls that ended before these instants."""
        ...

    # --- tasks ---------------------------------------------------------------------------------------------------

    def task(self, tenant: Tenant, service: str, function: str, task_id: str) -> AsyncCall | None:
        """Return the newest task of this id."""
        ...

    def tasks(self, tenant: Tenant, service: str, function: str, query: TaskQuery) -> list[AsyncCall]:
        """Return tasks in the order they were accepted, or the other way round."""
        ...

    def task_lanes(self, tenant: Tenant) -> list[tuple[str, str, str]]:
        """Return (service, function, qualifier) of the 2.0 functions that are configured for tasks or have some."""
        ...

    def add_events(self, call: AsyncCall, at: Millis, changes: Iterable[tuple[Status, str]]) -> None:
        """Append (status, detail) to the events of a task."""
        ...

    def events(self, call: AsyncCall) -> list[TaskEvent]:
        """Return a task's events."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...
