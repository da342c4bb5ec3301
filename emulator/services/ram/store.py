"""The tables of users, groups, roles, access keys, policies, attachments and tags."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import fields_of
from emulator.kernel.identity import AccountId, stable_id
from emulator.services.ram.model import (
    Attachment,
    Group,
    Holder,
    HolderKind,
    PolicyInfo,
    PolicyType,
    PolicyVersion,
    Role,
    User,
    UserKey,
)
from emulator.storage.database import Database

Entity = TypeVar("Entity", bound=Role | User | Group)

_ENTITIES: Mapping[type[Any], tuple[str, str]] = {
    Role: ("ram_roles", ", ".join(each.name for each in fields_of(Role))),
    User: ("ram_users", "name, display_name, mobile_phone, email, comments, created_at, updated_at, user_id"),
    Group: ("ram_groups", "name, comments, created_at, updated_at"),
}
"""The table of each kind and its columns, which are the fields in their order."""

_NAMED_IN: Mapping[type[Any], tuple[tuple[str, str], ...]] = {
    User: (("ram_users", "name"), ("ram_access_keys", "user"), ("ram_members", "user")),
    Group: (("ram_groups", "name"), ("ram_members", "group_name")),
}
"""The tables and columns, beside those of attachments, that contain the name of a user or group."""

_KEY = "key_id, user, secret, active, created_at"
_POLICY = "name, description, default_version, created_at, updated_at"
_ATTACHMENT = "holder_kind, holder, policy_type, policy, attached_at"
_TABLES = ("roles", "users", "access_keys", "groups", "members", "policies", "policy_versions", "attachments", "tags")
_COUNTED = {"roles", "users", "groups", "policies"}

_HAS_TAG = (
    " AND EXISTS (SELECT 1 FROM ram_tags o WHERE o.account = t.account AND o.resource_type = t.resource_type"
    " AND o.name = t.name AND o.key = ? AND ? IN ('', o.value))"
)


class RamStore:
    """The tables of RAM. ``generation`` grows with every change, so that derived data can be cached."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.generation = 0
        database.on_rollback(self._changed)

    def count(self, account: AccountId, table: str, most: int = -1) -> int:
        """Return how many rows an account has in *table* (one of `_COUNTED`), at most *most*; negative for no limit."""
        assert table in _COUNTED
        rows = f"SELECT 1 FROM ram_{table} WHERE account = ? LIMIT ?"  # noqa: S608 - fixed names
        return int(self._one(f"SELECT count(*) FROM ({rows})", account, most)[0])  # noqa: S608 - fixed names

    def clear(self) -> None:
        """Delete everything."""
        for table in _TABLES:
            self._write(f"DELETE FROM ram_{table}")  # noqa: S608 - fixed names

    def find(self, kind: type[Entity], account: AccountId, name: str) -> Entity | None:
        """Return a role, user or group."""
        table, columns = _ENTITIES[kind]
        row = self._one(f"SELECT {columns} FROM {table} WHERE account = ? AND name = ?", account, name)  # noqa: S608
        return _entity(kind, account, row) if row else None

    def page(self, kind: type[Entity], account: AccountId, after: str, limit: int) -> list[Entity]:
        """Return up to *limit* roles, users or groups by name, those after *after*."""
        table, columns = _ENTITIES[kind]
        sql = f"SELECT {columns} FROM {table} WHERE account = ? AND name > ? ORDER BY name LIMIT ?"  # noqa: S608
        return [_entity(kind, account, row) for row in self._all(sql, account, after, limit)]

    def put(self, account: AccountId, entity: Role | User | Group) -> None:
        """Store a role, user or group, replacing one of the same name."""
        table, columns = _ENTITIES[type(entity)]
        values = [getattr(entity, column) for column in columns.split(", ")]
        places = ", ".join("?" for _ in (account, *values))
        self._write(f"INSERT OR REPLACE INTO {table} (account, {columns}) VALUES ({places})", account, *values)  # noqa: S608

    def delete(self, kind: type[Role | User | Group], account: AccountId, name: str) -> None:
        """Remove a role, user or group; a role with its tags."""
        if kind is Role:
            self.delete_tags(account, "role", name)
        self._write(f"DELETE FROM {_ENTITIES[kind][0]} WHERE account = ? AND name = ?", account, name)  # noqa: S608

    def rename(self, kind: type[User | Group], account: AccountId, name: str, new_name: str) -> None:
        """Rename a user or group in all tables."""
        for table, column in _NAMED_IN[kind]:
            self._write(
                f"UPDATE {table} SET {column} = ? WHERE account = ? AND {column} = ?",  # noqa: S608 - fixed names
                new_name,
                account,
                name,
            )
        self._write(
            "UPDATE ram_attachments SET holder = ? WHERE account = ? AND holder_kind = ? AND holder = ?",
            new_name,
            account,
            kind.__name__,
            name,
        )

    def owned_key(self, key_id: str) -> tuple[AccountId, UserKey] | None:
        """Return the account and the access key of an id, None for an unknown id."""
        row = self._one(f"SELECT account, {_KEY} FROM ram_access_keys WHERE key_id = ?", key_id)  # noqa: S608
        return (AccountId(row[0]), _key(row[1:])) if row else None

    def keys(self, account: AccountId, user: str) -> list[UserKey]:
        """Return a user's access keys, oldest first."""
        sql = f"SELECT {_KEY} FROM ram_access_keys WHERE account = ? AND user = ? ORDER BY created_at, key_id"  # noqa: S608
        return [_key(row) for row in self._all(sql, account, user)]

    def put_key(self, account: AccountId, key: UserKey) -> None:
        """Store an access key, replacing one of the same id."""
        self._write(
            "INSERT OR REPLACE INTO ram_access_keys (account, key_id, user, secret, active, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            account, key.key_id, key.user, key.secret, key.active, key.created_at,
        )  # fmt: skip

    def delete_key(self, key_id: str) -> None:
        """Remove an access key."""
        self._write("DELETE FROM ram_access_keys WHERE key_id = ?", key_id)

    def memberships(self, account: AccountId, *, user: str = "", group: str = "") -> list[tuple[str, str, Millis]]:
        """Return (user, group, since) of a user's or a group's memberships, by name."""
        sql = "SELECT user, group_name, joined_at FROM ram_members WHERE account = ? AND "
        if user:
            return self._all(sql + "user = ? ORDER BY group_name", account, user)
        return self._all(sql + "group_name = ? ORDER BY user", account, group)

    def join(self, account: AccountId, user: str, group: str, now: Millis) -> None:
        """Make a user a member of a group."""
        self._write("INSERT INTO ram_members VALUES (?, ?, ?, ?)", account, user, group, now)

    def leave(self, account: AccountId, user: str, group: str) -> bool:
        """End a membership; return whether there was one."""
        return self._write(
            "DELETE FROM ram_members WHERE account = ? AND user = ? AND group_name = ?", account, user, group
        )

    def policy(self, account: AccountId, name: str) -> PolicyInfo | None:
        """Return a policy of the account."""
        row = self._one(f"SELECT {_POLICY} FROM ram_policies WHERE account = ? AND name = ?", account, name)  # noqa: S608
        return _policy(row) if row else None

    def policies(self, account: AccountId, after: str = "", limit: int = -1) -> list[PolicyInfo]:
        """Return up to *limit* of the account's policies by name, those beyond *after*; -1: all."""
        sql = f"SELECT {_POLICY} FROM ram_policies WHERE account = ? AND name > ? ORDER BY name LIMIT ?"  # noqa: S608
        return [_policy(row) for row in self._all(sql, account, after, limit)]

    def put_policy(self, account: AccountId, policy: PolicyInfo) -> None:
        """Store a policy; the highest number that a version has had stays."""
        self._write(
            "INSERT INTO ram_policies (account, name, description, default_version, last_version, created_at,"
            " updated_at) VALUES (?, ?, ?, ?, 0, ?, ?) ON CONFLICT (account, name) DO UPDATE SET"
            " description = excluded.description, default_version = excluded.default_version,"
            " updated_at = excluded.updated_at",
            account, policy.name, policy.description, policy.default_version, policy.created_at, policy.updated_at,
        )  # fmt: skip

    def delete_policy(self, account: AccountId, name: str) -> None:
        """Remove a policy with all its versions and its tags."""
        self.delete_tags(account, "policy", name)
        self._write("DELETE FROM ram_policy_versions WHERE account = ? AND policy = ?", account, name)
        self._write("DELETE FROM ram_policies WHERE account = ? AND name = ?", account, name)

    def versions(self, account: AccountId, policy: str) -> list[PolicyVersion]:
        """Return a policy's versions, oldest first."""
        sql = (
            "SELECT version, document, created_at FROM ram_policy_versions"
            " WHERE account = ? AND policy = ? ORDER BY version"
        )
        return [PolicyVersion(*row) for row in self._all(sql, account, policy)]

    def add_version(self, account: AccountId, policy: str, document: str, now: Millis) -> PolicyVersion:
        """Store the next version of a policy and return it; numbers are never reused."""
        self._write(
            "UPDATE ram_policies SET last_version = last_version + 1, updated_at = ? WHERE account = ? AND name = ?",
            now,
            account,
            policy,
        )
        row = self._one("SELECT last_version FROM ram_policies WHERE account = ? AND name = ?", account, policy)
        self._write("INSERT INTO ram_policy_versions VALUES (?, ?, ?, ?, ?)", account, policy, row[0], document, now)
        return PolicyVersion(number=row[0], document=document, created_at=now)

    def delete_version(self, account: AccountId, policy: str, number: int) -> None:
        """Remove a version of a policy."""
        self._write(
            "DELETE FROM ram_policy_versions WHERE account = ? AND policy = ? AND version = ?", account, policy, number
        )

    def attachments(self, holder: Holder) -> list[Attachment]:
        """Return the policies attached to a user, group or role, by name."""
        sql = (
            f"SELECT {_ATTACHMENT} FROM ram_attachments"  # noqa: S608 - fixed names
            " WHERE account = ? AND holder_kind = ? AND holder = ? ORDER BY policy, policy_type"
        )
        return [_attachment(row) for row in self._all(sql, holder.account, holder.kind, holder.name)]

    def attached_to(self, account: AccountId, kind: PolicyType, policy: str) -> list[Attachment]:
        """Return the attachments of a policy to users, groups and roles."""
        sql = (
            f"SELECT {_ATTACHMENT} FROM ram_attachments"  # noqa: S608 - fixed names
            " WHERE account = ? AND policy_type = ? AND policy = ? ORDER BY holder_kind, holder"
        )
        return [_attachment(row) for row in self._all(sql, account, kind, policy)]

    def attachment_counts(self, account: AccountId) -> dict[tuple[str, str], int]:
        """Return the number of attachments of each policy, by (type, name)."""
        sql = "SELECT policy_type, policy, count(*) FROM ram_attachments WHERE account = ? GROUP BY policy_type, policy"
        return {(kind, policy): count for kind, policy, count in self._all(sql, account)}

    def attach(self, holder: Holder, kind: PolicyType, policy: str, now: Millis) -> None:
        """Attach a policy."""
        self._write(
            "INSERT INTO ram_attachments VALUES (?, ?, ?, ?, ?, ?)",
            holder.account, holder.kind, holder.name, kind, policy, now,
        )  # fmt: skip

    def detach(self, holder: Holder, kind: PolicyType, policy: str) -> bool:
        """Detach a policy; return whether it was attached."""
        return self._write(
            "DELETE FROM ram_attachments WHERE account = ? AND holder_kind = ? AND holder = ? AND policy_type = ?"
            " AND policy = ?",
            holder.account, holder.kind, holder.name, kind, policy,
        )  # fmt: skip

    def tags(self, account: AccountId, kind: str, name: str = "") -> list[tuple[str, str, str]]:
        """Return (name, key, value) of one resource's tags, or of all of that kind, in order."""
        sql = "SELECT name, key, value FROM ram_tags WHERE account = ? AND resource_type = ?"
        if name:
            return self._all(sql + " AND name = ? ORDER BY key", account, kind, name)
        return self._all(sql + " ORDER BY name, key", account, kind)

    def tags_of(self, account: AccountId, kind: str, name: str) -> dict[str, str]:
        """Return the tags of one resource."""
        return {key: value for _, key, value in self.tags(account, kind, name)}

    def tagged(
        self, account: AccountId, kind: str, wanted: Mapping[str, str], after: str = "", limit: int = -1
    ) -> list[str]:
        """Return up to *limit* names beyond *after* of resources of a kind that have all tags *wanted*; -1: all.

        An empty value stands for any.
        """
        sql, values = (
            "SELECT DISTINCT name FROM ram_tags t WHERE account = ? AND resource_type = ? AND name > ?",
            [after],
        )
        for tag in wanted.items():
            sql += _HAS_TAG
            values += tag
        return [name for (name,) in self._all(f"{sql} ORDER BY name LIMIT ?", account, kind, *values, limit)]

    def put_tags(self, account: AccountId, kind: str, name: str, tags: Mapping[str, str]) -> None:
        """Set tags of a resource; those with other keys stay."""
        for key, value in tags.items():
            self._write("INSERT OR REPLACE INTO ram_tags VALUES (?, ?, ?, ?, ?)", account, kind, name, key, value)

    def delete_tags(self, account: AccountId, kind: str, name: str, keys: Iterable[str] | None = None) -> None:
        """Remove tags of a resource, all of them without *keys*."""
        sql = "DELETE FROM ram_tags WHERE account = ? AND resource_type = ? AND name = ?"
        if keys is None:
            self._write(sql, account, kind, name)
        for key in keys or ():
            self._write(sql + " AND key = ?", account, kind, name, key)

    def _one(self, sql: str, *parameters: Any) -> Any:
        return self._database.read(sql, parameters).fetchone()

    def _all(self, sql: str, *parameters: Any) -> list[Any]:
        return self._database.read(sql, parameters).fetchall()

    def _write(self, sql: str, *parameters: Any) -> bool:
        """Execute a change; return whether any row was affected."""
        self._changed()
        return self._database.write(sql, parameters).rowcount > 0

    def _changed(self) -> None:
        self.generation += 1


def _entity(kind: type[Entity], account: AccountId, row: Sequence[Any]) -> Entity:
    if kind is User and not row[-1]:
        row = (*row[:-1], stable_id("user", account, row[0]))
    return kind(*row)


def _key(row: Sequence[Any]) -> UserKey:
    key_id, user, secret, active, created_at = row
    return UserKey(key_id=key_id, user=user, secret=secret, active=bool(active), created_at=created_at)


def _policy(row: Sequence[Any]) -> PolicyInfo:
    name, description, default_version, created_at, updated_at = row
    return PolicyInfo(
        type=PolicyType.CUSTOM,
        name=name,
        description=description,
        default_version=default_version,
        created_at=created_at,
        updated_at=updated_at,
    )


def _attachment(row: Sequence[Any]) -> Attachment:
    kind, holder, policy_type, policy, attached_at = row
    return Attachment(
        kind=HolderKind(kind), holder=holder, type=PolicyType(policy_type), policy=policy, attached_at=attached_at
    )
