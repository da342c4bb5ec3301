"""Policies, their versions, and attaching them."""

from dataclasses import replace

from emulator.auth.permissions.policy import MalformedPolicy, parse_policy
from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId
from emulator.services.ram import limits
from emulator.services.ram.errors import (
    DefaultVersionConflict,
    GroupNotExist,
    MalformedPolicyDocument,
    PolicyExists,
    PolicyNotExist,
    PolicyVersionNotExist,
    RoleNotExist,
    SystemPolicyFixed,
    UserNotExist,
    already_attached,
    beyond_length,
    delete_conflict,
    limit_exceeded,
    not_attached,
)
from emulator.services.ram.model import Attachment, Holder, HolderKind, PolicyInfo, PolicyType, PolicyVersion
from emulator.services.ram.sqlite import RamStore
from emulator.services.ram.system_policies import system_policy, system_policy_names

_BEGINNING = Millis(1_430_438_400_000)
"""When the policies of the system are said to have been made: 2015-05-01, the day of the API version."""

_ROTATED = "DeleteOldestNonDefaultVersionWhenLimitExceeded"


class Policies:
    """What an account's policies say and to whom they are attached."""

    def __init__(self, store: RamStore) -> None:
        self._store = store

    # --- policies ------------------------------------------------------------------------------------------------

    def create(self, account: AccountId, name: str, description: str, document: str, now: Millis) -> PolicyInfo:
        """Make a policy with version 1.

        Raises: MalformedPolicyDocument, PolicyExists, LimitExceeded.
        """
        check_document(document, "PolicyDocument")
        if self._store.policy(account, name) or system_policy(name):
            raise PolicyExists(name=name)
        if self._store.count(account, "policies") >= limits.POLICIES:
            raise limit_exceeded("Policy", "policy")
        policy = PolicyInfo(
            type=PolicyType.CUSTOM,
            name=name,
            description=description,
            default_version=1,
            created_at=now,
            updated_at=now,
        )
        self._store.put_policy(account, policy)
        self._store.add_version(account, name, document, now)
        return policy

    def get(self, account: AccountId, kind: PolicyType, name: str) -> PolicyInfo:
        """Return a policy.

        Raises: PolicyNotExist.
        """
        found = self._store.policy(account, name) if kind is PolicyType.CUSTOM else _system(name)
        if found is None:
            raise PolicyNotExist(name=name)
        return found

    def all(self, account: AccountId, kind: PolicyType | None) -> list[PolicyInfo]:
        """Return the policies by name, those of the system first; only those of *kind* when it is given."""
        system = [] if kind is PolicyType.CUSTOM else [_system(name) for name in system_policy_names()]
        custom = [] if kind is PolicyType.SYSTEM else self._store.policies(account)
        return [policy for policy in system if policy is not None] + custom

    def describe(self, account: AccountId, name: str, description: str, now: Millis) -> PolicyInfo:
        """Give a policy another description.

        Raises: PolicyNotExist, SystemPolicyFixed.
        """
        policy = replace(self._changeable(account, name), description=description, updated_at=now)
        self._store.put_policy(account, policy)
        return policy

    def delete(self, account: AccountId, name: str, *, with_versions: bool) -> None:
        """Remove a policy that is attached to nobody.

        Raises: PolicyNotExist, SystemPolicyFixed, DeleteConflict.
        """
        self._changeable(account, name)
        for attachment in self._store.attached_to(account, PolicyType.CUSTOM, name):
            raise delete_conflict("Policy", attachment.kind, f"attached {attachment.kind.lower()}")
        if not with_versions and len(self._store.versions(account, name)) > 1:
            raise delete_conflict("Policy", "Version", "version except the default version")
        self._store.delete_policy(account, name)

    # --- versions ------------------------------------------------------------------------------------------------

    def add_version(
        self, account: AccountId, name: str, document: str, now: Millis, *, as_default: bool, rotation: str
    ) -> PolicyVersion:
        """Add a version.

        Raises: MalformedPolicyDocument, PolicyNotExist, SystemPolicyFixed, LimitExceeded.
        """
        check_document(document, "PolicyDocument")
        policy = self._changeable(account, name)
        versions = self._store.versions(account, name)
        if len(versions) >= limits.POLICY_VERSIONS:
            if rotation != _ROTATED:
                raise limit_exceeded("Policy.Version", "policy version")
            oldest = next(each for each in versions if each.number != policy.default_version)
            self._store.delete_version(account, name, oldest.number)
        version = self._store.add_version(account, name, document, now)
        if as_default:
            self._store.put_policy(account, replace(policy, default_version=version.number, updated_at=now))
        return version

    def version(self, account: AccountId, kind: PolicyType, name: str, number: int) -> PolicyVersion:
        """Return a version.

        Raises: PolicyNotExist, PolicyVersionNotExist.
        """
        found = next((each for each in self.versions(account, kind, name) if each.number == number), None)
        if found is None:
            raise PolicyVersionNotExist(name=f"v{number}")
        return found

    def versions(self, account: AccountId, kind: PolicyType, name: str) -> list[PolicyVersion]:
        """Return all versions, oldest first.

        Raises: PolicyNotExist.
        """
        self.get(account, kind, name)
        if kind is PolicyType.CUSTOM:
            return self._store.versions(account, name)
        made = system_policy(name)
        return [PolicyVersion(number=1, document=made.document, created_at=_BEGINNING)] if made else []

    def delete_version(self, account: AccountId, name: str, number: int) -> None:
        """Remove a version that is not in force.

        Raises: PolicyNotExist, SystemPolicyFixed, PolicyVersionNotExist, DefaultVersionConflict.
        """
        policy = self._changeable(account, name)
        self.version(account, PolicyType.CUSTOM, name, number)
        if policy.default_version == number:
            raise DefaultVersionConflict
        self._store.delete_version(account, name, number)

    def set_default(self, account: AccountId, name: str, number: int, now: Millis) -> None:
        """Put a version in force.

        Raises: PolicyNotExist, SystemPolicyFixed, PolicyVersionNotExist.
        """
        policy = self._changeable(account, name)
        self.version(account, PolicyType.CUSTOM, name, number)
        self._store.put_policy(account, replace(policy, default_version=number, updated_at=now))

    # --- attachments ---------------------------------------------------------------------------------------------

    def attach(self, holder: Holder, kind: PolicyType, name: str, now: Millis) -> None:
        """Attach a policy to a user, group or role.

        Raises: UserNotExist, GroupNotExist, RoleNotExist, PolicyNotExist, AlreadyAttached, LimitExceeded.
        """
        self._check_holder(holder)
        name = self.get(holder.account, kind, name).name
        present = [each for each in self._store.attachments(holder) if each.type is kind]
        if any(each.policy == name for each in present):
            raise already_attached(holder.kind)
        most = limits.ATTACHED_SYSTEM if kind is PolicyType.SYSTEM else limits.ATTACHED_CUSTOM
        if len(present) >= most:
            raise limit_exceeded(f"{holder.kind}.Policy", f"policies attached to the {holder.kind.lower()}")
        self._store.attach(holder, kind, name, now)

    def detach(self, holder: Holder, kind: PolicyType, name: str) -> None:
        """Detach a policy.

        Raises: UserNotExist, GroupNotExist, RoleNotExist, NotAttached.
        """
        self._check_holder(holder)
        found = _system(name) if kind is PolicyType.SYSTEM else None
        if not self._store.detach(holder, kind, found.name if found else name):
            raise not_attached(holder.kind, name)

    def attached(self, holder: Holder) -> list[tuple[Attachment, PolicyInfo]]:
        """Return what is attached to a user, group or role.

        Raises: UserNotExist, GroupNotExist, RoleNotExist.
        """
        self._check_holder(holder)
        return [(each, self.get(holder.account, each.type, each.policy)) for each in self._store.attachments(holder)]

    def holders(self, account: AccountId, kind: PolicyType, name: str) -> list[Attachment]:
        """Return to whom a policy is attached.

        Raises: PolicyNotExist.
        """
        return self._store.attached_to(account, kind, self.get(account, kind, name).name)

    def counts(self, account: AccountId) -> dict[tuple[str, str], int]:
        """Return how many users, groups and roles have each policy, by its type and name."""
        return self._store.attachment_counts(account)

    def documents(self, holder: Holder) -> list[str]:
        """Return the documents in force for a user, group or role; none for one that does not exist."""
        found = []
        for each in self._store.attachments(holder):
            policy = self.get(holder.account, each.type, each.policy)
            found.append(self.version(holder.account, each.type, each.policy, policy.default_version).document)
        return found

    # --- inside --------------------------------------------------------------------------------------------------

    def _changeable(self, account: AccountId, name: str) -> PolicyInfo:
        found = self._store.policy(account, name)
        if found is None:
            if system_policy(name):
                raise SystemPolicyFixed(name=name)
            raise PolicyNotExist(name=name)
        return found

    def _check_holder(self, holder: Holder) -> None:
        match holder.kind:
            case HolderKind.USER if self._store.user(holder.account, holder.name) is None:
                raise UserNotExist(name=holder.name)
            case HolderKind.GROUP if self._store.group(holder.account, holder.name) is None:
                raise GroupNotExist(name=holder.name)
            case HolderKind.ROLE if self._store.role(holder.account, holder.name) is None:
                raise RoleNotExist(name=holder.name)


def check_document(document: str, parameter: str) -> None:
    """Check the document of a permission policy.

    Raises: BeyondLength, MalformedPolicyDocument.
    """
    if len(document.encode("utf-8", "surrogateescape")) > limits.POLICY_LENGTH:
        raise beyond_length(parameter)
    try:
        parse_policy(document)
    except MalformedPolicy as error:
        raise MalformedPolicyDocument(str(error)) from error


def _system(name: str) -> PolicyInfo | None:
    found = system_policy(name)
    if found is None:
        return None
    return PolicyInfo(
        type=PolicyType.SYSTEM,
        name=found.name,
        description=found.description,
        default_version=1,
        created_at=_BEGINNING,
        updated_at=_BEGINNING,
    )
