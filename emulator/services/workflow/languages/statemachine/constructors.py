"""Constructors: maps whose keys ending in ``.$`` have expressions as values, at any depth; all else stays as it is.

Source: inputs and outputs, CloudFlow documentation. That a key may not stand with and without the suffix is assumed.
"""

from collections.abc import Callable, Collection
from typing import Any, Final

from emulator.kernel.frozen import frozen
from emulator.services.workflow.engine.events import canonical
from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.languages.fields import Part
from emulator.services.workflow.languages.statemachine.expressions import parse
from emulator.services.workflow.languages.statemachine.tree import Evaluation, Tree, value_or_null
from emulator.services.workflow.languages.values import ExpressionError
from emulator.wire.yaml import Scalar, Sequence, Table

SUFFIX: Final = ".$"


@frozen(kw_only=False)
class Constant:
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


Template = Constant | Expression | Members | Items


def read_expression(part: Part, roots: Collection[str]) -> Expression:
    """Return the expression at *part*.

    Raises: DefinitionError, which points at the place of the trouble where it can.
    """
    if not isinstance(part.node, Scalar):
        raise part.failure("must be an expression")
    text = part.node.text
    try:
        return Expression(text, parse(text, roots))
    except ExpressionError as error:
        failure = part.failure(error.message)
        if part.node.inside is not None:
            failure.column += part.node.inside + error.position
        failure.expression = (text, error.position)
        raise failure from error


def read_template(part: Part, roots: Collection[str]) -> Template:
    """Return what stands at *part*, a JSON value with expressions at any depth.

    Raises: DefinitionError.
    """
    node = part.node
    if isinstance(node, Sequence):
        items = tuple(read_template(item, roots) for item in part.items())
        return _folded([*items], Items(items), list)
    if isinstance(node, Table):
        return _map(part, node, roots)
    return Constant(part.value())


def read_constructor(part: Part, roots: Collection[str]) -> Template:
    """Return a constructor, which must be a map.

    Raises: DefinitionError.
    """
    if not isinstance(part.node, Table):
        raise part.failure("must be a map")
    made = _map(part, part.node, roots)
    return Constant(made.value, canonical(made.value)) if isinstance(made, Constant) else made


def _map(part: Part, node: Table, roots: Collection[str]) -> Template:
    members: dict[str, Template] = {}
    for key, value in node.entries:
        name = key.text.removesuffix(SUFFIX)
        inner = Part(value, f"{part.field}.{key.text[:200]}")
        if name in members:
            raise DefinitionError(f"{name!r} stands here with and without '.$'", key.line, key.column, inner.field)
        if not name:
            raise DefinitionError("a name must stand before '.$'", key.line, key.column, inner.field)
        members[name] = read_expression(inner, roots) if name != key.text else read_template(inner, roots)
    made = Members(tuple(members.items()))
    return _folded([*members.values()], made, lambda values: dict(zip(members, values, strict=True)))


def _folded(inner: list[Template], otherwise: Template, made: Callable[[list[Any]], Any]) -> Template:
    """Return one constant for what has no expression inside."""
    values = [each.value for each in inner if isinstance(each, Constant)]
    return Constant(made(values)) if len(values) == len(inner) else otherwise
