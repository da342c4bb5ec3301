"""Reads a condition: recursive descent over the tokens, with a bound on nesting.

::

    or         := and ("||" and)*
    and        := comparison ("&&" comparison)*
    comparison := unary (("==" | "!=" | "<" | "<=" | ">" | ">=" | "in") unary)?
    unary      := ("!" | "-") unary | primary
    primary    := path | string | number | true | false | null | "(" or ")" | "[" (or ("," or)*)? "]"

Source: choice step, Serverless Workflow guide; parentheses as published flows use them; ``in``, ``!``, unary ``-``,
``null`` and arrays are assumed.
"""

from collections.abc import Callable
from typing import Final, cast

from emulator.services.workflow.expression.errors import ExpressionError
from emulator.services.workflow.expression.lexer import Token, tokens
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
        operands = self._operands("||", lambda: self._chain("&&"))
        return operands[0] if len(operands) == 1 else Or(operands)

    def expect_end(self) -> None:
        if self._token.kind != "end":
            raise self._unexpected("an operator or the end")

    def _chain(self, sign: str) -> Term:
        operands = self._operands(sign, self._comparison)
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
        found = self._token.kind == "sign" and self._token.value == sign
        if found:
            self._advance()
        return found

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._unexpected(repr(sign))

    def _unexpected(self, wanted: str) -> ExpressionError:
        found = self._token.value if self._token.kind in {"sign", "end"} else "a value"
        return ExpressionError(f"{wanted} expected, found {found}", self._token.position)
