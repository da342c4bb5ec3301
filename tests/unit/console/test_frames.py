"""The history as what changes in the picture."""

from emulator.console.frames import frames
from emulator.drawing.execution_tree import Execution
from emulator.drawing.states import states
from emulator.kernel.clock import Millis
from emulator.services.workflow.model import HistoryEvent

HISTORY = [
    ("ExecutionStarted", 0, "", "{}"),
    ("StepEntered", 1, "try", '{"resourceArn": "acs:fc:::functions/f"}'),
    ("TaskScheduled", 2, "try", "{}"),
    ("TaskFailed", 3, "try", '{"error": "E"}'),
    ("TaskScheduled", 4, "try", "{}"),
    ("TaskSucceeded", 5, "try", "{}"),
    ("StepExited", 6, "try", "{}"),
    ("StepEntered", 7, "try", "{}"),
    ("StepFailed", 8, "try", '{"error": "E"}'),
    ("StepExited", 9, "try", '{"error": "E"}'),
    ("StepEntered", 10, "open", "{}"),
    ("ExecutionStopped", 11, "", "{}"),
]
EVENTS = [
    HistoryEvent(id=at + 1, cause=cause, step=step, type=kind, at=Millis(1000 * at), detail=detail)
    for at, (kind, cause, step, detail) in enumerate(HISTORY)
]


def test_states_are_those_of_the_picture_at_every_event():
    """A step entered twice, with a retry, an error and one that the end leaves open."""
    shown = frames(EVENTS, str)

    execution = Execution()
    for event in EVENTS:
        execution.record(event.id, event.cause, event.step, event.type, event.at, event.detail)
        expected = states(execution, ["try", "open"])
        for step, state in expected.items():
            rows = [row for row in shown["steps"].get(step, []) if row[0] <= event.id]
            found = rows[-1][1:] if rows else ["not entered", shown["unentered"]]
            assert found == [state.state, state.note()], (event.id, step)


def test_ways_are_gone_with_the_event_that_enters_their_target():
    """Times are those of the events."""
    shown = frames(EVENTS, str)

    gone = [(way.split("\n")[1], event) for way, event in shown["ways"].items()]
    assert gone[:3] == [("try", 2), ("try", 8), ("open", 11)]
    assert shown["times"] == [event.at for event in EVENTS]
