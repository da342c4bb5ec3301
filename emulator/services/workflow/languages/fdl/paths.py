"""Paths such as ``$input.events[0].key``, ``$local[*].name`` or ``$.status``.

A path is compiled when the definition is read, and evaluated any number of times. The roots a path may start with
depend on its place: ``$input``, ``$local`` and ``$context`` in mappings; ``$``, the input of the step, in conditions,
waits, collections and service parameters.

For the engine: ``path.find({"input": step_input, "local": ..., "context": ...})`` for any root, where ``$`` reads
``input``; or ``path.find_in(step_input)`` for a path on ``$``. Both return `MISSING` when no value is there, and
return parts of the given data uncopied: JSON values are never changed in place.

Source: inputs and outputs, Serverless Workflow guide.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from typing import Any, Final, Literal

from emulator.kernel.frozen import field, frozen
from emulator.kernel.phrases import Phrase, alternatives
from emulator.services.workflow.languages.terms import Evaluation, Term
from emulator.services.workflow.languages.values import MISSING, ExpressionError


class Wildcard(Enum):
    """The type of `EVERY`."""

    EVERY = "*"


EVERY: Final = Wildcard.EVERY
"""The segment ``[*]`` or ``.*``: each element of an array, each value of an object."""

Segment = str | int | Literal[Wildcard.EVERY]

STEP_ROOTS: Final = ("$",)
"""The root of conditions, waits, collections and service parameters."""

MAPPING_ROOTS: Final = ("$input", "$local", "$context")
"""The roots of mapping sources."""

_ROOT = re.compile(r"\$[A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_INDEX = re.compile(r"-?[0-9]{1,9}")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@frozen
class Path(Term):
    """A compiled path. Two paths are equal when they mean the same; ``text`` is the form in the definition."""

    text: str = field(compare=False)
    root: str
    segments: tuple[Segment, ...] = ()

    @classmethod
    def parse(cls, text: str, roots: Collection[str] = MAPPING_ROOTS) -> "Path":
        """Compile *text*, which must start with one of *roots* and be a path to its end.

        Raises: ExpressionError.
        """
        path, end = scan_path(text, 0, roots)
        if end < len(text):
            raise ExpressionError(Phrase("unexpected {text!r} in the path", text=text[end]), end)
        return path

    @property
    def collects(self) -> bool:
        """Whether the path has a wildcard and so always yields an array."""
        return EVERY in self.segments

    def value(self, evaluation: Evaluation) -> Any:
        """Return the value in the input of a choice, or `MISSING`."""
        return self.find_in(evaluation.find(self.root))

    def find(self, scope: Mapping[str, Any]) -> Any:
        """Return the value in *scope* (keys ``input``, ``local``, ``context``; ``$`` reads ``input``), or `MISSING`."""
        return self.find_in(scope.get(self.root[1:] or "input", MISSING))

    def find_in(self, document: Any) -> Any:
        """Return the value below *document*, which takes the place of the root, or `MISSING`.

        With a wildcard the answer is always a list, empty when nothing matches: one flat list, however many
        wildcards there are, without the elements that lack the key asked for.
        """
        if self.collects:
            return _collect(document, self.segments)
        value = document
        for segment in self.segments:
            value = _child(value, segment)
            if value is MISSING:
                return MISSING
        return value

    def __str__(self) -> str:
        return self.root + "".join(_print_segment(segment) for segment in self.segments)


def scan_path(text: str, start: int, roots: Collection[str]) -> tuple[Path, int]:
    """Compile the longest path in *text* from *start* on and return it with the offset behind it.

    Raises: ExpressionError.
    """
    match = _ROOT.match(text, start)
    if match is None or match.group() not in roots:
        beginning = match.group() if match else text[start : start + 1]
        said = "a path must start with {names} here, not {text!r}"
        raise ExpressionError(Phrase(said, names=alternatives(tuple(roots)), text=beginning), start)
    position = match.end()
    segments: list[Segment] = []
    while position < len(text) and text[position] in ".[":
        scan = _scan_member if text[position] == "." else _scan_bracket
        segment, position = scan(text, position)
        segments.append(segment)
    return Path(text=text[start:position], root=match.group(), segments=tuple(segments)), position


def _scan_member(text: str, dot: int) -> tuple[Segment, int]:
    if text.startswith("*", dot + 1):
        return EVERY, dot + 2
    name = _NAME.match(text, dot + 1)
    if name is None:
        raise ExpressionError("a name of letters, digits, '_' or '-' must follow '.'; write other keys as ['key']", dot)
    return name.group(), name.end()


def _scan_bracket(text: str, bracket: int) -> tuple[Segment, int]:
    segment: Segment
    inside = bracket + 1
    if text.startswith("*", inside):
        segment, end = EVERY, inside + 1
    elif index := _INDEX.match(text, inside):
        segment, end = int(index.group()), index.end()
    elif quoted := _QUOTED.match(text, inside):
        segment, end = _ESCAPE.sub(r"\1", quoted[1] if quoted[1] is not None else quoted[2]), quoted.end()
    else:
        raise ExpressionError("brackets hold an index, '*' or a key in quotes", inside)
    if not text.startswith("]", end):
        raise ExpressionError(Phrase("{what} expected", what="']'"), end)
    return segment, end + 1


def _child(value: Any, segment: Segment) -> Any:
    if isinstance(segment, str):
        return value.get(segment, MISSING) if isinstance(value, dict) else MISSING
    if isinstance(segment, int) and isinstance(value, list) and -len(value) <= segment < len(value):
        return value[segment]
    return MISSING


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, list):
        return value
    return value.values() if isinstance(value, dict) else ()


def _collect(document: Any, segments: tuple[Segment, ...]) -> list[Any]:
    values = [document]
    for segment in segments:
        if segment is EVERY:
            values = [child for value in values for child in _children(value)]
        else:
            values = [child for value in values if (child := _child(value, segment)) is not MISSING]
    return values


def _print_segment(segment: Segment) -> str:
    if segment is EVERY:
        return "[*]"
    if isinstance(segment, int):
        return f"[{segment}]"
    if _NAME.fullmatch(segment):
        return f".{segment}"
    escaped = segment.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{escaped}']"
