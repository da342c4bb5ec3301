"""Values of a file with their places, and the problems found in them."""

import json
import pathlib
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

from emulator.deploy.model import FileProblems, Problem
from emulator.deploy.placeholders import placeholders_around
from emulator.kernel.frozen import frozen
from emulator.kernel.phrases import Phrase, phrase
from emulator.wire.yaml import Mark, Path, RepeatedKey, UnreadableYaml, read_document, short_functions

LARGEST_TEXT = 4 * 1024 * 1024
"""The longest file in characters; definitions and handlers written into a template are far shorter."""


_TELLING = 6
"""The beginning of a concealed line, of at least this many characters, is not repeated in messages."""


class Findings:
    """Collects `problems` and `notes` about properties without effect, to report all of them at once.

    With *may_lack_values* a secret that was not given is no problem; `unset` stands for it. *within* is the folder
    whose files may be read; None allows any.
    """

    def __init__(self, *, may_lack_values: bool = False, within: pathlib.Path | None = None) -> None:
        self.may_lack_values = may_lack_values
        self.within = within
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        self._wrong: set[Path] = set()
        self._concealed: dict[str, str] = {}

    def conceal(self, name: str, text: str) -> None:
        """Keep the lines of *text*, the content of the file *name*, out of all messages."""
        lines = [line for each in text.splitlines() if len(line := each.strip()) >= _TELLING]
        self._concealed |= {form: name for line in lines for form in (line, json.dumps(line)[1:-1], repr(line)[1:-1])}

    def shown(self, text: str) -> str:
        """Return a message in which parts of concealed files are replaced by the names of the files.

        A phrase stays a phrase if replacing them in its fields is enough.
        """
        if isinstance(text, Phrase) and text.fields:
            fields = {name: self.shown(each) if isinstance(each, str) else each for name, each in text.fields.items()}
            told = Phrase(text.template, **fields)
            return told if not any(self._repeated(told)) else self._shown(told)
        return text if not any(self._repeated(text)) else self._shown(text)

    def _shown(self, text: str) -> str:
        said, end, last = "", 0, ""
        for start, stop, name in sorted(self._repeated(text)):
            between = text[end:start]
            if start >= end and (between.replace("\\n", "").strip() or name != last):
                said += f"{between}(contents of {name})"
            end, last = max(end, stop), name
        return said + text[end:]

    def _repeated(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield (start, end, file name) of parts of *text* that repeat a concealed line's beginning; may overlap."""
        for line, name in self._concealed.items():
            start = text.find(line[:_TELLING])
            while start >= 0:
                same = (mine == theirs for mine, theirs in zip(line, text[start:], strict=False))
                yield start, start + sum(takewhile(bool, same)), name
                start = text.find(line[:_TELLING], start + 1)

    def is_wrong(self, path: Path) -> bool:
        """Whether there is a problem at a path or below it."""
        return any(wrong[: len(path)] == path for wrong in self._wrong)

    def wrong(self, path: Path, problem: Problem) -> None:
        """Add a problem of the part at that path."""
        self._wrong.add(path)
        self.problems.append(problem)

    def check(self) -> None:
        """Check that there are no problems.

        Raises: FileProblems.
        """
        if self.problems:
            raise FileProblems(self.problems)


@frozen(kw_only=False)
class LocatedValue:
    """A value in a file, its path of keys, and the places of all parts of the file."""

    value: Any
    path: Path
    marks: Mapping[Path, tuple[int, int]]
    findings: Findings

    @property
    def name(self) -> str:
        """The last key of the path."""
        return self.path[-1] if self.path else ""

    @property
    def mark(self) -> Mark:
        """The place; for a value made by a function or variable, that of the nearest enclosing part."""
        ancestry = (self.path[:length] for length in range(len(self.path), -1, -1))
        return Mark(*next((self.marks[path] for path in ancestry if path in self.marks), (1, 1)))

    @property
    def is_unknown(self) -> bool:
        """Whether the value is missing because a variable or function failed."""
        return self.value is None and self.findings.is_wrong(self.path)

    def problem(self, text: str, near: str = "") -> None:
        """Report a problem at this place, unless the value is missing because of a problem already reported.

        *near* is what `emulator.kernel.spelling` suggests.
        """
        if not self.is_unknown:
            self.findings.wrong(self.path, self._finding(text, near))

    def note(self, text: str) -> None:
        """Note that this part of the file has no effect."""
        self.findings.notes.append(self._finding(text))

    def _finding(self, text: str, near: str = "") -> Problem:
        place = f"{'.'.join(self.path)}: " if self.path else ""
        said = Phrase("{place}{problem}{near}", place=place, problem=phrase(text), near=near)
        return Problem(*self.mark, self.findings.shown(said))

    def with_value(self, value: Any) -> "LocatedValue":
        """Return the same place with another value."""
        return LocatedValue(value, self.path, self.marks, self.findings)

    def unreported(self) -> "LocatedValue":
        """Return the same place with separate findings, when another reading reports its problems."""
        return LocatedValue(self.value, self.path, self.marks, Findings(within=self.findings.within))

    def member(self, key: str) -> "LocatedValue":
        """Return a member of a map; its value is None when there is none."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return LocatedValue(value, (*self.path, key), self.marks, self.findings)

    def entries(self) -> "list[LocatedValue]":
        """Return the members of a map, none for null; any other value is a problem."""
        if self.value is None:
            return []
        if not isinstance(self.value, dict):
            self.problem("must be a map")
            return []
        return [self.member(key) for key in self.value]

    def named(self) -> "LocatedValue":
        """Return a list of names, or of maps with a ``name``, as a map; any other value as it is."""
        if not isinstance(self.value, list):
            return self
        named: dict[str, Any] = {}
        names: list[str] = []
        for item in self.items():
            own = item.value
            name = own.get("name") if isinstance(own, dict) else own
            if not isinstance(name, str):
                item.problem("must be a name, or a map with a name")
            elif name in named:
                item.problem(Phrase("{name} is given twice", name=name))
            else:
                named[name] = {key: own[key] for key in own if key != "name"} if isinstance(own, dict) else None
            names.append(name if isinstance(name, str) else "")
        depth = len(self.path)
        marks = dict(self.marks)
        for path, mark in self.marks.items():
            if len(path) > depth and path[:depth] == self.path:
                marks[*self.path, names[int(path[depth])], *path[depth + 1 :]] = mark
        return LocatedValue(named, self.path, marks, self.findings)

    def items(self) -> "list[LocatedValue]":
        """Return the items of a list, none for null; any other value is a problem."""
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            self.problem("must be a list")
            return []
        return [
            LocatedValue(value, (*self.path, str(number)), self.marks, self.findings)
            for number, value in enumerate(self.value)
        ]

    def text(self) -> str:
        """Return a text that is not empty; any other value is a problem, and ""."""
        if isinstance(self.value, str) and self.value:
            return self.value
        if isinstance(self.value, (bool, int, float)):
            return json.dumps(self.value)
        self.problem("must be a text")
        return ""


def whole(text: str, findings: Findings) -> LocatedValue:
    """Return the value of a file's whole text.

    Raises: FileProblems.
    """
    if len(text) > LARGEST_TEXT:
        raise FileProblems([Problem(1, 1, Phrase("the file is larger than {most} characters", most=LARGEST_TEXT))])
    try:
        document = read_document(text, short_functions)
    except RepeatedKey as error:
        raise FileProblems(
            [Problem(error.line, error.column, Phrase("{name} is given twice", name=error.field))]
        ) from error
    except UnreadableYaml as error:
        if unfilled := placeholders_around(text, error.line):
            raise FileProblems(unfilled) from error
        problem = Phrase("not valid YAML: {reason}", reason=phrase(error.problem)) if error.is_syntax else error.problem
        raise FileProblems([Problem(error.line, error.column, problem)]) from error
    return LocatedValue(document.value, (), document.marks, findings)
