"""What comes too late, and what the end of a history lets through."""

from emulator.services.workflow.engine.decide import bounded, decide, final_event, react
from emulator.services.workflow.engine.events import ExecutionStopped, StepExited
from emulator.services.workflow.engine.json_text import NOTHING
from emulator.services.workflow.engine.language import Facts, Park, TimerFired
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.limits import DOCUMENTED, Bounds

WAIT = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 10}\n"


def parked(bounds=DOCUMENTED):
    """Return an execution that waits."""
    program = read_program(WAIT)
    facts = Facts(
        program=program, flow_name="f", execution_name="e", input={}, token=lambda entry, attempt: "", bounds=bounds
    )
    state = ExecutionState()
    while not isinstance(decided := decide(facts, state), Park):
        for event in decided or ():
            event.apply(program, state, 1)
    return facts, state


def test_a_time_out_of_what_calls_nothing_is_late():
    """Nothing follows from it."""
    facts, state = parked()

    assert react(facts, state, TimerFired(2, "timeout", 10**9)) == ()


def test_the_limit_of_events_cuts_what_is_decided():
    """What fits is recorded, and the failure in place of the first that does not; an end always fits."""
    facts, state = parked(Bounds(events=5))
    two = tuple(StepExited(number, 0, number - 1, "w", NOTHING) for number in (4, 5))
    end = final_event(state, ExecutionStopped, "", "by hand")

    cut = bounded(facts, state, two)

    assert [(event.id, event.type) for event in cut] == [(4, "StepExited"), (5, "ExecutionFailed")]
    assert bounded(facts, state, (ExecutionStopped(5, 4, "", ""),))[0].type == "ExecutionStopped"
    assert bounded(facts, state, (end,)) == (end,)
