"""Users with their access keys, and groups of users."""

from dataclasses import replace

from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId
from emulator.kernel.ids import Ids
from emulator.services.ram import limits
from emulator.services.ram.errors import (
    AccessKeyNotExist,
    AlreadyMember,
    GroupExists,
    GroupNotExist,
    NotMember,
    UserExists,
    UserNotExist,
    delete_conflict,
    limit_exceeded,
)
from emulator.services.ram.model import Group, Holder, HolderKind, User, UserKey
from emulator.services.ram.sqlite import RamStore

KEY_PREFIX = "LYUN"
"""How the ids of all lasting keys of an installation begin."""


class Users:
    """The users and groups of the accounts."""

    def __init__(self, store: RamStore, ids: Ids) -> None:
        self._store = store
        self._ids = ids

    # --- users ---------------------------------------------------------------------------------------------------

    def create(self, account: AccountId, user: User) -> User:
        """Store a new user.

        Raises: UserExists, LimitExceeded.
        """
        if self._store.user(account, user.name) is not None:
            raise UserExists(name=user.name)
        if self._store.count(account, "users") >= limits.USERS:
            raise limit_exceeded("User", "users")
        self._store.put_user(account, user)
        return user

    def get(self, account: AccountId, name: str) -> User:
        """Return a user.

        Raises: UserNotExist.
        """
        found = self._store.user(account, name)
        if found is None:
            raise UserNotExist(name=name)
        return found

    def page(self, account: AccountId, after: str, limit: int) -> list[User]:
        """Return up to *limit* users by name, those after *after*."""
        return self._store.users(account, after, limit)

    def update(self, account: AccountId, name: str, changed: User) -> User:
        """Put *changed* in place of a user; its name may be another one.

        Raises: UserNotExist, UserExists.
        """
        self.get(account, name)
        if changed.name != name:
            if self._store.user(account, changed.name) is not None:
                raise UserExists(name=changed.name)
            self._store.rename_user(account, name, changed.name)
        self._store.put_user(account, changed)
        return changed

    def delete(self, account: AccountId, name: str) -> None:
        """Remove a user without keys, policies and groups.

        Raises: UserNotExist, DeleteConflict.
        """
        self.get(account, name)
        if self._store.keys(account, name):
            raise delete_conflict("User", "AccessKey", "access key")
        if self._store.attachments(Holder(account=account, kind=HolderKind.USER, name=name)):
            raise delete_conflict("User", "Policy", "attached policy")
        if self._store.memberships(account, user=name):
            raise delete_conflict("User", "Group", "group")
        self._store.delete_user(account, name)

    # --- keys ----------------------------------------------------------------------------------------------------

    def create_key(self, account: AccountId, name: str, now: Millis) -> UserKey:
        """Make an access key for a user; this is the only time its secret is told.

        Raises: UserNotExist, LimitExceeded.
        """
        self.get(account, name)
        if len(self._store.keys(account, name)) >= limits.ACCESS_KEYS:
            raise limit_exceeded("User.AccessKey", "access keys of the user")
        key = UserKey(
            key_id=KEY_PREFIX + self._ids.hex(20).upper(),
            user=name,
            secret=self._ids.hex(40),
            active=True,
            created_at=now,
        )
        self._store.put_key(account, key)
        return key

    def keys(self, account: AccountId, name: str) -> list[UserKey]:
        """Return a user's keys, oldest first.

        Raises: UserNotExist.
        """
        self.get(account, name)
        return self._store.keys(account, name)

    def switch_key(self, account: AccountId, name: str, key_id: str, *, active: bool) -> None:
        """Switch a key on or off.

        Raises: UserNotExist, AccessKeyNotExist.
        """
        self._store.put_key(account, replace(self._key(account, name, key_id), active=active))

    def delete_key(self, account: AccountId, name: str, key_id: str) -> None:
        """Remove a key.

        Raises: UserNotExist, AccessKeyNotExist.
        """
        self._store.delete_key(self._key(account, name, key_id).key_id)

    def _key(self, account: AccountId, name: str, key_id: str) -> UserKey:
        found = next((key for key in self.keys(account, name) if key.key_id == key_id), None)
        if found is None:
            raise AccessKeyNotExist(name=key_id)
        return found

    # --- groups --------------------------------------------------------------------------------------------------

    def create_group(self, account: AccountId, name: str, comments: str, now: Millis) -> Group:
        """Make a group.

        Raises: GroupExists, LimitExceeded.
        """
        if self._store.group(account, name) is not None:
            raise GroupExists(name=name)
        if self._store.count(account, "groups") >= limits.GROUPS:
            raise limit_exceeded("Group", "groups")
        group = Group(name=name, comments=comments, created_at=now, updated_at=now)
        self._store.put_group(account, group)
        return group

    def group(self, account: AccountId, name: str) -> Group:
        """Return a group.

        Raises: GroupNotExist.
        """
        found = self._store.group(account, name)
        if found is None:
            raise GroupNotExist(name=name)
        return found

    def groups(self, account: AccountId, after: str, limit: int) -> list[Group]:
        """Return up to *limit* groups by name, those after *after*."""
        return self._store.groups(account, after, limit)

    def delete_group(self, account: AccountId, name: str) -> None:
        """Remove a group without members and policies.

        Raises: GroupNotExist, DeleteConflict.
        """
        self.group(account, name)
        if self._store.memberships(account, group=name):
            raise delete_conflict("Group", "User", "user member")
        if self._store.attachments(Holder(account=account, kind=HolderKind.GROUP, name=name)):
            raise delete_conflict("Group", "Policy", "attached policy")
        self._store.delete_group(account, name)

    def join(self, account: AccountId, user: str, group: str, now: Millis) -> None:
        """Make a user a member of a group.

        Raises: UserNotExist, GroupNotExist, AlreadyMember, LimitExceeded.
        """
        self.get(account, user)
        self.group(account, group)
        present = self._store.memberships(account, user=user)
        if any(each[1] == group for each in present):
            raise AlreadyMember
        if len(present) >= limits.GROUPS_OF_USER:
            raise limit_exceeded("User.Group", "groups the target user joined")
        self._store.join(account, user, group, now)

    def leave(self, account: AccountId, user: str, group: str) -> None:
        """End a membership.

        Raises: UserNotExist, GroupNotExist, NotMember.
        """
        self.get(account, user)
        self.group(account, group)
        if not self._store.leave(account, user, group):
            raise NotMember

    def members(self, account: AccountId, group: str) -> list[tuple[User, Millis]]:
        """Return the users of a group and since when they are.

        Raises: GroupNotExist.
        """
        self.group(account, group)
        rows = self._store.memberships(account, group=group)
        return [(self.get(account, user), joined_at) for user, _, joined_at in rows]

    def groups_of(self, account: AccountId, user: str) -> list[tuple[Group, Millis]]:
        """Return a user's groups and since when it is in them.

        Raises: UserNotExist.
        """
        self.get(account, user)
        rows = self._store.memberships(account, user=user)
        return [(self.group(account, group), joined_at) for _, group, joined_at in rows]
