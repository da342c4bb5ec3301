"""Which right each request for resource access management needs: an action and the user, group, role or policy.

Attaching needs the right on both. Source: the pages of the operations, "RAM authorization"; what a caller may do to
its own access keys follows from its policies as everything else (assumed).
"""

from collections.abc import Iterator, Mapping

from emulator.kernel.identity import AccountId, Demand

_KINDS = (("RoleName", "role"), ("UserName", "user"), ("GroupName", "group"))
_WITHOUT_NAME = {
    "ListRoles": "role", "ListUsers": "user", "ListGroups": "group", "ListPolicies": "policy",
}  # fmt: skip


def demands(account: AccountId, operation: str, parameters: Mapping[str, str], own_user: str) -> Iterator[Demand]:
    """Yield what a call of *operation* needs; *own_user* is who calls and whose keys are meant."""
    names = [
        f"acs:ram:*:{account}:{kind}/{parameters[parameter]}" for parameter, kind in _KINDS if parameters.get(parameter)
    ]
    if "AccessKey" in operation and not names:
        names.append(f"acs:ram:*:{account}:user/{own_user or '*'}")
    if parameters.get("PolicyName"):
        owner = "system" if parameters.get("PolicyType") == "System" else account
        names.append(f"acs:ram:*:{owner}:policy/{parameters['PolicyName']}")
    if not names:
        kind = _WITHOUT_NAME.get(operation)
        names.append(f"acs:ram:*:{account}:{kind}/*" if kind else f"acs:ram:*:{account}:*")
    for name in names:
        yield Demand(f"ram:{operation}", name)
