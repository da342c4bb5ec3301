"""Parses the text of a definition, YAML or JSON, into a tree in which every value has its line and column.

Every function that reads raises `DefinitionError`, which names the field and its place.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from emulator.kernel.phrases import Phrase
from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.languages.indentation import not_yaml
from emulator.wire.schema.kinds import Either, Field, Shape
from emulator.wire.yaml import Node, Scalar, Sequence, Table, UnreadableYaml, plain_value, read_nodes

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,127}\Z")
"""Names of flows and executions; for steps the same rule is assumed."""

A_NAME: Final = Phrase("a name: 1 to 128 letters, digits, '_' or '-', a letter or '_' first")


MOST_VALUES: Final = 250_000
"""Scalars, lists and maps of one definition, aliases expanded: plenty for a flow that fills a request. Assumed."""

DEEPEST: Final = 128
"""Levels of lists and maps in one definition; assumed."""


def read_document(text: str) -> Node:
    """Return the root of the definition *text*, YAML or JSON.

    Raises: DefinitionError for text that is not YAML, for several documents or none, for a repeated key, and when the
    document is deeper or larger than the limits.
    """
    try:
        root = read_nodes(text, most_values=MOST_VALUES, deepest=DEEPEST)
    except UnreadableYaml as error:
        problem = not_yaml(error, text) if error.is_syntax else error.problem
        raise DefinitionError(problem, error.line, error.column, error.field) from error
    if root is None:
        raise DefinitionError("the definition is empty")
    return root


class LocatedNode(NamedTuple):
    """A node and the path it has in the definition, such as ``steps[2].name``."""

    node: Node
    field: str

    def failure(self, message: str) -> DefinitionError:
        """Return a `DefinitionError` that points at this node."""
        return DefinitionError(message, self.node.line, self.node.column, self.field)

    def value(self) -> Any:
        """Return the JSON value.

        Raises: DefinitionError for numbers that JSON does not have.
        """
        try:
            return plain_value(self.node)
        except UnreadableYaml as error:
            raise DefinitionError(error.problem, error.line, error.column, self.field) from error

    def items(self, least: int = 0) -> list["LocatedNode"]:
        """Return the elements of a list that must have at least *least* of them."""
        if not isinstance(self.node, Sequence):
            raise self.failure("must be a list")
        if len(self.node.items) < least:
            raise self.failure("must not be empty")
        return [LocatedNode(item, f"{self.field}[{position}]") for position, item in enumerate(self.node.items)]

    def text(self) -> str:
        """Return the text as written, so that ``404`` without quotes is the text 404.

        Raises: DefinitionError for lists, maps and null.
        """
        if not isinstance(self.node, Scalar) or self.node.is_null:
            raise self.failure("must be text")
        return self.node.text

    def members(self) -> Iterator[tuple[str, "LocatedNode"]]:
        """Yield name and place of each member of a map.

        Raises: DefinitionError for what is no map.
        """
        if not isinstance(self.node, Table):
            raise self.failure("must be a map")
        for key, value in self.node.entries:
            yield key.text, LocatedNode(value, self.path(key.text))

    def find(self, name: str) -> "LocatedNode | None":
        """Return a member of a map; None when it is absent or null.

        Raises: DefinitionError for what is no map.
        """
        if not isinstance(self.node, Table):
            raise self.failure("must be a map")
        for key, node in self.node.entries:
            if key.text == name:
                part = LocatedNode(node, self.path(name))
                return None if part.is_null else part
        return None

    def get(self, name: str) -> "LocatedNode":
        """Return a member of a map that is known to exist."""
        return next(part for key, part in self.members() if key == name)

    @property
    def is_null(self) -> bool:
        """Whether the value is null, or nothing at all."""
        return isinstance(self.node, Scalar) and self.node.is_null

    def path(self, key: str) -> str:
        """Return the path of the member *key*."""
        return f"{self.field}.{key}" if self.field else key


class Reading(NamedTuple):
    """The state of reading one list of steps.

    ``warnings`` are remarks for the log, ``names`` maps the names of steps to their lines, ``jumps`` are the places of
    the names that these steps lead to, which are checked at the end of the list.
    """

    warnings: list[str]
    names: dict[str, int]
    jumps: list[LocatedNode]

    def enter(self, what: str, part: LocatedNode) -> str:
        """Record and return the name of a step, which must be unique; *what* is the language's word for a step."""
        name = part.text()
        if name in self.names:
            line = self.names[name]
            text = "another {what}, in line {line}, has the name {name!r}"
            raise part.failure(Phrase(text, what=Phrase(what), line=line, name=name))
        self.names[name] = part.node.line
        return name

    def warn(self, part: LocatedNode, message: str) -> None:
        """Add a warning about a value that is allowed and probably a mistake."""
        where = {"field": part.field, "line": part.node.line}
        self.warnings.append(Phrase("{field}: {message} (line {line})", message=message, **where))


@contextmanager
def noting(mistakes: list[DefinitionError]) -> Iterator[None]:
    """Catch a `DefinitionError` raised inside, and add it to *mistakes*."""
    try:
        yield
    except DefinitionError as mistake:
        mistakes.append(mistake)


def read_each(
    parts: Iterable[LocatedNode],
    read: Callable[[LocatedNode, Reading], Any],
    reading: Reading,
    mistakes: list[DefinitionError],
) -> tuple[Any, ...]:
    """Return the result of *read* for each part; parts with mistakes are left out and added to *mistakes*."""
    found = []
    for part in parts:
        try:
            found.append(read(part, reading))
        except DefinitionError as mistake:
            mistakes.append(mistake)
    return tuple(found)


def settle(mistakes: list[DefinitionError]) -> None:
    """Raise the first of *mistakes*, if there are any, with the rest as its ``others``."""
    if mistakes:
        first, *others = mistakes
        first.others += tuple(others)
        raise first


def named(parts: Iterable[LocatedNode], member: str) -> list[str]:
    """Return the texts of *member* in all parts, such as the names of steps, even of parts with mistakes."""
    tables = (part.node for part in parts if isinstance(part.node, Table))
    entries = (entry for table in tables for entry in table.entries)
    return [value.text for key, value in entries if key.text == member and isinstance(value, Scalar)]


def reachable(ways: Mapping[str, Iterable[str]], start: str) -> set[str]:
    """Return the steps that can be reached from *start* by *ways*, a map from each step to its successors."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(ways[name])
    return reached


Arguments = dict[str, Any]
Finish = Callable[[Arguments, LocatedNode, Reading], Arguments]


def as_it_is(values: Arguments, _part: LocatedNode, _reading: Reading) -> Arguments:
    """Return *values* unchanged: the `Finish` of a class whose arguments are the fields as read."""
    return values


class StepType(NamedTuple):
    """How a type of step is read: its class, its fields, and the function that makes the arguments of their values."""

    kind: type[Any]
    shape: Shape
    finish: Finish


def step_type(
    kind: type[Any], name: str, fields: Iterable[Field], finish: Finish = as_it_is, either: tuple[Either, ...] = ()
) -> StepType:
    """Return the `StepType` of the class *kind*; *name* is the name of the type in the language."""
    return StepType(kind, Shape(name, tuple(fields), kind, either), finish)
