"""The conditions of a choice, compiled once and asked for each input.

For the engine: ``option.condition.holds(choice_input)``. The parser and the evaluator are imported by the first call:
every flow's nodes know this class, few flows have a condition, and an emulator without flows starts faster.
"""

from collections.abc import Mapping as AbcMapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from emulator.kernel.frozen import frozen

if TYPE_CHECKING:
    from emulator.services.workflow.expression.terms import Term


@frozen
class Condition:
    """A compiled condition. Two are equal when their trees are; ``text`` is the form in the definition."""

    text: str = field(compare=False)
    tree: "Term"

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """Compile *text*.

        Raises: ExpressionError, with the position in the text.
        """
        from emulator.services.workflow.expression.parser import parse_condition  # here: see the module's docstring

        return cls(text=text, tree=parse_condition(text))

    def holds(self, document: AbcMapping[str, Any]) -> bool:
        """Tell whether the condition is true for *document*, the input of the choice; a non-boolean counts as false.

        Raises: EvaluationError.
        """
        from emulator.services.workflow.expression.evaluate import evaluate  # here: see the module's docstring

        return evaluate(self.tree, document) is True

    def __str__(self) -> str:
        return str(self.tree)
