"""A part of a deployment file: a value that knows where it is written, and where to say what is wrong with it."""

from collections.abc import Iterator
from typing import Any

from emulator.deploy.document import Document, Lines, Path
from emulator.deploy.failures import FileProblems, Problem
from emulator.kernel.frozen import frozen


class Findings:
    """Collects what is wrong (`problems`) and what has no effect here (`notes`), so that all of it can be told."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []

    def check(self) -> None:
        """Raises: FileProblems if there are any."""
        if self.problems:
            raise FileProblems(self.problems)


@frozen(kw_only=False)
class Part:
    """A value, the path of keys that lead to it, and the lines of the file."""

    value: Any
    path: Path
    lines: Lines
    findings: Findings

    @property
    def name(self) -> str:
        """The last key of the path."""
        return self.path[-1] if self.path else ""

    @property
    def line(self) -> int:
        """The line; of the nearest part around it when this one came from a function or a variable."""
        return next((self.lines[path] for path in self._ancestry() if path in self.lines), 1)

    def _ancestry(self) -> Iterator[Path]:
        for length in range(len(self.path), -1, -1):
            yield self.path[:length]

    def problem(self, text: str) -> None:
        """Say that something is wrong here."""
        self.findings.problems.append(Problem(self.line, f"{'.'.join(self.path)}: {text}" if self.path else text))

    def note(self, text: str) -> None:
        """Say that something here has no effect."""
        self.findings.notes.append(Problem(self.line, f"{'.'.join(self.path)}: {text}"))

    def with_value(self, value: Any) -> "Part":
        """Return the same place with another value."""
        return Part(value, self.path, self.lines, self.findings)

    def member(self, key: str) -> "Part":
        """Return a member of a map; its value is None when there is none."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return Part(value, (*self.path, key), self.lines, self.findings)

    def entries(self) -> "list[Part]":
        """Return the members of a map; something else is a problem, nothing at all is an empty map."""
        if self.value is None:
            return []
        if not isinstance(self.value, dict):
            self.problem("must be a map")
            return []
        return [self.member(key) for key in self.value]

    def items(self) -> "list[Part]":
        """Return the items of a list; something else is a problem, nothing at all is an empty list."""
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            self.problem("must be a list")
            return []
        return [
            Part(value, (*self.path, str(number)), self.lines, self.findings) for number, value in enumerate(self.value)
        ]

    def text(self) -> str:
        """Return a text that is not empty; anything else is a problem."""
        if isinstance(self.value, str) and self.value:
            return self.value
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return str(self.value)
        self.problem("must be a text")
        return ""


def whole(document: Document, findings: Findings) -> Part:
    """Return all of a file."""
    return Part(document.value, (), document.lines, findings)


def suggestion(name: str, known: Iterator[str] | list[str]) -> str:
    """Return ``; did you mean X?`` when one of *known* is near."""
    import difflib  # only for messages

    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
