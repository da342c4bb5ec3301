"""References in definitions that templates hold: given a value, or kept."""

import pytest

from emulator.cli.references import Misplaced, put_back, stand_ins

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
