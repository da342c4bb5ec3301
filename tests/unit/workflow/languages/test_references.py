"""References in definitions that templates hold: given a value, or kept."""

import pytest

from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.languages.references import Misplaced, put_back, stand_ins, standalone

TEXT = """a: !Ref Name
b: {resourceArn: !GetAtt f.Arn, c: 1}
d: !Sub
  - "${x}"
  - x: 1
e: 2
resourceArn: ${Whole}
f: say ${Name} and ${Other}
"""


def test_what_has_no_value_is_put_back_as_it_was():
    """Every line stays where it was, and a reference of several lines becomes one line."""
    text, references = stand_ins(TEXT)
    lines = text.splitlines()

    assert [(each.tag, each.line) for each in references] == [
        ("!Ref", 1), ("!GetAtt", 2), ("!Sub", 3), ("${Whole}", 7)
    ]  # fmt: skip
    assert (lines[5], lines[7]) == ("e: 2", "f: say ${Name} and ${Other}")
    written = "".join(f"{number}: {each.placeholder}\n" for number, each in enumerate(references))
    assert put_back(written, references) == '0: !Ref Name\n1: !GetAtt f.Arn\n2: !Sub ["${x}", {x: 1}]\n3: ${Whole}\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: !Ref N", "a: 7"),
        ("a: !Ref T", 'a: "x y"'),
        ("a: !Sub 'at ${N}/${T}'", 'a: "at 7/x y"'),
        ("a: !GetAtt f.Arn", 'a: "acs:x"'),
        ("a: <${T}>", "a: <x y>"),
    ],
)
def test_a_parameter_gives_a_value(text, expected):
    """Digits are a number, all else is text."""
    assert stand_ins(text, {"N": "7", "T": "x y", "f.Arn": "acs:x"}) == (expected, [])


def test_a_reference_inside_another_value_is_told():
    """It would be nothing but text there."""
    _, references = stand_ins("a: !Ref Name")

    with pytest.raises(Misplaced, match="!Ref Name"):
        put_back(f'x.$: format("{references[0].placeholder}")\n', references)


@pytest.mark.parametrize(
    ("written", "resource"),
    [
        ("!Ref shop/pay", "acs:fc:::services/shop/functions/pay"),
        ("!Ref pay", "acs:fc:::functions/pay"),
        ("!GetAtt pay.Arn", "acs:fc:::functions/pay"),
        ("${pay}", "acs:fc:::functions/pay"),
        ("!Sub '${a}-${b}'", "acs:fc:::services/any/functions/any-1-"),
    ],
)
def test_a_reference_is_called_as_it_says_where_a_flow_is_rehearsed(written, resource):
    """So that a mock may be for it."""
    definition = standalone(f"resourceArn: {written}")

    assert definition.text == f'resourceArn: "{resource}"'
    assert definition.resources == {resource}


def test_a_reference_where_no_resource_can_be_asks_for_its_value():
    """With the line, and the way to give it one."""
    flow = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: !Ref Pause}\n"

    with pytest.raises(DefinitionError, match="!Ref has no value here; a parameter gives it one") as raised:
        standalone(flow).program()

    assert raised.value.line == 4
    assert standalone(flow, {"Pause": "7"}).program().steps
