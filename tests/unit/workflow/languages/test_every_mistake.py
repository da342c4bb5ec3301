"""A definition with several mistakes: each is found by one reading, the first is the one that the API answers."""

import pytest

from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.languages.programs import read_program

FLOW = """version: v1
type: flow
steps:
  - type: task
    name: call
    resourceArn: acs:foo
    retry:
      - errors: []
        multiplyer: 2
    catch:
      - errors: [FnF.ALL]
        goto: nowhere
  - type: pas
    name: other
  - type: choice
    name: call
    choices:
      - condition: $.x = 1
        goto: other
timeoutSeconds: soon
"""
MACHINE = """Type: StateMachine
SpecVersion: v1
Name: m
StartAt: none
States:
  - Type: Task
    Name: Call
    Action: FC:InvokeFunction
    TaskMode: Sometimes
    Parameters: {a.$: lenght($Input), b.$: $.x}
    Retry: [{Errors: [x]}]
  - Type: Pass
    Name: Call
    End: maybe
  - Type: Choice
    Name: Decide
    Next: Call
    Branches: [{Condition: 'true', Next: Nowhere}]
"""


def mistakes(text):
    """Return the mistake that the API answers, and all: (line, column, field)."""
    with pytest.raises(DefinitionError) as refused:
        read_program(text)
    return refused.value, [(each.line, each.column, each.field) for each in refused.value.every()]


def test_every_mistake_of_a_flow_is_found():
    """In the order of the lines, those of nested lists, of names and of ways included."""
    first, found = mistakes(FLOW)

    assert found == [
        (6, 18, "steps[0].resourceArn"),
        (8, 17, "steps[0].retry[0].errors"),
        (9, 9, "steps[0].retry[0].multiplyer"),
        (12, 15, "steps[0].catch[0].goto"),
        (13, 11, "steps[1].type"),
        (16, 11, "steps[2].name"),
        (18, 20, "steps[2].choices[0].condition"),
        (20, 17, "timeoutSeconds"),
    ]
    assert first.field == "steps[0].resourceArn"


def test_every_mistake_of_a_state_machine_is_found():
    """What a state lacks as a whole is found beside mistakes of its fields."""
    _first, found = mistakes(MACHINE)

    assert found == [
        (4, 10, "StartAt"),
        (6, 5, "States[0]"),
        (9, 15, "States[0].TaskMode"),
        (10, 23, "States[0].Parameters.a.$"),
        (10, 44, "States[0].Parameters.b.$"),
        (11, 13, "States[0].Retry[0]"),
        (11, 13, "States[0].Retry[0]"),
        (13, 11, "States[1].Name"),
        (14, 10, "States[1].End"),
        (15, 5, "States[2]"),
        (17, 11, "States[2].Next"),
        (18, 42, "States[2].Branches[0].Next"),
    ]


@pytest.mark.parametrize("text", [FLOW, MACHINE], ids=["flow", "machine"])
def test_each_mistake_is_reported_once(text):
    """With its place in its text."""
    _first, found = mistakes(text)
    error, _found = mistakes(text)

    said = [str(each) for each in error.every()]

    assert len(said) == len(set(said)) == len(found)
    assert all(f"(line {line}, column {column})" in each for each, (line, column, _) in zip(said, found, strict=True))


def test_mistakes_of_a_task_are_found_beside_each_other():
    """A pattern that its target does not know, unknown, missing and impossible parameters."""
    text = """
version: v1
type: flow
steps:
  - type: task
    name: send
    resourceArn: acs:mns:::/queues/q/messages
    pattern: sync
    serviceParams: {DelaySeconds: -1, Body: x}
"""
    _first, found = mistakes(text)

    assert [field for _line, _column, field in found] == [
        "steps[0].pattern",
        "steps[0].serviceParams",
        "steps[0].serviceParams.DelaySeconds",
        "steps[0].serviceParams.Body",
    ]


def test_map_that_is_not_distributed_tolerates_no_failures_in_either_spelling():
    """Each field is a mistake, and so is what the state lacks."""
    text = """
Type: StateMachine
SpecVersion: v1
Name: m
StartAt: Each
States:
  - Type: Map
    Name: Each
    ItemsPath: $Input.items
    MaxConcurrency: 41
    ToleratedFailureCount: 1
    ToleratedFailurePercentage: 1
    Processor: {StartAt: In, States: [{Type: Succeed, Name: In}]}
"""
    _first, found = mistakes(text)

    assert [field for _line, _column, field in found] == [
        "States[0]",
        "States[0].MaxConcurrency",
        "States[0].ToleratedFailureCount",
        "States[0].ToleratedFailurePercentage",
    ]


HEAD = "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: a\n"


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (f"{HEAD}   end: true\n", "the line is indented by 3, lines above it by 0, 2 or 4"),
        (f"{HEAD}      end: true\n", "the line is indented by 6, lines above it by 0, 2 or 4"),
        (f"{HEAD} - type: pass\n", "the line is indented by 1, lines above it by 0, 2 or 4"),
    ],
)
def test_text_whose_indentation_fits_nowhere_is_refused_with_what_would(text, advice):
    """In spaces; the columns of a list and of its items count."""
    first, found = mistakes(text)

    assert first.line == 6
    assert len(found) == 1
    assert first.message.startswith("not YAML: ")
    assert first.message.endswith(advice)


@pytest.mark.parametrize("text", ["steps: [", "steps:\n\t- a", 'a: "b\n', "a: b: c", "\x00", ""])
def test_other_text_that_is_no_yaml_has_no_advice_on_indentation(text):
    """It would be wrong."""
    first, _found = mistakes(text)

    assert "indented" not in first.message


@pytest.mark.parametrize(
    ("text", "field", "above"),
    [
        (f"{HEAD}end: true\n", "end", "steps"),
        (
            "version: v1\ntype: flow\nsteps:\n  - type: foreach\n    name: each\n    iterationMapping:\n"
            "    collection: $.x\n    item: y\n    steps: [{type: pass, name: in}]\n",
            "steps[0].item",
            "iterationMapping",
        ),
    ],
)
def test_field_that_stands_too_far_left_is_refused_with_where_it_belongs(text, field, above):
    """What stands above has a field of that name."""
    first, _found = mistakes(text)
    by_field = {each.field: each for each in first.every()}

    assert by_field[field].message == f"unknown field; indent it more if it belongs to {above!r} above"


def test_field_of_a_machine_that_stands_too_far_left_is_remarked_upon():
    """Unknown fields are allowed there."""
    program = read_program(
        "Type: StateMachine\nSpecVersion: v1\nName: m\nStartAt: A\nStates:\n  - {Type: Pass, Name: A, End: true}\n"
        "ItemsPath: $Input\n"
    )

    (warning,) = program.warnings
    assert (
        warning == "ItemsPath: unknown field, which is ignored; indent it more if it belongs to 'States' above (line 7)"
    )
