"""A queue that was filled and forgotten costs no disk once its messages have expired."""

import pytest

from emulator.kernel.clock import SECOND, VirtualClock
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import CountingIds
from emulator.kernel.timers import VirtualTimers
from emulator.services.mns.service import SCHEMA, MessageService
from emulator.storage.database import Database
from emulator.storage.maintenance import LOOK_S, Shrinker
from emulator.storage.migration import migrate

WORLD = Tenant(AccountId("1234567890123456"), Region("cn-hangzhou"))


@pytest.fixture
def database(tmp_path):
    made = Database(tmp_path / "state.db")
    migrate(made, [SCHEMA])
    yield made
    made.close()


def test_the_file_shrinks_while_the_emulator_runs_after_messages_have_expired(tmp_path, database):
    """Sweeping and shrinking both go on by themselves, and messages of other queues stay."""
    clock = VirtualClock()
    timers = VirtualTimers(clock)
    service = MessageService(database, clock, CountingIds(), timers)
    service.start()
    shrinker = Shrinker(
        database, lambda span_s, then: timers.call_at(clock.now() + round(span_s * 1000), "later", then), clock
    )
    shrinker.start()
    service.queues.create(WORLD, "short", {"retention_s": 60})
    service.queues.create(WORLD, "long", {})
    for _ in range(1500):
        service.send(WORLD, "short", "x" * 8000)
    service.send(WORLD, "long", "stays")
    database.commit()
    full = (tmp_path / "state.db").stat().st_size + database.file.sizes().log_bytes

    for _ in range(200):
        timers.advance(SECOND)
        database.commit()
    timers.advance(LOOK_S * 1000)
    database.commit()
    database.file.copy_log()

    assert full > 12_000_000
    assert (tmp_path / "state.db").stat().st_size < 4_000_000
    assert database.read("SELECT body FROM mns_messages").fetchall() == [("stays",)]
    shrinker.close()
    service.close()
