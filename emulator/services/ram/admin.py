"""Accounts beside the installation's own, and the admin operations on them.

Each has one key, which is that of the account itself and may do everything in it. Every table has a column for the
account; an account has no access to another's resources, unless a role of the other account trusts it.
"""

from typing import Any

from emulator.auth.signed_request import AccessKey
from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import ACCOUNT_DIGITS, AccountId, is_account
from emulator.kernel.ids import Ids
from emulator.services.ram.errors import RamError
from emulator.services.ram.model import KEY_PREFIX
from emulator.storage.database import Database
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import argument

MOST_ACCOUNTS = 10_000


@frozen
class Account:
    """An account and its key."""

    account: AccountId
    key_id: str
    secret: str


class Accounts:
    """The accounts of this installation except *own*; an `emulator.auth.signed_request.KeySource`."""

    def __init__(self, database: Database, ids: Ids, own: AccountId) -> None:
        self._database = database
        self._ids = ids
        self._own = own
        self._keys: dict[str, AccessKey] | None = None
        database.on_rollback(self._forget)

    def add(self, account: str, now: Millis) -> Account:
        """Add an account; an empty id is generated. One that is there already is returned as it is.

        Raises: RamError (InvalidAccountId, AccountAlreadyExists, TooManyAccounts).
        """
        if account and not is_account(account):
            raise RamError("InvalidAccountId", most=ACCOUNT_DIGITS)
        if account == self._own:
            raise RamError("AccountAlreadyExists", account=account)
        known = self._find(account) if account else None
        if known is not None:
            return known
        if len(self.all()) >= MOST_ACCOUNTS:
            raise RamError("TooManyAccounts", most=MOST_ACCOUNTS)
        made = Account(
            account=AccountId(account or f"1{int(self._ids.hex(16), 16) % 10**15:015d}"),
            key_id=KEY_PREFIX + self._ids.secret(10).hex().upper(),
            secret=self._ids.secret(20).hex(),
        )
        self._database.write(
            "INSERT INTO ram_accounts (account, key_id, secret, created_at) VALUES (?, ?, ?, ?)",
            (made.account, made.key_id, made.secret, now),
        )
        self._forget()
        return made

    def all(self) -> list[Account]:
        """Return the accounts in the order they were added."""
        rows = self._database.read("SELECT account, key_id, secret FROM ram_accounts ORDER BY created_at, account")
        return [Account(account=AccountId(row[0]), key_id=row[1], secret=row[2]) for row in rows]

    def has(self, account: str) -> bool:
        """Whether there is such an account."""
        return self._find(account) is not None

    def find(self, key_id: str) -> AccessKey | None:
        """Return the key of that id."""
        if self._keys is None:
            self._keys = {
                each.key_id: AccessKey(
                    key_id=each.key_id,
                    secret=each.secret,
                    account=each.account,
                    arn=f"acs:ram::{each.account}:root",
                )
                for each in self.all()
            }
        return self._keys.get(key_id)

    def _find(self, account: str) -> Account | None:
        return next((each for each in self.all() if each.account == account), None)

    def _forget(self) -> None:
        self._keys = None


@operation("list-accounts", "GET /accounts")
def list_accounts(accounts: Accounts, call: OperationRequest) -> dict[str, Any]:
    """The additional accounts, with their keys."""
    return {"accounts": [_shown(each) for each in accounts.all()]}


@operation(
    "add-account",
    "POST /accounts",
    argument("accountId", about=f"Up to {ACCOUNT_DIGITS} digits (default: generated).", default=""),
)
def add_account(accounts: Accounts, call: OperationRequest) -> dict[str, Any]:
    """Add an account and return its key; an existing account is not changed.

    Raises: InvalidAccountId, AccountAlreadyExists, TooManyAccounts.
    """
    return _shown(accounts.add(call.arguments["accountId"], call.now))


def _shown(account: Account) -> dict[str, Any]:
    return {"accountId": account.account, "accessKeyId": account.key_id, "accessKeySecret": account.secret}
