"""The address that ``mcp --http`` prints."""

import socket
from contextlib import closing
from urllib.parse import urlsplit

import pytest

pytest.importorskip("mcp.server", reason="the extra mcp is missing")

import uvicorn

from emulator.cli.assistant.running import Project
from emulator.cli.assistant.server import serve_http
from emulator.config import load


def test_address_that_is_printed_accepts_connections(monkeypatch, capsys, tmp_path):
    """Before the library's server has started."""
    connected = []

    def run(server, sockets):
        address = urlsplit(capsys.readouterr().err.strip())
        with closing(sockets[0]), socket.create_connection((address.hostname, address.port), timeout=20) as link:
            connected.append(link.getpeername())

    monkeypatch.setattr(uvicorn.Server, "run", run)
    serve_http(Project(load({}, {}, tmp_path), tmp_path), 0, "token")

    assert connected
