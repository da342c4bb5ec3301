"""Whole numbers in ASCII digits, as parameters, headers and definitions write them.

``str.isdigit`` is true of superscripts too; ``int`` takes spaces, underscores and the digits of every script, and
raises ValueError for more than 4,300 of them.
"""


def read_digits(text: str, most: int = 18) -> int | None:
    """Return the number that *text* writes in one to *most* digits, without a sign; None for any other text."""
    return int(text) if len(text) <= most and text.isascii() and text.isdigit() else None


def read_whole(text: str, most: int = 18) -> int | None:
    """Return the number that *text* writes in one to *most* digits, after a minus or not; None for any other text."""
    number = read_digits(text.removeprefix("-"), most)
    return -number if number is not None and text.startswith("-") else number
