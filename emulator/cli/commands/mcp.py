"""``mcp``: the emulator as a server of the Model Context Protocol, for editors and assistants."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from emulator import keyfile
from emulator.cli.background import program
from emulator.cli.extras import installing
from emulator.cli.output import CommandFailed, _, say
from emulator.config import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    """Serve over standard input and output, or over HTTP; with ``--print-config`` print the configuration for editors.

    Raises: CommandFailed.
    """
    if arguments.print_config:
        say(configuration(*program()))
        return 0
    try:
        from emulator.cli.assistant import running, server  # an extra; it takes half a second to load
    except ModuleNotFoundError as error:
        raise CommandFailed(_("mcp needs an extra: {command}", command=installing("mcp"))) from error
    project = running.Project(settings, Path.cwd())
    if arguments.http is None:
        server.make(project).run("stdio")
    else:
        keys = keyfile.load(settings.config)
        if keys is None:
            raise CommandFailed(_("the admin token is created at the first start; run localyun start -d"))
        server.serve_http(project, arguments.http, keys.admin_token)
    return 0


def _from_anywhere(executable: str) -> str:
    """Return an executable that a user's settings can name, which do not depend on a folder."""
    return executable if Path(executable).name == executable else str(Path(executable).absolute())


def configuration(executable: str, *words: str) -> str:
    """Return the configuration files of common editors and assistants for the server; no token is needed.

    *executable* with *words* is the command.
    """
    own: dict[str, Any] = {"command": executable, "args": [*words, "mcp"]}
    files = {
        ".mcp.json (Claude Code), .cursor/mcp.json (Cursor)": {"mcpServers": {"localyun": own}},
        ".vscode/mcp.json (VS Code)": {"servers": {"localyun": {"type": "stdio", **own}}},
        ".zed/settings.json (Zed)": {"context_servers": {"localyun": {"source": "custom", **own}}},
    }
    parts = [f"# {name}\n{json.dumps(content, indent=2)}" for name, content in files.items()]
    found, arguments = json.dumps(_from_anywhere(executable)), json.dumps(own["args"])
    parts.append(f"# ~/.codex/config.toml (Codex)\n[mcp_servers.localyun]\ncommand = {found}\nargs = {arguments}")
    return "\n\n".join(parts)
