"""YAML and JSON written by people, parsed to nodes and values with their places: flows, templates, settings.

The tree is built from the parser's events, one at a time, so that a hostile text is refused as soon as it is too deep
or too large: aliases count with everything they stand for. Reading takes time linear in the text.

Values are those of JSON: what looks like a date or like ``12:30`` stays text, ``1e3`` is a number, infinities and NaN
are refused, keys are texts and stand once in a map. A tag other than ``!!str`` is refused unless the caller has a
`TagReader` for it.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from emulator.kernel.phrases import Phrase

MOST_VALUES: Final = 100_000
"""Keys and values of one text, aliases counted in full."""

DEEPEST: Final = 100
"""Levels of lists and maps."""

LONGEST_NUMBER: Final = 300
"""Characters of a number."""

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


class UnreadableYaml(Exception):
    """A text that is not YAML, or uses a feature that is refused.

    ``line`` and ``column`` count from 1; ``field`` is the path of the value, such as ``steps[0].name``, "" when it is
    not known. ``is_syntax`` is true when the text is no YAML at all.
    """

    def __init__(
        self, problem: str, line: int = 1, column: int = 1, field: str = "", *, is_syntax: bool = False
    ) -> None:
        self.problem = problem
        self.line = line
        self.column = column
        self.field = field
        self.is_syntax = is_syntax
        super().__init__(problem)


class RepeatedKey(UnreadableYaml):
    """A map has the key ``field`` twice."""


@dataclass(slots=True)
class Node:
    """A piece of the text; ``line`` and ``column`` count from 1, ``weight`` is the number of nodes in it."""

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
        return self.plain and _WORDS.get(self.text, False) is None

    def value(self) -> str | int | float | bool | None:
        """Return the JSON value.

        Raises: UnreadableYaml when it is a number JSON does not have.
        """
        text = self.text
        if not self.plain:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if text[0] not in "+-.0123456789":
            return text
        if len(text) <= LONGEST_NUMBER and _INTEGER.match(text):
            return _integer(text)
        is_double = _DOUBLE.match(text) and ("." in text or "e" in text or "E" in text)
        number = float(text.replace("_", "")) if is_double and len(text) <= LONGEST_NUMBER else math.nan
        if math.isfinite(number):
            return number
        if is_double or _INTEGER.match(text) or _NO_NUMBER.match(text):
            raise UnreadableYaml("not a number JSON can hold", self.line, self.column)
        return text


def stays_text(text: str) -> bool:
    """Whether *text* without quotes is read as itself; ``1e3`` is a number, though not to libraries for YAML 1.1."""
    try:
        return Scalar(1, 1, text=text, plain=True).value() == text
    except UnreadableYaml:
        return False


@dataclass(slots=True)
class Sequence(Node):
    """A list."""

    items: tuple[Node, ...] = ()


@dataclass(slots=True)
class Table(Node):
    """A map: text keys, each once, in the order of the text."""

    entries: tuple[tuple[Scalar, Node], ...] = ()


TagReader = Callable[[str, Node], Node | None]
"""Takes a tag as written (``!Ref``) or in full (``tag:yaml.org,2002:int``) and the node it stands at, and returns what
the two mean together; None for a tag that is not known."""


def read_nodes(
    text: str, tags: TagReader | None = None, *, most_values: int = MOST_VALUES, deepest: int = DEEPEST
) -> Node | None:
    """Return the root of the one document in *text*, None when there is none.

    Raises: UnreadableYaml for text that is not YAML, for several documents, for a repeated key, and when the document
    is deeper or larger than the limits.
    """
    from yaml import YAMLError, parse  # slow to import, and most installations have no such text

    composer = _Composer(tags, most_values, deepest)
    try:
        for event in parse(_as_yaml(text), Loader=_loader()):
            composer.take(event)
    except YAMLError as error:
        raise _unreadable(error, text, composer.open_bracket()) from error
    except UnicodeEncodeError as error:
        raise UnreadableYaml("the text holds half a surrogate pair") from error
    return composer.root


def plain_value(node: Node) -> Any:
    """Return *node* as JSON value.

    Raises: UnreadableYaml for numbers that JSON does not have.
    """
    if isinstance(node, Scalar):
        return node.value()
    if isinstance(node, Sequence):
        return [plain_value(item) for item in node.items]
    assert isinstance(node, Table)
    return {key.text: plain_value(value) for key, value in node.entries}


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UnreadableYaml(Phrase("not {encoding} text", encoding=error.encoding), line, is_syntax=True) from error


Path = tuple[str, ...]
"""The keys that lead to a value; items of a list are called by their number from 0."""


class Mark(NamedTuple):
    """A place in a text, counted from 1."""

    line: int
    column: int


class Document(NamedTuple):
    """The value of a text, and where each part of it stands by its path: a member of a map where its key is."""

    value: Any
    marks: dict[Path, Mark]


def read_document(content: str | bytes, tags: TagReader | None = None) -> Document:
    """Return the value in *content*, each part with its line and column.

    Raises: UnreadableYaml.
    """
    root = read_nodes(content if isinstance(content, str) else _decoded(content), tags)
    marks: dict[Path, Mark] = {}
    return Document(None if root is None else _marked(root, (), marks), marks)


def _marked(node: Node, path: Path, marks: dict[Path, Mark]) -> Any:
    marks.setdefault(path, Mark(node.line, node.column))
    if isinstance(node, Scalar):
        return node.value()
    if isinstance(node, Sequence):
        return [_marked(item, (*path, str(number)), marks) for number, item in enumerate(node.items)]
    assert isinstance(node, Table)
    places = {}
    for key, value in node.entries:
        inner = (*path, key.text)
        marks[inner] = Mark(key.line, key.column)
        places[key.text] = _marked(value, inner, marks)
    return places


class _Composer:
    """Builds the tree from the parser's events; `root` is set when the document has ended."""

    def __init__(self, tags: TagReader | None, most_values: int, deepest: int) -> None:
        self.root: Node | None = None
        self._tags = tags
        self._most_values = most_values
        self._deepest = deepest
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

    def _error(self, problem: str, event: Any) -> UnreadableYaml:
        mark = event.start_mark
        return UnreadableYaml(problem, mark.line + 1, mark.column + 1, self._field())

    def open_bracket(self) -> UnreadableYaml | None:
        """Return the refusal of the innermost bracket that is open; None when there is none."""
        opened = self._open[-1][0] if self._open else None
        if opened is None or not opened.flow_style:
            return None
        mark, is_list = opened.start_mark, type(opened).__name__ == "SequenceStartEvent"
        problem = Phrase("the bracket {sign} is not closed", sign="[" if is_list else "{")
        return UnreadableYaml(problem, mark.line + 1, mark.column + 1, is_syntax=True)

    def _target(self, event: Any) -> Node:
        if any(opened.anchor == event.anchor for opened, _ in self._open):
            problem = "a value contains itself: no finished value has the anchor {name!r}"
            raise self._error(Phrase(problem, name=event.anchor), event)
        if event.anchor not in self._anchors:
            raise self._error(Phrase("no finished value has the anchor {name!r}", name=event.anchor), event)
        return self._anchors[event.anchor]

    def _scalar(self, event: Any) -> Node:
        mark, end = event.start_mark, event.end_mark
        quotes = 0 if event.style is None else 1
        as_it_is = mark.line == end.line and end.column - mark.column == len(event.value) + 2 * quotes
        plain = event.implicit[0] and event.tag is None
        inside = quotes if as_it_is and event.tag is None else None
        node = Scalar(mark.line + 1, mark.column + 1, text=event.value, plain=plain, inside=inside)
        return node if event.tag is None or event.tag in _STRING_TAGS else self._tagged(event, node)

    def _tagged(self, event: Any, node: Node) -> Node:
        meant = self._tags(event.tag, node) if self._tags is not None else None
        if meant is None:
            raise self._error(Phrase("the tag {tag} is not known", tag=event.tag), event)
        return meant

    def _enter(self, event: Any) -> None:
        if self._tags is None and event.tag not in _COLLECTION_TAGS:
            raise self._error(Phrase("the tag {tag} is not known", tag=event.tag), event)
        if len(self._open) >= self._deepest:
            raise self._error(Phrase("nested more than {most} levels deep", most=self._deepest), event)
        self._open.append((event, []))

    def _leave(self) -> None:
        event, nodes = self._open.pop()
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        node: Node
        if type(event).__name__ == "SequenceStartEvent":
            node = Sequence(line, column, items=tuple(nodes))
        else:
            entries = tuple(_entries(nodes, self._field))
            node = Table(line, column, entries=entries)
            nodes = [node for entry in entries for node in entry]
        node.weight += sum(child.weight for child in nodes)
        node.height += max((child.height for child in nodes), default=0)
        self._add(event, node if event.tag in _COLLECTION_TAGS else self._tagged(event, node))

    def _add(self, event: Any, node: Node) -> None:
        if type(event).__name__ != "AliasEvent" and event.anchor is not None:
            self._anchors[event.anchor] = node
        self._size += node.weight if type(event).__name__ == "AliasEvent" else 1
        if self._size > self._most_values:
            problem = "more than {most} values, aliases counted in full"
            raise self._error(Phrase(problem, most=self._most_values), event)
        if len(self._open) + node.height > self._deepest + 1:
            raise self._error(Phrase("nested more than {most} levels deep", most=self._deepest), event)
        if self._open:
            self._open[-1][1].append(node)
        else:
            self.root = node


def _join(path: str, key: str) -> str:
    return f"{path}.{key[:200]}" if path else key[:200]


def _entries(nodes: list[Node], field: Callable[[], str]) -> Iterator[tuple[Scalar, Node]]:
    """Pair keys with values and put in what ``<<`` refers to, behind the map's own keys, which win.

    *field* returns the path of the map, for refusals.
    """
    seen: set[str] = set()
    merged: list[Node] = []
    for key, value in zip(nodes[::2], nodes[1::2], strict=True):
        if not isinstance(key, Scalar):
            raise UnreadableYaml("a key must be text", key.line, key.column, field())
        if key.plain and key.text == "<<":
            merged.extend(value.items if isinstance(value, Sequence) else [value])
            continue
        if key.text in seen:
            raise RepeatedKey("this key stands twice in the map", key.line, key.column, _join(field(), key.text))
        seen.add(key.text)
        yield key, value
    for table in merged:
        if not isinstance(table, Table):
            raise UnreadableYaml("'<<' takes a map or a list of maps", table.line, table.column, field())
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
    import yaml  # already imported

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


_UNFINISHED = {
    "could not find expected ':'": "a name must be followed by ': '",
    "found unexpected end of stream": "a quoted text does not end",
}
"""Errors the parser reports after an unfinished name or text, which begins at the context mark; with our sentences."""


def _unreadable(error: Any, text: str, bracket: UnreadableYaml | None) -> UnreadableYaml:
    """Turn the parser's complaint into ours; at the end of the text it is about the *bracket* that is open.

    Characters that YAML forbids come without a mark.
    """
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        position = getattr(error, "position", 0)
        before = text[: position if isinstance(position, int) else 0]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        return UnreadableYaml(str(getattr(error, "reason", None) or error), line, column, is_syntax=True)
    lines = text.split("\n")
    if (begun := getattr(error, "context_mark", None)) and error.problem in _UNFINISHED:
        return UnreadableYaml(_UNFINISHED[error.problem], begun.line + 1, begun.column + 1, is_syntax=True)
    if bracket is not None and not "".join(lines[mark.line :]).strip():
        return bracket
    if mark.line >= len(lines):  # the parser adds an end of line that the text does not have
        return UnreadableYaml(str(error.problem), len(lines), len(lines[-1]) + 1, is_syntax=True)
    is_tab = lines[mark.line][mark.column : mark.column + 1] == "\t"
    problem = "a tab cannot indent; use spaces" if is_tab else str(error.problem)
    return UnreadableYaml(problem, mark.line + 1, mark.column + 1, is_syntax=True)


def short_functions(tag: str, node: Node) -> Node | None:
    """Read the short tags of templates: ``!Ref x`` is ``{"Ref": "x"}``, ``!Sub x`` is ``{"Fn::Sub": "x"}``.

    Tags of YAML's own that JSON has no type for (``!!timestamp``, ``!!binary``) leave the text.
    """
    core = tag.removeprefix("tag:yaml.org,2002:")
    if core != tag:
        if isinstance(node, Scalar) and core in {"null", "bool", "int", "float"}:
            return replace(node, plain=True)
        return node if isinstance(node, Scalar) and core in {"timestamp", "binary", "value"} else None
    name = tag.removeprefix("!")
    if not name or name == tag:
        return None
    inner = node
    if name == "GetAtt" and isinstance(node, Scalar):
        first, _, last = node.text.partition(".")
        parts = tuple(replace(node, text=part, plain=False) for part in (first, last))
        inner = Sequence(node.line, node.column, weight=3, height=2, items=parts)
    elif isinstance(node, Scalar):
        inner = replace(node, plain=False)
    name = name if name in {"Ref", "Condition"} else f"Fn::{name}"
    key = Scalar(node.line, node.column, text=name)
    entries = ((key, inner),)
    return Table(node.line, node.column, weight=inner.weight + 2, height=inner.height + 1, entries=entries)
