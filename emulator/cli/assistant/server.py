"""The MCP server: tools, resources and prompts, over standard input and output or over HTTP on loopback."""

import logging
import socket
import sys
from hmac import compare_digest
from typing import Any, Final

import uvicorn
from mcp.server import MCPServer

from emulator import __version__
from emulator.cli.assistant.reading import add_prompts, add_resources
from emulator.cli.assistant.running import Project
from emulator.cli.assistant.tools import tools
from emulator.cli.output import CommandFailed, _, reason_of
from emulator.kernel.system import take_over

_INSTRUCTIONS: Final = """A local emulator of Alibaba Cloud's Function Compute, Simple Message Queue (formerly MNS)
and CloudFlow (formerly Serverless Workflow).
Begin with status; deploy a template.yml or s.yaml; after a call use settle, then flow_show, logs or trace. Time can be
moved with clock. Nothing here reaches the cloud. docs_search answers questions about the emulator."""

HOST: Final = "127.0.0.1"
TOKEN_HEADER: Final = b"x-localyun-token"


def make(project: Project) -> MCPServer:
    """Return the server for a project."""
    server = MCPServer(
        "localyun", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING", tools=tools(project)
    )
    add_resources(server, project)
    add_prompts(server)
    return server


def serve_http(project: Project, port: int, token: str) -> None:
    """Serve calls that have *token* at *port* of the loopback address until interrupted; port 0 means any.

    The token is sent as a bearer token, or in the header that the admin API takes.

    Raises: CommandFailed when the port cannot be used.
    """
    app: Any = make(project).streamable_http_app(host=HOST)

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not _is_allowed(scope["headers"], token):
            await send({"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]})
            await send({"type": "http.response.body", "body": b"the admin token of keys.json is needed as a bearer\n"})
            return
        await app(scope, receive, send)

    config = uvicorn.Config(guarded, host=HOST, port=port, log_config=None, access_log=False, lifespan="on")
    listening = socket.socket()
    take_over(listening)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        text = _("port {port} cannot be used: {reason}; localyun mcp --http takes a free one")
        raise CommandFailed(text.format(port=port, reason=reason_of(error))) from error
    listening.listen(config.backlog)  # a client may connect as soon as the address is printed
    print(f"http://{HOST}:{listening.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    uvicorn.Server(config).run(sockets=[listening])


def _is_allowed(headers: list[tuple[bytes, bytes]], token: str) -> bool:
    sent = dict(headers)
    given = b"Bearer " + sent[TOKEN_HEADER] if TOKEN_HEADER in sent else sent.get(b"authorization", b"")
    return bool(token) and compare_digest(given, b"Bearer " + token.encode())
