"""Operators in the expressions of both languages: the nodes of a tree, their evaluation, printing and parsing.

From the tightest: ``!`` and ``-``, one comparison, ``&&``, ``||``. Printing gives the shortest usual form that parses
back to an equal tree. ``&&`` and ``||`` stop at the first operand that decides. The `Evaluation` defines which operands
an operator accepts, and the value of missing operands; the parser of a language defines the leaves.

Evaluation is total and bounded: for any data, it gives a JSON value or `MISSING`, or raises `EvaluationError`; its work
and the size of its results are limited by a `Budget`.

Source: choice step, Serverless Workflow guide, and expressions, CloudFlow documentation; the order of operators other
than comparison before ``&&`` is assumed.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple, Protocol, cast

from emulator.kernel.frozen import frozen
from emulator.kernel.phrases import Phrase, alternatives
from emulator.services.workflow.engine.language import EvaluationError
from emulator.services.workflow.languages.values import MISSING, ComparisonSign, ExpressionError, compare, is_number
from emulator.services.workflow.limits import NESTING

MAX_WORK: Final = 4 * 1024 * 1024
"""Characters and values that one evaluation may look at or make, which takes some 50 ms; assumed."""


class Budget:
    """The work that an evaluation may still do, counted as for `MAX_WORK`."""

    __slots__ = ("left",)

    def __init__(self, work: int = MAX_WORK) -> None:
        self.left = work

    def spend(self, work: int) -> None:
        """Subtract *work* from the remaining budget.

        Raises: EvaluationError when it is exhausted.
        """
        self.left -= work
        if self.left < 0:
            raise EvaluationError("the expression makes too much data")

    def weigh(self, value: Any, depth: int = 0) -> None:
        """Spend the weight of a JSON value: the number of its characters and values.

        Raises: EvaluationError, also when it nests too deep.
        """
        if isinstance(value, str):
            self.spend(1 + len(value))
        elif isinstance(value, list | dict):
            if depth >= NESTING:
                raise EvaluationError(f"the data nests deeper than {NESTING} levels")
            self.spend(1 + len(value))
            for item in value:
                if isinstance(value, dict):
                    self.spend(len(item))
                    self.weigh(value[item], depth + 1)
                else:
                    self.weigh(item, depth + 1)
        elif isinstance(value, int) and not isinstance(value, bool):
            self.spend(1 + value.bit_length() // 8)
        else:
            self.spend(1)


class Chance(Protocol):
    """Random values that are the same when an evaluation is repeated after a crash."""

    def number(self) -> int:
        """Return the next random number of 128 bits."""
        ...


class Evaluation:
    """The data and rules of an evaluation: *find* returns the value of a root such as ``$Input``.

    The rules are those of the state machine language: an operand of the wrong type is an error, and a path that matches
    nothing is null in an array, an object or an argument.
    """

    __slots__ = ("budget", "chance", "find")

    def __init__(self, find: Callable[[str], Any], chance: Chance, budget: Budget) -> None:
        self.find = find
        self.chance = chance
        self.budget = budget

    def truth(self, operand: "Term", sign: str) -> bool:
        """Return the value of an operand of ``&&``, ``||`` or ``!``."""
        value = operand.value(self)
        if not isinstance(value, bool):
            raise EvaluationError(f"{sign!r} takes booleans, but {operand} is not one")
        return value

    def negative(self, value: Any) -> Any:
        """Return a number with the other sign."""
        if not is_number(value):
            raise EvaluationError("'-' takes a number")
        return -value

    def item(self, term: "Term") -> Any:
        """Return the value of a term in a list, an object or the arguments of a function."""
        value = term.value(self)
        return None if value is MISSING else value

    def weigh(self, value: Any) -> None:
        """Spend the weight of a value that is read or made."""
        self.budget.weigh(value)


OR, AND, COMPARISON, UNARY = range(4)


class Term(ABC):
    """A node of a tree; ``precedence`` is that of its operator, for printing."""

    __slots__ = ()

    precedence: ClassVar[int] = UNARY

    @abstractmethod
    def value(self, evaluation: Evaluation) -> Any:
        """Return the value, or `MISSING`."""


def _inside(term: Term, least: int) -> str:
    return str(term) if term.precedence >= least else f"({term})"


@frozen(kw_only=False)
class Constant(Term):
    """A text, number, boolean or null."""

    constant: str | int | float | bool | None

    def value(self, evaluation: Evaluation) -> Any:
        """Return the value itself."""
        return self.constant

    def __eq__(self, other: object) -> bool:
        # Python holds 1, 1.0 and True for equal; as constants they are three.
        if not isinstance(other, Constant):
            return NotImplemented
        return type(self.constant) is type(other.constant) and self.constant == other.constant

    def __hash__(self) -> int:
        return hash((type(self.constant), self.constant))

    def __str__(self) -> str:
        if isinstance(self.constant, float):
            from decimal import Decimal  # here, because only printing needs it, and it is slow to import

            digits = format(Decimal(repr(self.constant)), "f")
            return digits if "." in digits else f"{digits}.0"
        return json.dumps(self.constant, ensure_ascii=False)


@frozen(kw_only=False)
class Array(Term):
    """``[a, b]``."""

    items: tuple[Term, ...]

    def value(self, evaluation: Evaluation) -> Any:
        """Return a list."""
        made = [value for each in self.items if (value := evaluation.item(each)) is not MISSING]
        evaluation.weigh(made)
        return made

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}]"


@frozen(kw_only=False)
class Not(Term):
    """``!a``."""

    operand: Term

    def value(self, evaluation: Evaluation) -> Any:
        """Return the opposite."""
        return not evaluation.truth(self.operand, "!")

    def __str__(self) -> str:
        return f"!{_inside(self.operand, UNARY)}"


@frozen(kw_only=False)
class Minus(Term):
    """``-a``."""

    operand: Term

    def value(self, evaluation: Evaluation) -> Any:
        """Return the number with the other sign."""
        return evaluation.negative(self.operand.value(evaluation))

    def __str__(self) -> str:
        return f"-{_inside(self.operand, UNARY)}"


@frozen(kw_only=False)
class Comparison(Term):
    """``a == b`` and its like."""

    precedence: ClassVar[int] = COMPARISON

    sign: ComparisonSign
    left: Term
    right: Term

    def value(self, evaluation: Evaluation) -> Any:
        """Return whether the comparison holds."""
        left, right = self.left.value(evaluation), self.right.value(evaluation)
        for side in (left, right):
            if side is not MISSING:
                evaluation.weigh(side)
        return compare(self.sign, left, right)

    def __str__(self) -> str:
        return f"{_inside(self.left, UNARY)} {self.sign} {_inside(self.right, UNARY)}"


@frozen(kw_only=False)
class And(Term):
    """``a && b && ...``, at least two."""

    precedence: ClassVar[int] = AND

    operands: tuple[Term, ...]

    def value(self, evaluation: Evaluation) -> Any:
        """Return whether all operands are true."""
        return all(evaluation.truth(each, "&&") for each in self.operands)

    def __str__(self) -> str:
        return " && ".join(_inside(operand, COMPARISON) for operand in self.operands)


@frozen(kw_only=False)
class Or(Term):
    """``a || b || ...``, at least two."""

    precedence: ClassVar[int] = OR

    operands: tuple[Term, ...]

    def value(self, evaluation: Evaluation) -> Any:
        """Return whether one operand is true."""
        return any(evaluation.truth(each, "||") for each in self.operands)

    def __str__(self) -> str:
        return " || ".join(_inside(operand, AND) for operand in self.operands)


MAX_DEPTH: Final = 50
"""Levels of parentheses, arrays, objects and signs inside one another, so that reading and evaluating stay inside
Python's stack; assumed."""

MAX_NUMBER_CHARS: Final = 400
"""Longer number literals are refused; every double can be written in as many characters."""

WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}


class Token(NamedTuple):
    """A token of an expression; ``value`` is its value as parsed by the language."""

    kind: str
    text: str
    start: int
    end: int
    value: Any = None


class OperatorParser(ABC):
    """A recursive-descent parser of operators; a language adds its tokens and its operands.

    ``token`` is the present one; signs are of kind ``sign``, the last one is of kind ``end``. Every method that reads
    raises ExpressionError.
    """

    COMPARISONS: ClassVar[frozenset[str]] = frozenset({"==", "!=", "<", "<=", ">", ">="})

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        self.token = self._read(0)

    @abstractmethod
    def _read(self, position: int) -> Token:
        """Return the token at *position*."""

    @abstractmethod
    def _primary(self) -> Term:
        """Read an operand without a sign in front."""

    def whole(self) -> Term:
        """Read the whole text."""
        tree = self._alternatives()
        if self.token.kind != "end":
            raise self._unexpected(Phrase("an operator or the end"))
        return tree

    def _alternatives(self) -> Term:
        operands = [self._conjunction()]
        while self._accept("||"):
            operands.append(self._conjunction())
        return Or(tuple(operands)) if len(operands) > 1 else operands[0]

    def _conjunction(self) -> Term:
        operands = [self._comparison()]
        while self._accept("&&"):
            operands.append(self._comparison())
        return And(tuple(operands)) if len(operands) > 1 else operands[0]

    def _compares(self) -> bool:
        return self.token.kind == "sign" and self.token.text in self.COMPARISONS

    def _comparison(self) -> Term:
        left = self._unary()
        if not self._compares():
            return left
        sign = cast("ComparisonSign", self._next().text)
        tree = Comparison(sign, left, self._unary())
        if self._compares():
            raise ExpressionError("comparisons cannot be chained; join them with &&", self.token.start)
        return tree

    def _unary(self) -> Term:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(Phrase("nested more than {most} levels deep", most=MAX_DEPTH), self.token.start)
        tree: Term
        if self._accept("!"):
            tree = Not(self._unary())
        elif self._accept("-"):
            tree = Minus(self._unary())
        elif self._accept("("):
            tree = self._alternatives()
            self._need(")")
        elif self._accept("["):
            tree = Array(self._list("]"))
        else:
            tree = self._primary()
        self._depth -= 1
        return tree

    def _list(self, closing: str) -> tuple[Term, ...]:
        """Read terms up to the sign *closing*."""
        items: list[Term] = []
        while not self._accept(closing):
            if items and not self._accept(","):
                raise self._unexpected(alternatives(("','", f"'{closing}'")))
            items.append(self._alternatives())
        return tuple(items)

    def _next(self) -> Token:
        taken = self.token
        self.token = self._read(taken.end)
        return taken

    def _accept(self, sign: str) -> bool:
        if self.token.kind == "sign" and self.token.text == sign:
            self._next()
            return True
        return False

    def _need(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._unexpected(f"'{sign}'")

    def _unexpected(self, expected: str) -> ExpressionError:
        ends = self.token.kind == "end"
        found = Phrase("the expression ends here") if ends else Phrase("found {text!r}", text=self.token.text[:40])
        return ExpressionError(Phrase("{what} expected, {found}", what=expected, found=found), self.token.start)

    def _first_unread(self, position: int) -> tuple[str, int]:
        """Return the character behind the white space at *position*, and its offset."""
        start = len(self._text) - len(self._text[position:].lstrip())
        return self._text[start], start
