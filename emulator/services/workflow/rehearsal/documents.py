"""Reads files of cases and mocks, in YAML or JSON; mistakes are reported with their places."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from emulator.kernel.phrases import Phrase, phrase
from emulator.services.workflow.engine.language import Program
from emulator.services.workflow.engine.model import Task, all_steps
from emulator.services.workflow.rehearsal.answers import named_by, read_mock
from emulator.services.workflow.rehearsal.names import names_of, nearest
from emulator.services.workflow.rehearsal.replies import doubts_of_task
from emulator.wire.answers import Script, action_key
from emulator.wire.yaml import Node, Scalar, Sequence, Table, UnreadableYaml, plain_value, read_nodes

MOST_VALUES: Final = 2_000_000
"""The most values in one file."""


class CaseError(Exception):
    """An invalid file: what is wrong, and where; lines and columns count from 1, line 0 means the file as a whole."""

    def __init__(self, file: Path, message: str, line: int = 1, column: int = 1) -> None:
        self.file = file
        self.message = message
        self.line = line
        self.column = column
        place = f"{file}:{line}:{column}" if line else f"{file}"
        super().__init__(Phrase("{place}: {message}", place=place, message=phrase(message)))


def reason_of(error: Exception) -> Phrase:
    """Return why a file cannot be read, without the errno of the system's error."""
    return phrase(getattr(error, "strerror", None) or str(error))


class DocumentReader:
    """Reads the parts of a file. Every method that reads raises CaseError."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def root(self) -> Node | None:
        """Return the root of the file."""
        try:
            return read_nodes(self._file.read_text(encoding="utf-8"), most_values=MOST_VALUES)
        except (OSError, UnicodeDecodeError) as error:
            reason = reason_of(error)
            raise CaseError(self._file, Phrase("the file cannot be read: {reason}", reason=reason), 0) from error
        except UnreadableYaml as error:
            raise CaseError(self._file, error.problem, error.line, error.column) from error

    def members(self, node: Node | None, known: tuple[str, ...], what: str) -> dict[str, Node]:
        """Return the members of a map, which must all be *known*; *what* names the map in messages."""
        for key, _ in self.entries(node, what):
            if key.text not in known:
                hint = nearest(key.text, list(known))
                self.refuse(key, Phrase("{what} has no member {name!r}; {hint}", what=what, name=key.text, hint=hint))
        return {key.text: value for key, value in self.entries(node, what)}

    def entries(self, node: Node | None, what: str) -> tuple[tuple[Scalar, Node], ...]:
        """Return the entries of a map; an absent value has none."""
        if node is None:
            return ()
        if not isinstance(node, Table):
            self.refuse(node, Phrase("{what} is a map", what=what))
        return node.entries

    def items(self, node: Node | None) -> tuple[Node, ...]:
        """Return the elements of a list, or a single value as a list of one."""
        if node is None:
            return ()
        return node.items if isinstance(node, Sequence) else (node,)

    def object(self, node: Node | None) -> dict[str, Any]:
        """Return the value of an input, which must be a map."""
        value = {} if node is None else plain_value(node)
        if not isinstance(value, dict):
            self.refuse(node, "input is a map")
        return value

    def text(self, node: Node) -> str:
        """Return a text."""
        if not isinstance(node, Scalar):
            self.refuse(node, "a text is needed here")
        return node.text

    def refuse(self, node: Node | None, message: str) -> NoReturn:
        """Raise a CaseError that points at *node*."""
        raise CaseError(self._file, message, *((node.line, node.column) if node is not None else (1, 1)))


class MockReader(DocumentReader):
    """Reads the mocks of a flow; answers that no integration gives go to ``doubts``, or are errors with *strict*."""

    def __init__(self, file: Path, program: Program, *, strict: bool = False) -> None:
        super().__init__(file)
        self._strict = strict
        self._names = names_of(program)
        self._known = {_key(name) for name in self._names}
        tasks = (step for step in all_steps(program.steps) if isinstance(step, Task))
        self._tasks = [(task, {_key(name) for name in named_by(task, task.written_target())}) for task in tasks]
        self.doubts: list[str] = []

    def scripts(self, node: Node | None) -> Mapping[str, Script]:
        """Return the answers by the names of the mocks."""
        scripts: dict[str, Script] = {}
        for key, value in self.entries(node, "mocks"):
            name = _key(key.text)
            if name not in self._known:
                hint = nearest(key.text, self._names)
                self.refuse(
                    key, Phrase("no task or function of the flow is named {name!r}; {hint}", name=key.text, hint=hint)
                )
            try:
                scripts[name] = read_mock(plain_value(value))
            except ValueError as error:
                self.refuse(value, str(error))
            self._doubt(key, name, scripts[name])
        return scripts

    def _doubt(self, key: Scalar, name: str, script: Script) -> None:
        found = dict.fromkeys(
            doubt for task, names in self._tasks if name in names for doubt in doubts_of_task(task, script)
        )
        for doubt in found:
            if self._strict:
                self.refuse(key, doubt)
            place = f"{self._file}:{key.line}:{key.column}"
            self.doubts.append(Phrase("{place}: {message}", place=place, message=doubt))


def _key(name: str) -> str:
    return action_key(name) if ":" in name else name


def read_mock_file(file: Path, program: Program) -> list[str]:
    """Read a file of mocks for the tasks of *program*; return messages about answers that no integration gives.

    Raises: CaseError.
    """
    reader = MockReader(file, program)
    reader.scripts(reader.root())
    return reader.doubts
