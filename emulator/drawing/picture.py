"""One picture of a flow, or of one of its executions: the way from a definition to a text."""

from typing import Literal

from emulator.drawing import mermaid, svg
from emulator.drawing.execution_tree import Execution
from emulator.drawing.layout import draw
from emulator.drawing.model import build, steps_of, with_badges
from emulator.drawing.states import badges, states, taken
from emulator.services.workflow.languages.programs import read_program

Form = Literal["svg", "mermaid"]


def picture(definition: str, title: str, execution: Execution | None, form: Form) -> str:
    """Return the text of a picture of a flow, with *execution* in the colours of how its steps went.

    Raises: DefinitionError.
    """
    model = build(read_program(definition))
    run = None
    notes = {}
    if execution is not None:
        state_of = states(execution, [node.name for node in steps_of(model)])
        run = svg.Run(states=state_of, taken=taken(execution))
        notes = {name: state.note for name, state in state_of.items()}
        model = with_badges(model, badges(state_of, steps_of(model)))
    if form == "mermaid":
        return mermaid.render(model, title, run.states if run is not None else None)
    return svg.render(draw(model, notes), title, run)
