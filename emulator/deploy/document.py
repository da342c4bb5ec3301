"""YAML or JSON text -> plain values, and the line of each of them.

Short tags become the functions they stand for: ``!Ref x`` is ``{"Ref": "x"}``, ``!Sub x`` is ``{"Fn::Sub": "x"}``. What
looks like a date or like ``12:30`` stays text, because versions and times are written without quotes in these files.
"""

from collections.abc import Iterator
from typing import Any

from emulator.deploy.errors import FileProblems, Problem
from emulator.kernel.frozen import frozen

Path = tuple[str, ...]
Lines = dict[Path, int]

LARGEST_TEXT = 4 * 1024 * 1024
"""Characters of a file; definitions and handlers written into a template are far smaller."""

MOST_VALUES = 100_000
"""Values of a file, those behind an alias counted as often as they are used."""

DEEPEST = 100

_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str"))
_TEXT_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("timestamp", "value", "binary"))


@frozen(kw_only=False)
class Document:
    """The value of a file, and the line (from 1) of each part of it by its path of keys and indexes."""

    value: Any
    lines: Lines


def read(text: str) -> Document:
    """Return what *text* says.

    Raises: FileProblems.
    """
    import yaml  # slow to import

    if len(text) > LARGEST_TEXT:
        raise FileProblems([Problem(1, f"the file is larger than {LARGEST_TEXT} characters")])
    loader: Any = None
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        reader = _Reader(loader)
        return Document(reader.value(root, ()) if root is not None else None, reader.lines)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise FileProblems([Problem(line, f"not valid YAML: {error.problem or error.context}")]) from error
    except yaml.reader.ReaderError as error:
        before = text[: error.position if isinstance(error.position, int) else 0]
        raise FileProblems([Problem(before.count("\n") + 1, f"not valid YAML: {error.reason}")]) from error
    except RecursionError as error:
        raise FileProblems([Problem(1, f"nested more than {DEEPEST} levels deep")]) from error
    finally:
        if loader is not None:
            loader.dispose()


class _Reader:
    """Turns nodes into values; ``lines`` fills on the way."""

    def __init__(self, loader: Any) -> None:
        self.lines: Lines = {}
        self._loader = loader
        self._values = 0

    def value(self, node: Any, path: Path) -> Any:
        """Return the value of a node."""
        self.lines.setdefault(path, node.start_mark.line + 1)
        self._values += 1
        if self._values > MOST_VALUES:
            raise _problem(node, f"more than {MOST_VALUES} values, aliases counted in full")
        if len(path) > DEEPEST:
            raise _problem(node, f"nested more than {DEEPEST} levels deep")
        if node.id == "scalar":
            return self._scalar(node)
        content = self._sequence(node, path) if node.id == "sequence" else self._mapping(node, path)
        return _named(node.tag, content) if _is_short(node.tag) else content

    def _scalar(self, node: Any) -> Any:
        if _is_short(node.tag):
            return _named(node.tag, node.value)
        if node.tag in _TEXT_TAGS or (node.tag.endswith(":int") and ":" in node.value):
            return node.value
        if node.tag not in _PLAIN_TAGS:
            raise _problem(node, f"the tag {node.tag} is not known")
        try:
            found = self._loader.construct_object(node)
        except (ValueError, OverflowError):
            raise _problem(node, f"{node.value[:40]!r} is not a number that can be read") from None
        if isinstance(found, float) and (found != found or found in {float("inf"), float("-inf")}):
            raise _problem(node, f"{node.value[:40]!r} is not a number JSON can hold")
        return found

    def _sequence(self, node: Any, path: Path) -> list[Any]:
        return [self.value(item, (*path, str(number))) for number, item in enumerate(node.value)]

    def _mapping(self, node: Any, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, content in _pairs(node):
            if key.value in found:
                raise _problem(key, f"{key.value[:80]} is given twice")
            self.lines[(*path, key.value)] = key.start_mark.line + 1
            found[key.value] = self.value(content, (*path, key.value))
        return found


def _pairs(node: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Yield keys and values, those that ``<<`` brings in last and only where the map has no such key itself."""
    merged: list[Any] = []
    own = set()
    if depth > DEEPEST:
        raise _problem(node, "'<<' refers to itself")
    for key, content in node.value:
        if key.id != "scalar":
            raise _problem(key, "a key must be text")
        if key.tag.endswith(":merge"):
            merged += content.value if content.id == "sequence" else [content]
        else:
            own.add(key.value)
            yield key, content
    for table in merged:
        if table.id != "mapping":
            raise _problem(table, "'<<' takes a map or a list of maps")
        for key, content in _pairs(table, depth + 1):
            if key.value not in own:
                own.add(key.value)
                yield key, content


def _is_short(tag: str) -> bool:
    return tag.startswith("!") and len(tag) > 1


def _named(tag: str, content: Any) -> dict[str, Any]:
    name = tag[1:]
    if name == "GetAtt" and isinstance(content, str):
        content = content.split(".", 1)
    return {name if name in {"Ref", "Condition"} else f"Fn::{name}": content}


def _problem(node: Any, text: str) -> FileProblems:
    return FileProblems([Problem(node.start_mark.line + 1, text)])
