"""Numbers of large queues survive an orderly end, so that their first use does not count them."""

import pytest

from emulator.kernel.clock import VirtualClock
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import CountingIds
from emulator.kernel.timers import VirtualTimers
from emulator.services.mns.queues import live_queues as registry
from emulator.services.mns.service import SCHEMA, MessageService
from emulator.storage.database import Database
from emulator.storage.migration import migrate

WORLD = Tenant(AccountId("1234567890123456"), Region("cn-hangzhou"))


class Runs:
    """One run of the service after the other, over the same file."""

    def __init__(self, path):
        self.path = path
        self.clock = VirtualClock()
        self.ids = CountingIds()
        self.begin()

    def begin(self):
        self.database = Database(self.path)
        migrate(self.database, [SCHEMA])
        self.service = MessageService(self.database, self.clock, self.ids, VirtualTimers(self.clock))
        self.service.start()
        store = self.service.queue_store
        self.counted = []
        count = store.numbers
        store.numbers = lambda queue: self.counted.append(queue) or count(queue)

    def stop(self):
        self.service.close()
        self.crash()

    def crash(self):
        self.database.close()

    def counters(self):
        found = self.service.find(WORLD, "q").tally.counters(self.clock.now())
        return found.active, found.inactive, found.delayed


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "REMEMBERED", 5)
    made = Runs(tmp_path / "state.db")
    made.service.queues.create(WORLD, "q", {})
    for priority in (3, 3, 8, 8, 8):
        made.service.send(WORLD, "q", "x", priority=priority)
    made.service.send(WORLD, "q", "x", delay_s=60)
    yield made
    made.crash()


def test_after_an_orderly_end_nothing_is_counted_and_every_number_is_right(runs):
    """Visible, hidden and delayed messages, and their priorities."""
    runs.service.messages.receive(runs.service.find(WORLD, "q"), 2, None, tuple)
    runs.stop()

    runs.begin()

    assert runs.counters() == (3, 2, 1)
    assert runs.service.find(WORLD, "q").tally.priorities() == [3, 8]
    assert runs.counted == []


def test_after_a_crash_the_queue_is_counted(runs):
    """What was kept is of an earlier moment, and is gone with the queue's first use."""
    runs.stop()
    runs.begin()
    runs.service.send(WORLD, "q", "one more")
    runs.crash()

    runs.begin()

    assert runs.counters() == (6, 0, 1)
    assert len(runs.counted) == 1


def test_a_queue_nobody_used_keeps_its_numbers_over_several_runs(runs):
    """A run that never touches it has nothing to say about it."""
    runs.stop()
    runs.begin()
    runs.stop()

    runs.begin()

    assert runs.counters() == (5, 0, 1)
    assert runs.counted == []


def test_a_lost_transaction_brings_the_kept_numbers_back(runs):
    """Taking them belongs to the transaction of the first use."""
    runs.stop()
    runs.begin()
    runs.service.send(WORLD, "q", "lost")
    runs.database._lost = True
    runs.database._connection.execute("ROLLBACK")
    runs.database._connection.execute("BEGIN")

    runs.database.commit()

    assert runs.counters() == (5, 0, 1)


def test_small_queues_are_simply_counted(runs, monkeypatch):
    """Nothing is kept for them."""
    monkeypatch.setattr(registry, "REMEMBERED", 100)
    runs.stop()

    runs.begin()

    assert runs.database.read("SELECT count(*) FROM mns_tallies").fetchone()[0] == 0
    assert runs.counters() == (5, 0, 1)
