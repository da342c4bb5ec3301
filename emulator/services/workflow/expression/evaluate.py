"""What a condition's tree yields on an input.

Total: whatever the input holds, the answer is a value, `MISSING`, or an `EvaluationError`. The rules:

- Nothing there: every comparison with it is false, only ``!=`` is true; alone it counts as false.
- Two numbers compare by size, two texts by code point; booleans, nulls, arrays and objects know only equality.
- Different types are equal when their text forms are: ``true`` and ``"true"``, ``1`` and ``"1"``; no order among them.
- ``&&``, ``||`` and ``!`` take anything but the boolean ``true`` for false and stop at the first operand that decides.

Source: choice step, Serverless Workflow guide and published flows; how different types compare, and ``!=`` with
nothing, are assumed.
"""

import json
import operator
from typing import Any, Final

from emulator.services.workflow.expression.errors import EvaluationError
from emulator.services.workflow.expression.paths import MISSING
from emulator.services.workflow.expression.terms import (
    And,
    Array,
    Comparison,
    ComparisonSign,
    Constant,
    Lookup,
    Minus,
    Not,
    Or,
    Term,
)

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
            return _compare(term.sign, evaluate(term.left, document), evaluate(term.right, document))
        case And():
            return all(evaluate(operand, document) is True for operand in term.operands)
        case Or():
            return any(evaluate(operand, document) is True for operand in term.operands)


def _compare(sign: ComparisonSign, left: Any, right: Any) -> bool:
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
