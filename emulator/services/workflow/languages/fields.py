"""Typed access to the fields of one map of a definition, and the resources that tasks name.

Whatever reads raises `DefinitionError`, which names the field and its place. Region and account of an ARN may be empty
or anything: there is one tenant here.

Source: service integration, Serverless Workflow guide; the form of FC 3's ARNs, CloudFlow documentation.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from emulator.kernel.paging import Range
from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.ports import (
    ActionResource,
    FlowResource,
    FunctionResource,
    QueueResource,
    TaskTarget,
    TopicResource,
)
from emulator.wire.yaml import Node, Scalar, Sequence, Table, UnreadableYaml, plain_value, read_nodes

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,127}\Z")
"""Names of flows and executions; for steps the same rule is assumed."""

NAME_RULE: Final = "1 to 128 letters, digits, '_' or '-', a letter or '_' first"


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
        problem = f"not YAML: {error.problem}" if error.is_syntax else error.problem
        raise DefinitionError(problem, error.line, error.column, error.field) from error
    if root is None:
        raise DefinitionError("the definition is empty")
    return root


class LocatedNode(NamedTuple):
    """A node and the path it has in the definition, such as ``steps[2].name``."""

    node: Node
    field: str

    def failure(self, message: str) -> DefinitionError:
        """Return an error that points here."""
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

    def name(self) -> str:
        """Return the text, which must be a name."""
        text = self.text()
        if not NAME.match(text):
            raise self.failure(f"{text[:200]!r} is not a name: {NAME_RULE}")
        return text


class Fields:
    """The fields of one map. An optional field that is null counts as absent; a required one must be there.

    Raises: DefinitionError when *part* is no map or has a field that is not in *known*.
    """

    __slots__ = ("_values", "part")

    def __init__(self, part: LocatedNode, known: Collection[str] | None = None) -> None:
        self.part = part
        if not isinstance(part.node, Table):
            raise part.failure("must be a map")
        self._values = {key.text: value for key, value in part.node.entries}
        if known is not None and not self._values.keys() <= set(known):
            raise self._unknown(part.node, known)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def raw(self, key: str) -> LocatedNode | None:
        """Return the field even when it is null, or None when it is not there."""
        return LocatedNode(self._values[key], self.path(key)) if key in self._values else None

    def find(self, key: str) -> LocatedNode | None:
        """Return the field, or None when it is absent or null."""
        node = self._values.get(key)
        if node is None or (isinstance(node, Scalar) and node.is_null):
            return None
        return LocatedNode(node, self.path(key))

    def need(self, key: str) -> LocatedNode:
        """Return the field.

        Raises: DefinitionError when it is absent or null.
        """
        part = self.find(key)
        if part is None:
            raise self.part.failure(f"the field {key!r} is required")
        return part

    def text(self, key: str) -> str | None:
        """Return an optional text."""
        part = self.find(key)
        return part.text() if part else None

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, at least one."""
        return tuple(item.text() for item in self.need(key).items(least=1))

    def flag(self, key: str) -> bool:
        """Return an optional boolean, false when absent."""
        part = self.find(key)
        value = part.value() if part else False
        if not isinstance(value, bool):
            raise self.need(key).failure("must be true or false")
        return value

    def whole(self, key: str, limit: Range) -> int | None:
        """Return an optional whole number in the range of *limit*."""
        part = self.find(key)
        return whole(part, limit) if part else None

    def number(self, key: str, limit: Range) -> float:
        """Return an optional number in the range of *limit*, whose default holds when it is absent."""
        part = self.find(key)
        value = part.value() if part else limit.default
        if isinstance(value, bool) or not isinstance(value, int | float) or not limit.low <= value <= limit.high:
            raise self.need(key).failure(f"must be a number from {limit.low} to {limit.high}")
        return value

    def path(self, key: str) -> str:
        """Return the path of the field *key*."""
        return f"{self.part.field}.{key}" if self.part.field else key

    def _unknown(self, table: Table, known: Collection[str]) -> DefinitionError:
        import difflib  # here, because only a refused definition needs it

        key = next(key for key, _ in table.entries if key.text not in known)
        near = difflib.get_close_matches(key.text[:100], known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known here: {', '.join(sorted(known))}"
        return LocatedNode(key, self.path(key.text[:200])).failure(f"unknown field{hint}")


def whole(part: LocatedNode, limit: Range) -> int:
    """Return the whole number at *part*, which must be in the range of *limit*."""
    value = part.value()
    if isinstance(value, bool) or not isinstance(value, int) or not limit.contains(value):
        raise part.failure(f"must be a whole number from {limit.low} to {limit.high}")
    return value


class Reading(NamedTuple):
    """What reading the steps of one list adds to.

    ``warnings`` are remarks for the log, ``names`` the lines that names of steps stand in, ``jumps`` the places of the
    names that these steps lead to.
    """

    warnings: list[str]
    names: dict[str, int]
    jumps: list[LocatedNode]

    def enter(self, what: str, part: LocatedNode) -> str:
        """Return the name of a step, or *what* its language calls it; no other may have it."""
        name = part.text()
        if name in self.names:
            raise part.failure(f"another {what}, in line {self.names[name]}, has the name {name!r}")
        self.names[name] = part.node.line
        return name

    def warn(self, part: LocatedNode, message: str) -> None:
        """Note something that is allowed and probably not meant."""
        self.warnings.append(f"{part.field}: {message} (line {part.node.line})")


def reachable(ways: Mapping[str, Iterable[str]], start: str) -> set[str]:
    """Return the steps that *ways* lead to from *start*."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(ways[name])
    return reached


_FUNCTION_OF_SERVICE = re.compile(r"services/([^/.\s]+)(?:\.([^/\s]+))?/functions/([^/\s]+)\Z")
_FUNCTION = re.compile(r"functions/([^/\s]+)(?:/([^/\s]+))?\Z")
_QUEUE = re.compile(r"/queues/([^/\s]+)/messages\Z")
_TOPIC = re.compile(r"/topics/([^/\s]+)/messages\Z")
_FLOW = re.compile(r"flow/([^/\s]+)\Z")
_ACTION = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):([A-Za-z][A-Za-z0-9_]*)\Z")

_FORMS: Final = (
    "acs:fc:{region}:{account}:services/{service}[.{qualifier}]/functions/{function}, "
    "acs:fc:{region}:{account}:functions/{function}[/{qualifier}], "
    "acs:mns:{region}:{account}:/queues/{queue}/messages, "
    "acs:mns:{region}:{account}:/topics/{topic}/messages or "
    "acs:fnf:{region}:{account}:flow/{name}"
)


def parse_arn(text: str) -> TaskTarget:
    """Return what an ARN names; in a service segment the qualifier is the text behind the first dot.

    Raises: ValueError with a text for the client when the form is not known.
    """
    scheme, product, _region, _account, resource = (*text.split(":", 4), "", "", "", "")[:5]
    if scheme == "acs" and product == "fc":
        if match := _FUNCTION_OF_SERVICE.match(resource):
            return FunctionResource(service=match[1], qualifier=match[2], function=match[3])
        if match := _FUNCTION.match(resource):
            return FunctionResource(service=None, qualifier=match[2], function=match[1])
    elif scheme == "acs" and product == "mns":
        if match := _QUEUE.match(resource):
            return QueueResource(match[1])
        if match := _TOPIC.match(resource):
            return TopicResource(match[1])
    elif scheme == "acs" and product == "fnf" and (match := _FLOW.match(resource)):
        return FlowResource(match[1])
    raise ValueError(f"unknown form of resource; there are {_FORMS}")


def parse_action(text: str) -> ActionResource:
    """Return what ``{serviceName}:{apiName}`` names.

    Raises: ValueError with a text for the client when it has another form.
    """
    match = _ACTION.match(text)
    if not match:
        raise ValueError("an action is written {serviceName}:{apiName}")
    return ActionResource(match[1], match[2])
