"""Matches a value with an expectation, which may be partial, and describes the differences.

A map is matched member by member and may have more members, a list item by item. A text may be ``any`` (any value but
null), ``absent`` (no such member), ``1..5``, ``1..`` or ``..5`` (a number in that range) or ``/pattern/`` (a text in
which the pattern is found); ``{is: VALUE}`` means exactly VALUE, whatever its form.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from emulator.kernel.phrases import Phrase

_RANGE: Final = re.compile(r"(-?\d+(?:\.\d+)?)?\.\.(-?\d+(?:\.\d+)?)?\Z")
_IT: Final = Phrase("it")


def problem_of(expected: Any) -> str:
    """Return why an expectation is invalid, empty when it is valid."""
    if isinstance(expected, dict):
        return next(filter(None, map(problem_of, expected.values())), "")
    if isinstance(expected, list):
        return next(filter(None, map(problem_of, expected)), "")
    if isinstance(expected, str) and _is_pattern(expected):
        try:
            re.compile(expected[1:-1])
        except re.error as error:
            return Phrase("{pattern} is not a valid pattern: {reason}", pattern=expected, reason=error)
    return ""


def differences(expected: Any, found: Any, path: str = "") -> Iterator[str]:
    """Yield a message for each place where *found* differs from *expected*; *path* is the place of both."""
    if isinstance(expected, dict):
        yield from _of_map(expected, found, path)
    elif isinstance(expected, list):
        if not isinstance(found, list):
            yield _told(path, expected, found)
        elif len(found) != len(expected):
            numbers = {"found": len(found), "expected": len(expected)}
            yield Phrase("{what} has {found} items, expected {expected}", what=path or _IT, **numbers)
        else:
            for number, (wanted, item) in enumerate(zip(expected, found, strict=True)):
                yield from differences(wanted, item, f"{path}[{number}]")
    elif not _fits(expected, found):
        yield _told(path, expected, found)


def _of_map(expected: dict[str, Any], found: Any, path: str) -> Iterator[str]:
    if expected.keys() == {"is"}:
        if not _same(expected["is"], found):
            yield _told(path, expected["is"], found)
        return
    if not isinstance(found, dict):
        yield _told(path, expected, found)
        return
    for name, wanted in expected.items():
        inner = f"{path}.{name}" if path else name
        if wanted == "absent":
            if name in found:
                yield Phrase("{what} is {found}, expected none", what=inner, found=_text(found[name]))
        elif name not in found:
            yield Phrase("{what} is not there, expected {expected}", what=inner, expected=_text(wanted))
        else:
            yield from differences(wanted, found[name], inner)


def _fits(expected: Any, found: Any) -> bool:
    if not isinstance(expected, str):
        return _same(expected, found)
    if expected == "any":
        return found is not None
    limits = _RANGE.match(expected) if expected != ".." else None
    if limits is not None and isinstance(found, int | float) and not isinstance(found, bool):
        low, high = limits.groups()
        return (low is None or found >= float(low)) and (high is None or found <= float(high))
    if _is_pattern(expected):
        return isinstance(found, str) and re.search(expected[1:-1], found) is not None
    return bool(found == expected)


def _is_pattern(text: str) -> bool:
    return len(text) > 2 and text[0] == text[-1] == "/"


def _same(expected: Any, found: Any) -> bool:
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    return bool(expected == found)


def _told(path: str, expected: Any, found: Any) -> str:
    texts = {"found": _text(found), "expected": _text(expected)}
    return Phrase("{what} is {found}, expected {expected}", what=path or _IT, **texts)


def _text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."
