"""The conditions of a statement: operators over values that are known of the request.

All operators of a statement and all keys of an operator must hold; of several values of one key one is enough, and for
a negated operator none may match. A key that is not known of the request fulfils negated operators only.

Source: RAM, "Condition" and "Conditional operators"; that a missing key fulfils a negated operator is assumed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.wire.dates import iso_seconds, parse_iso
from emulator.wire.request import OperationRequest

Facts = Mapping[str, Sequence[str]]
"""What is known of a request, by condition key: ``{"acs:SourceIp": ("127.0.0.1",)}``."""

_Test = Callable[[Any, Any], bool]


class MalformedCondition(Exception):
    """A condition that cannot be read; the text says what is wrong."""


@frozen(kw_only=False)
class _Operator:
    """How values are read, how the request's value is compared with one of the policy's, and whether that is negated.

    ``read`` raises ValueError for a text that is no value of the operator's type.
    """

    read: Callable[[str], Any]
    test: _Test
    negated: bool = False


@frozen(kw_only=False)
class Condition:
    """One operator on one key with the policy's values, already read."""

    operator: _Operator
    key: str
    values: tuple[Any, ...]
    every: bool = False

    def holds(self, facts: Facts) -> bool:
        """Whether the request fulfils the condition; a value of it that cannot be read matches nothing."""
        texts = facts.get(self.key, ())
        if not texts:
            return self.operator.negated or self.every
        matches = [self._matches(text) for text in texts]
        if self.every:
            return all(match is not self.operator.negated for match in matches)
        return any(matches) is not self.operator.negated

    def _matches(self, text: str) -> bool:
        try:
            value = self.operator.read(text)
        except ValueError:
            return False
        return any(self.operator.test(value, wanted) for wanted in self.values)


def parse_conditions(block: Any) -> tuple[Condition, ...]:
    """Read the element ``Condition`` of a statement: ``{operator: {key: value or list of values}}``.

    Raises: MalformedCondition.
    """
    if not isinstance(block, dict):
        raise MalformedCondition("Condition must be an object")
    conditions = []
    for name, keys in block.items():
        prefix, _, plain = name.rpartition(":")
        operator = OPERATORS.get(plain)
        if operator is None or prefix not in {"", "ForAnyValue", "ForAllValues"}:
            raise MalformedCondition(f"the condition operator {name} is not known")
        if not isinstance(keys, dict) or not keys:
            raise MalformedCondition(f"{name} must hold at least one condition key")
        for key, values in keys.items():
            read = tuple(_read(operator, name, key, value) for value in _listed(values))
            if not key or not read:
                raise MalformedCondition(f"{name} {key} needs at least one value")
            conditions.append(Condition(operator, key, read, prefix == "ForAllValues"))
    return tuple(conditions)


def _listed(values: Any) -> Sequence[Any]:
    return values if isinstance(values, list) else [values]


def _read(operator: _Operator, name: str, key: str, value: Any) -> Any:
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, int | float):
        value = str(value)
    if not isinstance(value, str):
        raise MalformedCondition(f"the value of {name} {key} must be a text, a number or a truth value")
    try:
        return operator.pattern(value) if isinstance(operator, _Address) else operator.read(value)
    except ValueError:
        raise MalformedCondition(f"{value!r} is no value for {name} {key}") from None


class _Address(_Operator):
    """IP addresses of the request against addresses and networks of the policy."""

    __slots__ = ()

    @staticmethod
    def pattern(text: str) -> IPv4Network | IPv6Network:
        """Read an address or a network."""
        return ip_network(text, strict=False)


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


def _number(text: str) -> float:
    if len(text) > 64 or _NUMBER.fullmatch(text) is None:
        raise ValueError(text)
    return float(text)


def _truth(text: str) -> bool:
    truth = {"true": True, "false": False}.get(text.lower())
    if truth is None:
        raise ValueError(text)
    return truth


def _text(text: str) -> str:
    return text


def _folded(text: str) -> str:
    return text.casefold()


def _equal(value: Any, wanted: Any) -> bool:
    return bool(value == wanted)


def _ordered(name: str, read: Callable[[str], Any]) -> dict[str, _Operator]:
    """Return the six comparisons of a type that has an order."""
    return {
        f"{name}Equals": _Operator(read, _equal),
        f"{name}NotEquals": _Operator(read, _equal, True),
        f"{name}LessThan": _Operator(read, lambda value, wanted: value < wanted),
        f"{name}LessThanEquals": _Operator(read, lambda value, wanted: value <= wanted),
        f"{name}GreaterThan": _Operator(read, lambda value, wanted: value > wanted),
        f"{name}GreaterThanEquals": _Operator(read, lambda value, wanted: value >= wanted),
    }


def _like(value: str, wanted: str) -> bool:
    return glob_matches(wanted, value)


def _within(value: Any, wanted: Any) -> bool:
    return value.version == wanted.version and value in wanted


OPERATORS: Mapping[str, _Operator] = {
    "StringEquals": _Operator(_text, _equal),
    "StringNotEquals": _Operator(_text, _equal, True),
    "StringEqualsIgnoreCase": _Operator(_folded, _equal),
    "StringNotEqualsIgnoreCase": _Operator(_folded, _equal, True),
    "StringLike": _Operator(_text, _like),
    "StringNotLike": _Operator(_text, _like, True),
    **_ordered("Numeric", _number),
    **_ordered("Date", parse_iso),
    "Bool": _Operator(_truth, _equal),
    "IpAddress": _Address(ip_address, _within),
    "NotIpAddress": _Address(ip_address, _within, True),
}
"""By name, as policies spell them."""


RequestFacts = dict[str, tuple[str, ...]]


def facts_of(context: OperationRequest) -> RequestFacts:
    """Return the common condition keys of a request, with their values. Source: RAM, "Condition"."""
    principal = context.principal
    return {
        **facts_at(context.now),
        "acs:SourceIp": (context.http.remote,),
        "acs:SecureTransport": ("true" if context.http.scheme == "https" else "false",),
        "acs:MFAPresent": ("false",),
        "acs:PrincipalARN": (principal.arn,) if principal is not None else (),
    }


def facts_at(now: Millis) -> RequestFacts:
    """Return the condition keys of what a service does by itself."""
    return {"acs:CurrentTime": (iso_seconds(now),)}


def glob_matches(pattern: str, text: str) -> bool:
    """Whether *pattern* covers the whole of *text*; case counts.

    Takes at most ``len(pattern) * len(text)`` steps, whatever the pattern: policies come from callers.
    """
    at = position = 0
    star, resume = -1, 0
    while position < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, position
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", text[position]):
            at += 1
            position += 1
        elif star >= 0:  # let the last star cover one more character and try again
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return pattern[at:].strip("*") == ""
