"""Those who wait for the end of asynchronous calls."""

import asyncio
from collections.abc import Callable

from emulator.kernel.identity import Tenant
from emulator.services.fc.asynchronous.model import FINAL, AsyncCall, AsyncOutcome, Lane, Status
from emulator.services.fc.asynchronous.store import AsyncStore
from emulator.storage.database import CommitFailed, Database


class Completions:
    """Waiters by the request id of their call; they do not survive the emulator."""

    def __init__(self, store: AsyncStore, database: Database) -> None:
        self._store = store
        self._database = database
        self._waiting: dict[str, tuple[Lane, list[asyncio.Future[AsyncOutcome]]]] = {}

    async def wait(self, tenant: Tenant, request_id: str) -> AsyncOutcome:
        """Return how a call has ended, once it has.

        Raises: LookupError for a call that is not known (any more).
        """
        call = self._store.by_request(tenant, request_id)
        if call is None:
            raise LookupError(request_id)
        if call.status in FINAL:
            return outcome_of(call, call.result)
        waiter: asyncio.Future[AsyncOutcome] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(request_id, (call.lane, []))[1].append(waiter)
        return await waiter

    def tell(self, call: AsyncCall, body: bytes) -> None:
        """Release whoever waits for *call*, which has ended with *body*, once that is on disk."""
        if call.request_id in self._waiting:
            self._database.after_commit(self._release(outcome_of(call, body)))

    def tell_removed(self, tenant: Tenant, service: str, function: str) -> None:
        """Release whoever waits for a call of a deleted function of which nothing is left."""
        for request_id, (lane, _) in list(self._waiting.items()):
            if lane[:3] == (tenant, service, function) and self._store.by_request(tenant, request_id) is None:
                gone = AsyncOutcome(request_id=request_id, status=Status.INVALID, body=b"", error="", http_status=0)
                self._database.after_commit(self._release(gone))

    def close(self) -> None:
        """Send everybody away."""
        for _, waiting in self._waiting.values():
            for waiter in waiting:
                waiter.cancel()
        self._waiting.clear()

    def _release(self, outcome: AsyncOutcome) -> Callable[[CommitFailed | None], None]:
        def release(failure: CommitFailed | None) -> None:
            if failure is not None:
                return
            _, waiting = self._waiting.pop(outcome.request_id, (None, []))
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(outcome)

        return release


def outcome_of(call: AsyncCall, body: bytes) -> AsyncOutcome:
    """Return how a call has ended; *body* is what its last attempt answered."""
    return AsyncOutcome(
        request_id=call.request_id, status=call.status, body=body, error=call.error, http_status=call.http_status
    )
