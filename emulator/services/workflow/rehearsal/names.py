"""The valid names of mocks, and hints for invalid ones."""

from difflib import get_close_matches

from emulator.kernel.phrases import Phrase
from emulator.services.workflow.engine.model import Definition, Task, all_steps
from emulator.services.workflow.languages.statemachine.actions import ACTIONS
from emulator.services.workflow.rehearsal.answers import function_name
from emulator.wire.answers import action_key


def names_of(program: Definition) -> list[str]:
    """Return every name that a mock of a flow may have."""
    found: dict[str, None] = {}
    for step in all_steps(program.steps):
        if isinstance(step, Task):
            target = step.written_target()
            function = function_name(target)
            found |= dict.fromkeys([step.name, *([function] if function else []), target.action])
    return list(found)


def nearest(name: str, names: list[str]) -> str:
    """Return a hint about which of *names* an unknown *name* may have meant."""
    near = get_close_matches(name, names, 1)
    there = ", ".join(names[:20]) or Phrase("none")
    if near:
        return Phrase("did you mean {name!r}? there are {names}", name=near[0], names=there)
    return Phrase("there are {names}", names=there)


def wrong_action(action: str) -> str:
    """Return why no task can have an action, empty when one can; actions of other products are valid."""
    service, colon, operation = action.partition(":")
    if not (service and colon and operation):
        return Phrase("{name!r} is not an action; write SERVICE:Operation, such as MNS:SendMessage", name=action)
    known = {action_key(name): name for name in ACTIONS}
    if action_key(action) not in known and any(name.startswith(f"{service.lower()}:") for name in known):
        return Phrase("there is no action {name!r}; {hint}", name=action, hint=nearest(action, list(ACTIONS)))
    return ""
