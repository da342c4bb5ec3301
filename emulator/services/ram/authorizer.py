"""Whether a caller may do something, by the policies of users, of sessions of roles and of services acting as roles."""

from collections.abc import Iterator

from emulator.auth.permissions.conditions import Facts
from emulator.auth.permissions.policy import Policy, Verdict, judge, parse_policy, parse_trust_policy, trusts
from emulator.kernel.identity import AccountId, Demand, Principal
from emulator.services.ram.model import Holder, HolderKind, role_arn
from emulator.services.ram.policies import documents_of
from emulator.services.ram.service import AccessManagement

ASSUME_ROLE = "sts:AssumeRole"


class Authorizer:
    """Judges callers. Documents that have been read are kept until anything about identities or policies changes."""

    def __init__(self, access: AccessManagement) -> None:
        self._access = access
        self._generation = -1
        self._policies: dict[Holder, tuple[Policy, ...]] = {}

    def allows(self, principal: Principal, demand: Demand, facts: Facts) -> bool:
        """Whether a caller may do what *demand* says.

        The account itself may do everything. A user has its own policies and those of its groups. A session of a role
        has the role's policies, narrowed by the session's own policy.
        """
        kind, _, name = principal.arn.rpartition(":")[2].partition("/")
        match kind:
            case "root":
                return True
            case "user":
                policies = self._of(principal.account, HolderKind.USER, name)
            case "assumed-role":
                policies = self._of(principal.account, HolderKind.ROLE, name.partition("/")[0])
            case _:
                return False
        if judge(policies, demand, facts) is not Verdict.ALLOWED:
            return False
        if not principal.session_policy:
            return True
        return judge([parse_policy(principal.session_policy)], demand, facts) is Verdict.ALLOWED

    def max_session_s(self, account: AccountId, role: str) -> int | None:
        """Return how long a session of *role* may last, in seconds; None when there is no such role."""
        kept = self._access.store.role(account, role)
        return kept.max_session_s if kept else None

    def may_assume(self, account: AccountId, role: str, caller: Principal, facts: Facts) -> bool:
        """Whether the trust policy of *role* names the caller."""
        kept = self._access.store.role(account, role)
        return kept is not None and trusts(parse_trust_policy(kept.trust), ASSUME_ROLE, arn=caller.arn, facts=facts)

    def service_lacks(self, account: AccountId, arn: str, service: str, demand: Demand, facts: Facts) -> Demand | None:
        """Return the right that a cloud *service* lacks to act as the role *arn*; None when it may.

        It may when the role exists, trusts the service and has the right. A role of another account does not exist; an
        empty account in the role's name is the own one.
        """
        owner, _, role = arn.partition(":role/")
        kept = self._access.store.role(account, role) if owner in {f"acs:ram::{account}", "acs:ram::"} else None
        if kept is None or not trusts(parse_trust_policy(kept.trust), ASSUME_ROLE, service=service, facts=facts):
            return Demand(ASSUME_ROLE, arn or role_arn(account, "*"))
        return None if judge(self._of(account, HolderKind.ROLE, role), demand, facts) is Verdict.ALLOWED else demand

    def _of(self, account: AccountId, kind: HolderKind, name: str) -> tuple[Policy, ...]:
        """Return the policies of a user, with those of its groups, or of a role."""
        if self._generation != self._access.store.generation:
            self._policies.clear()
            self._generation = self._access.store.generation
        holder = Holder(account=account, kind=kind, name=name)
        policies = self._policies.get(holder)
        if policies is None:
            documents = (text for each in self._with_groups(holder) for text in documents_of(self._access.store, each))
            policies = self._policies[holder] = tuple(parse_policy(text) for text in documents)
        return policies

    def _with_groups(self, holder: Holder) -> Iterator[Holder]:
        yield holder
        if holder.kind is HolderKind.USER:
            for _, group, _ in self._access.store.memberships(holder.account, user=holder.name):
                yield Holder(account=holder.account, kind=HolderKind.GROUP, name=group)
