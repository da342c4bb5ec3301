"""Error codes: each that a service answers has its row on the page of errors, in both languages."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import emulator
from emulator.cli import error_codes, pages
from emulator.cli.output import CommandFailed
from emulator.kernel.errors import ServiceError

ANSWERED = {*error_codes.answered(), *error_codes.OF_CALLS, *error_codes.OF_FLOWS}


@pytest.mark.parametrize("chinese", [False, True])
def test_every_code_that_is_answered_has_its_row(chinese):
    """And the page has no row of a code that nothing answers."""
    assert set(error_codes.rows(chinese=chinese)) == ANSWERED


@pytest.mark.parametrize("chinese", [False, True])
def test_a_code_stands_in_one_row(chinese):
    """Two rows would say different things of it."""
    text = pages.read("errors", chinese=chinese)

    codes = [code for row in pages.table_rows(text) for code in re.findall(r"`([^`]+)`", row[0])]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("chinese", [False, True])
def test_a_row_says_meaning_causes_and_remedy(chinese):
    """None of the three is empty."""
    rows = error_codes.rows(chinese=chinese)

    assert [code for code, told in rows.items() if not all(told)] == []


def test_no_table_of_errors_is_left_out():
    """Each class of errors with a table of its own is among those that are read."""
    for module in pkgutil.walk_packages(emulator.__path__, "emulator."):
        if not module.name.startswith(("emulator._", "emulator.redirect.", "emulator.testing.")) and not re.search(
            r"\.(bootstrap|__main__|s3)\b", module.name
        ):
            importlib.import_module(module.name)
    known = set(error_codes.answered())

    missing = [
        name
        for each in _below(ServiceError)
        if each.__module__.startswith("emulator.")
        for name, row in each.__dict__.get("table", {}).items()
        if (row.code or name) not in known
    ]
    assert missing == []


def _below(kind):
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def test_names_of_errors_in_histories_are_all_told():
    """Those that the engine writes as constants."""
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in (Path(emulator.__file__).parent / "services" / "workflow").rglob("*.py")
    )
    written = set(re.findall(r'"((?:FnF|FC)\.\w+)"', source))

    assert {name for name in written if not error_codes.explain(name).meaning} == set()


def test_a_code_behind_a_prefix_is_the_code():
    """Histories have it so."""
    told = error_codes.explain("FC.ResourceThrottled")

    assert told.code == "ResourceThrottled"
    assert [each.status for each in told.answered if each.service == "fc"] == [503]


@pytest.mark.parametrize("code", ["InvalidAccessKeyId", "InvalidAccessKeyID"])
def test_a_code_is_told_as_each_service_spells_it(code):
    """MNS and Function Compute differ in one letter; the code that was asked for keeps its own."""
    told = error_codes.explain(code)

    assert told.code == code
    assert {"fc", "mns"} <= {each.service for each in told.answered}


def test_a_code_with_a_part_that_differs_is_known():
    """RAM names the parameter in the code; the narrowest form is taken."""
    told = error_codes.explain("InvalidParameter.RoleName.Length")

    assert told.code == "InvalidParameter.RoleName.Length"
    assert 'The parameter - "{name}" beyond the length limit.' in [each.text for each in told.answered]


def test_an_unknown_code_names_near_ones():
    """A slip of the fingers costs one more try."""
    with pytest.raises(CommandFailed, match="QueueNotExist"):
        error_codes.explain("QueueNotExists")


def test_a_code_like_no_other_leads_to_the_search():
    """The answer says what to do next."""
    with pytest.raises(CommandFailed, match="localyun docs Zzzz"):
        error_codes.explain("Zzzz")
