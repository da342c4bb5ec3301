"""Advice for wrong indentation: in text that is no valid YAML, and for fields at the wrong level.

A line that cannot be parsed is compared with the lines above; a field that is unknown at its level, and known inside
the value right above it, was meant to be inside that value.
"""

from collections.abc import Collection, Iterator
from typing import Final

from emulator.kernel.phrases import Phrase, alternatives
from emulator.wire.schema.kinds import Items, Kind, Shape, Tagged, bare
from emulator.wire.yaml import Scalar, Table, UnreadableYaml

_CAUSED_BY_INDENTATION: Final = (
    Phrase("did not find expected key"),
    Phrase("did not find expected '-' indicator"),
    Phrase("mapping values are not allowed in this context"),
    Phrase("block sequence entries are not allowed in this context"),
    Phrase("a name must be followed by ': '"),
)
"""The messages of libyaml for lines whose indentation level was not begun above."""

OTHERS: Final = (
    Phrase("did not find expected node content"),
    Phrase("did not find expected ',' or ']'"),
    Phrase("did not find expected ',' or '}'"),
    Phrase("did not find expected <document start>"),
    Phrase("did not find expected alphabetic or numeric character"),
    Phrase("found character that cannot start any token"),
    Phrase("a quoted text does not end"),
    Phrase("found unexpected document indicator"),
    Phrase("found unknown escape character"),
    Phrase("found undefined tag handle"),
    Phrase("a tab cannot indent; use spaces"),
    Phrase("control characters are not allowed"),
)
"""The other messages of libyaml that users meet."""


def not_yaml(error: UnreadableYaml, text: str) -> Phrase:
    """Return a message about *text*, which is no valid YAML, with the levels that the line could have had."""
    problem = Phrase(error.problem)
    lines = text.split("\n")
    if problem in _CAUSED_BY_INDENTATION and error.line <= len(lines):
        levels = sorted(set(_levels(lines[: error.line - 1])))
        here = _indent(lines[error.line - 1])
        if levels and here not in levels:
            said = "not YAML: {problem}; the line is indented by {here}, lines above it by {levels}"
            above = alternatives([str(level) for level in levels])
            return Phrase(said, problem=problem, here=here, levels=above)
    return Phrase("not YAML: {problem}", problem=problem)


def _levels(lines: list[str]) -> Iterator[int]:
    """Yield the columns of the maps and lists that are still open at the last of *lines*."""
    inside = None
    for line in reversed(lines):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        level = _indent(line)
        if inside is None or level < inside:
            inside = level
            yield level
            while text.startswith("- "):
                rest = text[2:].lstrip()
                level += len(text) - len(rest)
                text = rest
                yield level


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def indentation(table: Table, key: Scalar, shape: Shape | None, known: Collection[str]) -> str:
    """Return advice for the unknown *key* of a *table*, empty when the value above it has no such field either."""
    keys = [each for each, _ in table.entries]
    above = next((each.text for each in reversed(keys[: keys.index(key)]) if each.text in known), None)
    field = next((each for each in shape or () if each.name == above), None)
    if field is None or key.text not in _inside(field.kind):
        return ""
    return Phrase("indent it more if it belongs to {name!r} above", name=above)


def _inside(kind: Kind) -> set[str]:
    """Return the names of the fields inside a value of *kind*."""
    kind = bare(kind)
    if isinstance(kind, Items):
        return _inside(kind.kind)
    if isinstance(kind, Tagged):
        return {name for shape in kind.shapes.values() for name in _inside(shape)}
    return {each.name for each in kind} if isinstance(kind, Shape) else set()
