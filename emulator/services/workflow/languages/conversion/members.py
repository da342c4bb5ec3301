"""Converts the objects that mappings make to constructors and expressions of the new language.

The old language leaves out a member whose source finds nothing; in a constructor of the new one it would be null. So a
member that may be missing gets an object of its own, chosen by whether its source exists, which is merged with the
members that certainly exist: ``jsonMerge({...}, get({"true": {...}, "false": {}}, format("{}", THERE)))``.
"""

from collections.abc import Sequence
from typing import Any

from emulator.services.workflow.languages.conversion.expressions import Expression, Found, chosen, literal, quoted
from emulator.services.workflow.languages.statemachine.expressions import SUFFIX


class Made:
    """An object under construction: members in the order of their mappings, each a value or such an object."""

    def __init__(self) -> None:
        self._members: list[tuple[str, Any, str]] = []

    def put(self, keys: Sequence[str], value: Any, there: str) -> bool:
        """Set a nested member; the expression *there* is whether it exists (empty: always). Later ones win.

        Returns False when the old language would have kept more of an earlier value.
        """
        first, *rest = keys
        if not rest:
            if not there:
                self._members = [each for each in self._members if each[0] != first]
            self._members.append((first, value, there))
            return True
        last = next((each[1] for each in reversed(self._members) if each[0] == first), None)
        if isinstance(last, Made):
            return last.put(rest, value, there)
        inner = Made()
        self._members.append((first, inner, ""))
        inner.put(rest, value, there)
        return last is None

    @property
    def is_flat(self) -> bool:
        """Whether no member is set twice or has members of its own."""
        keys = {key for key, _, _ in self._members}
        return len(keys) == len(self._members) and not any(isinstance(value, Made) for _, value, _ in self._members)

    @property
    def is_sure(self) -> bool:
        """Whether every member always exists, and none is set twice."""
        keys = {key for key, _, _ in self._members}
        inner = all(not isinstance(value, Made) or value.is_sure for _, value, _ in self._members)
        return inner and len(keys) == len(self._members) and not any(there for _, _, there in self._members)

    @property
    def there(self) -> str:
        """An expression for whether any member exists; empty when one always does."""
        alternatives = [_there(value, there) for _, value, there in self._members]
        return "" if "" in alternatives else " || ".join(alternatives)

    def constructor(self) -> dict[str, Any]:
        """Return a constructor in which missing members are null."""
        made: dict[str, Any] = {}
        for key, value, _ in self._members:
            made.pop(key, None)
            made.pop(key + SUFFIX, None)
            if isinstance(value, Made):
                value = value.constructor()
            made |= {key + SUFFIX: value.text} if isinstance(value, Expression) else {key: value}
        return made

    def text(self, *, present: bool = False) -> str:
        """Return an expression for the object without missing members; *present*: some member is known to exist."""
        parts: list[str] = []
        sure: list[str] = []
        for key, value, there in self._members:
            needed = _there(value, there)
            entry = f"{quoted(key)}: {_text(value, present=bool(needed))}"
            if not needed or (present and len(self._members) == 1):
                sure.append(entry)
                continue
            if sure:
                parts.append(f"{{{', '.join(sure)}}}")
                sure = []
            parts.append(chosen(needed, f"{{{entry}}}", "{}"))
        if sure or not parts:
            parts.append(f"{{{', '.join(sure)}}}")
        return _merged(parts)

    def members(self) -> list[tuple[str, Found]]:
        """Return each member by its key."""
        found: dict[str, list[tuple[str, Any, str]]] = {}
        for each in self._members:
            found.setdefault(each[0], []).append(each)
        members = []
        for key, entries in found.items():
            whole = Made()
            whole._members = entries
            _, value, _ = entries[0]
            text = _text(value, present=True) if len(entries) == 1 else f"get({whole.text()}, {quoted(key)})"
            members.append((key, Found(text, whole.there)))
        return members


def _there(value: Any, there: str) -> str:
    return value.there if isinstance(value, Made) else there


def _text(value: Any, *, present: bool = False) -> str:
    if isinstance(value, Made):
        return value.text(present=present)
    return value.text if isinstance(value, Expression) else literal(value)


def _merged(parts: Sequence[str]) -> str:
    """Return an expression that merges objects, later ones winning, with little nesting of calls."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"jsonMerge({_merged(parts[:half])}, {_merged(parts[half:])})"
