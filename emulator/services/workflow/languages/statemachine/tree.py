"""What the trees of expressions have beyond `languages.terms`; constructors, the JSON values with expressions inside.

What a function does stands in `functions`.

A constructor is a map whose keys ending in ``.$`` have expressions as values, at any depth; all else stays as it is.

Source: expressions, inputs and outputs, CloudFlow documentation; what a path yields that matches nothing is assumed.
"""

import json
from collections.abc import Callable
from typing import Any, Final

from emulator.kernel.frozen import field, frozen
from emulator.services.workflow.languages.terms import Evaluation, Term
from emulator.services.workflow.languages.values import MISSING

SUFFIX: Final = ".$"
"""Ends the keys of constructors whose values are expressions."""

Function = Callable[[list[Any], Evaluation], Any]
"""A function of the language: takes its arguments, as many as it knows, and may raise EvaluationError."""


def written(text: str) -> str:
    """Return *text* as a string literal of the language."""
    return json.dumps(text, ensure_ascii=False)


@frozen(kw_only=False)
class Path(Term):
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
class Call(Term):
    """``name(a, b)``; *function* follows from the name."""

    name: str
    arguments: tuple[Term, ...]
    function: Function = field(compare=False)

    def value(self, evaluation: Evaluation) -> Any:
        """Return the result of the function."""
        return self.function([evaluation.item(each) for each in self.arguments], evaluation)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"


@frozen(kw_only=False)
class Object(Term):
    """``{"a": b}``."""

    members: tuple[tuple[str, Term], ...]

    def value(self, evaluation: Evaluation) -> Any:
        """Return a dictionary."""
        made = {key: evaluation.item(each) for key, each in self.members}
        evaluation.weigh(made)
        return made

    def __str__(self) -> str:
        return "{" + ", ".join(f"{written(key)}: {each}" for key, each in self.members) + "}"


@frozen(kw_only=False)
class Fixed:
    """A JSON value without expressions inside; ``text`` is its JSON when it is the whole of a constructor."""

    value: Any
    text: str | None = None

    def build(self, evaluation: Evaluation) -> Any:
        """Return the value."""
        evaluation.weigh(self.value)
        return self.value


@frozen(kw_only=False)
class Expression:
    """The value of a key that ends in ``.$``; ``text`` is the form in the definition."""

    text: str
    tree: Term

    def build(self, evaluation: Evaluation) -> Any:
        """Return the value, null for nothing.

        Raises: EvaluationError.
        """
        value = evaluation.item(self.tree)
        evaluation.weigh(value)
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
