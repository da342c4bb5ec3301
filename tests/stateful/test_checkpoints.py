"""Random programs of calls, then save, more calls, restore: every table is as it was."""

import io
import sqlite3
import tarfile
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.testing import Emulator
from tests.unpacking import unpack

FLOW = """
version: v1
type: flow
steps:
  - type: wait
    name: rest
    duration: 60
  - type: pass
    name: done
"""

QUEUES = st.sampled_from(["red", "green"])
LOGS = {"lab_effects", "usage_amounts"}
"""What is written of requests as they come, the one that restores among them, and a moment later."""

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), QUEUES, st.integers(0, 120)),
        st.tuples(st.just("receive"), QUEUES, st.just(0)),
        st.tuples(st.just("start"), st.just("rest"), st.just(0)),
        st.tuples(st.just("publish"), st.just("news"), st.just(0)),
        st.tuples(st.just("advance"), st.just(""), st.integers(1, 100)),
    ),
    max_size=8,
)


@pytest.fixture(scope="module", params=["kept", "ephemeral"])
def world(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("state")
    with Emulator(state=folder if request.param == "kept" else None) as kit:
        for name in ("red", "green"):
            kit.queue(name)
        kit.flow("rest", FLOW)
        topic = kit.topic("news")
        topic.subscribe(f"acs:mns:{kit.region}:{kit.account_id}:queues/red", name="to-red")
        topic.subscribe("http://127.0.0.1:9/closed", name="to-nobody")  # stays on its way, with retries
        kit.clock.freeze()
        kit.settle()
        kit.checkpoint("empty")
        yield kit, folder


def run(kit, steps):
    for what, name, number in steps:
        match what:
            case "send":
                kit.queue(name).send("body", delay_s=number)
            case "receive":
                kit.queue(name).receive()
            case "start":
                kit.flow(name).start()
            case "publish":
                kit.topic(name).publish("news")
            case "advance":
                kit.clock.advance(number)
    kit.settle()


def tables(kit, folder):
    """Return the rows of all tables, out of the archive of a checkpoint."""
    kit.checkpoint("seen")
    target = "/_localyun/checkpoints/seen/archive"
    piece = kit.api._send("GET", target, {"X-Localyun-Token": kit.token}, None).content
    with tarfile.open(fileobj=io.BytesIO(piece)) as tar:
        unpack(tar, folder / "seen", "state.db")
    with closing(sqlite3.connect(folder / "seen" / "state.db")) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        names = [name for name in names if name not in LOGS]
        return {name: sorted(map(repr, database.execute(f'SELECT * FROM "{name}"'))) for name in names}


@given(STEPS, STEPS)
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_table_is_as_it_was(world, before, after):
    """Whatever happened before the save is there after the restore, and nothing of what happened since."""
    kit, folder = world
    kit.api.admin("POST", "checkpoints/empty/restore")
    run(kit, before)
    saved = tables(kit, folder)
    checkpoint = kit.checkpoint("now")

    run(kit, after)
    checkpoint.restore()

    assert tables(kit, folder) == saved
