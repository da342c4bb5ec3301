"""How long a byte is on its way between a client and a function that serves HTTP, in each direction.

Function and client read the same clock of the machine: who sends writes the time into what is sent, who receives takes
the difference. Of an answer that is the time from the function's first write to the client's first byte, while the
function goes on; of a request, from the client's last byte to the first line of the handler. Of a custom runtime that
reads a body and answers it in pieces it is the time of each piece, while more is to come. The figures are the 95th
percentile, in milliseconds, of functions that are warm.
"""

import http.client
import json
import shutil
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import Row
from benchmarks.server import Server

CALLS = 105
GOAL_MS = 5.0

PYTHON = """
import time
def handler(environ, start_response):
    came = time.monotonic_ns()
    sent = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    start_response("200 OK", [("Content-Type", "text/plain")])
    def pieces():
        yield f"{came - int(sent)} {time.monotonic_ns()}\\n".encode()
        time.sleep(0.005)
        yield b"end"
    return pieces()
"""
NODE = """
const now = () => process.hrtime.bigint();
exports.handler = (request, response) => {
  const came = now();
  response.setHeader('Content-Type', 'text/plain');
  response.write(`${came - BigInt(request.body.toString())} ${now()}\\n`);
  setTimeout(() => response.end('end'), 5);
};
"""
CUSTOM = """
import os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *parts): pass
    def do_POST(self):
        came = time.monotonic_ns()
        sent = int(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        line = b"%d %d\\n" % (came - sent, time.monotonic_ns())
        self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(line), line))
        time.sleep(0.005)
        self.wfile.write(b"3\\r\\nend\\r\\n0\\r\\n\\r\\n")
ThreadingHTTPServer(("127.0.0.1", int(os.environ["FC_SERVER_PORT"])), Handler).serve_forever()
"""
SOCKET = """
import os, time
from websockets.sync.server import serve
def talk(connection):
    for message in connection:
        connection.send(f"{time.monotonic_ns() - int(message)} {time.monotonic_ns()}")
with serve(talk, "127.0.0.1", int(os.environ["FC_SERVER_PORT"])) as server:
    server.serve_forever()
"""
PIECES = """
import os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *parts): pass
    def do_POST(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while size := int(self.rfile.readline(), 16):
            piece = self.rfile.read(size)
            came = time.monotonic_ns()
            self.rfile.readline()
            line = b"%d %d\\n" % (came - int(piece), time.monotonic_ns())
            self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(line), line))
        self.wfile.write(b"0\\r\\n\\r\\n")
ThreadingHTTPServer(("127.0.0.1", int(os.environ["FC_SERVER_PORT"])), Handler).serve_forever()
"""
PROGRAMS = {"custom": CUSTOM, "pieces": PIECES, "socket": SOCKET}


class Streams:
    """The rows, around one server; without Node.js its rows are left out."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="localyun-bench-streams-"))
        self._kinds = ["python", "node", "custom"] if shutil.which("node") else ["python", "custom"]
        for name in (*self._kinds, "pieces", "socket"):
            _write(self._folder / "bench" / name, name)
        self._server = Server(self._folder)

    def close(self) -> None:
        """End the server and remove the folder."""
        self._server.stop()
        shutil.rmtree(self._folder)

    def rows(self) -> list[Row]:
        """Return two rows for each kind of function."""
        names = {"python": "Python", "node": "Node.js", "custom": "custom runtime", "socket": "WebSocket"}
        names["pieces"] = "custom runtime, in pieces"
        own = {"socket": self._talk, "pieces": self._sent_in_pieces}
        rows = []
        for kind in (*self._kinds, *own):
            ask = own.get(kind) or self._asking(kind)
            for direction, what in enumerate(("to the function", "from the function")):
                rows.append(
                    Row(
                        name=f"a byte on its way {what}, {names[kind]}, p95",
                        unit="ms",
                        measure=lambda ask=ask, direction=direction: _p95(ask(), direction),  # type: ignore[misc] # a loop
                        goal=GOAL_MS,
                    )
                )
        return rows

    def _asking(self, kind: str) -> Callable[[], list[tuple[float, float]]]:
        return lambda: self._asked(kind)

    def _asked(self, kind: str) -> list[tuple[float, float]]:
        """Return how long a byte took to the function and from it, of so many requests, in ms."""
        connection, spent = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=60), []
        for _ in range(CALLS):
            connection.request("POST", f"/2016-08-15/proxy/bench/{kind}/", str(time.monotonic_ns()))
            answer = connection.getresponse()
            line = answer.readline()
            came = time.monotonic_ns()
            if answer.status != 200 or answer.read() != b"end":
                raise RuntimeError(f"{kind}: {answer.status} {line!r}")
            spent.append(_spent(line.decode(), came))
        connection.close()
        return spent[5:]

    def _sent_in_pieces(self) -> list[tuple[float, float]]:
        """Return the same of so many pieces of one request, each sent when the one before has been answered."""
        spent = []
        with socket.create_connection(("127.0.0.1", self._server.port), timeout=60) as connection:
            head = (
                "POST /2016-08-15/proxy/bench/pieces/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            connection.sendall(head.encode())
            answer = http.client.HTTPResponse(connection, method="POST")
            for number in range(CALLS):
                piece = str(time.monotonic_ns()).encode()
                connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
                if number == 0:
                    answer.begin()
                line = answer.readline()
                spent.append(_spent(line.decode(), time.monotonic_ns()))
            connection.sendall(b"0\r\n\r\n")
        return spent[5:]

    def _talk(self) -> list[tuple[float, float]]:
        """Return the same of so many messages over one WebSocket."""
        from websockets.sync.client import connect  # of the development environment

        spent = []
        with connect(f"ws://127.0.0.1:{self._server.port}/2016-08-15/proxy/bench/socket/", proxy=None) as talk:
            for _ in range(CALLS):
                talk.send(str(time.monotonic_ns()))
                line = str(talk.recv(timeout=60))
                spent.append(_spent(line, time.monotonic_ns()))
        return spent[5:]


def _spent(line: str, came: int) -> tuple[float, float]:
    there, written = map(int, line.split())
    return there / 1e6, (came - written) / 1e6


def _p95(spent: list[tuple[float, float]], direction: int) -> float:
    return statistics.quantiles([each[direction] for each in spent], n=20)[-1]


def _write(folder: Path, kind: str) -> None:
    folder.mkdir(parents=True)
    config: dict[str, object] = {
        "timeout": 60,
        "triggers": [{"name": "web", "type": "http", "config": {"authType": "anonymous", "methods": ["GET", "POST"]}}],
    }
    if kind == "python":
        (folder / "index.py").write_text(PYTHON, encoding="ascii")
    elif kind == "node":
        config["runtime"] = "nodejs20"
        (folder / "index.js").write_text(NODE, encoding="ascii")
    else:
        config |= {"runtime": "custom", "customRuntimeConfig": {"command": [sys.executable, "server.py"]}}
        (folder / "server.py").write_text(PROGRAMS[kind], encoding="ascii")
    (folder / "function.yml").write_text(json.dumps(config), encoding="ascii")  # which is YAML
