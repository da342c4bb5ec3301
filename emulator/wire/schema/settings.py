"""The notation of settings: a text of the command line or the environment, or a value of the file of settings.

Readers raise ValueError with what was expected; whoever reads a setting knows its name and where it came from.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emulator.kernel.digits import read_digits
from emulator.kernel.phrases import Phrase, alternatives
from emulator.wire.schema.kinds import Flag, Folder, Items, Kind, MapOf, Number, OneOf, Ruled, Text, Time, Whole
from emulator.wire.schema.notation import Notation

Reader = Callable[[Any, Path], Any]
"""(value, folder that relative paths start from) -> the setting's value."""

_SWITCHES = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


class SettingValues(Notation[Reader]):
    """The form of settings."""

    def text(self, kind: Text) -> Reader:
        """Read a text of the right form; if the kind allows digits, a whole number in the file is read as text."""

        def read(value: Any, _: Path) -> str:
            if kind.digits and isinstance(value, int) and not isinstance(value, bool):
                value = str(value)
            if not isinstance(value, str) or not re.fullmatch(kind.form or ".*", value, re.DOTALL):
                raise ValueError(kind.expected or Phrase("a text"))
            return value

        return read

    def whole(self, kind: Whole) -> Reader:
        """Take a whole number, also as digits, or one of the words that stand for numbers."""
        longest = len(str(kind.high))

        def read(value: Any, _: Path) -> int:
            if isinstance(value, str) and value in kind.words:
                return kind.words[value]
            if isinstance(value, str):
                value = read_digits(value, longest)
            if not isinstance(value, int) or isinstance(value, bool) or not kind.allows(value):
                expected = Phrase("a whole number from {low} to {high}", low=kind.low, high=kind.high)
                raise ValueError(kind.expected or expected)
            return value

        return read

    def number(self, kind: Number) -> Reader:
        """Take a number, also as text."""
        low, high = kind.low, kind.high
        assert low is not None
        assert high is not None

        def read(value: Any, _: Path) -> float:
            try:
                number = float("nan" if isinstance(value, bool) else value)
            except (TypeError, ValueError, OverflowError):
                number = float("nan")
            if not low <= number <= high:  # also true for NaN
                raise ValueError(Phrase("a number from {low} to {high}", low=low, high=high))
            return number

        return read

    def flag(self, kind: Flag) -> Reader:
        """Read true or false, also written as text."""

        def read(value: Any, _: Path) -> bool:
            if isinstance(value, bool):
                return value
            if not isinstance(value, str) or value.lower() not in _SWITCHES:
                raise ValueError("true or false")
            return _SWITCHES[value.lower()]

        return read

    def one_of(self, kind: OneOf) -> Reader:
        """Read one of the allowed words."""

        def read(value: Any, _: Path) -> str:
            if value not in kind.choices:
                raise ValueError(alternatives(tuple(kind.choices)))
            return str(value)

        return read

    def time(self, kind: Time) -> Reader:
        """Take a time in ISO 8601, as milliseconds."""

        def read(value: Any, _: Path) -> int:
            from emulator.wire.dates import parse_iso  # seldom given

            try:
                return parse_iso(str(value))
            except ValueError:
                raise ValueError("a time such as 2027-01-01T00:00:00Z") from None

        return read

    def items(self, kind: Items) -> Reader:
        """Take a list, or a text with commas between its items."""
        expected = Phrase("an address or a list of addresses")

        def read(value: Any, _: Path) -> tuple[str, ...]:
            parts = value.split(",") if isinstance(value, str) else value
            if isinstance(parts, list) and all(isinstance(part, str) for part in parts):
                items = tuple(part.strip().strip("[]") for part in parts)
                if len(items) >= kind.least and all(map(_is_host, items)):
                    return items
            raise ValueError(expected)

        return read

    def map_of(self, kind: MapOf) -> Reader:
        """Take a mapping, or a text ``NAME=VALUE,NAME=VALUE``."""
        item = self.reader(kind.kind)
        expected = Phrase("a mapping of runtime names to executables (in the environment: NAME=PATH,NAME=PATH)")

        def read(value: Any, folder: Path) -> dict[str, Any]:
            if isinstance(value, str):
                pairs = [part.partition("=") for part in value.split(",")]
                if not all(mark for _, mark, _ in pairs):
                    raise ValueError(expected)
                value = {name.strip(): path.strip() for name, _, path in pairs}
            found = {}
            for name, path in value.items() if isinstance(value, dict) else [("", value)]:
                if not isinstance(name, str) or not name or not isinstance(path, str) or not path:
                    raise ValueError(expected)
                found[name] = item(path, folder)
            return found

        return read

    def folder(self, kind: Folder) -> Reader:
        """Read a path; a program may also be given by its bare name, which is looked up on ``PATH``."""
        if kind.program:
            return _executable

        def read(value: Any, folder: Path) -> Path:
            if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
                raise ValueError("the path of a folder")
            path = folder / _expanded(value)
            if kind.existing and not path.is_dir():
                raise ValueError("the path of an existing folder")
            return path

        return read

    def ruled(self, kind: Ruled) -> Reader:
        """Read a value of the inner kind, then check it with the rule."""
        first, rule = self.reader(kind.kind), kind.rule
        return lambda value, folder: rule(first(value, folder), "")


SETTINGS = SettingValues("settings")


def _expanded(text: str | Path) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise ValueError("a path without ~, because there is no such home folder") from error


def _executable(value: Any, folder: Path) -> Path:
    text = str(value)
    if "/" not in text:
        import shutil  # looked up on PATH only when a bare command name is given; slow to import for every start

        text = shutil.which(text) or text
    path = folder / _expanded(text)
    if not path.is_file():
        raise ValueError(Phrase("a mapping to existing executables (there is no {path})", path=text))
    return path


def written(kind: Kind, value: Any) -> str:
    """Return the text that stands for the *value* of a setting which is no flag."""
    if isinstance(kind, Time):
        from emulator.wire.dates import iso_millis  # seldom given

        return iso_millis(value)
    if isinstance(kind, Whole) and (words := [word for word, number in kind.words.items() if number == value]):
        return words[0]
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _is_host(text: str) -> bool:
    """Whether *text* may be an address, a network, a name or a pattern of names."""
    if "/" not in text:
        return re.fullmatch(r"[\w.:%*-]+", text) is not None
    from ipaddress import ip_network  # seldom needed

    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True
