"""Ports that ``mcp --http`` cannot have, and the logs of functions without service."""

import socket
from contextlib import closing

import pytest

pytest.importorskip("mcp.server", reason="the extra mcp is missing")

from mcp.server import MCPServer

from emulator.cli.assistant.reading import add_resources
from emulator.cli.assistant.running import Project
from emulator.cli.assistant.server import serve_http
from emulator.cli.main import main
from emulator.cli.output import CommandFailed
from emulator.config import load


def test_port_that_is_taken_is_a_sentence(tmp_path):
    """With a way out; the library would print a traceback, or end the process by itself."""
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = other.getsockname()[1]
        with pytest.raises(CommandFailed, match=f"port {port} cannot be used: .*; .* takes a free one"):
            serve_http(Project(load({}, {}, tmp_path), tmp_path), port, "token")


@pytest.mark.parametrize("port", ["70000", "-1", "x"])
def test_number_that_is_no_port_is_a_wrong_usage(port, capsys):
    """It says which there are."""
    with pytest.raises(SystemExit) as ended:
        main(["mcp", f"--http={port}"])

    assert ended.value.code == 2
    assert "must be a port from 0 to 65535" in capsys.readouterr().err


async def test_logs_of_a_function_without_service_are_a_resource():
    """Its name alone is the address."""
    asked = []

    class Asked:
        async def ask(self, *words, detail):
            asked.append(words)
            return "printed"

    server = MCPServer("test")
    add_resources(server, Asked())
    for address in ("logs://f", "logs://s/f"):
        await server.read_resource(address)

    assert asked == [("logs", "f"), ("logs", "s/f")]
