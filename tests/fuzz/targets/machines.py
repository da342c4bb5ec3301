"""The state machine language: definitions, expressions, patterns."""

from emulator.services.workflow.engine.language import DefinitionError, EvaluationError
from emulator.services.workflow.languages.document import read_document
from emulator.services.workflow.languages.statemachine.expressions import RESULT_ROOTS, parse
from emulator.services.workflow.languages.statemachine.patterns import Pattern, PatternError
from emulator.services.workflow.languages.statemachine.reader import read_machine
from emulator.services.workflow.languages.terms import Budget, Evaluation, Term
from emulator.services.workflow.languages.values import ExpressionError

_DATA = {"a": 1, "b": "x", "c": [1, 2.5, "3", None, {"d": True}], "d": {"e": {"f": []}}, "n": None, "": 0}


class _Fixed:
    def number(self) -> int:
        return 7


def machine(data: bytes) -> None:
    """A definition is a machine, and then always the same one, or is refused with a place inside the text."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        found = read_machine(read_document(text))
    except DefinitionError as error:
        assert 1 <= error.line <= len(text) + 2
        assert 1 <= error.column <= len(text) + 2
        str(error).encode("utf-8", "surrogateescape")
        return

    assert read_machine(read_document(text)) == found


def expression(data: bytes) -> None:
    """An expression that is printed and read again is the same expression, with the same outcome."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        tree = parse(text, RESULT_ROOTS)
    except ExpressionError as error:
        assert 0 <= error.position <= len(text)
        return

    again = parse(str(tree), RESULT_ROOTS)
    assert again == tree
    assert _outcome(again) == _outcome(tree)


def _outcome(tree: Term):
    try:
        return repr(tree.value(Evaluation(lambda root: _DATA, _Fixed(), Budget(100_000))))
    except EvaluationError:
        return "impossible"


def pattern(data: bytes) -> None:
    """Every text is a pattern or is refused, and matching is a bounded amount of work."""
    text = data.decode("utf-8", "replace")
    try:
        compiled = Pattern(text)
    except PatternError:
        return
    spent: list[int] = []
    compiled.found_in("abcab" * 20, spent.append)

    assert sum(spent) <= 100 * (10 + 2 * 5_000)
