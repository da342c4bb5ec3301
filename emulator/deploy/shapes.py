"""Readers for properties: each takes a part of the file and returns it in the terms of the API.

One table of fields serves every kind of file: the names are those of the API (``memorySize``), which ``s.yaml`` writes
as they are and templates begin with a capital letter (``MemorySize``). A property that is in no table is a problem.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from emulator.deploy.model import FileProblems, Problem, has_token
from emulator.kernel.frozen import frozen
from emulator.kernel.spelling import suggestion
from emulator.wire.yaml import Mark, Path, RepeatedKey, UnreadableYaml, read_document, short_functions

LARGEST_TEXT = 4 * 1024 * 1024
"""Characters of a file; definitions and handlers written into a template are far smaller."""


class Findings:
    """Collects what is wrong (`problems`) and what has no effect here (`notes`), to report all of it at once.

    With *may_lack_values* a secret that nobody has given is no problem; `unset` stands for it.
    """

    def __init__(self, *, may_lack_values: bool = False) -> None:
        self.may_lack_values = may_lack_values
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        self._wrong: set[Path] = set()

    def is_wrong(self, path: Path) -> bool:
        """Whether there is a problem at a place or within it."""
        return any(wrong[: len(path)] == path for wrong in self._wrong)

    def wrong(self, path: Path, problem: Problem) -> None:
        """Add a problem of the part with that path."""
        self._wrong.add(path)
        self.problems.append(problem)

    def check(self) -> None:
        """Raises: FileProblems if there are any."""
        if self.problems:
            raise FileProblems(self.problems)


@frozen(kw_only=False)
class LocatedValue:
    """A value, the path of keys that lead to it, and the places of all parts of the file."""

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
        """The place; that of the nearest part around it when this one came from a function or a variable."""
        ancestry = (self.path[:length] for length in range(len(self.path), -1, -1))
        return Mark(*next((self.marks[path] for path in ancestry if path in self.marks), (1, 1)))

    @property
    def is_unknown(self) -> bool:
        """Whether a variable or function that failed should have given the value."""
        return self.value is None and self.findings.is_wrong(self.path)

    def problem(self, text: str) -> None:
        """Say that something is wrong here, unless a variable or function left no value, which is reported already."""
        if not self.is_unknown:
            self.findings.wrong(self.path, self._finding(text))

    def note(self, text: str) -> None:
        """Say that something here has no effect."""
        self.findings.notes.append(self._finding(text))

    def _finding(self, text: str) -> Problem:
        return Problem(*self.mark, f"{'.'.join(self.path)}: {text}" if self.path else text)

    def with_value(self, value: Any) -> "LocatedValue":
        """Return the same place with another value."""
        return LocatedValue(value, self.path, self.marks, self.findings)

    def unreported(self) -> "LocatedValue":
        """Return the same place with findings of its own: its problems are reported by another reading."""
        return LocatedValue(self.value, self.path, self.marks, Findings())

    def member(self, key: str) -> "LocatedValue":
        """Return a member of a map; its value is None when there is none."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return LocatedValue(value, (*self.path, key), self.marks, self.findings)

    def entries(self) -> "list[LocatedValue]":
        """Return the members of a map; something else is a problem, nothing at all is an empty map."""
        if self.value is None:
            return []
        if not isinstance(self.value, dict):
            self.problem("must be a map")
            return []
        return [self.member(key) for key in self.value]

    def items(self) -> "list[LocatedValue]":
        """Return the items of a list; something else is a problem, nothing at all is an empty list."""
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
        """Return a text that is not empty; anything else is a problem."""
        if isinstance(self.value, str) and self.value:
            return self.value
        if isinstance(self.value, (bool, int, float)):
            return json.dumps(self.value)
        self.problem("must be a text")
        return ""


def whole(text: str, findings: Findings) -> LocatedValue:
    """Return all of a file's text.

    Raises: FileProblems.
    """
    if len(text) > LARGEST_TEXT:
        raise FileProblems([Problem(1, 1, f"the file is larger than {LARGEST_TEXT} characters")])
    try:
        document = read_document(text, short_functions)
    except RepeatedKey as error:
        raise FileProblems([Problem(error.line, error.column, f"{error.field} is given twice")]) from error
    except UnreadableYaml as error:
        problem = f"not valid YAML: {error.problem}" if error.is_syntax else error.problem
        raise FileProblems([Problem(error.line, error.column, problem)]) from error
    return LocatedValue(document.value, (), document.marks, findings)


Reader = Callable[[LocatedValue, bool], Any]
"""Reads a value; the second argument is true when names begin with a capital letter."""


@frozen(kw_only=False)
class Field:
    """A property: its name in the API, how it is read, and other spellings that files use."""

    name: str
    read: Reader
    required: bool = False
    also: tuple[str, ...] = ()

    def spellings(self, *, capital: bool) -> tuple[str, ...]:
        """Return the names under which a file may give it, the usual one first."""
        return (capitalised(self.name) if capital else self.name, *self.also)


def capitalised(name: str) -> str:
    """Return a name of the API as templates write it: ``caPort`` is ``CAPort`` there."""
    return _CAPITALS.get(name) or name[:1].upper() + name[1:]


_CAPITALS = {"caPort": "CAPort"}


def uncapitalised(name: str) -> str:
    """Return a name of a template or of an RPC API as ``s.yaml`` writes it."""
    return name[:1].lower() + name[1:]


def text(part: LocatedValue, capital: bool = False) -> str | None:
    """Read a text; a number or switch counts as what it is written as."""
    value = part.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    placeholder = isinstance(value, dict) and list(value.values()) == [None]
    part.problem(f"must be a text; {{{next(iter(value))}}} is a map of YAML" if placeholder else "must be a text")
    return None


def number(part: LocatedValue, capital: bool = False) -> int | float | str | None:
    """Read a number, also one written as text, as parameters are."""
    value = part.value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        if has_token(value):
            return value
        digits = value.strip()
        if len(digits) <= 20 and digits.isascii():
            try:
                return int(digits) if digits.lstrip("+-").isdigit() else _plain_float(digits)
            except ValueError:
                pass
    part.problem("must be a number")
    return None


def _plain_float(digits: str) -> float:
    if not all(character in "0123456789.+-" for character in digits):
        raise ValueError(digits)
    return float(digits)


_SWITCHES = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False, "1": True, "0": False}


def switch(part: LocatedValue, capital: bool = False) -> bool | str | None:
    """Read true or false, also written as text or number."""
    value = part.value
    if isinstance(value, str) and has_token(value):
        return value
    known = _SWITCHES.get(str(value).lower()) if isinstance(value, (str, int)) else None
    if known is not None:
        return known
    part.problem("must be true or false")
    return None


def anything(part: LocatedValue, capital: bool = False) -> Any:
    """Take a value as it is."""
    return part.value


def lowered(part: LocatedValue, capital: bool = False) -> Any:
    """Take a value whose keys are names of the API, in either spelling."""
    return _renamed(part.value, uncapitalised) if capital else part.value


def _renamed(value: Any, rename: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {rename(key): _renamed(item, rename) for key, item in value.items()}
    return [_renamed(item, rename) for item in value] if isinstance(value, list) else value


def json_text(part: LocatedValue, capital: bool = False) -> str | None:
    """Read a text, or a value whose JSON is that text."""
    if isinstance(part.value, (dict, list)):
        return json.dumps(part.value, ensure_ascii=False)
    return text(part, capital)


def payload(part: LocatedValue, capital: bool = False) -> str | None:
    """Read the JSON an execution starts with; null is nothing, as it is in the console's forms."""
    values = json_text(part, capital)
    return "" if values is not None and values.strip() in {"null", '""'} else values


def texts(part: LocatedValue, capital: bool = False) -> list[str]:
    """Read a list of texts; one text is a list of one."""
    items = [part] if isinstance(part.value, (str, int, float)) else part.items()
    return [read for item in items if (read := text(item, capital)) is not None]


def text_map(part: LocatedValue, capital: bool = False) -> dict[str, Any]:
    """Read a map whose keys are the user's own."""
    return {entry.name: text(entry, capital) for entry in part.entries()}


@frozen(kw_only=False)
class ListOf:
    """A reader of lists."""

    read: Reader

    def __call__(self, part: LocatedValue, capital: bool) -> list[Any]:
        """Read every item."""
        return [self.read(item, capital) for item in part.items()]


@frozen(kw_only=False)
class MapOf:
    """A reader of maps with known members."""

    table: tuple[Field, ...]

    def __call__(self, part: LocatedValue, capital: bool) -> dict[str, Any]:
        """Read every member."""
        return members(part, self.table, capital=capital)


@frozen(kw_only=False)
class Like:
    """A reader that also takes other forms than *usual*, the one in which `written` writes."""

    read: Reader
    usual: Reader

    def __call__(self, part: LocatedValue, capital: bool) -> Any:
        """Read whatever form there is."""
        return self.read(part, capital)


def map_of(*table: Field) -> Reader:
    """Make a reader of maps with known members."""
    return MapOf(table)


def written(read: Reader, value: Any, *, capital: bool) -> Any:
    """Return *value*, in the terms of the API, as a file gives it to be read by *read*: the table backwards."""
    match read:
        case Like():
            return written(read.usual, value, capital=capital)
        case ListOf() if isinstance(value, list):
            return [written(read.read, item, capital=capital) for item in value]
        case MapOf() if isinstance(value, Mapping):
            return written_members(read.table, value, capital=capital)
        case _ if read is lowered and capital:
            return _renamed(value, capitalised)
        case _:
            return value


def written_members(table: tuple[Field, ...], values: Mapping[str, Any], *, capital: bool) -> dict[str, Any]:
    """Return what `members` reads as *values*, in the order of the *table*; what has no value is left out."""
    return {
        field.spellings(capital=capital)[0]: written(field.read, values[field.name], capital=capital)
        for field in table
        if values.get(field.name) is not None
    }


def members(part: LocatedValue, table: tuple[Field, ...], *, capital: bool) -> dict[str, Any]:
    """Return the members of a map by their names in the API; null counts as absent.

    A member that is not in the *table*, and a required one that is missing, are problems. One that cannot be read is
    left out, with a problem reported by its reader.
    """
    known = {spelling: field for field in table for spelling in field.spellings(capital=capital)}
    values: dict[str, Any] = {}
    present = set()
    for entry in part.entries():
        field = known.get(entry.name)
        if field is None:
            entry.problem(f"there is no such property{suggestion(entry.name, list(known))}")
        elif entry.value is not None:
            present.add(field.name)
            if (value := field.read(entry, capital)) is not None:
                values[field.name] = value
        elif entry.is_unknown:
            present.add(field.name)
    if part.value is None or isinstance(part.value, dict):
        for field in table:
            if field.required and field.name not in present:
                part.problem(f"{field.spellings(capital=capital)[0]} is missing")
    return values


def noted(why: str) -> Reader:
    """Make a reader of what is accepted and has no effect; *why* becomes a note."""

    def read_noted(part: LocatedValue, capital: bool) -> None:
        part.note(why)

    return read_noted


def kept(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *values* without what has no value."""
    return {name: value for name, value in values.items() if value is not None}
