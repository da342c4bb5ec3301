"""The time a call may take. Processes run in real time, so deadlines use the loop's clock and never a virtual one."""

import asyncio

from emulator.services.fc.runtime.process import InstanceProcess

_WATCH_AFTER_S = 0.1


class DeadlineClock:
    """The clock of all deadlines of an instance, which stands still while a debugger is attached."""

    def __init__(self) -> None:
        self.paused = False
        self.deadlines: set[Deadline] = set()

    def pause(self, on: bool) -> None:
        """Stop the clock, or let it go on."""
        if on == self.paused:
            return
        self.paused = on
        for deadline in self.deadlines:
            deadline.pause(on)


class Deadline:
    """Asks the process to end when *timeout_s* is over, and kills it *grace_s* later unless cancelled.

    Time counts from the construction on, except while *clock* is paused. A call that is not over at once is also
    watched for what it uses.
    """

    def __init__(self, process: InstanceProcess, timeout_s: float, grace_s: float, clock: DeadlineClock) -> None:
        self._loop = asyncio.get_running_loop()
        self._process = process
        self._grace_s = grace_s
        self._clock = clock
        self._watching = False
        self._began = self._loop.time()
        self._at = self._began + timeout_s
        self._left_s = timeout_s
        self.passed = False
        self._handle = self._loop.call_at(min(self._began + _WATCH_AFTER_S, self._at), self._watch)
        clock.deadlines.add(self)
        if clock.paused:
            self.pause(True)

    def elapsed_ms(self) -> float:
        """Return how long the call has taken so far, stops of the clock included."""
        return (self._loop.time() - self._began) * 1000

    def cancel(self) -> None:
        """Let the process run on."""
        self._clock.deadlines.discard(self)
        self._handle.cancel()
        self._unwatch()

    def pause(self, on: bool) -> None:
        """Stop the clock or let it go on; a deadline that has passed stays passed."""
        if self.passed:
            return
        now = self._loop.time()
        self._handle.cancel()
        if on:
            self._left_s = self._at - now
            self._unwatch()
        else:
            self._at = now + self._left_s
            self._handle = self._loop.call_at(min(now + _WATCH_AFTER_S, self._at), self._watch)

    def _unwatch(self) -> None:
        if self._watching:
            self._watching = False
            self._process.unwatch()

    def _watch(self) -> None:
        self._watching = True
        self._process.watch()
        self._handle = self._loop.call_at(self._at, self._pass)

    def _pass(self) -> None:
        self.passed = True
        self._process.terminate()
        self._handle = self._loop.call_later(self._grace_s, self._process.kill)
