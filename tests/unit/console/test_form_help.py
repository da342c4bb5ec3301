"""The forms of what is made by hand say of each attribute what it is."""

import pytest

from emulator.console.forms import UNITS, controls
from emulator.console.making import KINDS
from emulator.services.fc.catalog.fields import FUNCTION_2

FORMS = [(kind, row.shape, row.form) for kind, row in KINDS.items()]
FORMS.append(("function of a service", FUNCTION_2, KINDS["function"].form))


@pytest.mark.parametrize("chinese", [False, True], ids=["English", "Chinese"])
@pytest.mark.parametrize(("shape", "form"), [each[1:] for each in FORMS], ids=[each[0] for each in FORMS])
def test_every_control_of_a_form_has_help(shape, form, chinese):
    """In the language of the page."""
    rows = list(controls(shape, form, chinese=chinese))

    assert rows
    assert [each.name for each in rows if not each.help] == []


@pytest.mark.parametrize(("shape", "form"), [each[1:] for each in FORMS], ids=[each[0] for each in FORMS])
def test_default_of_a_choice_is_one_of_its_words(shape, form):
    """As a person would choose it: normal, not false."""
    rows = [each for each in controls(shape, form) if each.widget == "choice" and each.default]

    assert [(each.name, each.default) for each in rows if each.default not in each.choices] == []


@pytest.mark.parametrize(("shape", "form"), [each[1:] for each in FORMS], ids=[each[0] for each in FORMS])
def test_units_are_translated(shape, form):
    """Those of every number with bounds are among the words of the catalogue."""
    assert {each.unit for each in controls(shape, form)} - {""} <= set(UNITS)


def test_help_of_the_two_languages_differs():
    """Nobody reads English on a Chinese page."""
    pairs = zip(
        *(
            [each.help for each in controls(KINDS["function"].shape, "body", chinese=chinese)]
            for chinese in (False, True)
        ),
        strict=True,
    )

    assert [pair for pair in pairs if pair[0] == pair[1]] == []
