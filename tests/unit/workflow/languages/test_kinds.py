"""A kind of step that somebody adds and forgets somewhere is found by the type checker, not by a user."""

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from emulator.services.workflow.languages.fdl import reader as fdl_reader
from emulator.services.workflow.languages.fdl.nodes import FlowStep
from emulator.services.workflow.languages.statemachine import reader as machine_reader
from emulator.services.workflow.languages.statemachine.nodes import DistributedMapState, MachineState

ROOT = Path(__file__).parents[4]
LANGUAGES = "emulator/services/workflow/languages"
FLOW_KIND = '''

@frozen
class LogStep(Step):
    """Writes a line."""


FlowStep = LogStep | TaskStep | '''
MACHINE_KIND = '''

@frozen
class LogState(State):
    """Writes a line."""


MachineState = (
    LogState | '''


def checked(tmp_path, *changes):
    """Return what mypy says of the languages with *changes*: a file, and pairs of what it has and what instead."""
    shadows = []
    for number, (path, *pairs) in enumerate(changes):
        text = (ROOT / path).read_text()
        for before, after in pairs:
            assert before in text
            text = text.replace(before, after, 1)
        changed = tmp_path / f"{number}.py"
        changed.write_text(text)
        shadows += ["--shadow-file", path, str(changed)]
    cache = ["--cache-dir", str(tmp_path / "cache"), "--follow-imports", "silent"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *cache, *shadows, f"{LANGUAGES}/"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.unmeasured
def test_a_kind_of_step_that_is_not_dealt_with_everywhere_does_not_pass_the_type_checker(tmp_path):
    """What a new class does not answer is named, and each place that deals with all kinds but this one."""
    flow, machine = f"{LANGUAGES}/fdl/nodes.py", f"{LANGUAGES}/statemachine/nodes.py"

    said = checked(
        tmp_path,
        (flow, ("\n\nFlowStep = TaskStep | ", FLOW_KIND)),
        (machine, ("\n\nMachineState = (\n    ", MACHINE_KIND)),
        (
            f"{LANGUAGES}/fdl/reader.py",
            ("    FlowStep,\n", "    FlowStep,\n    LogStep,\n"),
            ('    "pass": _step_type(', '    "log": _step_type(LogStep, _END),\n    "pass": _step_type('),
        ),
        (
            f"{LANGUAGES}/statemachine/reader.py",
            ("    MachineState,\n", "    MachineState,\n    LogState,\n"),
            ('    "Pass": _state_type(', '    "Log": _state_type(LogState, *_ONWARD),\n    "Pass": _state_type('),
        ),
    )

    assert re.search(r'fdl/decide\.py:\d+: error: Argument 1 to "assert_never".*LogStep', said)
    assert re.search(r'statemachine/decide\.py:\d+: error: Argument 1 to "assert_never".*LogState', said)
    assert re.search(r'conversion/states\.py:\d+: error: Argument 1 to "assert_never".*LogStep', said)
    for reader in ("fdl", "statemachine"):
        assert re.search(rf"{reader}/reader\.py:\d+: error: Only concrete class can be given", said)


@pytest.mark.parametrize(
    ("read", "closed"),
    [
        pytest.param(fdl_reader.KINDS, FlowStep, id="flow definition language"),
        pytest.param(machine_reader.KINDS, MachineState, id="state machines"),
    ],
)
def test_what_is_read_is_what_the_closed_set_has(read, closed):
    """A class that the reader makes and the union leaves out would be checked nowhere; a map has two classes."""
    assert {each.kind for each in read.values()} == set(get_args(closed)) - {DistributedMapState}
