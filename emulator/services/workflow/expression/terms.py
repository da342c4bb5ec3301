"""The tree of a condition, and its printing.

Printing gives the shortest usual form that parses back to an equal tree; parentheses appear where precedence asks for
them. From the tightest: unary, comparison, ``&&``, ``||``.
"""

import json
from typing import Literal

from emulator.kernel.frozen import frozen
from emulator.services.workflow.expression.paths import Path

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
