"""The conditions of a choice: compiled once, evaluated for each input.

A missing value alone is false; ``&&``, ``||`` and ``!`` treat everything but the boolean ``true`` as false;
`values.compare` has the rules of comparisons.

Source: choice step, Serverless Workflow guide and published flows.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from emulator.kernel.frozen import field, frozen
from emulator.kernel.phrases import Phrase
from emulator.services.workflow.languages.fdl.paths import STEP_ROOTS, scan_path
from emulator.services.workflow.languages.terms import (
    MAX_NUMBER_CHARS,
    WORDS,
    Constant,
    Evaluation,
    OperatorParser,
    Term,
    Token,
)
from emulator.services.workflow.languages.values import MISSING, ExpressionError, is_number

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


class _OnInput(Evaluation):
    """The evaluation of a condition on the input of its choice; it never fails, whatever the input holds."""

    __slots__ = ()

    def __init__(self, document: Any) -> None:
        self.find = lambda _root: document

    def truth(self, operand: Term, sign: str) -> bool:
        return operand.value(self) is True

    def negative(self, value: Any) -> Any:
        return -value if is_number(value) else MISSING

    def item(self, term: Term) -> Any:
        return term.value(self)

    def weigh(self, value: Any) -> None:
        """Do nothing: no term makes values larger than the condition's own text."""


class _Parser(OperatorParser):
    COMPARISONS: ClassVar[frozenset[str]] = OperatorParser.COMPARISONS | {"in"}

    def _read(self, position: int) -> Token:
        match = _TOKEN.match(self._text, position)
        if match is None or match.lastgroup is None:
            raise self._unreadable(position)
        kind = match.lastgroup
        start, end = match.span(kind)
        text = match[kind]
        match kind:
            case "path":
                path, end = scan_path(self._text, start, STEP_ROOTS)
                return Token("value", str(path), start, end, path)
            case "number":
                return Token("value", text, start, end, Constant(_number(text, start)))
            case "string":
                return Token("value", text, start, end, Constant(_string(text, start)))
            case "raw":
                return Token("value", text, start, end, Constant(text[1:-1]))
            case "word" if text in WORDS:
                return Token("value", text, start, end, Constant(WORDS[text]))
            case "word" if text != "in":
                said = "unknown word {text!r}; strings stand in double quotes or backquotes"
                raise ExpressionError(Phrase(said, text=text), start)
        return Token("end" if kind == "end" else "sign", text, start, end)

    def _primary(self) -> Term:
        if self.token.kind != "value":
            raise self._unexpected(Phrase("a path, a constant or '('"))
        term: Term = self._next().value
        return term

    def _unreadable(self, position: int) -> ExpressionError:
        sign, start = self._first_unread(position)
        if sign in '"`':
            return ExpressionError("the string has no end", start)
        if sign == "'":
            return ExpressionError("strings stand in double quotes or backquotes", start)
        if sign in "=&|":
            return ExpressionError(
                Phrase("unknown operator {text!r}; did you mean {right}?", text=sign, right=2 * sign), start
            )
        if sign.isdecimal():
            return ExpressionError("a number is written like 1 or 12.5", start)
        return ExpressionError(Phrase("unexpected character {text!r}", text=sign), start)


def _number(text: str, start: int) -> int | float:
    if len(text) > MAX_NUMBER_CHARS:
        raise ExpressionError(Phrase("a number may have at most {most} characters", most=MAX_NUMBER_CHARS), start)
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


@frozen
class Condition:
    """A compiled condition. Two are equal when their trees are; ``text`` is the form in the definition."""

    text: str = field(compare=False)
    tree: Term

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """Compile *text*.

        Raises: ExpressionError, with the position in the text.
        """
        return cls(text=text, tree=_Parser(text).whole())

    def holds(self, document: Mapping[str, Any]) -> bool:
        """Whether the condition is true for *document*, the input of the choice; a non-boolean counts as false.

        Raises: EvaluationError.
        """
        return self.tree.value(_OnInput(document)) is True

    def __str__(self) -> str:
        return str(self.tree)
