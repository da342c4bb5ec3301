"""What the loop tells by itself."""

import gc
from unittest.mock import Mock

import pytest

from emulator.cli.commands.start import LoopErrors, Survivors
from emulator.kernel.clock import VirtualClock

NO_ROOM = {"message": "socket.accept() out of system resource", "exception": OSError(24, "Too many open files")}


def test_connections_that_wait_are_told_once_in_a_while(caplog):
    """asyncio says it for every place of the backlog, each second."""
    clock, loop = VirtualClock(), Mock()
    errors = LoopErrors(clock)
    for _ in range(100):
        errors(loop, NO_ROOM)
    clock.move_to(clock.now() + 10_000)
    errors(loop, NO_ROOM)

    assert [record.getMessage() for record in caplog.records] == [
        "new connections have to wait: [Errno 24] Too many open files"
    ] * 2
    loop.default_exception_handler.assert_not_called()


def test_a_listener_closed_meanwhile_is_no_error(caplog):
    """asyncio tries to go on with it all the same."""
    loop = Mock()
    message = "Exception in callback BaseSelectorEventLoop._start_serving(<function>)"
    LoopErrors(VirtualClock())(loop, {"message": message, "exception": ValueError("Invalid file descriptor: -1")})

    assert not caplog.records
    loop.default_exception_handler.assert_not_called()


def test_everything_else_is_passed_on():
    """With the loop's own words."""
    loop, context = Mock(), {"message": "Task exception was never retrieved"}
    LoopErrors(VirtualClock())(loop, context)

    loop.default_exception_handler.assert_called_once_with(context)


@pytest.mark.parametrize(
    ("generation", "span_ms", "frozen"), [(2, 50, 1), (2, 5, 0), (1, 50, 0)], ids=["long", "short", "of the young"]
)
def test_what_survives_a_long_collection_is_exempt_from_the_next(monkeypatch, generation, span_ms, frozen):
    """The oldest generation is looked at once while it grows; what a short collection leaves is looked at again."""
    freeze, clock = Mock(), VirtualClock()
    monkeypatch.setattr(gc, "freeze", freeze)
    survivors = Survivors(clock)

    survivors("start", {"generation": generation, "collected": 0, "uncollectable": 0})
    clock.move_to(clock.now() + span_ms)
    survivors("stop", {"generation": generation, "collected": 0, "uncollectable": 0})

    assert freeze.call_count == frozen
