"""Parked receivers: a long poll is a future in the room of its queue, resolved by a message or by its deadline.

A room has one timer, set to the earlier of its first deadline and the next time a message becomes visible. A new
message wakes the room after its commit; each message goes to the receiver that has waited longest, and the others are
not woken. A receiver whose client disconnects leaves the room, as its future is cancelled.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import Any, Protocol, TypeVar

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.errors import ServiceError
from emulator.kernel.timers import Timers
from emulator.services.mns.errors import MessageNotExist
from emulator.services.mns.limits import PARKED_POLLS
from emulator.services.mns.queues.message import Message
from emulator.services.mns.queues.model import QueueId
from emulator.storage.database import CommitFailed, Database

T = TypeVar("T")
Shape = Callable[[Sequence[Message]], T]
"""Turns the messages that a receiver gets into its answer."""


class Source(Protocol):
    """Provides parked receivers with messages."""

    def claim(self, queue_id: QueueId, count: int, now: Millis) -> list[Message]:
        """Receive up to *count* visible messages, maybe none."""
        ...

    def next_visible(self, queue_id: QueueId, now: Millis) -> Millis | None:
        """Return the first time after *now* at which a hidden message becomes visible, None without any."""
        ...


class _Parked:
    __slots__ = ("count", "future", "shape")

    def __init__(self, future: "asyncio.Future[Any]", count: int, shape: Shape[Any]) -> None:
        self.future = future
        self.count = count
        self.shape = shape


class _Room:
    __slots__ = ("armed", "deadlines", "parked", "source", "wake_at", "waking")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.parked: dict[int, _Parked] = {}  # by ticket, in order of arrival
        self.deadlines: list[tuple[Millis, int]] = []
        self.wake_at: Millis | None = None
        self.armed: Millis | None = None
        self.waking = False


class LongPolls:
    """The parked receivers of all queues."""

    def __init__(self, database: Database, timers: Timers, clock: Clock) -> None:
        self._database = database
        self._timers = timers
        self._clock = clock
        self._rooms: dict[QueueId, _Room] = {}
        self._last_ticket = 0
        database.on_rollback(self._wake_all)

    def __len__(self) -> int:
        return sum(len(room.parked) for room in self._rooms.values())

    def park(
        self, queue_id: QueueId, count: int, deadline: Millis, shape: Shape[T], source: Source
    ) -> "asyncio.Future[T]":
        """Wait until *deadline* for up to *count* messages of *source*; the future ends with the shaped answer.

        It fails with MessageNotExist at the deadline and with QueueNotExist when the queue is deleted. Cancelling it
        leaves the room.

        Raises: MessageNotExist at once when too many wait already.
        """
        room = self._rooms.get(queue_id)
        if room is None:
            room = self._rooms[queue_id] = _Room(source)
        if not room.parked:
            room.wake_at = source.next_visible(queue_id, self._clock.now())
        elif len(room.parked) >= PARKED_POLLS:
            raise MessageNotExist
        self._last_ticket += 1
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        room.parked[self._last_ticket] = _Parked(future, count, shape)
        heappush(room.deadlines, (deadline, self._last_ticket))
        future.add_done_callback(partial(self._left, queue_id, self._last_ticket))
        self._arm(queue_id, room)
        return future

    def dismiss(self, queue_id: QueueId, reason: ServiceError) -> None:
        """End the long polls of a queue with *reason*."""
        room = self._rooms.pop(queue_id, None)
        if room is not None:
            self._timers.cancel(_key(queue_id))
            for parked in room.parked.values():
                _fail(parked, reason)

    def dismiss_all(self, reason: ServiceError) -> None:
        """End every long poll with *reason*."""
        for queue_id in list(self._rooms):
            self.dismiss(queue_id, reason)

    def visible_at(self, queue_id: QueueId, at: int, now: Millis) -> None:
        """Record that a message is, or will be, visible from *at* on.

        A message that is visible already wakes the room once it is committed: a receiver must not get a message that
        was never acknowledged to its sender.
        """
        room = self._rooms.get(queue_id)
        if room is None:
            return
        if at > now:
            if room.wake_at is None or at < room.wake_at:
                room.wake_at = Millis(at)
                self._arm(queue_id, room)
        elif not room.waking:
            room.waking = True
            self._database.after_commit(partial(self._committed, queue_id))

    def _committed(self, queue_id: QueueId, failure: CommitFailed | None) -> None:
        room = self._rooms.get(queue_id)
        if room is not None:
            if failure is None and not self._database.is_writable(partial(self._committed, queue_id, None)):
                return  # another program has taken the lock, and a receiver would fail
            room.waking = False
            if failure is None:
                self._serve(queue_id, room, self._clock.now())

    def _wake_all(self) -> None:
        # a lost transaction may have given messages back that no call will announce again
        now = self._clock.now()
        for queue_id, room in self._rooms.items():
            room.wake_at = now
            self._arm(queue_id, room)

    def _fire(self, queue_id: QueueId) -> None:
        room = self._rooms.get(queue_id)
        if room is None:
            return
        room.armed = None
        now = self._clock.now()
        if room.wake_at is not None and room.wake_at <= now:
            self._serve(queue_id, room, now)
        while room.deadlines and room.deadlines[0][0] <= now:
            parked = room.parked.pop(heappop(room.deadlines)[1], None)
            if parked is not None:
                _fail(parked, MessageNotExist())
        self._arm(queue_id, room)

    def _serve(self, queue_id: QueueId, room: _Room, now: Millis) -> None:
        source = room.source
        while room.parked:
            ticket, parked = next(iter(room.parked.items()))
            if not parked.future.done():
                try:
                    messages = source.claim(queue_id, parked.count, now)
                    if not messages:
                        break
                    parked.future.set_result(parked.shape(messages))
                except Exception as error:  # its own receiver fails; the others go on waiting
                    del room.parked[ticket]
                    _fail(parked, error)
                    break
            del room.parked[ticket]
        room.wake_at = source.next_visible(queue_id, now) if room.parked else None
        self._arm(queue_id, room)

    def _left(self, queue_id: QueueId, ticket: int, future: "asyncio.Future[Any]") -> None:
        room = self._rooms.get(queue_id)
        if room is not None:
            room.parked.pop(ticket, None)
            self._arm(queue_id, room)

    def _arm(self, queue_id: QueueId, room: _Room) -> None:
        """Set the room's timer to the first deadline or visible message, or remove the room when it is empty."""
        if not room.parked:
            if not room.waking:
                self._rooms.pop(queue_id, None)
            self._timers.cancel(_key(queue_id))
            room.armed = None
            return
        while room.deadlines[0][1] not in room.parked:
            heappop(room.deadlines)
        first = room.deadlines[0][0]
        if room.wake_at is not None and room.wake_at < first:
            first = room.wake_at
        if first != room.armed:
            room.armed = first
            self._timers.call_at(first, _key(queue_id), partial(self._fire, queue_id))


def _key(queue_id: QueueId) -> tuple[str, str, int]:
    return ("mns", "poll", queue_id)


def _fail(parked: _Parked, reason: Exception) -> None:
    if not parked.future.done():
        parked.future.set_exception(reason)
