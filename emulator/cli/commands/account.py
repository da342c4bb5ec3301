"""``account``: further accounts beside the installation's own, each with keys and resources of its own."""

from argparse import Namespace
from urllib.parse import quote

from emulator.cli.client import connect
from emulator.cli.messages import _
from emulator.cli.output import show, show_table, tell
from emulator.config import Settings

_COLUMNS = {"account": "accountId", "access key": "accessKeyId", "secret": "accessKeySecret"}


def add(arguments: Namespace, settings: Settings) -> int:
    """Add an account and print its key."""
    content = {"accountId": arguments.account} if arguments.account else {}
    return show(arguments, [connect(settings).admin("POST", "accounts", content)], as_list=False)


def show_list(arguments: Namespace, settings: Settings) -> int:
    """List the accounts with their keys."""
    return show_table(arguments, _COLUMNS, connect(settings).admin("GET", "accounts")["accounts"])


def remove(arguments: Namespace, settings: Settings) -> int:
    """Forget an account and its key; what it has made stays until `reset`."""
    done = connect(settings).admin("DELETE", f"accounts/{quote(arguments.account, safe='')}")
    return tell(arguments, _("removed {name}", name=arguments.account), done)
