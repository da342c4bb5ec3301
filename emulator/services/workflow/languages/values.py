"""Values in the expressions of every language: missing values, and the comparison of two values.

JSON values are treated as immutable by the whole engine: a value found by a path is handed out as it is, not copied, so
no caller may change one in place. Comparing is total:

- A missing value: every comparison with it is false, only ``!=`` is true.
- Two numbers compare by size, two texts by code point; booleans, nulls, arrays and objects know only equality.
- Different types are equal when their text forms are: ``true`` and ``"true"``, ``1`` and ``"1"``; no order among them.

Source: choice step, Serverless Workflow guide and published flows; how different types compare, and ``!=`` with
nothing, are assumed.
"""

import json
from enum import Enum
from typing import Any, Final, Literal, assert_never

from emulator.kernel.phrases import Phrase
from emulator.services.workflow.engine.language import EvaluationError

ComparisonSign = Literal["==", "!=", "<", "<=", ">", ">=", "in"]

_INTEGRAL_BELOW: Final = 1e21
"""Whole doubles below this are written without fraction and exponent, as JSON writers commonly do."""


class ExpressionError(Exception):
    """A path or condition that does not parse.

    ``position`` is the offset in the text, in characters from 0, where the trouble starts.
    """

    def __init__(self, message: str, position: int) -> None:
        self.message = message
        self.position = position
        super().__init__(Phrase("{message} (at character {number})", message=message, number=position + 1))


class Missing(Enum):
    """The type of `MISSING`."""

    MISSING = "missing"

    def __bool__(self) -> bool:
        return False


MISSING: Final = Missing.MISSING
"""The value of a path that finds nothing in the data; not the same as ``None``, which is JSON's null."""


def compare(sign: ComparisonSign, left: Any, right: Any) -> bool:
    """Return whether a comparison of two values, each of which may be `MISSING`, holds.

    Raises: EvaluationError.
    """
    if left is MISSING or right is MISSING:
        return sign == "!="
    match sign:
        case "==":
            return _equal(left, right)
        case "!=":
            return not _equal(left, right)
        case "in":
            return isinstance(right, list) and any(_equal(left, item) for item in right)
        case "<":
            return _have_order(left, right) and bool(left < right)
        case "<=":
            return _have_order(left, right) and bool(left <= right)
        case ">":
            return _have_order(left, right) and bool(left > right)
        case ">=":
            return _have_order(left, right) and bool(left >= right)
        case _:
            assert_never(sign)


def _have_order(left: Any, right: Any) -> bool:
    return (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str))


def _equal(left: Any, right: Any) -> bool:
    if is_number(left) and is_number(right):
        return bool(left == right)
    return _text(left) == _text(right)


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number."""
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


def as_input(element: Any) -> dict[str, Any]:
    """Return the input of an iteration over *element*; one that is no object becomes the member ``Item``.

    Source: assumed for elements that are no objects.
    """
    return element if isinstance(element, dict) else {"Item": element}
