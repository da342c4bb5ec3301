"""A queue against a dictionary: any sequence of operations, time and restarts, by one account of what must hold.

Nothing is lost, nothing is handed out twice, order is priority and then time, and the counters are exact after every
step. The model knows a message's due instant and its handle and nothing of how the service keeps them.
"""

import shutil
import tempfile
from copy import deepcopy as copy_of
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from emulator.kernel.clock import VirtualClock
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import RandomIds
from emulator.kernel.timers import VirtualTimers
from emulator.services.mns.errors import MessageNotExist, MnsError
from emulator.services.mns.queues.message import Draft
from emulator.services.mns.queues.model import DeadLetterPolicy
from emulator.services.mns.queues.visibility import write_handle
from emulator.services.mns.service import SCHEMA, MessageService
from emulator.storage.database import Database
from emulator.storage.migration import migrate

WORLD = Tenant(AccountId("1"), Region("cn-x"))
RETENTION_S, TIMEOUT_S = 300, 20


@dataclass
class Expected:
    """What the model knows of one message."""

    order: int
    body: str
    priority: int
    group: str | None
    visible_from: int
    enqueued_at: int
    received: int = 0
    handle: str | None = None
    handle_until: int = 0
    stale: list[str] = field(default_factory=list)

    def new_handle(self, handle, until):
        if self.handle is not None:
            self.stale.append(self.handle)
        self.handle, self.handle_until = handle, until


class QueueMachine(RuleBasedStateMachine):
    """The ordinary queue."""

    fifo = False

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = VirtualClock()
        self.model: list[Expected] = []
        self.dead: list[str] = []
        self.gone_handles: list[str] = []
        self.sent = 0
        self.open()

    def open(self):
        self.timers = VirtualTimers(self.clock)
        self.database = Database(self.folder / "state.db")
        migrate(self.database, [SCHEMA])
        self.service = MessageService(self.database, self.clock, RandomIds(), self.timers)
        self.service.start()
        self.timers.run_due()

    def teardown(self):
        self.service.close()
        self.database.close()
        shutil.rmtree(self.folder)

    @initialize(receives=st.sampled_from([None, 1, 2]))
    def create(self, receives):
        self.receives = receives  # until a message is dead; None: never
        policy = DeadLetterPolicy(enabled=receives is not None, target="dead", max_receives=receives or 1)
        settings = {
            "retention_s": RETENTION_S, "visibility_timeout_s": TIMEOUT_S, "fifo": self.fifo, "dead_letter": policy,
        }  # fmt: skip
        self.service.queues.create(WORLD, "q", settings)
        self.service.queues.create(WORLD, "dead", {"fifo": self.fifo})
        self.service.queues.create(WORLD, "neighbour", {})
        self.service.send(WORLD, "neighbour", "not yours")
        self.commit()

    def take_note(self):
        self.committed = copy_of((self.model, self.dead, self.gone_handles))

    @property
    def now(self):
        return self.clock.now()

    def settle(self, instant):
        """Let the model's messages expire and die up to *instant*, in the order of their instants."""
        while True:
            due = []
            for message in self.model:
                due.append((message.enqueued_at + RETENTION_S * 1000, 0, message))
                if self.receives is not None and message.received >= self.receives:
                    due.append((message.visible_from, 1, message))
            due = [item for item in due if item[0] <= instant]
            if not due:
                return
            _, dies, message = min(due, key=lambda item: (item[0], item[1], item[2].order))
            if dies:
                self.dead.append(message.body)
            self.drop(message)

    def drop(self, message):
        self.model.remove(message)
        self.gone_handles += message.stale + ([message.handle] if message.handle else [])

    def heads(self):
        """The messages that may compete: all, or the first of each group."""
        if not self.fifo:
            return list(self.model)
        first = {}
        for message in self.model:
            first.setdefault(message.group, message)
        return list(first.values())

    def expected_order(self, count):
        """What a receive must return, as sets of equals: priority, then the instant of becoming visible, then order."""
        visible = [message for message in self.heads() if message.visible_from <= self.now]
        if self.fifo:
            # when a held message was freed is the service's business: only priority and group order are promised
            return sorted(visible, key=lambda message: message.priority)[:count]
        return sorted(visible, key=lambda message: (message.priority, message.visible_from, message.order))[:count]

    def check_order(self, bodies, count):
        expected = self.expected_order(count)
        if not self.fifo:
            assert bodies == [message.body for message in expected]
            return
        by_body = {message.body: message for message in self.model}
        assert [by_body[body].priority for body in bodies] == [message.priority for message in expected]
        visible = {message.body for message in self.heads() if message.visible_from <= self.now}
        assert set(bodies) <= visible
        assert len(set(bodies)) == len(bodies)

    def add(self, receipt, draft):
        due = self.now + 1000 * (draft.delay_s or 0)
        message = Expected(self.sent, draft.body, draft.priority or 8, draft.group_id, due, self.now)
        assert (receipt.handle is not None) == (due > self.now)
        if receipt.handle:
            message.new_handle(receipt.handle, due)
        self.model.append(message)

    def draft(self, priority, delay_s, group):
        self.sent += 1
        return Draft(
            body=f"m{self.sent}", priority=priority, delay_s=delay_s, group_id=group if self.fifo else None
        )  # fmt: skip

    @rule(
        priority=st.sampled_from([None, 1, 8, 9, 16]), delay_s=st.sampled_from([None, 0, 0, 5, 40]),
        group=st.sampled_from("ab"),
    )  # fmt: skip
    def send(self, priority, delay_s, group):
        draft = self.draft(priority, delay_s, group)
        self.add(self.service.messages.send(self.service.find(WORLD, "q"), draft), draft)

    @rule(parts=st.lists(st.tuples(st.sampled_from([None, 1, 8]), st.sampled_from([None, 3])), min_size=1, max_size=4))
    def send_batch(self, parts):
        drafts = [self.draft(priority, delay_s, "ab"[index % 2]) for index, (priority, delay_s) in enumerate(parts)]
        entries = self.service.messages.send_batch(self.service.find(WORLD, "q"), drafts)
        for index, (draft, entry) in enumerate(zip(drafts, entries, strict=True)):
            self.sent += 1
            assert entry.message_id, index
            self.add(entry, draft)

    @rule(priority=st.sampled_from([0, 17]))
    def send_badly(self, priority):
        drafts = [self.draft(8, 0, "a"), self.draft(priority, -1, "a")]
        try:
            self.service.messages.send_batch(self.service.find(WORLD, "q"), drafts)
        except MnsError:
            return
        raise AssertionError("a bad batch was taken")

    @rule(count=st.sampled_from([1, 1, 2, 16]))
    def receive(self, count):
        try:
            messages = self.service.messages.receive(self.service.find(WORLD, "q"), count, 0, list)
        except MessageNotExist:
            messages = []
        self.check_order([message.body for message in messages], count)
        by_body = {message.body: message for message in self.model}
        for message in messages:
            expected = by_body[message.body]
            expected.received += 1
            expected.visible_from = self.now + TIMEOUT_S * 1000
            assert message.dequeue_count == expected.received
            assert message.visible_from == expected.visible_from
            assert message.enqueued_at == expected.enqueued_at
            handle = write_handle(
                message.message_id, message.queue_id, message.seq, message.revision, message.visible_from
            )
            expected.new_handle(handle, message.visible_from)

    @rule(count=st.sampled_from([1, 3]))
    def peek(self, count):
        try:
            messages = self.service.messages.peek(self.service.find(WORLD, "q"), count)
        except MessageNotExist:
            messages = []
        self.check_order([message.body for message in messages], count)

    def pick(self, data):
        known = [message for message in self.model if message.handle]
        return data.draw(st.sampled_from(known)) if known else None

    @rule(data=st.data())
    def delete(self, data):
        message = self.pick(data)
        if message is None:
            return
        if message.handle_until > self.now:
            self.service.messages.delete(self.service.find(WORLD, "q"), message.handle)
            self.drop(message)
        else:
            self.refuse(message.handle)

    @rule(data=st.data(), timeout_s=st.sampled_from([1, 20, 60]))
    def change_visibility(self, data, timeout_s):
        message = self.pick(data)
        if message is None:
            return
        if message.handle_until > self.now:
            queue = self.service.find(WORLD, "q")
            changed = self.service.messages.change_visibility(queue, message.handle, timeout_s)
            message.visible_from = self.now + timeout_s * 1000
            assert changed.next_visible_at == message.visible_from
            message.new_handle(changed.handle, message.visible_from)
        else:
            self.refuse(message.handle)

    @rule(data=st.data())
    def use_a_dead_handle(self, data):
        stale = self.gone_handles + [handle for message in self.model for handle in message.stale]
        if stale:
            self.refuse(data.draw(st.sampled_from(stale)))

    def refuse(self, handle):
        queue = self.service.find(WORLD, "q")
        with pytest.raises(MessageNotExist):
            self.service.messages.delete(queue, handle)
        with pytest.raises(MessageNotExist):
            self.service.messages.change_visibility(queue, handle, 5)

    @rule(span_ms=st.sampled_from([1, 999, 5_000, 20_000, 61_000, 299_999]))
    def advance(self, span_ms):
        self.timers.advance(span_ms)
        self.settle(self.now)

    @rule()
    def commit(self):
        self.database.commit()
        self.take_note()

    @rule(killed=st.booleans())
    def start_anew(self, killed):
        """After a stop, or on what a killed process leaves: the files as they are, and nothing closed.

        What was not committed then never was. One rule, so that a process lives for a dozen steps and not for six.
        """
        if killed:
            copy = Path(tempfile.mkdtemp())
            for file in self.folder.iterdir():
                shutil.copy(file, copy)
        self.service.close()
        self.database.close()
        if killed:
            shutil.rmtree(self.folder)
            self.folder = copy
            self.model, self.dead, self.gone_handles = copy_of(self.committed)
            self.settle(self.now)
        else:
            self.take_note()
        self.open()

    @invariant()
    def counters_are_exact(self):
        if not hasattr(self, "receives"):
            return
        hidden = [message for message in self.model if message.visible_from > self.now]
        inactive = sum(1 for message in hidden if message.received)
        counters = self.service.queues.view(WORLD, "q").counters
        assert (counters.active, counters.inactive, counters.delayed) == (
            len(self.model) - len(hidden), inactive, len(hidden) - inactive,
        )  # fmt: skip

    @invariant()
    def nothing_is_lost_and_the_dead_are_where_they_belong(self):
        if not hasattr(self, "receives"):
            return
        rows = self.database.read(
            "SELECT q.name, m.body, m.enqueued_at FROM mns_messages m JOIN mns_queues q ON q.id = m.queue"
        ).fetchall()
        alive = [body for name, body, at in rows if name == "q" and at + RETENTION_S * 1000 > self.now]
        assert sorted(alive) == sorted(message.body for message in self.model)
        assert sorted(body for name, body, _ in rows if name == "dead") == sorted(self.dead)
        assert [body for name, body, _ in rows if name == "neighbour"] == ["not yours"]


class FifoMachine(QueueMachine):
    """The FIFO queue: groups in strict order."""

    fifo = True


TestQueue = QueueMachine.TestCase
TestFifoQueue = FifoMachine.TestCase
