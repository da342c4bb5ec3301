"""The page on state machines agrees with the language."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.languages.statemachine.actions import ACTIONS
from emulator.services.workflow.languages.statemachine.functions import FUNCTIONS
from emulator.services.workflow.languages.statemachine.nodes import MODES
from emulator.services.workflow.rehearsal.answers import Mocks, give
from emulator.services.workflow.rehearsal.cases import BEGINNING, facts_of, read_suite, run_case, shown_history
from emulator.services.workflow.rehearsal.coverage import Coverage
from emulator.services.workflow.rehearsal.drive import Drive, run

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


TESTING = (Path(__file__).parents[2] / "docs" / "flows" / "testing.md").read_text(encoding="utf-8")


def test_the_page_on_testing_runs(tmp_path):
    """Its flow and its cases, the cases that it says are proposed, and a history of its own that goes the same way."""
    flow, cases = re.findall(r"```yaml\n(.*?)```", TESTING, re.DOTALL)
    (tmp_path / "order.yml").write_text(flow)
    (tmp_path / "order.test.yaml").write_text(cases)
    suite = read_suite(tmp_path / "order.test.yaml")
    drive = Drive(facts_of(suite.program, "e", suite.cases[1].input), BEGINNING)
    mocks = Mocks(suite.cases[1].scripts)
    run(drive, lambda drive, call: give(drive, call, mocks.next(call)))
    history = {"Events": [{**each, "Time": ""} for each in shown_history(drive)]}
    (tmp_path / "history.json").write_text(json.dumps(history))

    said = {}
    for line in re.findall(r"^    (localyun .*)$", TESTING, re.MULTILINE):
        done = subprocess.run(
            [sys.executable, "-m", "emulator", *line.split()[1:]],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        said[line.split()[2]] = done.stdout

    assert "3 cases, 0 failed" in said["test"]
    assert "cases:" in said["cases"]
    assert "no difference in" in said["replay"]


@pytest.mark.parametrize(
    "file", sorted(APPLICATIONS.glob("*/*.test.yaml")), ids=lambda file: file.relative_to(APPLICATIONS).as_posix()
)
def test_cases_of_the_tutorials_take_every_way(file):
    """Each goes as expected, and together they leave out no transition."""
    suite = read_suite(file)
    coverage = Coverage(suite.program)
    came = [run_case(suite, case, coverage) for case in suite.cases]
    for each in came:
        coverage.add(each.taken)

    assert [each.reasons for each in came if each.reasons] == []
    assert coverage.missing() == []
