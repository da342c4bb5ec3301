"""Cuts the text of a condition into tokens."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, Literal

from emulator.kernel.frozen import frozen
from emulator.services.workflow.expression.errors import ExpressionError
from emulator.services.workflow.expression.paths import STEP_ROOTS, scan_path

Kind = Literal["sign", "value", "path", "end"]

MAX_NUMBER_CHARS: Final = 400
"""Longer number literals are refused; every double can be written in as many characters."""

_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_STRINGS: Final = json.JSONDecoder(strict=False)
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<sign>\|\||&&|==|!=|<=|>=|[<>!()\[\],-])
      | (?P<number>[0-9]+(?:\.[0-9]+)?)(?![A-Za-z0-9_.])
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<raw>`[^`]*`)
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<path>\$)
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)


@frozen(kw_only=False)
class Token:
    """One token: ``value`` is the sign, the constant or the `Path`; ``position`` is its offset in the text."""

    kind: Kind
    value: Any
    position: int


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of *text*, the last one of kind ``end``.

    Raises: ExpressionError.
    """
    position = 0
    while True:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise _unreadable(text, position)
        start, position = match.span(match.lastgroup)
        if match.lastgroup == "path":
            path, position = scan_path(text, start, STEP_ROOTS)
            yield Token("path", path, start)
        else:
            yield _token(match.lastgroup, match.group(match.lastgroup), start)
        if match.lastgroup == "end":
            return


def _token(group: str, text: str, start: int) -> Token:
    match group:
        case "sign":
            return Token("sign", text, start)
        case "number":
            return Token("value", _number(text, start), start)
        case "string":
            return Token("value", _string(text, start), start)
        case "raw":
            return Token("value", text[1:-1], start)
        case "word":
            return _word(text, start)
        case _:
            return Token("end", "the end", start)


def _number(text: str, start: int) -> int | float:
    if len(text) > MAX_NUMBER_CHARS:
        raise ExpressionError(f"a number may have at most {MAX_NUMBER_CHARS} characters", start)
    number = float(text) if "." in text else int(text)
    if number == math.inf:
        raise ExpressionError("the number is too large", start)
    return number


def _string(text: str, start: int) -> str:
    try:
        decoded, _ = _STRINGS.raw_decode(text)
    except ValueError as error:
        raise ExpressionError(
            "unknown escape in a double-quoted string; backquotes take text as it is", start
        ) from error
    return str(decoded)


def _word(text: str, start: int) -> Token:
    if text == "in":
        return Token("sign", text, start)
    if text not in _WORDS:
        raise ExpressionError(f"unknown word {text!r}; strings stand in double quotes or backquotes", start)
    return Token("value", _WORDS[text], start)


def _unreadable(text: str, position: int) -> ExpressionError:
    start = position + len(text[position:]) - len(text[position:].lstrip())
    found = text[start]
    if found in '"`':
        return ExpressionError("the string has no end", start)
    if found == "'":
        return ExpressionError("strings stand in double quotes or backquotes", start)
    if found in "=&|":
        return ExpressionError(f"unknown operator {found!r}; there are ==, && and ||", start)
    if found.isdecimal():
        return ExpressionError("a number is written like 1 or 12.5", start)
    return ExpressionError(f"unexpected character {found!r}", start)
