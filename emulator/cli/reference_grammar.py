"""The grammar of documentation commands: pages, error codes, and the server for assistants."""

from emulator.cli.parameters import port, whole_number
from emulator.cli.parser import Commands, command


def add(commands: Commands) -> None:
    """Add these commands."""
    docs = command(commands, "docs", "docs:run", "list or search the documentation, offline")
    docs.add_argument("query", nargs="*", metavar="QUERY", help="words to look for, in English or Chinese")
    docs.add_argument("--page", metavar="PAGE", help="print this page as Markdown")
    docs.add_argument(
        "-n", "--lines", type=whole_number, default=8, metavar="N", help="maximum number of sections (default: 8)"
    )
    explain = command(commands, "explain", "docs:explain", "explain an error code and what to do about it")
    explain.add_argument("code", metavar="CODE", help="the code, such as QueueNotExist or FnF.TaskTimeout")
    mcp = command(commands, "mcp", "mcp:run", "serve AI assistants over the Model Context Protocol", prints_data=False)
    mcp.add_argument(
        "--http",
        type=port,
        nargs="?",
        const=0,
        metavar="PORT",
        help="serve HTTP on this loopback port, 0 or none for any (default: standard input and output)",
    )
    mcp.add_argument(
        "--print-config", action="store_true", help="print the configuration for editors and assistants, and exit"
    )
