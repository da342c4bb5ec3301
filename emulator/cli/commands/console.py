"""``console``: the emulator's pages in a browser."""

from argparse import Namespace
from urllib.parse import quote

from emulator.cli.client import Client, connect
from emulator.cli.output import CommandFailed, _, say, tell
from emulator.config import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    """Open the console, or print the link that does so once and within a minute."""
    address, seconds = link(connect(settings), arguments.page)
    if arguments.print_only:
        say(address)
        return 0
    open_address(address)
    text = _(
        "opened {page}; the link worked once, within {seconds} s", page=address.partition("/login")[0], seconds=seconds
    )
    return tell(arguments, text, {"opened": address.partition("/login")[0]})


def open_address(address: str) -> None:
    """Open an address in the user's browser.

    Raises: CommandFailed when there is none.
    """
    import webbrowser  # only here: it looks for every browser there is

    if not webbrowser.open(address):
        raise CommandFailed(_("there is no browser; localyun console --print prints a link to open elsewhere"))


def link(client: Client, page: str = "") -> tuple[str, int]:
    """Return an address that opens a page of the console once, and for how many seconds.

    Raises: NoEmulator; CallRefused by an emulator without a console.
    """
    client.compare()
    answer = client.admin("POST", "console-link")
    target = f"&to={quote('/' + page.lstrip('/'))}" if page else ""
    return f"{client.endpoint.http}{answer['path']}{target}", int(answer["seconds"])
