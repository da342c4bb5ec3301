"""Resource access management as a whole: what it keeps, and the access keys that users sign with."""

from emulator.auth.signed_request import AccessKey
from emulator.kernel.identity import AccountId
from emulator.kernel.ids import Ids
from emulator.services.ram.limits import CACHED_KEYS
from emulator.services.ram.model import KEY_PREFIX, user_arn
from emulator.services.ram.store import RamStore
from emulator.storage.database import Database


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


class UserKeys:
    """Finds the lasting keys of users; an `emulator.auth.signed_request.KeySource`.

    Keys in use are kept in memory until anything changes, because every request signed with one asks for it.
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
