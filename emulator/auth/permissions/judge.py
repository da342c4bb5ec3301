"""May this caller do that? Deny wins over allow, and what no policy allows is denied.

Pure: policies and what is known of the request in, a verdict out. Nothing here knows where policies are kept.
"""

from collections.abc import Iterable
from enum import Enum

from emulator.auth.permissions.conditions import Facts, glob_matches
from emulator.auth.permissions.policy import Policy
from emulator.kernel.identity import Demand


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

    ``acs:ram::123:root`` is everybody of the account, ``acs:ram::123:role/r`` every session of the role.
    """
    names = {arn}
    owner, _, name = arn.rpartition(":")
    names.add(f"{owner}:root")
    kind, _, rest = name.partition("/")
    if kind == "assumed-role":
        names.add(f"{owner}:role/{rest.partition('/')[0]}")
    return any(glob_matches(principal, known) for principal in principals for known in names)
