"""Resource access management as one object; the key source of its users; and the authorizer of callers."""

from collections.abc import Iterator

from emulator.auth.policy import Facts, Policy, Verdict, judge, parse_policy, parse_trust_policy, trusts
from emulator.auth.signed_request import AccessKey
from emulator.kernel.identity import AccountId, Demand, Principal
from emulator.kernel.ids import Ids
from emulator.services.ram.errors import existing
from emulator.services.ram.limits import CACHED_KEYS
from emulator.services.ram.model import (
    KEY_PREFIX,
    Holder,
    HolderKind,
    PolicyInfo,
    PolicyType,
    PolicyVersion,
    Role,
    User,
    role_arn,
    user_arn,
)
from emulator.services.ram.store import Entity, RamStore
from emulator.services.ram.system_policies import system_policy
from emulator.storage.database import Database

ASSUME_ROLE = "sts:AssumeRole"


class AccessManagement:
    """Users, groups, roles and policies of every account of this installation."""

    def __init__(self, database: Database, ids: Ids) -> None:
        self.store = RamStore(database)
        self.ids = ids
        self.keys = UserKeys(self.store)

    def reset(self) -> None:
        """Delete everything but the policies of the system."""
        self.store.clear()

    def counts(self, account: AccountId) -> dict[str, int]:
        """Return how many roles, users and policies an account has."""
        return {table: self.store.count(account, table) for table in ("roles", "users", "policies")}

    def entity(self, kind: type[Entity], account: AccountId, name: str) -> Entity:
        """Return a role, user or group.

        Raises: RamError: EntityNotExist.*kind*.
        """
        return existing(self.store.find(kind, account, name), kind.__name__, name)

    def policy(self, account: AccountId, kind: PolicyType, name: str) -> PolicyInfo:
        """Return a policy of the account or of the system.

        Raises: RamError: EntityNotExist.Policy.
        """
        if kind is PolicyType.CUSTOM:
            return existing(self.store.policy(account, name), "Policy", name)
        return existing(system_policy(name), "Policy", name).info

    def versions(self, account: AccountId, policy: PolicyInfo) -> list[PolicyVersion]:
        """Return the versions of a policy, oldest first."""
        if policy.type is PolicyType.CUSTOM:
            return self.store.versions(account, policy.name)
        return [existing(system_policy(policy.name), "Policy", policy.name).version]

    def documents(self, holder: Holder) -> Iterator[str]:
        """Yield the documents in force for a user, group or role; none for one that does not exist."""
        for each in self.store.attachments(holder):
            policy = self.policy(holder.account, each.type, each.policy)
            yield self.in_force(holder.account, policy).document

    def in_force(self, account: AccountId, policy: PolicyInfo) -> PolicyVersion:
        """Return the default version of a policy."""
        versions = self.versions(account, policy)
        return next(version for version in versions if version.number == policy.default_version)


class UserKeys:
    """Finds the permanent keys of users; an `emulator.auth.signed_request.KeySource`.

    Keys in use are cached until any identity changes, because every signed request needs its key.
    """

    def __init__(self, store: RamStore) -> None:
        self._store = store
        self._generation = -1
        self._known: dict[str, AccessKey] = {}

    def find(self, key_id: str) -> AccessKey | None:
        """Return the key of that id, active or not; None when no user has it."""
        if not key_id.startswith(KEY_PREFIX):
            return None
        if self._generation != self._store.generation:
            self._known.clear()
            self._generation = self._store.generation
        key = self._known.get(key_id)
        if key is not None:
            return key
        owned = self._store.owned_key(key_id)
        if owned is None:
            return None
        account, own = owned
        key = AccessKey(
            key_id=key_id, secret=own.secret, account=account, arn=user_arn(account, own.user), active=own.active
        )
        if len(self._known) >= CACHED_KEYS:
            self._known.clear()
        self._known[key_id] = key
        return key


class Authorizer:
    """Decides what callers may do. Parsed policies are cached until any identity or policy changes."""

    def __init__(self, access: AccessManagement) -> None:
        self._access = access
        self._generation = -1
        self._policies: dict[Holder, tuple[Policy, ...]] = {}

    def allows(self, principal: Principal, demand: Demand, facts: Facts) -> bool:
        """Whether a caller has the right *demand*.

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

    def user_id(self, account: AccountId, name: str) -> str | None:
        """Return the id of a user; None when there is no such user."""
        user = self._access.store.find(User, account, name)
        return user.user_id if user else None

    def max_session_s(self, account: AccountId, role: str) -> int | None:
        """Return how long a session of *role* may last, in seconds; None when there is no such role."""
        kept = self._access.store.find(Role, account, role)
        return kept.max_session_s if kept else None

    def may_assume(self, account: AccountId, role: str, caller: Principal, facts: Facts) -> bool:
        """Whether the trust policy of *role* names the caller."""
        kept = self._access.store.find(Role, account, role)
        return kept is not None and trusts(parse_trust_policy(kept.trust), ASSUME_ROLE, arn=caller.arn, facts=facts)

    def service_lacks(self, account: AccountId, arn: str, service: str, demand: Demand, facts: Facts) -> Demand | None:
        """Return the right that a cloud *service* lacks when it acts as the role *arn*; None when it lacks none.

        The role has to exist in *account*, to trust the service and to have the right *demand*. An empty account in
        *arn* stands for *account*.
        """
        owner, _, role = arn.partition(":role/")
        kept = self._access.store.find(Role, account, role) if owner in {f"acs:ram::{account}", "acs:ram::"} else None
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
            texts = (text for each in self._with_groups(holder) for text in self._access.documents(each))
            policies = self._policies[holder] = tuple(parse_policy(text) for text in texts)
        return policies

    def _with_groups(self, holder: Holder) -> Iterator[Holder]:
        yield holder
        if holder.kind is HolderKind.USER:
            for _, group, _ in self._access.store.memberships(holder.account, user=holder.name):
                yield Holder(account=holder.account, kind=HolderKind.GROUP, name=group)
