"""The conditions of a choice, compiled once and asked for each input.

For the engine: ``option.condition.holds(choice_input)``.
"""

from collections.abc import Mapping as AbcMapping
from dataclasses import dataclass, field
from typing import Any

from emulator.services.workflow.expression.evaluate import evaluate
from emulator.services.workflow.expression.parser import parse_condition
from emulator.services.workflow.expression.terms import Term


@dataclass(frozen=True, slots=True, kw_only=True)
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

    def holds(self, document: AbcMapping[str, Any]) -> bool:
        """Tell whether the condition is true for *document*, the input of the choice; a non-boolean counts as false.

        Raises: EvaluationError.
        """
        return evaluate(self.tree, document) is True

    def __str__(self) -> str:
        return str(self.tree)
