"""Carries out the effects of committed slices: calls made and cancelled, ends reported, abandoned tasks stopped."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from emulator.kernel.clock import Clock
from emulator.kernel.tracing import shared_context
from emulator.kernel.turnstile import Turnstile
from emulator.services.workflow.engine.calls import Calls
from emulator.services.workflow.engine.language import CallService, Result
from emulator.services.workflow.engine.run import Run, key_of
from emulator.services.workflow.engine.store import EngineStore, Orphan
from emulator.services.workflow.engine.tokens import Mint
from emulator.services.workflow.engine.turns import Ended, Slice
from emulator.storage.database import Database

_log = logging.getLogger(__name__)

EFFECTS_AT_ONCE = 16
EFFECTS_S = 0.008
"""How long effects are carried out at a time, with other work of the loop in between: a child execution that is started
or stopped takes a third of a millisecond, and an execution can have ten thousand; one child with a hundred children
of its own takes several. While a schedule fixes the order, the time does not count."""


class Outside(Protocol):
    """The effects of the driver outside its store; all of them follow the commit."""

    async def perform(self, run: Run, call: CallService) -> Result:
        """Make the call of an attempt."""
        ...

    def execution_ended(self, ended: Ended) -> None:
        """Act on the end of an execution."""
        ...

    def task_abandoned(self, run: Run, call: CallService) -> None:
        """Stop what an abandoned task has started and what would go on by itself, such as a child execution."""
        ...

    def orphan_left(self, orphan: Orphan, key: str, child: tuple[str, str] | None) -> None:
        """Stop what an earlier run of the emulator has left: the call of *key*, and the *child* (flow, execution)."""
        ...

    def left(self) -> Iterable[Callable[[], None]]:
        """Return the notifications of ended executions that are still to be sent; sending one twice is harmless."""
        ...


class Effects:
    """Carries out effects in the order of their slices; ``ended`` counts the executions that have ended, by status."""

    def __init__(
        self, database: Database, store: EngineStore, calls: Calls, outside: Outside, clock: Clock, order: Turnstile
    ) -> None:
        self._database = database
        self._store = store
        self._clock = clock
        self._order = order
        self._calls = calls
        self._outside = outside
        self._waiting: deque[tuple[bool, Callable[[], None]]] = deque()
        """The effects still to be carried out, in order, each with whether it writes to the database."""
        self._acting = False
        self._closed = False
        self._context = shared_context()
        self.ended: dict[str, int] = {}

    @property
    def is_idle(self) -> bool:
        """Whether all effects have been carried out."""
        return not self._waiting

    def follow(self, part: Slice) -> None:
        """Carry out the effects of a committed slice, after those of earlier ones."""
        if self._closed:
            return
        add = self._waiting.append
        for execution, entry in part.cancelled:
            add((False, partial(self._calls.cancel, execution, entry)))
        for run, call in part.orphans:
            add((True, partial(self._stop_orphan, run, call)))
        for ended in part.ended:
            add((bool(ended.callback_token), partial(self._note_end, ended)))
        for run, call in part.dispatches:
            add((False, partial(self._calls.make, run, call)))
        self._act_soon()  # in a turn of its own: a commit can be that of many slices

    def recover(self, mint: Mint) -> None:
        """Carry out the effects that an earlier run of the emulator, or a lost transaction, has left undone."""
        self._waiting.extend((True, each) for each in self._outside.left())
        orphans = self._store.orphans()
        children = self._store.children() if orphans else {}
        for each in orphans:
            token = mint.make(each.tenant, each.flow, each.name, each.started_at, each.entry, each.attempt)
            self._waiting.append((True, partial(self._stop_left, each, children.get(token))))
        self._act_soon()

    def forget(self) -> None:
        """Drop all pending effects, because the store was emptied."""
        self._waiting.clear()

    def close(self) -> None:
        """Stop; further effects are not performed."""
        self._closed = True

    def _act_soon(self) -> None:
        if self._waiting and not self._acting and not self._closed:
            self._acting = True
            asyncio.get_running_loop().call_soon(self._act_on_some, context=self._context)

    def _act_on_some(self) -> None:
        self._acting = False
        end = self._clock.monotonic() + EFFECTS_S
        for _ in range(min(EFFECTS_AT_ONCE, len(self._waiting))):
            writes, effect = self._waiting[0]
            if writes and not self._database.is_writable(self._act_on_some):
                self._acting = True
                return
            self._waiting.popleft()
            try:
                effect()
            except Exception:
                _log.exception("an effect of steps of executions failed")
            if not self._order.active and self._clock.monotonic() >= end:
                break
        self._act_soon()

    def _stop_orphan(self, run: Run, call: CallService) -> None:
        self._outside.task_abandoned(run, call)
        self._store.orphan_stopped(run.id, call.entry)

    def _stop_left(self, orphan: Orphan, child: tuple[str, str] | None) -> None:
        key = key_of(orphan.tenant, orphan.execution, orphan.started_at, orphan.entry, orphan.attempt)
        self._outside.orphan_left(orphan, key, child)
        self._store.orphan_stopped(orphan.execution, orphan.entry)

    def _note_end(self, ended: Ended) -> None:
        self.ended[ended.status] = self.ended.get(ended.status, 0) + 1
        self._calls.cancel_execution(ended.id)
        self._outside.execution_ended(ended)
