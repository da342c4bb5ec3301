"""YAML or JSON text -> a tree of nodes with positions.

The tree is built from the parser's events, one at a time, so that a hostile document is refused as soon as it is too
deep or too large: aliases count with everything they stand for. Reading takes time linear in the text.

Constants follow YAML 1.1 as far as JSON has the value. Differences: what looks like a date or like ``12:30`` stays
text, ``1e3`` is a number as in JSON, infinities and NaN are refused, and so are tags other than ``!!str``.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from emulator.services.workflow.engine.language import DefinitionError

MAX_NODES: Final = 250_000
"""Scalars, lists and maps of one document, aliases expanded: plenty for a flow that fills a request. Assumed."""

MAX_DEPTH: Final = 128
"""Levels of lists and maps in one document; assumed."""

MAX_NUMBER_CHARS: Final = 300
"""Length of a number; longer ones do not fit a double. Assumed."""

_WORDS: Final[dict[str, bool | None]] = {
    form: value
    for word, value in (("null", None), ("true", True), ("yes", True), ("on", True), ("false", False), ("no", False))
    for form in (word, word.title(), word.upper())
} | {"": None, "~": None, "off": False, "Off": False, "OFF": False}

_INTEGER = re.compile(
    r"[-+]?(?:0[xX]_*[0-9a-fA-F][0-9a-fA-F_]*|0[bB]_*[01][01_]*|0[oO]?_*[0-7][0-7_]*|0|[1-9][0-9_]*)\Z"
)
_DOUBLE = re.compile(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?\Z")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_ESCAPE = re.compile(r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|.)", re.DOTALL)
_STRING_TAGS: Final = ("!", "tag:yaml.org,2002:str")
_COLLECTION_TAGS: Final = (None, "!", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map")


@dataclass(slots=True)
class Node:
    """A piece of the document; ``line`` and ``column`` count from 1, ``weight`` is the number of nodes in it."""

    line: int
    column: int
    weight: int = 1
    height: int = 1


@dataclass(slots=True)
class Scalar(Node):
    """One value: ``text`` as written; ``plain`` when without quotes, so that it may be a number, boolean or null.

    ``inside`` is how many columns after its start the text begins, when every character of it stands in one line as it
    is; None otherwise.
    """

    text: str = ""
    plain: bool = False
    inside: int | None = None

    @property
    def is_null(self) -> bool:
        """Whether the value is null, or nothing at all."""
        return self.plain and self.text in _WORDS and _WORDS[self.text] is None

    def value(self) -> str | int | float | bool | None:
        """Return the JSON value.

        Raises: DefinitionError when it is a number JSON does not have.
        """
        text = self.text
        if not self.plain:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if text[0] not in "+-.0123456789":
            return text
        if len(text) <= MAX_NUMBER_CHARS and _INTEGER.match(text):
            return _integer(text)
        is_double = _DOUBLE.match(text) and ("." in text or "e" in text or "E" in text)
        number = float(text.replace("_", "")) if is_double and len(text) <= MAX_NUMBER_CHARS else math.nan
        if math.isfinite(number):
            return number
        if is_double or _INTEGER.match(text) or _NO_NUMBER.match(text):
            raise DefinitionError("not a number JSON can hold", self.line, self.column)
        return text


@dataclass(slots=True)
class Sequence(Node):
    """A list."""

    items: tuple[Node, ...] = ()


@dataclass(slots=True)
class Table(Node):
    """A map: text keys, each once, in the order of the document."""

    entries: tuple[tuple[Scalar, Node], ...] = ()


def read_document(text: str) -> Node:
    """Return the root of the one document in *text*.

    Raises: DefinitionError for text that is not YAML, for several documents or none, for a repeated key, and when the
    document is deeper or larger than the limits.
    """
    from yaml import YAMLError, parse  # here, because an emulator without flows never needs it

    composer = _Composer()
    try:
        for event in parse(_as_yaml(text), Loader=_loader()):
            composer.take(event)
    except YAMLError as error:
        raise _unreadable(error, text) from error
    except UnicodeEncodeError as error:
        raise DefinitionError("the text holds half a surrogate pair") from error
    if composer.root is None:
        raise DefinitionError("the definition is empty")
    return composer.root


def plain_value(node: Node) -> Any:
    """Return *node* as JSON value.

    Raises: DefinitionError for numbers that JSON does not have.
    """
    if isinstance(node, Scalar):
        return node.value()
    if isinstance(node, Sequence):
        return [plain_value(item) for item in node.items]
    assert isinstance(node, Table)
    return {key.text: plain_value(value) for key, value in node.entries}


class _Composer:
    """Builds the tree from the parser's events; `root` is set when the document has ended."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self._open: list[tuple[Any, list[Node]]] = []
        self._anchors: dict[str, Node] = {}
        self._size = 0

    def take(self, event: Any) -> None:
        match type(event).__name__:
            case "ScalarEvent":
                self._add(event, self._scalar(event))
            case "AliasEvent":
                self._add(event, self._target(event))
            case "SequenceStartEvent" | "MappingStartEvent":
                self._enter(event)
            case "SequenceEndEvent" | "MappingEndEvent":
                self._leave()
            case "DocumentStartEvent" if self.root is not None:
                raise self._error("only one document is expected", event)

    def _field(self) -> str:
        """Return the path of the value that comes next."""
        path = ""
        for event, nodes in self._open:
            if type(event).__name__ == "SequenceStartEvent":
                path += f"[{len(nodes)}]"
            elif len(nodes) % 2 and isinstance(key := nodes[-1], Scalar):
                path = _join(path, key.text)
        return path[:200]

    def _error(self, message: str, event: Any) -> DefinitionError:
        mark = event.start_mark
        return DefinitionError(message, mark.line + 1, mark.column + 1, self._field())

    def _target(self, event: Any) -> Node:
        if event.anchor not in self._anchors:
            raise self._error(f"no finished value has the anchor {event.anchor!r}", event)
        return self._anchors[event.anchor]

    def _scalar(self, event: Any) -> Scalar:
        if event.tag is not None and event.tag not in _STRING_TAGS:
            raise self._error(f"the tag {event.tag} is not known", event)
        mark, end = event.start_mark, event.end_mark
        quotes = 0 if event.style is None else 1
        as_it_is = mark.line == end.line and end.column - mark.column == len(event.value) + 2 * quotes
        return Scalar(
            mark.line + 1,
            mark.column + 1,
            text=event.value,
            plain=event.implicit[0] and event.tag is None,
            inside=quotes if as_it_is and event.tag is None else None,
        )

    def _enter(self, event: Any) -> None:
        if event.tag not in _COLLECTION_TAGS:
            raise self._error(f"the tag {event.tag} is not known", event)
        if len(self._open) >= MAX_DEPTH:
            raise self._error(f"nested more than {MAX_DEPTH} levels deep", event)
        self._open.append((event, []))

    def _leave(self) -> None:
        event, nodes = self._open.pop()
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        node: Node
        if type(event).__name__ == "SequenceStartEvent":
            node = Sequence(line, column, items=tuple(nodes))
        else:
            entries = tuple(_entries(nodes, self._field()))
            node = Table(line, column, entries=entries)
            nodes = [node for entry in entries for node in entry]
        node.weight += sum(child.weight for child in nodes)
        node.height += max((child.height for child in nodes), default=0)
        self._add(event, node)

    def _add(self, event: Any, node: Node) -> None:
        if type(event).__name__ != "AliasEvent" and event.anchor is not None:
            self._anchors[event.anchor] = node
        self._size += node.weight if type(event).__name__ == "AliasEvent" else 1
        if self._size > MAX_NODES:
            raise self._error(f"more than {MAX_NODES} values, aliases counted in full", event)
        if len(self._open) + node.height > MAX_DEPTH + 1:
            raise self._error(f"nested more than {MAX_DEPTH} levels deep", event)
        if self._open:
            self._open[-1][1].append(node)
        else:
            self.root = node


def _join(path: str, key: str) -> str:
    return f"{path}.{key[:200]}" if path else key[:200]


def _entries(nodes: list[Node], field: str) -> Iterator[tuple[Scalar, Node]]:
    """Pair keys with values and put in what ``<<`` refers to, behind the map's own keys, which win."""
    seen: set[str] = set()
    merged: list[Node] = []
    for key, value in zip(nodes[::2], nodes[1::2], strict=True):
        if not isinstance(key, Scalar):
            raise DefinitionError("a key must be text", key.line, key.column, field)
        if key.plain and key.text == "<<":
            merged.extend(value.items if isinstance(value, Sequence) else [value])
            continue
        if key.text in seen:
            raise DefinitionError("this key stands twice in the map", key.line, key.column, _join(field, key.text))
        seen.add(key.text)
        yield key, value
    for table in merged:
        if not isinstance(table, Table):
            raise DefinitionError("'<<' takes a map or a list of maps", table.line, table.column, field)
        yield from (entry for entry in table.entries if entry[0].text not in seen)
        seen.update(key.text for key, _ in table.entries)


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    sign = -1 if digits[0] == "-" else 1
    digits = digits.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0":
        prefix = digits[1].lower()
        return sign * int(digits.lstrip("0") or "0", 8) if prefix.isdigit() else sign * int(digits, 0)
    return sign * int(digits)


def _loader() -> Any:
    import yaml  # here, because an emulator without flows never needs it

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _as_yaml(text: str) -> str:
    """Return *text*; in valid JSON, blanks for tabs and characters for escaped pairs: the JSON that is not YAML."""
    if text.lstrip("\ufeff \t\r\n").startswith("{") and ("\t" in text or "\\ud" in text.lower()):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return text
        return _ESCAPE.sub(_join_pair, text.replace("\t", " "))
    return text


def _join_pair(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return escape[0]
    return chr(0x10000 + ((int(escape[1], 16) - 0xD800) << 10) + int(escape[2], 16) - 0xDC00)


def _unreadable(error: Any, text: str) -> DefinitionError:
    """Turn the parser's complaint into ours; characters that YAML forbids come without a mark."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        position = getattr(error, "position", 0)
        before = text[: position if isinstance(position, int) else 0]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        return DefinitionError(f"not YAML: {getattr(error, 'reason', None) or error}", line, column)
    lines = text.splitlines()
    at_mark = lines[mark.line][mark.column : mark.column + 1] if mark.line < len(lines) else ""
    if at_mark == "\t":
        return DefinitionError("not YAML: a tab cannot indent; use blanks", mark.line + 1, mark.column + 1)
    return DefinitionError(f"not YAML: {error.problem}", mark.line + 1, mark.column + 1)
