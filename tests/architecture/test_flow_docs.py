"""The page on state machines agrees with the language."""

import re
from pathlib import Path

from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.languages.statemachine.actions import ACTIONS
from emulator.services.workflow.languages.statemachine.functions import FUNCTIONS
from emulator.services.workflow.languages.statemachine.nodes import MODES

PAGE = (Path(__file__).parents[2] / "docs" / "flows" / "state-machines.md").read_text(encoding="utf-8")
APPLICATIONS = Path(__file__).parents[2] / "sample-apps"


def test_every_example_is_a_flow():
    """Each block of YAML is read without remarks."""
    for example in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL):
        assert read_program(example).warnings == ()


def test_every_function_is_named():
    """The table has those that there are, and no others."""
    rows = re.findall(r"^\| (`\w+\(.*?) \|", PAGE, re.MULTILINE)

    assert {name for row in rows for name in re.findall(r"`(\w+)\(", row)} == set(FUNCTIONS)


def test_every_action_is_named_with_its_modes():
    """The table has those that are available."""
    rows = dict(re.findall(r"^\| `(\w+:\w+)` \| (.*?) \|", PAGE, re.MULTILINE))

    assert set(rows) == {name for name, kind in ACTIONS.items() if kind.stands_for is not None}
    for name, modes in rows.items():
        known = {MODES[pattern] for pattern in ACTIONS[name].patterns}
        assert (set(MODES.values()) if modes == "all three" else set(re.findall(r"`(\w+)`", modes))) == known


def test_every_application_has_its_flow_in_both_languages():
    """Both are read without remarks, and have the same steps."""
    for path in APPLICATIONS.glob("*/flow.yml"):
        old, new = (read_program(file.read_text(encoding="utf-8").replace("{", "").replace("}", ""))
                    for file in (path, path.with_name("statemachine.yml")))  # fmt: skip

        assert [step.name for step in new.steps.steps] == [step.name for step in old.steps.steps]
        assert (old.warnings, new.warnings) == ((), ())
