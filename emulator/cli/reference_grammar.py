"""The grammar of what tells about the emulator: documentation, explanations, its server for assistants."""

from emulator.cli.parser import Commands, command


def add(commands: Commands) -> None:
    """Add these commands."""
    docs = command(commands, "docs", "docs:run", "list the pages of documentation or search them, without a network")
    docs.add_argument("query", nargs="*", metavar="QUERY", help="words to look for, in English or Chinese")
    docs.add_argument("--page", metavar="PAGE", help="print this page instead, as Markdown")
    docs.add_argument("-n", "--lines", type=int, default=8, metavar="N", help="at most so many sections (default: 8)")
    explain = command(commands, "explain", "docs:explain", "say what an error code means and what to do about it")
    explain.add_argument("code", metavar="CODE", help="the code, such as QueueNotExist or FnF.TaskTimeout")
    mcp = command(commands, "mcp", "mcp:run", "serve assistants over the Model Context Protocol", prints_data=False)
    mcp.add_argument(
        "--http",
        type=int,
        metavar="PORT",
        help="serve HTTP on this port of loopback, 0 is any (default: standard input)",
    )
    mcp.add_argument("--print-config", action="store_true", help="print what editors and assistants need, and end")
