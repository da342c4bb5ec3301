"""Roles and who may assume them."""

from dataclasses import replace

from emulator.auth.permissions.policy import MalformedPolicy, parse_trust_policy
from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId
from emulator.services.ram import limits
from emulator.services.ram.errors import (
    MalformedPolicyDocument,
    RoleExists,
    RoleNotExist,
    beyond_length,
    delete_conflict,
    limit_exceeded,
)
from emulator.services.ram.model import Holder, HolderKind, Role
from emulator.services.ram.sqlite import RamStore


class Roles:
    """The roles of the accounts."""

    def __init__(self, store: RamStore) -> None:
        self._store = store

    def create(
        self, account: AccountId, name: str, description: str, trust: str, max_session_s: int, now: Millis
    ) -> Role:
        """Make a role.

        Raises: BeyondLength, MalformedPolicyDocument, RoleExists, LimitExceeded.
        """
        check_trust(trust, "AssumeRolePolicyDocument")
        if self._store.role(account, name) is not None:
            raise RoleExists(name=name)
        if self._store.count(account, "roles") >= limits.ROLES:
            raise limit_exceeded("Role", "roles")
        role = Role(
            name=name,
            description=description,
            trust=trust,
            max_session_s=max_session_s,
            created_at=now,
            updated_at=now,
        )
        self._store.put_role(account, role)
        return role

    def get(self, account: AccountId, name: str) -> Role:
        """Return a role.

        Raises: RoleNotExist.
        """
        found = self._store.role(account, name)
        if found is None:
            raise RoleNotExist(name=name)
        return found

    def page(self, account: AccountId, after: str, limit: int) -> list[Role]:
        """Return up to *limit* roles by name, those after *after*."""
        return self._store.roles(account, after, limit)

    def update(
        self,
        account: AccountId,
        name: str,
        now: Millis,
        *,
        description: str | None,
        trust: str | None,
        max_session_s: int | None,
    ) -> Role:
        """Change what is given of a role.

        Raises: BeyondLength, MalformedPolicyDocument, RoleNotExist.
        """
        if trust is not None:
            check_trust(trust, "NewAssumeRolePolicyDocument")
        role = self.get(account, name)
        role = replace(
            role,
            description=role.description if description is None else description,
            trust=role.trust if trust is None else trust,
            max_session_s=role.max_session_s if max_session_s is None else max_session_s,
            updated_at=now,
        )
        self._store.put_role(account, role)
        return role

    def delete(self, account: AccountId, name: str) -> None:
        """Remove a role that has no policy attached.

        Raises: RoleNotExist, DeleteConflict.
        """
        self.get(account, name)
        if self._store.attachments(Holder(account=account, kind=HolderKind.ROLE, name=name)):
            raise delete_conflict("Role", "Policy", "attached policy")
        self._store.delete_role(account, name)


def check_trust(document: str, parameter: str) -> None:
    """Check the document that says who may assume a role.

    Raises: BeyondLength, MalformedPolicyDocument.
    """
    if len(document.encode("utf-8", "surrogateescape")) > limits.TRUST_LENGTH:
        raise beyond_length(parameter)
    try:
        parse_trust_policy(document)
    except MalformedPolicy as error:
        raise MalformedPolicyDocument(str(error)) from error
