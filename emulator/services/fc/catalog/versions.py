"""Which version a call goes to: qualifiers, weights, routing by content; and what a publish would freeze. Pure."""

import json
import operator
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any
from zlib import crc32

from emulator.http.message import Request
from emulator.services.fc.attributes import check_version_id
from emulator.services.fc.catalog.store import config_json
from emulator.services.fc.codec import value_at
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import LATEST, Alias, Function, ServiceConfig

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
    """Whether *policy* sends *request* to the additional version; a policy without rules sends none."""
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
    """Whether *have* belongs to the chosen *percent* of all values; a value always does or never."""
    share = int(percent) if percent.isascii() and percent.isdigit() and len(percent) <= 3 else 0
    return crc32(have.encode("utf-8", "surrogateescape")) % 100 < share


def is_latest(qualifier: str | None) -> bool:
    """Whether *qualifier* means the changeable head: nothing, or ``LATEST``."""
    return not qualifier or qualifier == LATEST


def is_version(qualifier: str) -> bool:
    """Whether *qualifier* is a version id; everything else is an alias, which never starts with a digit."""
    return qualifier.isascii() and qualifier.isdigit()


def pick(alias: Alias, draw: float, request: Request | None = None) -> str:
    """Return the version id one call through *alias* goes to; *draw* is a random number in [0, 1).

    An additional version of weight w gets the calls whose draw is below w, the main version the rest. Where the alias
    routes by content, the additional version gets the calls whose *request* meets the rules, whatever its weight.
    """
    if alias.resolve_policy == BY_CONTENT:
        diverted = request is not None and is_diverted(alias.route_policy, request)
        return next(iter(alias.weights), alias.version_id) if diverted else alias.version_id
    start = 0.0
    for version_id, weight in sorted(alias.weights.items()):
        if start <= draw < start + weight:
            return version_id
        start += weight
    return alias.version_id


def check_weights(value: Any, field: str) -> dict[str, float]:
    """Kind an alias's additional versions: at most one, weight 0..1.

    Raises: InvalidArgument.
    Source: API reference; the limit of one is from the console.
    """
    if not isinstance(value, dict):
        raise InvalidArgument(f"{field} must be an object")
    if len(value) > 1:
        raise InvalidArgument(f"{field} must not have more than one version")
    weights = {}
    for version_id, weight in value.items():
        if not isinstance(weight, (int, float)) or isinstance(weight, bool) or not 0 <= weight <= 1:
            raise InvalidArgument(f"{field}.{version_id} must be a number from 0 to 1")
        weights[check_version_id(version_id, field)] = float(weight)
    return weights


def content_of(config: ServiceConfig | None, functions: Iterable[Function]) -> str:
    """Return a digest of all that a publish would freeze; equal digests mean that nothing has changed."""
    state: list[Any] = [config_json(config) if config is not None else None]
    state += [
        [function.name, config_json(function.config), function.code.checksum if function.code else None]
        for function in functions
    ]
    return sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def check_if_match(if_match: str, etag: str) -> None:
    """Let a change go on only when *if_match* is empty, ``*`` or the resource's current *etag*.

    Raises: PreconditionFailed.
    """
    wanted = if_match.strip().strip('"')
    if wanted and wanted not in {"*", etag}:
        raise FcError("PreconditionFailed")
