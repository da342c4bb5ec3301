"""The tree of an expression, its printing, and what it yields; constructors, the JSON values with expressions inside.

Printing gives a form that parses back to an equal tree. Evaluation is total and bounded: whatever the data holds, it
gives a JSON value or `MISSING`, or raises `EvaluationError`; the work and the size of what is made come out of a
`Budget`. What a function does stands in `functions`.

Rules, beyond those of `values.compare`: a path that matches nothing is null in an array, an object or an
argument; ``&&``, ``||`` and ``!`` take booleans only, and stop at the first operand that decides.

A constructor is a map whose keys ending in ``.$`` have expressions as values, at any depth; all else stays as it is.

Source: expressions, inputs and outputs, CloudFlow documentation; what a path yields that matches nothing is assumed.
"""

import json
from collections.abc import Callable
from typing import Any, Final, Protocol

from emulator.kernel.frozen import frozen
from emulator.services.workflow.engine.language import EvaluationError
from emulator.services.workflow.languages.values import MISSING, ComparisonSign, Constant, compare, is_number
from emulator.services.workflow.limits import NESTING

SUFFIX: Final = ".$"
"""Ends the keys of constructors whose values are expressions."""

MAX_WORK: Final = 4 * 1024 * 1024
"""Characters and values that one evaluation may look at or make, which takes some 50 ms; assumed."""


class Budget:
    """What an evaluation may still do."""

    __slots__ = ("left",)

    def __init__(self, work: int = MAX_WORK) -> None:
        self.left = work

    def spend(self, work: int) -> None:
        """Take *work* from what is left.

        Raises: EvaluationError when there is not as much.
        """
        self.left -= work
        if self.left < 0:
            raise EvaluationError("the expression makes too much data")

    def weigh(self, value: Any, depth: int = 0) -> None:
        """Spend what a JSON value weighs: its characters and values.

        Raises: EvaluationError, also when it nests too deep.
        """
        if isinstance(value, str):
            self.spend(1 + len(value))
        elif isinstance(value, list):
            self._descend(depth, len(value))
            for item in value:
                self.weigh(item, depth + 1)
        elif isinstance(value, dict):
            self._descend(depth, len(value))
            for key, item in value.items():
                self.spend(len(key))
                self.weigh(item, depth + 1)
        elif isinstance(value, int) and not isinstance(value, bool):
            self.spend(1 + value.bit_length() // 8)
        else:
            self.spend(1)

    def _descend(self, depth: int, members: int) -> None:
        if depth >= NESTING:
            raise EvaluationError(f"the data nests deeper than {NESTING} levels")
        self.spend(1 + members)


class Chance(Protocol):
    """Random values that are the same when an evaluation is made again after a crash."""

    def number(self) -> int:
        """Return the next random number of 128 bits."""
        ...


@frozen(kw_only=False)
class Evaluation:
    """What an expression is evaluated on: *find* gives the value of a root such as ``$Input``."""

    find: Callable[[str], Any]
    chance: Chance
    budget: Budget


Function = Callable[[list[Any], Evaluation], Any]
"""A function of the language: takes its arguments, as many as it knows, and may raise EvaluationError."""


def written(text: str) -> str:
    """Return *text* as a string literal of the language."""
    return json.dumps(text, ensure_ascii=False)


@frozen(kw_only=False)
class Literal:
    """A text, number, boolean or null."""

    constant: Constant

    def value(self, evaluation: Evaluation) -> Any:
        """Return the value itself."""
        return self.constant.value

    def __str__(self) -> str:
        return written(self.constant.value) if isinstance(self.constant.value, str) else str(self.constant)


@frozen(kw_only=False)
class Path:
    """``$Input.a[0]["key"]``: a root, then keys and indexes."""

    root: str
    segments: tuple[str | int, ...] = ()

    def value(self, evaluation: Evaluation) -> Any:
        """Return what is there, or `MISSING`."""
        value = evaluation.find(self.root)
        for segment in self.segments:
            if isinstance(segment, str):
                value = value.get(segment, MISSING) if isinstance(value, dict) else MISSING
            elif isinstance(value, list) and segment < len(value):
                value = value[segment]
            else:
                return MISSING
        return value

    def __str__(self) -> str:
        def segment(each: str | int) -> str:
            return f"[{each}]" if isinstance(each, int) else f"[{written(each)}]"

        return self.root + "".join(segment(each) for each in self.segments)


@frozen(kw_only=False)
class Call:
    """``name(a, b)``; *function* follows from the name."""

    name: str
    arguments: tuple["Tree", ...]
    function: Function

    def value(self, evaluation: Evaluation) -> Any:
        """Return the result of the function."""
        return self.function([value_or_null(each, evaluation) for each in self.arguments], evaluation)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and (self.name, self.arguments) == (other.name, other.arguments)

    def __hash__(self) -> int:
        return hash((self.name, self.arguments))

    def __str__(self) -> str:
        return f"{self.name}({', '.join(str(each) for each in self.arguments)})"


@frozen(kw_only=False)
class Array:
    """``[a, b]``."""

    items: tuple["Tree", ...]

    def value(self, evaluation: Evaluation) -> Any:
        """Return a list."""
        made = [value_or_null(each, evaluation) for each in self.items]
        evaluation.budget.weigh(made)
        return made

    def __str__(self) -> str:
        return f"[{', '.join(str(each) for each in self.items)}]"


@frozen(kw_only=False)
class Object:
    """``{"a": b}``."""

    members: tuple[tuple[str, "Tree"], ...]

    def value(self, evaluation: Evaluation) -> Any:
        """Return a dictionary."""
        made = {key: value_or_null(each, evaluation) for key, each in self.members}
        evaluation.budget.weigh(made)
        return made

    def __str__(self) -> str:
        return "{" + ", ".join(f"{written(key)}: {each}" for key, each in self.members) + "}"


@frozen(kw_only=False)
class Not:
    """``!a``."""

    operand: "Tree"

    def value(self, evaluation: Evaluation) -> Any:
        """Return the opposite."""
        return not _boolean(self.operand, "!", evaluation)

    def __str__(self) -> str:
        return f"!{_inside(self.operand)}"


@frozen(kw_only=False)
class Minus:
    """``-a``."""

    operand: "Tree"

    def value(self, evaluation: Evaluation) -> Any:
        """Return the number with the other sign."""
        value = self.operand.value(evaluation)
        if not is_number(value):
            raise EvaluationError("'-' takes a number")
        return -value

    def __str__(self) -> str:
        if isinstance(self.operand, Literal):
            return f"-({self.operand})"  # -5 is the number
        return f"-{_inside(self.operand)}"


@frozen(kw_only=False)
class Comparison:
    """``a == b`` and its like."""

    sign: ComparisonSign
    left: "Tree"
    right: "Tree"

    def value(self, evaluation: Evaluation) -> Any:
        """Return whether it holds."""
        left, right = self.left.value(evaluation), self.right.value(evaluation)
        for side in (left, right):
            if side is not MISSING:
                evaluation.budget.weigh(side)
        return compare(self.sign, left, right)

    def __str__(self) -> str:
        return f"{_inside(self.left)} {self.sign} {_inside(self.right)}"


@frozen(kw_only=False)
class And:
    """``a && b && ...``, at least two."""

    operands: tuple["Tree", ...]

    def value(self, evaluation: Evaluation) -> Any:
        """Return whether all hold."""
        return all(_boolean(each, "&&", evaluation) for each in self.operands)

    def __str__(self) -> str:
        return " && ".join(_inside(each) for each in self.operands)


@frozen(kw_only=False)
class Or:
    """``a || b || ...``, at least two."""

    operands: tuple["Tree", ...]

    def value(self, evaluation: Evaluation) -> Any:
        """Return whether one holds."""
        return any(_boolean(each, "||", evaluation) for each in self.operands)

    def __str__(self) -> str:
        return " || ".join(_inside(each) for each in self.operands)


Tree = Literal | Path | Call | Array | Object | Not | Minus | Comparison | And | Or


def value_or_null(tree: Tree, evaluation: Evaluation) -> Any:
    """Return the value of *tree*, null for nothing.

    Raises: EvaluationError.
    """
    value = tree.value(evaluation)
    return None if value is MISSING else value


def _boolean(operand: Tree, sign: str, evaluation: Evaluation) -> bool:
    value = operand.value(evaluation)
    if not isinstance(value, bool):
        raise EvaluationError(f"{sign!r} takes booleans, and {operand} is none")
    return value


def _inside(tree: Tree) -> str:
    return f"({tree})" if isinstance(tree, Minus | Not | Comparison | And | Or) else str(tree)


@frozen(kw_only=False)
class Fixed:
    """A JSON value without expressions inside; ``text`` is its JSON when it is the whole of a constructor."""

    value: Any
    text: str | None = None

    def build(self, evaluation: Evaluation) -> Any:
        """Return the value."""
        evaluation.budget.weigh(self.value)
        return self.value


@frozen(kw_only=False)
class Expression:
    """The value of a key that ends in ``.$``; ``text`` is the form in the definition."""

    text: str
    tree: Tree

    def build(self, evaluation: Evaluation) -> Any:
        """Return the value, null for nothing.

        Raises: EvaluationError.
        """
        value = value_or_null(self.tree, evaluation)
        evaluation.budget.weigh(value)
        return value


@frozen(kw_only=False)
class Members:
    """A map with expressions inside."""

    members: tuple[tuple[str, "Template"], ...]

    def build(self, evaluation: Evaluation) -> Any:
        """Return the map with every expression replaced by its value.

        Raises: EvaluationError.
        """
        return {key: template.build(evaluation) for key, template in self.members}


@frozen(kw_only=False)
class Items:
    """A list with expressions inside."""

    items: tuple["Template", ...]

    def build(self, evaluation: Evaluation) -> Any:
        """Return the list with every expression replaced by its value.

        Raises: EvaluationError.
        """
        return [template.build(evaluation) for template in self.items]


Template = Fixed | Expression | Members | Items
