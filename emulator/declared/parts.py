"""A part of the resources in ``localyun.yaml``, which knows where it is written."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from emulator.config import FILE_NAME, Config, ConfigError
from emulator.kernel.frozen import frozen

Lines = Mapping[tuple[str, ...], int]


@frozen(kw_only=False)
class Part:
    """A value of the file, the path of keys that lead to it, and the lines of all parts."""

    value: Any
    path: tuple[str, ...]
    lines: Lines

    @property
    def name(self) -> str:
        """The last key of the path."""
        return self.path[-1]

    def error(self, reason: str) -> ConfigError:
        """Return an error that names file, line and path."""
        known = next(path for path in self._ancestry() if path in self.lines)
        return ConfigError(f"{FILE_NAME}:{self.lines[known]}: {'.'.join(self.path)}: {reason}")

    def _ancestry(self) -> Iterator[tuple[str, ...]]:
        """Yield the own path and those around it: what an alias or a merge brought in has no line of its own."""
        for length in range(len(self.path), 0, -1):
            yield self.path[:length]

    def entries(self, what: str) -> list["Part"]:
        """Return the members of a mapping; an empty value has none.

        Raises: ConfigError saying that *what* was expected.
        """
        if self.value is None:
            return []
        if not isinstance(self.value, dict):
            raise self.error(f"must be {what}")
        return [Part(value, (*self.path, str(key)), self.lines) for key, value in self.value.items()]

    def members(self, what: str, allowed: Iterable[str]) -> dict[str, "Part"]:
        """Return the members of a mapping by name.

        Raises: ConfigError, for a name that is not *allowed* too.
        """
        names = list(allowed)
        found = {member.name: member for member in self.entries(what)}
        for name, member in found.items():
            if name not in names:
                raise member.error(f"there is no such attribute{_suggestion(name, names)}")
        return found

    @property
    def text(self) -> str:
        """The value as a parameter of the API carries it: texts and numbers as written, the rest as JSON.

        Raises: ConfigError when there is no value.
        """
        if self.value is None:
            raise self.error("needs a value")
        return self.value if isinstance(self.value, str) else json.dumps(self.value, default=str)


def section(config: Config, key: str) -> Part:
    """Return the resources below a key of the top level."""
    return Part(config.resources.get(key), (key,), config.resource_lines)


def _suggestion(name: str, allowed: list[str]) -> str:
    import difflib  # only for an error message

    near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""
