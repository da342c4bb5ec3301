"""The tree of a condition, its printing, and what it yields on an input.

Printing gives the shortest usual form that parses back to an equal tree; parentheses appear where precedence asks for
them. From the tightest: unary, comparison, ``&&``, ``||``.

Evaluation is total: whatever the input holds, the answer is a value, `MISSING`, or an `EvaluationError`. The rules:

- Nothing there: every comparison with it is false, only ``!=`` is true; alone it counts as false.
- Two numbers compare by size, two texts by code point; booleans, nulls, arrays and objects know only equality.
- Different types are equal when their text forms are: ``true`` and ``"true"``, ``1`` and ``"1"``; no order among them.
- ``&&``, ``||`` and ``!`` take anything but the boolean ``true`` for false and stop at the first operand that decides.

Source: choice step, Serverless Workflow guide and published flows; how different types compare, and ``!=`` with
nothing, are assumed.
"""

import json
import operator
from typing import Any, Final, Literal

from emulator.kernel.frozen import frozen
from emulator.services.workflow.expression.paths import MISSING, EvaluationError, Path

ComparisonSign = Literal["==", "!=", "<", "<=", ">", ">=", "in"]


@frozen(kw_only=False)
class Constant:
    """A text, number, boolean or null in the condition."""

    value: str | int | float | bool | None

    def __eq__(self, other: object) -> bool:
        # Python holds 1, 1.0 and True for equal; as constants of a condition they are three.
        if not isinstance(other, Constant):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __str__(self) -> str:
        if isinstance(self.value, float):
            from decimal import Decimal  # here, because only printing needs it, and it is slow to import

            digits = format(Decimal(repr(self.value)), "f")
            return digits if "." in digits else f"{digits}.0"
        return json.dumps(self.value)


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


_ORDER: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_INTEGRAL_BELOW: Final = 1e21
"""Whole doubles below this are written without fraction and exponent, as JSON writers commonly do."""


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
            return -value if _is_number(value) else MISSING
        case Comparison():
            return compare(term.sign, evaluate(term.left, document), evaluate(term.right, document))
        case And():
            return all(evaluate(operand, document) is True for operand in term.operands)
        case Or():
            return any(evaluate(operand, document) is True for operand in term.operands)


def compare(sign: ComparisonSign, left: Any, right: Any) -> bool:
    """Return whether a comparison of two values, each of which may be `MISSING`, holds.

    Raises: EvaluationError.
    """
    if left is MISSING or right is MISSING:
        return sign == "!="
    if sign == "==":
        return _equal(left, right)
    if sign == "!=":
        return not _equal(left, right)
    if sign == "in":
        return isinstance(right, list) and any(_equal(left, item) for item in right)
    if (_is_number(left) and _is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
        return bool(_ORDER[sign](left, right))
    return False


def _equal(left: Any, right: Any) -> bool:
    if _is_number(left) and _is_number(right):
        return bool(left == right)
    return _text(left) == _text(right)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    """Return the text form: strings as they are, all else as compact JSON with sorted keys."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _INTEGRAL_BELOW:
        return str(int(value))
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except (RecursionError, ValueError) as error:
        raise EvaluationError("a value in the condition is too large or too deep to be compared") from error
