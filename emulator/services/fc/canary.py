"""Routing by content: which requests through an alias go to its additional version, by the rules of ``routePolicy``.

Source: RoutePolicy and PolicyItem, API reference of 2021-04-06, for conditions and operators. Assumed: the names of the
types beside ``Header``; that ``in`` looks for the request's value within the rule's, so that a list with commas works;
that a rule about a value the request has not got does not hold, whatever its operator.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from emulator.http.message import Request
from emulator.services.fc.request_values import value_at

BY_CONTENT = "Content"

_PLACES: Mapping[str, str] = {
    "header": "header",
    "cookie": "cookie",
    "query": "query",
    "param": "query",
    "parameter": "query",
    "body": "form",
}

_OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    "in": lambda have, want: have in want,
    "percent": lambda have, want: _is_among(have, want),
    "percentage": lambda have, want: _is_among(have, want),
}
"""Texts are compared as texts. Both words for the last are in the documents."""


def is_diverted(policy: Mapping[str, Any] | None, request: Request) -> bool:
    """Tell whether *policy* sends *request* to the additional version; a policy without rules sends none."""
    items = (policy or {}).get("policyItems") or []
    held = (_holds(item, request) for item in items)
    return bool(items) and (any(held) if (policy or {}).get("condition") == "OR" else all(held))


def _holds(item: Mapping[str, str], request: Request) -> bool:
    place = _PLACES.get(item.get("type", "").lower())
    compare = _OPERATORS.get(item.get("operator", ""))
    if place is None or compare is None:
        return False
    have = value_at(request, place, item.get("key", ""))
    return have is not None and compare(have, item.get("value", ""))


def _is_among(have: str, percent: str) -> bool:
    """Tell whether *have* belongs to the chosen *percent* of all values; a value always does or never."""
    share = int(percent) if percent.isascii() and percent.isdigit() and len(percent) <= 3 else 0
    return crc32(have.encode("utf-8", "surrogateescape")) % 100 < share
