"""What the commands of the lab print and send."""

import pytest

from emulator.cli.commands.lab import _answers, _change
from emulator.cli.main import parse
from emulator.cli.output import WrongUsage, duration
from emulator.wire.durations import parse_duration


@pytest.mark.parametrize(
    ("span_ms", "text"),
    [(0, "0ms"), (20, "20ms"), (1000, "1s"), (90_000, "1m30s"), (5_400_000, "1h30m"), (172_800_000, "2d")],
)
def test_a_span_is_written_as_it_is_read(span_ms, text):
    """In the units of the HTTP API."""
    assert duration(span_ms) == text
    assert parse_duration(text) == span_ms


@pytest.mark.parametrize("option", ["--error", "--code"])
def test_error_of_a_fault_is_its_code(option):
    """The value is the code of an error; both names of the option are typed."""
    assert parse(["fault", "add", option, "QueueNotExist"]).error == "QueueNotExist"


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ([], None),
        (["advance", "90s"], {"advance": "90s"}),
        (["to", "2027-01-01T00:00:00Z"], {"to": "2027-01-01T00:00:00Z"}),
        (["next"], {"next": 1}),
        (["next", "3"], {"next": 3}),
        (["freeze"], {"freeze": True}),
        (["unfreeze"], {"freeze": False}),
    ],
)
def test_clock_asks_for_the_change_it_is_given(words, body):
    """And looks without one."""
    given = parse(["clock", *words])

    assert _change(given.action, given.value) == body


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["advance"], "advance needs a duration, such as localyun clock advance 1h30m"),
        (["advance", "5"], ""),
        (["advance", "5x"], ""),
        (["to"], "to needs a time, such as localyun clock to 2030-01-01T00:00:00Z"),
        (["to", "noon"], ""),
        (["freeze", "1s"], "freeze takes no value"),
        (["next", "x"], "next takes a number"),
    ],
)
def test_clock_refuses_words_that_make_no_sense(words, said):
    """Wrong usage, not a failure; it says what is missing of the word that was given."""
    given = parse(["clock", *words])

    with pytest.raises(WrongUsage, match=f"clock {said}"):
        _change(given.action, given.value)


def test_clock_does_not_go_back(capsys):
    """A negative duration looks like an option; what it is taken for is answered."""
    with pytest.raises(SystemExit):
        parse(["clock", "advance", "-1h"])

    assert "unrecognized arguments: -1h; the emulator's time only goes forward" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["settle", "--timeout", "5"], ["skip", "--limit", "x"], ["skip", "--timeout", "soon"],
        ["skip", "--calls", "f", "--count", "0"], ["skip", "--queue", "q", "--visible", "-1"],
        ["fault", "add", "--delay", "2"], ["fault", "add", "--drop", "--probability", "1.5"],
        ["fault", "add", "--drop", "--probability", "often"], ["mock", "add", "f", "--delay", "1"],
        ["explore", "f", "--limit", "day"], ["explore", "f", "--patience", "1"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_durations_and_numbers_that_are_none_are_wrong_usage(words):
    """They are refused before any emulator is asked."""
    with pytest.raises(SystemExit) as refused:
        parse(words)

    assert refused.value.code == 2


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (["--returns", "1", "--returns", "text"], [{"return": 1}, {"return": "text"}]),
        (["--raises", "E: no"], [{"error": "E: no"}]),
        (["--returns", "{}", "--delay", "1s"], [{"return": {}, "delay": "1s"}]),
    ],
)
def test_a_mock_is_given_its_answers_as_options(words, answers):
    """In turn; what is no JSON is a text."""
    assert _answers(parse(["mock", "add", "f", *words])) == answers


def test_a_mock_may_have_its_answers_in_a_file(tmp_path):
    """As the HTTP API takes them."""
    (tmp_path / "answers.json").write_text('[{"return": 1}]')

    assert _answers(parse(["mock", "add", "f", "--answers", str(tmp_path / "answers.json")])) == [{"return": 1}]


def test_an_unreadable_file_of_answers_is_wrong_usage(tmp_path):
    """The message names it."""
    with pytest.raises(WrongUsage, match=r"answers.json cannot be read"):
        _answers(parse(["mock", "add", "f", "--answers", str(tmp_path / "answers.json")]))
