"""Tables and short texts."""

from emulator.cli.output import say_pairs, say_table, short


def test_table_has_aligned_columns_and_no_trailing_blanks(capsys):
    """Columns are as wide as their widest cell."""
    say_table(("name", "n"), [("a", 1), ("longer", None)])

    assert capsys.readouterr().out == "name    n\na       1\nlonger\n"


def test_pairs_are_aligned(capsys):
    """Names in one column, values in the next."""
    say_pairs({"a": 1, "bcd": ""})

    assert capsys.readouterr().out == "a    1\nbcd\n"


def test_short_text_is_one_line_within_the_limit():
    """Line breaks become blanks; what is cut shows that it is."""
    assert short("a\n b", 10) == "a b"
    assert short("x" * 11, 10) == "x" * 7 + "..."
