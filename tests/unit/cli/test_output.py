"""Tables and short texts."""

import sys

import pytest

from emulator.cli.output import complain, note, reason_of, say, say_beside, say_pairs, say_table, short, unreadable


def on_a_terminal(monkeypatch, columns):
    """Let standard output be a terminal of so many columns."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))


def test_table_has_aligned_columns_and_no_trailing_blanks(capsys):
    """Columns are as wide as their widest cell."""
    say_table(("name", "n"), [("a", 1), ("longer", None)])

    assert capsys.readouterr().out == "name    n\na       1\nlonger\n"


def test_pairs_are_aligned(capsys):
    """Names in one column, values in the next."""
    say_pairs({"a": 1, "bcd": ""})

    assert capsys.readouterr().out == "a    1\nbcd\n"


def test_table_is_folded_at_the_edge_of_a_terminal(capsys, monkeypatch):
    """The last column goes on below its own beginning; what cannot be broken stays whole."""
    on_a_terminal(monkeypatch, 30)

    say_table(("name", "what"), [("a", "one two three four five six"), ("b", "/" + "x" * 30)])

    assert capsys.readouterr().out.splitlines() == [
        "name  what",
        "a     one two three four five",
        "      six",
        "b",
        "/" + "x" * 30,
    ]


def test_column_without_room_gets_lines_of_its_own(capsys, monkeypatch):
    """A path beside four other columns is not cut and not broken."""
    on_a_terminal(monkeypatch, 24)

    say_table(("name", "folder"), [("a" * 10, "/tmp/state/folder"), ("b", "")])

    assert capsys.readouterr().out.splitlines() == ["name", "    folder", "a" * 10, "    /tmp/state/folder", "b"]


def test_chinese_is_folded_between_characters(capsys, monkeypatch):
    """A line does not begin with a full stop."""
    on_a_terminal(monkeypatch, 26)

    say_pairs({"a": "一二三四五六七八九十一。二"})

    assert capsys.readouterr().out.splitlines() == ["a  一二三四五六七八九十", "   一。二"]


def test_address_stands_on_a_line_of_its_own_where_it_has_no_room(capsys, monkeypatch):
    """It is never cut, so that it can be copied."""
    on_a_terminal(monkeypatch, 24)

    say_beside("short:", "/tmp/a")
    say_beside("a longer label:", "/tmp/state/folder")

    assert capsys.readouterr().out.splitlines() == ["short: /tmp/a", "a longer label:", "  /tmp/state/folder"]


def test_pipe_gets_whole_lines(capsys, monkeypatch):
    """Scripts read a row a line."""
    monkeypatch.setenv("COLUMNS", "10")

    say_table(("name", "what"), [("a", "one two three four five six")])

    assert capsys.readouterr().out == "name  what\na     one two three four five six\n"


def test_short_text_is_one_line_within_the_limit():
    """Line breaks become blanks; what is cut shows that it is."""
    assert short("a\n b", 10) == "a b"
    assert short("x" * 11, 10) == "x" * 7 + "..."


def test_sentences_are_folded_on_a_terminal_only(capsys, monkeypatch):
    """Also on the error stream, each line behind its own indentation; a path stays whole."""
    monkeypatch.setenv("COLUMNS", "24")
    complain("one two three four five six")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    complain("one two three four five six")
    note("see:\n    /tmp/state/folder/file then more of it")

    assert capsys.readouterr().err.splitlines() == [
        "localyun: one two three four five six",
        "localyun: one two three",
        "four five six",
        "see:",
        "    /tmp/state/folder/file",
        "    then more of it",
    ]


NAMES = {
    "\x1b]0;title\x07": "\\x1b]0;title\\x07",
    "a\rb": "a\\rb",
    "\x1b[2Jgone": "\\x1b[2Jgone",
    "\x9b5A": "\\x9b5A",
    "\u202egpj": "\\u202egpj",
    "\x1b[31mred\x1b[0m": "\x1b[31mred\x1b[0m",
    "two\nlines\tof 中文 👩‍💻": "two\nlines\tof 中文 👩‍💻",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_terminal_obeys_no_name(monkeypatch, capsys, name):
    """What would move its cursor or change its title is shown instead; colours and pipes get what there is."""
    say(name)
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    say(name)
    note(name)
    complain(name)

    assert capsys.readouterr() == (f"{name}\n{NAMES[name]}\n", f"{NAMES[name]}\nlocalyun: {NAMES[name]}\n")


def test_file_that_cannot_be_read_is_reported_with_the_reason_alone(tmp_path):
    """Neither the number of the error nor the file a second time."""
    missing, binary = tmp_path / "missing.yml", tmp_path / "binary.yml"
    binary.write_bytes(b"\xff")

    reports = []
    for path in (missing, binary):
        with pytest.raises((OSError, UnicodeDecodeError)) as raised:
            path.read_text(encoding="utf-8")
        reports.append(unreadable(path.name, raised.value))

    assert reports[0] == "missing.yml cannot be read: No such file or directory"
    assert reports[1].startswith("binary.yml cannot be read: 'utf-8' codec can't decode byte 0xff")


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory"), "没有这个文件或目录"),
        (OSError(5, "Input/output error"), "Input/output error"),
        (ValueError("no number"), "no number"),
        (OSError(), ""),
    ],
    ids=["usual", "rare", "no system's", "none"],
)
def test_reason_of_the_system_is_in_the_users_language(error, said):
    """One that no catalogue has stays as it is."""
    assert reason_of(error) == said
