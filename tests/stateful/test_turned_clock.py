"""An emulator whose clock is turned against a plain account of what a queue must do.

Random programs of sends, receives, deletions, advances and restarts: the emulator with its clock moved by hand gives
what a dictionary and a number for the time give.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from emulator.testing import Emulator

VISIBILITY_S = 30  # the API's default


@dataclass
class Expected:
    """A message of the model; ``order`` breaks ties among those of a priority."""

    order: int
    body: str
    priority: int
    visible_from: int
    received: int = 0
    handle: object = None


class TurnedClock(RuleBasedStateMachine):
    """One queue, time in whole seconds."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="localyun-turned-"))
        self.now = 0
        self.sent = 0
        self.messages = []
        self.restarts = 0
        self._start()
        self.kit.clock.freeze()

    def _start(self):
        self.emulator = Emulator(state=self.folder)
        self.kit = self.emulator.start().localyun
        self.queue = self.kit.queue("q")

    @rule(delay=st.sampled_from([0, 0, 5, 40]), priority=st.integers(1, 3))
    def send(self, delay, priority):
        """A message appears when its delay is over."""
        self.sent += 1
        body = f"message {self.sent}"
        self.queue.send(body, delay_s=delay, priority=priority)
        self.messages.append(Expected(self.sent, body, priority, self.now + delay))

    @rule()
    def receive(self):
        """The most urgent visible message is handed out and hidden."""
        got = self.queue.receive()
        visible = [each for each in self.messages if each.visible_from <= self.now]
        if not visible:
            assert got is None
            return
        expected = min(visible, key=lambda each: (each.priority, each.visible_from, each.order))
        expected.received += 1
        assert (got.body, got.priority, got.dequeue_count) == (expected.body, expected.priority, expected.received)
        expected.visible_from = self.now + VISIBILITY_S
        expected.handle = got

    @precondition(lambda self: any(each.handle and each.visible_from > self.now for each in self.messages))
    @rule()
    def delete(self):
        """A received message goes while its handle is good."""
        message = next(each for each in self.messages if each.handle and each.visible_from > self.now)
        self.queue.delete(message.handle)
        self.messages.remove(message)

    @rule(span=st.sampled_from([1, 4, 5, 29, 30, 31, 100]))
    def advance(self, span):
        """Time passes by hand only."""
        self.kit.clock.advance(span)
        self.now += span

    @precondition(lambda self: self.restarts < 1)
    @rule()
    def restart(self):
        """The clock stays where it stood."""
        self.restarts += 1
        self.emulator.stop()
        self._start()

    @invariant()
    def counters_agree(self):
        """The numbers of visible, received and delayed messages."""
        hidden = [each for each in self.messages if each.visible_from > self.now]
        inactive = sum(each.received > 0 for each in hidden)
        assert self.queue.counters == {
            "active": len(self.messages) - len(hidden),
            "inactive": inactive,
            "delayed": len(hidden) - inactive,
        }

    def teardown(self):
        """End the emulator."""
        self.emulator.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


TestTurnedClock = TurnedClock.TestCase
TestTurnedClock.settings = settings(max_examples=6, stateful_step_count=25, deadline=None)
