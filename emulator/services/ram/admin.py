"""The admin operations of accounts."""

from typing import Any

from emulator.services.ram.accounts import Account, Accounts
from emulator.wire.operation import Parameter, operation
from emulator.wire.request import OperationRequest


@operation("list-accounts", "GET /accounts")
def list_accounts(accounts: Accounts, call: OperationRequest) -> dict[str, Any]:
    """The accounts beside the installation's own, with their keys."""
    del call
    return {"accounts": [_shown(each) for each in accounts.all()]}


@operation("add-account", "POST /accounts", Parameter("accountId", about="Up to 20 digits; or generated.", default=""))
def add_account(accounts: Accounts, call: OperationRequest) -> dict[str, Any]:
    """Add an account and return its key; an account that is there already stays as it is."""
    return _shown(accounts.add(call.arguments["accountId"], call.now))


@operation("remove-account", "DELETE /accounts/{account}")
def remove_account(accounts: Accounts, call: OperationRequest) -> dict[str, Any] | None:
    """Forget an account and its key; what it has made stays."""
    account = call.path["account"]
    return {"accountId": account} if accounts.remove(account) else None


def _shown(account: Account) -> dict[str, Any]:
    return {"accountId": account.account, "accessKeyId": account.key_id, "accessKeySecret": account.secret}
