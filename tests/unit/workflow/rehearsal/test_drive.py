"""One way for every execution to go on: alone, over breakpoints, and from where another one has come to."""

import pytest

from emulator.services.workflow.engine.breakpoints import Breakpoint, Watch
from emulator.services.workflow.engine.history import Recorded
from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.rehearsal.answers import Mocks, give, read_mock
from emulator.services.workflow.rehearsal.cases import BEGINNING, facts_of, shown_history
from emulator.services.workflow.rehearsal.drive import Drive, run
from tests.unit.workflow.executions.test_debugger import both_languages

BUSY_ONCE = [{"error": {"errorType": "Busy"}}, {"return": {"answer": 1}}]


class Driven:
    """A drive of a definition; its task `call` fails the first time, unless that is behind it already."""

    def __init__(self, definition, watch=None, behind=0):
        self.drive = Drive(facts_of(read_program(definition), "driven", {"n": 1}), BEGINNING)
        self.drive.watch = watch
        self._mocks = Mocks({"call": read_mock(BUSY_ONCE[behind:]), "right": read_mock({"return": {"answer": 2}})})

    def go_on(self):
        run(self.drive, lambda drive, call: give(drive, call, self._mocks.next(call)))

    @property
    def came(self):
        return shown_history(self.drive), self.drive.times


def recorded(driven):
    """What was recorded when; branches that are let go one after the other record in another order."""
    return sorted((at, each.type, each.step) for each, at in zip(driven.drive.history, driven.drive.times, strict=True))


def whole(definition):
    driven = Driven(definition)
    driven.go_on()
    assert driven.drive.state.outcome == "ExecutionSucceeded"
    return driven


@both_languages
def test_an_execution_without_a_store_stops_at_breakpoints_too(definition):
    """Before every step, or where a step has ended: what it records is what it records without them."""
    for watch in (Watch(stepping=True), Watch((Breakpoint("after"),))):
        driven, stops = Driven(definition, watch), 0

        while not driven.drive.is_over:
            driven.go_on()
            for stop in list(watch.stops.values()):
                watch.release(stop)
                driven.drive.state.unpark(driven.drive.state.strands[stop.strand])
                stops += 1

        assert stops == 8
        assert recorded(driven) == recorded(whole(definition))


@both_languages
def test_an_execution_goes_on_from_wherever_another_one_has_come_to(definition):
    """It follows the first events as they were recorded, then decides itself: the same, at the same times."""
    original = whole(definition)
    drive, notation = original.drive, original.drive.facts.program.notation
    history = [
        Recorded(each.id, each.type, each.strand, each.scheduled, each.step, each.detail(notation), each.mark, at)
        for each, at in zip(drive.history, drive.times, strict=True)
    ]

    for shared in range(1, len(history)):
        behind = any(each.type == "TaskFailed" for each in history[:shared])
        driven = Driven(definition, behind=int(behind))
        for each in history[:shared]:
            driven.drive.follow(each)
        driven.go_on()

        assert driven.came == original.came, shared


def test_a_history_that_does_not_fit_is_refused():
    """An event of a step that the definition has not."""
    driven = Driven("version: v1\ntype: flow\nsteps: [{type: pass, name: a}]")
    driven.drive.begin({})

    with pytest.raises(LookupError):
        driven.drive.follow(Recorded(2, "ChoiceExited", 7, 1, "b", "{}", None, BEGINNING))
