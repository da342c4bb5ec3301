"""The values that paths of the old language are resolved in, and the expressions for them in the new language."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, Final, Protocol

from emulator.kernel.phrases import Phrase
from emulator.services.workflow.languages.conversion.expressions import Found, members, quoted
from emulator.services.workflow.languages.fdl.paths import EVERY

MOST_ALTERNATIVES: Final = 3
"""The most values that may be missing for which every combination gets an array, or a last state, of its own."""

_ERROR: Final = "$Context.Current.Error"


class Unsayable(Exception):
    """The new language has no expression for a source; the message says why."""


class Place(Protocol):
    """The value at the root of a path, such as a step's input or local."""

    def at(self, segments: Sequence[Any]) -> Found | None:
        """Return the expression for the value at *segments*, None when no value can ever be there.

        Raises: Unsayable.
        """
        ...


class MapAt:
    """An object at the path *base*; *sure* are members that it always has."""

    def __init__(self, base: str, sure: Iterable[str] = ()) -> None:
        self.base = base
        self._sure = frozenset(sure)

    def at(self, segments: Sequence[Any]) -> Found | None:
        """Return the path of the value at *segments*."""
        text = self.base + members(segments)
        if not segments or (len(segments) == 1 and segments[0] in self._sure):
            return Found(text)
        if len(segments) == 1 and isinstance(segments[0], str):
            return Found(text, self.has(segments[0]))
        return Found(text, f"{text} == {text}")  # nothing is not even equal to itself

    def has(self, key: str) -> str:
        """Return an expression for whether the object has a member."""
        return f"arrayContains(mapKeys({self.base}), {quoted(key)})"


class Nothing:
    """The local of a step that has none."""

    def at(self, segments: Sequence[Any]) -> Found | None:
        """Return the empty object for no segments, else None."""
        return None if segments else Found("{}")


class CaughtError:
    """``$local`` in errorMappings: the error that is caught."""

    def at(self, segments: Sequence[Any]) -> Found | None:
        """Return the corresponding member of the error in the new language."""
        if not segments:
            return Found(f'{{"error": {_ERROR}.Code, "cause": {_ERROR}.Detail}}')
        name = {"error": "Code", "cause": "Detail"}.get(str(segments[0]))
        return Found(f"{_ERROR}.{name}") if name and len(segments) == 1 else None


class Branches:
    """The locals of the branches of a parallel."""

    def __init__(self, branches: Sequence[MapAt]) -> None:
        self._branches = branches

    def at(self, segments: Sequence[Any]) -> Found | None:
        """Return the value in one branch, for an index, or an array of the values in all branches."""
        if not segments:
            return Found(f"toArray({', '.join(branch.base for branch in self._branches)})")
        first, *rest = segments
        if first is EVERY:
            check(rest)
            found = [each for branch in self._branches if (each := branch.at(rest)) is not None]
            return Found(_array(found))
        return self._branches[first].at(rest) if isinstance(first, int) and first < len(self._branches) else None


class Items:
    """The locals of the iterations of a foreach, each in a member ``Local`` when they are *wrapped*."""

    _BASE: Final = "$Output.Items"

    def __init__(self, *, wrapped: bool) -> None:
        self._wrapped = wrapped

    def at(self, segments: Sequence[Any]) -> Found | None:
        """Return a value in the local of one iteration, for an index, or the results of all iterations."""
        if not segments or tuple(segments) == (EVERY,):
            return Found(self._BASE)
        first, *rest = segments
        if first is EVERY:
            raise Unsayable(Phrase("no function takes a member out of each element of an array"))
        text = self._BASE + members([first, *(["Local"] if self._wrapped else []), *rest])
        return Found(text, f"{text} == {text}") if isinstance(first, int) else None


def _array(found: Sequence[Found]) -> str:
    """Return an array of those values that exist.

    Raises: Unsayable when too many may be missing.
    """
    unsure = [each for each in found if each.there]
    if not unsure:
        return f"toArray({', '.join(each.text for each in found)})"
    if len(unsure) > MOST_ALTERNATIVES:
        raise Unsayable(Phrase("more than {most} of its elements may be missing", most=MOST_ALTERNATIVES))
    arrays = []
    for present in product((True, False), repeat=len(unsure)):
        left = {each for each, is_there in zip(unsure, present, strict=True) if not is_there}
        key = ",".join(str(each).lower() for each in present)
        arrays.append(f"{quoted(key)}: [{', '.join(each.text for each in found if each not in left)}]")
    gaps = ",".join("{}" for _ in unsure)
    return f"get({{{', '.join(arrays)}}}, format({quoted(gaps)}, {', '.join(each.there for each in unsure)}))"


def check(segments: Iterable[Any]) -> None:
    """Check that *segments* have no wildcard and no index that counts from the end.

    Raises: Unsayable.
    """
    for each in segments:
        if each is EVERY or (isinstance(each, int) and each < 0):
            raise Unsayable(Phrase("a path has no wildcard and counts from the beginning"))
