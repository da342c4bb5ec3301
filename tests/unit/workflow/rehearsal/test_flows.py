"""Flows of the shapes that are published most, in both languages, with cases that take every way.

They are of the shapes of the vendor's public templates and applications, written for these tests: those texts are their
authors'.
"""

from pathlib import Path

import pytest

from emulator.kernel.frozen import replace
from emulator.services.workflow.languages.conversion import convert
from emulator.services.workflow.languages.fdl.decide import FlowProgram
from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.rehearsal.cases import read_suite, run_case
from emulator.services.workflow.rehearsal.coverage import Coverage
from emulator.services.workflow.rehearsal.replay import read_history, replay
from tests.converted import difference

FILES = sorted((Path(__file__).parents[3] / "flows").glob("*.test.yaml"))


def run_all(suite):
    coverage = Coverage(suite.program)
    came = [run_case(suite, case, coverage) for case in suite.cases]
    for each in came:
        coverage.add(each.taken)
    return came, coverage


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_cases_take_every_way(file):
    """Each goes as expected; nothing of the flow is left out, and no mock answers what nothing real does."""
    suite = read_suite(file)

    came, coverage = run_all(suite)

    assert [each.reasons for each in came if each.reasons] == []
    assert coverage.missing() == []
    assert suite.doubts == ()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_a_converted_flow_ends_as_its_original_does(file):
    """Every case of a flow of the old language, played to its state machine: the same end, the same calls."""
    suite = read_suite(file)
    if not isinstance(suite.program, FlowProgram):
        pytest.skip("it is a state machine already")
    converted = convert(suite.program, "converted")
    machine = replace(suite, program=read_program(converted.text))

    old, new = run_all(suite)[0], run_all(machine)[0]

    for before, after in zip(old, new, strict=True):
        assert difference(before.actual, after.actual, converted.text) == "", before.case.name


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_what_a_case_records_goes_the_same_way_again(file):
    """Every case that ends is a history."""
    suite = read_suite(file)

    for case in suite.cases:
        fails = replace(case, expected={"status": "another"})  # so that its history is kept
        outcome = run_case(suite, fails, Coverage(suite.program))
        replayed = replay(suite.program, read_history(outcome.history))

        assert (replayed.difference, replayed.events) == (None, len(outcome.history)), case.name


def test_there_are_as_many_as_public_ones():
    """Twenty-two, in both languages."""
    languages = [isinstance(read_suite(file).program, FlowProgram) for file in FILES]

    assert (len(FILES), set(languages)) == (22, {True, False})
