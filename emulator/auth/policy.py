"""Policies as texts and as values, and what they decide. Deny wins over allow; what no policy allows is denied.

A policy says who (trust policies only), what, on what and when. Pure: nothing here knows where policies are kept.

All operators of a statement's condition and all keys of an operator must hold; of several values of one key one is
enough, and for a negated operator none may match. A key that is not known of the request fulfils negated operators
only.

Source: RAM, "Policy structure and syntax", "Policy elements", "Condition" and "Conditional operators". Assumed: an
empty region or account in the name of a resource stands for any, as in the policies that the workflow guide prints;
unknown elements are refused but ``Sid``; a missing key fulfils a negated operator.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache, partial
from ipaddress import ip_address, ip_network
from operator import eq, ge, gt, le, lt
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Demand
from emulator.wire.dates import iso_seconds, parse_iso
from emulator.wire.request import OperationRequest

Facts = Mapping[str, Sequence[str]]
"""What is known of a request, by condition key: ``{"acs:SourceIp": ("127.0.0.1",)}``."""


class MalformedCondition(Exception):
    """A condition that cannot be read; the text says what is wrong."""


@frozen(kw_only=False)
class _Operator:
    """How values are read, how the request's value is compared with one of the policy's, and whether that is negated.

    ``read``, and ``pattern``, which reads the policy's values where these are of another kind, raise ValueError for a
    text that is no value of the operator's type.
    """

    read: Callable[[str], Any]
    test: Callable[[Any, Any], bool]
    negated: bool = False
    pattern: Callable[[str], Any] | None = None


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
        return (operator.pattern or operator.read)(value)
    except ValueError:
        raise MalformedCondition(f"{value!r} is not a valid value for {name} {key}") from None


_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"


def _number(text: str) -> float:
    if len(text) > 64 or re.fullmatch(_NUMBER, text) is None:
        raise ValueError(text)
    return float(text)


def _truth(text: str) -> bool:
    truth = {"true": True, "false": False}.get(text.lower())
    if truth is None:
        raise ValueError(text)
    return truth


def _ordered(name: str, read: Callable[[str], Any]) -> dict[str, _Operator]:
    """Return the six comparisons of a type that has an order."""
    return {
        f"{name}Equals": _Operator(read, eq),
        f"{name}NotEquals": _Operator(read, eq, True),
        f"{name}LessThan": _Operator(read, lt),
        f"{name}LessThanEquals": _Operator(read, le),
        f"{name}GreaterThan": _Operator(read, gt),
        f"{name}GreaterThanEquals": _Operator(read, ge),
    }


def _like(value: str, wanted: str) -> bool:
    return glob_matches(wanted, value)


def _within(value: Any, wanted: Any) -> bool:
    return value.version == wanted.version and value in wanted


_network = partial(ip_network, strict=False)

OPERATORS: Mapping[str, _Operator] = {
    "StringEquals": _Operator(str, eq),
    "StringNotEquals": _Operator(str, eq, True),
    "StringEqualsIgnoreCase": _Operator(str.casefold, eq),
    "StringNotEqualsIgnoreCase": _Operator(str.casefold, eq, True),
    "StringLike": _Operator(str, _like),
    "StringNotLike": _Operator(str, _like, True),
    **_ordered("Numeric", _number),
    **_ordered("Date", parse_iso),
    "Bool": _Operator(_truth, eq),
    "IpAddress": _Operator(ip_address, _within, pattern=_network),
    "NotIpAddress": _Operator(ip_address, _within, True, _network),
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


VERSION = "1"


class MalformedPolicy(Exception):
    """A policy document that cannot be read; the text says what is wrong."""


@frozen
class Statement:
    """One rule of a policy.

    ``actions`` are patterns in lower case, ``resources`` patterns with nothing left empty; with ``not_actions`` or
    ``not_resources`` the rule is about everything else. A rule of a trust policy has ``principals`` by kind (``RAM``,
    ``Service``, ``Federated``) and speaks of every resource.
    """

    allow: bool
    actions: tuple[str, ...]
    not_actions: bool = False
    resources: tuple[str, ...] = ("*",)
    not_resources: bool = False
    conditions: tuple[Condition, ...] = ()
    principals: Mapping[str, tuple[str, ...]] | None = None

    def is_about(self, action: str, resources: tuple[str, ...], facts: Facts) -> bool:
        """Whether the rule concerns *action* on a thing that goes by the names *resources*."""
        action = action.lower()
        if any(glob_matches(pattern, action) for pattern in self.actions) is self.not_actions:
            return False
        named = any(glob_matches(pattern, name) for pattern in self.resources for name in resources)
        return named is not self.not_resources and all(condition.holds(facts) for condition in self.conditions)


@frozen(kw_only=False)
class Policy:
    """A policy document that has been read."""

    statements: tuple[Statement, ...]


@lru_cache(maxsize=512)
def parse_policy(text: str) -> Policy:
    """Read the document of a permission policy.

    Raises: MalformedPolicy.
    """
    return Policy(tuple(_statement(each, trust=False) for each in _statements(text)))


@lru_cache(maxsize=512)
def parse_trust_policy(text: str) -> Policy:
    """Read the document that says who may assume a role.

    Raises: MalformedPolicy.
    """
    return Policy(tuple(_statement(each, trust=True) for each in _statements(text)))


def _statements(text: str) -> list[dict[str, Any]]:
    try:
        document = json.loads(text, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise MalformedPolicy(f"The policy is not valid JSON: {error}.") from None
    if not isinstance(document, dict):
        raise MalformedPolicy("The policy must be a JSON object.")
    if unknown := document.keys() - {"Version", "Statement"}:
        raise MalformedPolicy(f"The element {min(unknown)} is not known.")
    if document.get("Version") != VERSION:
        raise MalformedPolicy('The Version must be "1".')
    statements = document.get("Statement")
    if isinstance(statements, dict):
        statements = [statements]
    if not isinstance(statements, list) or not statements or not all(isinstance(each, dict) for each in statements):
        raise MalformedPolicy("The Statement must be a list of one or more objects.")
    return statements


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key comes twice in an object")
    return members


_ELEMENTS = {"Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Condition"}
_TRUST_ELEMENTS = {"Sid", "Effect", "Action", "Principal", "Condition"}


def _statement(content: dict[str, Any], *, trust: bool) -> Statement:
    if unknown := content.keys() - (_TRUST_ELEMENTS if trust else _ELEMENTS):
        raise MalformedPolicy(f"The element {min(unknown)} is not known in a statement.")
    if content.get("Effect") not in ("Allow", "Deny"):  # with ==, not by a hash: it may be of any type
        raise MalformedPolicy("The Effect must be Allow or Deny.")
    actions, not_actions = _either(content, "Action")
    if not all(_is_action(action) for action in actions):
        raise MalformedPolicy("An Action must be * or of the form service:operation.")
    resources, not_resources = (("*",), False) if trust else _either(content, "Resource")
    if not all(_is_resource(name) for name in resources):
        raise MalformedPolicy("A Resource must be * or of the form acs:service:region:account:name.")
    try:
        conditions = parse_conditions(content["Condition"]) if "Condition" in content else ()
    except MalformedCondition as error:
        raise MalformedPolicy(f"The Condition cannot be read: {error}.") from None
    return Statement(
        allow=content["Effect"] == "Allow",
        actions=tuple(action.lower() for action in actions),
        not_actions=not_actions,
        resources=tuple(_filled(name) for name in resources),
        not_resources=not_resources,
        conditions=conditions,
        principals=_principals(content.get("Principal")) if trust else None,
    )


def _either(content: dict[str, Any], name: str) -> tuple[tuple[str, ...], bool]:
    """Return the texts of the element *name* or of its opposite, and whether it was the opposite."""
    opposite = f"Not{name}"
    if (name in content) == (opposite in content):
        raise MalformedPolicy(f"A statement must have either {name} or {opposite}.")
    given = name if name in content else opposite
    return _texts(content[given], given), given == opposite


def _texts(value: Any, name: str) -> tuple[str, ...]:
    values = _listed(value)
    if not values or not all(isinstance(each, str) and each for each in values):
        raise MalformedPolicy(f"The {name} must be a text or a list of texts.")
    return tuple(values)


def _is_action(text: str) -> bool:
    service, colon, operation = text.partition(":")
    return text == "*" or bool(service and colon and operation and ":" not in operation)


def _is_resource(text: str) -> bool:
    return text == "*" or text.startswith("acs:")


def _filled(resource: str) -> str:
    """Return the pattern with a star for an empty region and an empty account."""
    parts = resource.split(":", 4)
    if len(parts) < 5:
        return resource
    return ":".join([*parts[:2], parts[2] or "*", parts[3] or "*", parts[4]])


def _principals(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict) or not value:
        raise MalformedPolicy("A statement of a trust policy must have a Principal object.")
    if unknown := value.keys() - {"RAM", "Service", "Federated"}:
        raise MalformedPolicy(f"The Principal {min(unknown)} is not known.")
    # terraform-provider-alicloud writes a list for each kind, an empty one where the file names nobody of that kind
    named = {kind: _texts(names, f"Principal {kind}") for kind, names in value.items() if names != []}
    if not named:
        raise MalformedPolicy("The Principal is empty.")
    return named


class Verdict(Enum):
    """What policies say about a demand."""

    ALLOWED = "Allow"
    DENIED = "ExplicitDeny"
    NOT_ALLOWED = "ImplicitDeny"


def judge(policies: Iterable[Policy], demand: Demand, facts: Facts) -> Verdict:
    """Return what *policies* together say; without any it is `Verdict.NOT_ALLOWED`."""
    names = (demand.resource, *demand.aliases)
    known = {**facts, **{key: (value,) for key, value in demand.facts}} if demand.facts else facts
    verdict = Verdict.NOT_ALLOWED
    for policy in policies:
        for statement in policy.statements:
            if (statement.allow and verdict is Verdict.ALLOWED) or not statement.is_about(demand.action, names, known):
                continue
            if not statement.allow:
                return Verdict.DENIED
            verdict = Verdict.ALLOWED
    return verdict


def trusts(policy: Policy, action: str, *, arn: str = "", service: str = "", facts: Facts) -> bool:
    """Whether a trust policy lets the caller *arn*, or a cloud *service*, do *action* (``sts:AssumeRole``)."""
    trusted = False
    for statement in policy.statements:
        principals = statement.principals or {}
        named = _names_caller(principals.get("RAM", ()), arn) if arn else service in principals.get("Service", ())
        if named and statement.is_about(action, ("*",), facts):
            if not statement.allow:
                return False
            trusted = True
    return trusted


def _names_caller(principals: Iterable[str], arn: str) -> bool:
    """Whether one of *principals* is the caller, its role or its account.

    ``acs:ram::123:root`` is every identity of the account, ``acs:ram::123:role/r`` every session of the role.
    """
    owner, _, name = arn.rpartition(":")
    names = {arn, f"{owner}:root"}
    kind, _, rest = name.partition("/")
    if kind == "assumed-role":
        names.add(f"{owner}:role/{rest.partition('/')[0]}")
    return any(glob_matches(principal, known) for principal in principals for known in names)
