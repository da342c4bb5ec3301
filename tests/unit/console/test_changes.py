"""What pages hear of: names of what has changed after the change that they have seen."""

import asyncio
import logging

import pytest

from emulator.console.changes import EVERYTHING, Changes, names_of
from emulator.gateway.journal import Journal
from emulator.kernel.clock import Millis, VirtualClock


class Rows:
    """Stands for the rows of the state: ``written`` tells a name, when anybody listens."""

    def __init__(self):
        self.tell = None

    def watch(self, tell):
        self.tell = tell
        return lambda: setattr(self, "tell", None)

    def written(self, name):
        if self.tell is not None:
            self.tell(name)


@pytest.fixture
def rows():
    return Rows()


@pytest.fixture
def journal():
    return Journal(VirtualClock(Millis(0)))


@pytest.fixture
def changes(rows, journal):
    return Changes(rows.watch, journal, first=1000)


async def test_names_are_those_after_the_change_that_was_seen(changes, rows):
    """Each once, however often it has changed."""
    seen = changes.mark()
    rows.written("queue/orders")
    rows.written("queue/orders")
    later = changes.mark()
    rows.written("flow/approve")

    assert sorted(changes.since(seen)) == ["flow/approve", "queue/orders"]
    assert changes.since(later) == ["flow/approve"]
    assert changes.since(changes.mark()) == []
    changes.close()


@pytest.mark.parametrize("seen", [-1, 0, 999, 10**15])
async def test_page_that_has_seen_nothing_known_is_told_of_everything(changes, rows, seen):
    """One of an earlier run, or one that was away for too long."""
    changes.mark()
    rows.written("queue/orders")

    assert changes.since(seen) == [EVERYTHING]
    changes.close()


async def test_too_many_names_are_everything(changes, rows):
    """The oldest are forgotten, and who had not heard of them hears of everything."""
    seen = changes.mark()
    for each in range(3_000):
        rows.written(f"queue/{each}")

    assert changes.since(seen) == [EVERYTHING]
    assert changes.since(changes.mark() - 1) == ["queue/2999"]
    changes.close()


async def test_nothing_is_watched_when_nobody_looks(changes, rows, journal):
    """Before the first page and after the last."""
    assert rows.tell is None
    changes.mark()
    assert rows.tell is not None
    assert len(journal.watchers) == 1
    changes.close()

    assert rows.tell is None
    assert journal.watchers == []


async def test_listener_hears_of_what_changes_while_it_waits(changes, rows):
    """And of nothing else; a while without anything is told as well."""
    heard = changes.listen(changes.mark(), 0.01)

    assert (await anext(heard))[1] == []
    waiting = asyncio.ensure_future(anext(heard))
    rows.written("topic/news")
    number, names = await waiting
    assert names == ["topic/news"]
    assert changes.since(number) == []
    await heard.aclose()
    changes.close()


async def test_end_ends_what_listens(changes, rows):
    """Who waits is told of nothing more, and who comes later of nothing at all."""
    waiting = asyncio.ensure_future(anext(changes.listen(changes.mark(), 60), None))
    await asyncio.sleep(0)

    changes.end()

    assert await waiting is None
    assert await anext(changes.listen(0, 60), None) is None
    assert rows.tell is None


async def test_lines_of_the_log_are_heard(changes, journal):
    """From any thread."""
    seen = changes.mark()
    record = logging.LogRecord("any", logging.INFO, "", 1, "%(function)s", ({"function": "shop/ask"},), None)
    await asyncio.to_thread(journal.handle, record)
    await asyncio.sleep(0)

    assert changes.since(seen) == ["call/shop/ask"]
    changes.close()


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"service": "mns", "operation": "SendMessage"}, ["request/mns"]),
        ({"service": "admin", "operation": "POST /faults"}, ["lab"]),
        ({"service": "console", "operation": "POST /mocks"}, ["lab"]),
        ({"service": "console", "operation": "GET /mocks"}, []),
        ({"topic": "news", "subscription": "inbox"}, ["topic/news"]),
        ({}, []),
    ],
    ids=str,
)
def test_what_a_line_is_about(fields, names):
    """A page that is looked at is nothing that pages show."""
    assert list(names_of(fields)) == names
