"""The least that programs with the same guarantees do: what the floors of the figures run (`benchmarks.floors`).

Each public function is a program, started as ``python -c "from benchmarks.bare import NAME; NAME(...)"``; it imports
what it needs itself, so that a start pays for nothing else. No code of the emulator runs here. Its schema files are
read, so that tables and indexes are the same.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

PRAGMAS = (
    "auto_vacuum=INCREMENTAL", "journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "temp_store=MEMORY",
    "cache_size=-4096", "journal_size_limit=16777216",
)  # fmt: skip
"""Those of `emulator.storage.database`."""

QUEUE = 1
"""The number of the queue that messages are in."""


class Http:
    """A protocol of asyncio that reads just enough to know where a request ends."""

    def connection_made(self, transport: Any) -> None:
        """Keep what writes."""
        self.transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """Answer when a request is complete."""
        self._received += data
        head, mark, body = self._received.partition(b"\r\n\r\n")
        found = head.lower().find(b"content-length:")
        length = int(head[found + 15 :].split(b"\r\n", 1)[0]) if found >= 0 else 0
        if mark and len(body) >= length:
            self._received = body[length:]
            self.answer(head, body[:length])

    def connection_lost(self, error: Exception | None) -> None:
        """Nothing waits for an answer."""

    def eof_received(self) -> None:
        """Let the connection be closed."""

    def answer(self, head: bytes, body: bytes) -> None:
        """Answer a request."""
        del head, body
        self.send(200)

    def send(self, status: int, body: bytes = b"") -> None:
        """Send an answer with the header fields that clients need."""
        head = f"HTTP/1.1 {status} OK\r\nContent-Type: text/xml\r\nx-mns-request-id: 0\r\n"
        self.transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode("ascii") + body)


class Tables:
    """A state file with the emulator's tables; what one turn of the loop writes is one commit.

    *later* is the loop's ``call_soon``; without it the caller commits.
    """

    def __init__(self, path: str, later: Callable[[Callable[[], None]], object] | None = None) -> None:
        import sqlite3
        from pathlib import Path

        self.connection = sqlite3.connect(path, isolation_level=None, cached_statements=512)
        for pragma in PRAGMAS:
            self.connection.execute(f"PRAGMA {pragma}")
        files = sorted((Path(__file__).resolve().parent.parent / "emulator").rglob("schema/*.sql"))
        script = "\n".join(file.read_text(encoding="utf-8") for file in files)
        self.connection.executescript(f"BEGIN;\n{script}\nCOMMIT;")
        self._later = later
        self._open = False
        self._waiting: list[Callable[[], None]] = []

    def write(self, sql: str, *rows: Sequence[Any], then: Callable[[], None] | None = None) -> None:
        """Run a statement for each of the *rows*; *then* is called once they are committed."""
        if not self._open:
            self.connection.execute("BEGIN IMMEDIATE")
            self._open = True
            if self._later:
                self._later(self.commit)
        if len(rows) == 1:
            self.connection.execute(sql, rows[0])
        else:
            self.connection.executemany(sql, rows)
        if then:
            self._waiting.append(then)

    def commit(self) -> None:
        """Commit and release everything that waited."""
        self.connection.execute("COMMIT")
        self._open = False
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then()


class Messages:
    """One queue with all that has to be done for a message: XML, MD5, row, receipt handle."""

    _INSERT = f"INSERT INTO mns_messages VALUES ({', '.join('?' * 16)})"
    _FIND = (
        "SELECT seq, message_id, body, body_md5, enqueued_at, revision FROM mns_messages "
        "WHERE queue = ? AND priority = ? AND visible_from > 0 AND visible_from <= ? ORDER BY visible_from, seq LIMIT 1"
    )
    _HIDE = "UPDATE mns_messages SET visible_from = ?, dequeue_count = 1, revision = ? WHERE seq = ?"
    _DELETE = "DELETE FROM mns_messages WHERE seq = ? AND queue = ? AND revision = ?"

    def __init__(self, tables: Tables) -> None:
        from hashlib import md5
        from os import urandom
        from time import time
        from xml.parsers.expat import ParserCreate
        from xml.sax.saxutils import escape

        self._tables = tables
        self._md5, self._random, self._time, self._parser, self._escape = md5, urandom, time, ParserCreate, escape
        self._last: int = tables.connection.execute("SELECT ifnull(max(seq), 0) FROM mns_messages").fetchone()[0]

    def _fields(self, body: bytes) -> dict[str, str]:
        found: dict[str, str] = {}
        text: list[str] = []

        def end(name: str) -> None:
            found[name] = "".join(text)
            text.clear()

        parser = self._parser()
        parser.EndElementHandler = end
        parser.CharacterDataHandler = text.append
        parser.Parse(body, True)
        return found

    def send(self, body: bytes, then: Callable[[], None] | None = None) -> bytes:
        """Keep a message and return the answer."""
        fields = self._fields(body)
        content = fields["MessageBody"]
        now = int(self._time() * 1000)
        due = now + int(fields.get("DelaySeconds", 0)) * 1000
        name, digest = self._random(16).hex().upper(), self._md5(content.encode()).hexdigest().upper()
        self._last += 1
        row = (
            self._last, QUEUE, int(fields.get("Priority", 8)), due, 0, 0, now, 0, name, digest, None, None, None,
            content, 0, "",
        )  # fmt: skip
        self._tables.write(self._INSERT, row, then=then)
        return (
            '<?xml version="1.0" ?>\n<Message xmlns="http://mns.aliyuncs.com/doc/v1">\n'
            f"  <MessageId>{name}</MessageId>\n  <MessageBodyMD5>{digest}</MessageBodyMD5>\n</Message>"
        ).encode()

    def receive(self, then: Callable[[], None] | None = None) -> tuple[str, bytes]:
        """Hide the first visible message of the usual priority; return its handle and the answer."""
        now = int(self._time() * 1000)
        seq, name, body, digest, sent, revision = self._tables.connection.execute(
            self._FIND, (QUEUE, 8, now)
        ).fetchone()
        self._tables.write(self._HIDE, (now + 30_000, revision + 1, seq), then=then)
        handle = f"{seq}-{revision + 1}"
        return handle, (
            '<?xml version="1.0" ?>\n<Message xmlns="http://mns.aliyuncs.com/doc/v1">\n'
            f"  <MessageId>{name}</MessageId>\n  <MessageBodyMD5>{digest}</MessageBodyMD5>\n"
            f"  <MessageBody>{self._escape(body)}</MessageBody>\n  <ReceiptHandle>{handle}</ReceiptHandle>\n"
            f"  <EnqueueTime>{sent}</EnqueueTime>\n  <FirstDequeueTime>{now}</FirstDequeueTime>\n"
            f"  <NextVisibleTime>{now + 30_000}</NextVisibleTime>\n  <DequeueCount>1</DequeueCount>\n"
            "  <Priority>8</Priority>\n</Message>"
        ).encode()

    def delete(self, handle: str, then: Callable[[], None] | None = None) -> None:
        """Remove a message."""
        seq, _, revision = handle.partition("-")
        self._tables.write(self._DELETE, (int(seq), QUEUE, int(revision)), then=then)


def start(port: int, state: str) -> None:
    """Import what a server of these services is made of, make its tables and answer anything."""
    import gc

    gc.disable()
    _import(
        "argparse", "asyncio", "concurrent.futures.thread", "datetime", "hashlib", "hmac", "httptools", "json",
        "logging", "pathlib", "sqlite3", "subprocess", "tempfile", "urllib.parse", "xml.parsers.expat",
    )  # fmt: skip
    Tables(state)
    gc.freeze()
    gc.enable()
    _serve(port, lambda loop: Http)


def messages(port: int, state: str, secret: str) -> None:
    """Answer signed sends, receives and deletes on one queue; what is acknowledged is committed."""
    import hmac
    from base64 import b64encode

    key = secret.encode()

    def is_signed(head: bytes) -> bool:
        request, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = request.split(" ", 2)
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        own = "".join(f"{name}:{fields[name]}\n" for name in sorted(fields) if name.startswith("x-mns-"))
        text = (
            f"{method}\n{fields.get('content-md5', '')}\n{fields.get('content-type', '')}\n{fields.get('date')}\n{own}"
        )
        signature = b64encode(hmac.digest(key, (text + target).encode(), "sha1")).decode()
        return hmac.compare_digest(signature, fields.get("authorization", "").rpartition(":")[2])

    def made(loop: Any) -> Callable[[], Http]:
        kept = Messages(Tables(state, loop.call_soon))

        class Connection(Http):
            def answer(self, head: bytes, body: bytes) -> None:
                if not is_signed(head):
                    self.send(403)
                elif head.startswith(b"POST"):
                    answer = kept.send(body, lambda: self.send(201, answer))
                elif head.startswith(b"GET"):
                    answer = kept.receive(lambda: self.send(200, answer))[1]
                elif head.startswith(b"DELETE"):
                    handle = head.partition(b"ReceiptHandle=")[2].partition(b" ")[0].partition(b"&")[0]
                    kept.delete(handle.decode("ascii"), lambda: self.send(204))
                else:
                    self.send(201)

        return Connection

    _serve(port, made)


def flows(port: int, state: str, file: str) -> None:
    """Keep the text in *file* for every request, the events of one flow; other questions are answered at once."""
    from itertools import count
    from pathlib import Path

    text = Path(file).read_text(encoding="utf-8")
    last = text.count("\n") + 1
    numbers = count(1)
    columns = (
        "id, world, flow, name, definition, role_arn, environment, input, callback_token, started_at, status, ready, "
        "last_event, stopped_at, output"
    )

    def made(loop: Any) -> Callable[[], Http]:
        tables = Tables(state, loop.call_soon)

        class Connection(Http):
            def answer(self, head: bytes, body: bytes) -> None:
                if b"StartExecution" not in body:
                    return self.send(200, b'{"Status":"Succeeded"}')
                number = next(numbers)
                row = (number, 1, 1, f"e{number}", 1, "", "{}", "{}", "", number, "Succeeded", 0, last, 1, "{}")
                tables.write(f"INSERT INTO workflow_executions ({columns}) VALUES ({', '.join('?' * 15)})", row)
                tables.write(
                    "INSERT INTO workflow_turns VALUES (?, 1, 1, 1700000000000, ?)",
                    (number, text),
                    then=lambda: self.send(200, b"{}"),
                )
                return None

        return Connection

    _serve(port, made)


def calls(port: int, function: str, cold: bool) -> None:
    """Hand each body to a function in a forked process and answer what it returns; *cold*: in a new one each time."""
    import os
    import socket
    from collections import deque

    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        _instance(theirs, function, cold)
        os._exit(0)
    theirs.close()
    ours.setblocking(False)
    waiting: deque[Http] = deque()

    class Connection(Http):
        def answer(self, head: bytes, body: bytes) -> None:
            del head
            if not body:
                return self.send(200)
            waiting.append(self)
            ours.send(body)
            return None

    def made(loop: Any) -> Callable[[], Http]:
        loop.add_reader(ours, lambda: waiting.popleft().send(200, ours.recv(65536)))
        return Connection

    _serve(port, made)


def _instance(link: Any, function: str, cold: bool) -> None:
    import gc
    import os
    import signal
    from pathlib import Path

    _import("datetime", "json", "logging", "traceback", "typing")

    def loaded() -> Callable[[bytes, object], bytes]:
        module: dict[str, Any] = {}
        exec(compile(Path(function).read_text(encoding="utf-8"), function, "exec"), module)
        handler: Callable[[bytes, object], bytes] = module["handler"]
        return handler

    if cold:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
        gc.freeze()
        while body := link.recv(65536):
            if os.fork() == 0:
                link.sendall(loaded()(body, None))
                return
    handler = loaded()
    while body := link.recv(65536):
        link.sendall(handler(body, None))


def help_text(size: int) -> None:
    """Print a text of the size of a command line's help, having imported what reads one."""
    import sys

    _import("argparse")
    sys.stdout.write("x" * size)


def queue_send(port: int, key_id: str, secret: str) -> None:
    """Send one message with what the standard library offers, having imported what reads a command line."""
    import hmac
    import socket
    import sys
    from base64 import b64encode
    from datetime import UTC, datetime
    from xml.parsers.expat import ParserCreate

    _import("argparse", "json", "pathlib", "urllib.parse")
    body = b'<Message xmlns="http://mns.aliyuncs.com/doc/v1/"><MessageBody>hello</MessageBody></Message>'
    target = "/queues/orders/messages"
    date = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    text = f"POST\n\ntext/xml\n{date}\nx-mns-version:2015-06-06\n{target}"
    signature = b64encode(hmac.digest(secret.encode(), text.encode(), "sha1")).decode()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(
            f"POST {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nDate: {date}\r\nContent-Type: text/xml\r\n"
            f"x-mns-version: 2015-06-06\r\nAuthorization: MNS {key_id}:{signature}\r\nConnection: close\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode("ascii")
            + body
        )
        received = b""
        while piece := connection.recv(65536):
            received += piece
    head, _, answer = received.partition(b"\r\n\r\n")
    if b" 201 " not in head.partition(b"\r\n")[0]:
        sys.exit(received.decode())
    ParserCreate().Parse(answer, True)
    print("sent")


def _import(*names: str) -> None:
    for name in names:
        __import__(name)


def _serve(port: int, made: Callable[[Any], Callable[[], Http]]) -> None:
    """Serve until the process is ended; *made* gets the loop and returns what makes a connection."""
    import asyncio

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(made(loop), "127.0.0.1", port)  # type: ignore[arg-type] # a protocol by form
        await server.serve_forever()

    asyncio.run(serve())
