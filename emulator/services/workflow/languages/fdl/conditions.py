"""The conditions of a choice: cut into tokens, parsed by precedence, compiled once and asked for each input.

Printing a condition gives the shortest usual form that parses back to an equal tree; parentheses appear where
precedence asks for them. From the tightest: unary, comparison, ``&&``, ``||``.

Evaluation is total: whatever the input holds, the answer is a value, `MISSING`, or an `EvaluationError`. Nothing there
counts as false when it stands alone; ``&&``, ``||`` and ``!`` take anything but the boolean ``true`` for false and stop
at the first operand that decides; `values.compare` has the rules of comparisons.

Source: choice step, Serverless Workflow guide and published flows.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, cast

from emulator.kernel.frozen import field, frozen
from emulator.services.workflow.languages.fdl.paths import STEP_ROOTS, Path, scan_path
from emulator.services.workflow.languages.values import (
    MISSING,
    ComparisonSign,
    Constant,
    ExpressionError,
    compare,
    is_number,
)

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
class Lookup:
    """A value of the input."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@frozen(kw_only=False)
class Array:
    """``[a, b, ...]``."""

    items: tuple["Term", ...]

    def __str__(self) -> str:
        return f"[{', '.join(str(item) for item in self.items)}]"


@frozen(kw_only=False)
class Not:
    """``!a``."""

    operand: "Term"

    def __str__(self) -> str:
        return f"!{_inside(self.operand, UNARY)}"


@frozen(kw_only=False)
class Minus:
    """``-a``."""

    operand: "Term"

    def __str__(self) -> str:
        return f"-{_inside(self.operand, UNARY)}"


@frozen(kw_only=False)
class Comparison:
    """``a == b`` and its like."""

    sign: ComparisonSign
    left: "Term"
    right: "Term"

    def __str__(self) -> str:
        return f"{_inside(self.left, UNARY)} {self.sign} {_inside(self.right, UNARY)}"


@frozen(kw_only=False)
class And:
    """``a && b && ...``, at least two."""

    operands: tuple["Term", ...]

    def __str__(self) -> str:
        return " && ".join(_inside(operand, COMPARISON) for operand in self.operands)


@frozen(kw_only=False)
class Or:
    """``a || b || ...``, at least two."""

    operands: tuple["Term", ...]

    def __str__(self) -> str:
        return " || ".join(_inside(operand, AND) for operand in self.operands)


Term = Constant | Lookup | Array | Not | Minus | Comparison | And | Or

OR, AND, COMPARISON, UNARY = range(4)


def precedence(term: Term) -> int:
    """Return how tightly *term* holds together; primaries count as unary."""
    match term:
        case Or():
            return OR
        case And():
            return AND
        case Comparison():
            return COMPARISON
        case _:
            return UNARY


def _inside(term: Term, least: int) -> str:
    return str(term) if precedence(term) >= least else f"({term})"


def evaluate(term: Term, document: Any) -> Any:
    """Return the value of *term*, paths being looked up in *document*; `MISSING` where there is none.

    Raises: EvaluationError.
    """
    match term:
        case Constant():
            return term.value
        case Lookup():
            return term.path.find_in(document)
        case Array():
            items = (evaluate(item, document) for item in term.items)
            return [item for item in items if item is not MISSING]
        case Not():
            return evaluate(term.operand, document) is not True
        case Minus():
            value = evaluate(term.operand, document)
            return -value if is_number(value) else MISSING
        case Comparison():
            return compare(term.sign, evaluate(term.left, document), evaluate(term.right, document))
        case And():
            return all(evaluate(operand, document) is True for operand in term.operands)
        case Or():
            return any(evaluate(operand, document) is True for operand in term.operands)


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
    sign = text[start]
    if sign in '"`':
        return ExpressionError("the string has no end", start)
    if sign == "'":
        return ExpressionError("strings stand in double quotes or backquotes", start)
    if sign in "=&|":
        return ExpressionError(f"unknown operator {sign!r}; there are ==, && and ||", start)
    if sign.isdecimal():
        return ExpressionError("a number is written like 1 or 12.5", start)
    return ExpressionError(f"unexpected character {sign!r}", start)


MAX_DEPTH: Final = 50
"""How deep parentheses, arrays and unary operators may nest; keeps reading and evaluating inside Python's stack."""

_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})


def parse_condition(text: str) -> Term:
    """Return the tree of *text*.

    Raises: ExpressionError.
    """
    parser = _Parser(text)
    term = parser.alternatives()
    parser.expect_end()
    return term


class _Parser:
    """One pass over the tokens of one condition."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._token: Token = next(self._tokens)
        self._depth = 0

    def alternatives(self) -> Term:
        operands = self._operands("||", self._conjunction)
        return operands[0] if len(operands) == 1 else Or(operands)

    def expect_end(self) -> None:
        if self._token.kind != "end":
            raise self._unexpected("an operator or the end")

    def _conjunction(self) -> Term:
        operands = self._operands("&&", self._comparison)
        return operands[0] if len(operands) == 1 else And(operands)

    def _operands(self, sign: str, operand: Callable[[], Term]) -> tuple[Term, ...]:
        operands = [operand()]
        while self._accept(sign):
            operands.append(operand())
        return tuple(operands)

    def _comparison(self) -> Term:
        left = self._unary()
        if self._token.kind == "sign" and self._token.value in _COMPARISONS:
            sign = cast(ComparisonSign, self._advance().value)
            return Comparison(sign, left, self._unary())
        return left

    def _unary(self) -> Term:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(f"the condition is nested more than {MAX_DEPTH} levels deep", self._token.position)
        term: Term
        if self._accept("!"):
            term = Not(self._unary())
        elif self._accept("-"):
            term = Minus(self._unary())
        else:
            term = self._primary()
        self._depth -= 1
        return term

    def _primary(self) -> Term:
        if self._token.kind == "path":
            return Lookup(self._advance().value)
        if self._token.kind == "value":
            return Constant(self._advance().value)
        if self._accept("("):
            term = self.alternatives()
            self._expect(")")
            return term
        if self._accept("["):
            return self._array()
        raise self._unexpected("a path, a constant or '('")

    def _array(self) -> Array:
        if self._accept("]"):
            return Array(())
        items = self._operands(",", self.alternatives)
        self._expect("]")
        return Array(items)

    def _advance(self) -> Token:
        token = self._token
        if token.kind != "end":
            self._token = next(self._tokens)
        return token

    def _accept(self, sign: str) -> bool:
        if self._token.kind != "sign" or self._token.value != sign:
            return False
        self._advance()
        return True

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._unexpected(repr(sign))

    def _unexpected(self, wanted: str) -> ExpressionError:
        present = self._token.value if self._token.kind in {"sign", "end"} else "a value"
        return ExpressionError(f"{wanted} expected, found {present}", self._token.position)


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
        return cls(text=text, tree=parse_condition(text))

    def holds(self, document: Mapping[str, Any]) -> bool:
        """Whether the condition is true for *document*, the input of the choice; a non-boolean counts as false.

        Raises: EvaluationError.
        """
        return evaluate(self.tree, document) is True

    def __str__(self) -> str:
        return str(self.tree)
