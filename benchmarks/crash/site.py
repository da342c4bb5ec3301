"""What every load works with: signed requests, connections, the state file read from beside, the record."""

import asyncio
import base64
import io
import json
import random
import re
import sqlite3
import subprocess
import zipfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from html import unescape
from typing import Any, NamedTuple
from urllib.parse import urlencode

from benchmarks.crash.process import Subject
from benchmarks.crash.record import Record
from benchmarks.server import CLOCK, IDS, mns_headers
from emulator.auth import fc as fc_scheme
from emulator.auth import rpc as rpc_scheme
from emulator.http.message import Headers, Request
from emulator.wire.dates import http_date

ANSWER_LIMIT_S = 30.0


class Unanswered(Exception):
    """The connection ended before the answer: the operation has happened wholly, or not at all."""


class Reply(NamedTuple):
    """Status and body of an answer."""

    status: int
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)

    def elements(self, name: str) -> list[str]:
        """Return the texts of all elements *name* of an XML body."""
        return [unescape(text) for text in re.findall(f"<{name}>(.*?)</{name}>", self.body.decode(), re.DOTALL)]

    def blocks(self, name: str) -> "list[Reply]":
        """Return the contents of all elements *name* as replies of their own."""
        return [
            Reply(self.status, text.encode())
            for text in re.findall(f"<{name}>(.*?)</{name}>", self.body.decode(), re.DOTALL)
        ]


class Site:
    """The emulator under test as its clients see it."""

    def __init__(self, subject: Subject, record: Record, seed: int) -> None:
        self.subject = subject
        self.record = record
        self.over = asyncio.Event()
        self._seed = seed
        self._names = 0
        self._asking = 0
        self._alone: asyncio.Task[Any] | None = None
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Let the others' requests wait while the context lasts, once those under way are answered."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._alone is None)
            self._alone = asyncio.current_task()
            await self._changed.wait_for(lambda: self._asking == 0)
        try:
            yield
        finally:
            async with self._changed:
                self._alone = None
                self._changed.notify_all()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Ask within, unless another client is to be alone."""
        if self._alone is asyncio.current_task():
            yield
            return
        async with self._changed:
            await self._changed.wait_for(lambda: self._alone is None)
            self._asking += 1
        try:
            yield
        finally:
            async with self._changed:
                self._asking -= 1
                self._changed.notify_all()

    def random(self, name: str) -> random.Random:
        """Return the source of chance of one client."""
        return random.Random(f"{self._seed}/{name}")

    def fresh(self, kind: str) -> str:
        """Return a name that no other has."""
        self._names += 1
        return f"{kind}-{self._names}"

    async def rest(self, seconds: float) -> None:
        """Wait, but no longer than the load goes on."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.over.wait(), seconds)

    def mns(self, method: str, target: str, body: str = "") -> bytes:
        """Return a signed Message Service request."""
        content = body.encode()
        return _request(
            method, target, mns_headers(method, target, content, self.subject.key_id, self.subject.secret), content
        )

    def fc(self, method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
        """Return a signed Function Compute request (2016-08-15); underscores in header names become hyphens."""
        named = [
            ("Host", "127.0.0.1"),
            ("Date", http_date(CLOCK.now())),
            ("Content-Type", "application/json"),
            *((name.replace("_", "-"), value) for name, value in headers.items()),
        ]
        path = "/2016-08-15" + path
        signed = fc_scheme.authorization(
            Request(method, path, Headers(named), body), self.subject.key_id, self.subject.secret
        )
        named += [("Authorization", signed), ("Content-Length", str(len(body)))]
        return _request(method, path, named, body)

    def rpc(self, action: str, version: str = "2019-03-15", **parameters: str) -> bytes:
        """Return a signed call of an RPC service, the workflow's unless *version* says otherwise."""
        named = rpc_scheme.signed_parameters(
            "POST",
            {"Action": action, "Version": version, "Format": "JSON", **parameters},
            key_id=self.subject.key_id,
            secret=self.subject.secret,
            timestamp=CLOCK.now(),
            nonce=IDS.uuid(),
        )
        body = urlencode(named).encode("ascii")
        headers = [
            ("Host", "127.0.0.1"),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Content-Length", str(len(body))),
        ]
        return _request("POST", "/", headers, body)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Read the state file from beside while the emulator runs."""
        with closing(
            sqlite3.connect(f"file:{self.subject.state / 'state.db'}?mode=ro", uri=True, timeout=10)
        ) as reader:
            return reader.execute(sql, parameters).fetchall()


class Link:
    """One kept-alive connection of a client."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._process: subprocess.Popen[bytes] | None = None

    async def ask(self, request: bytes) -> Reply:
        """Send a request and return its answer.

        Raises: Unanswered.
        """
        try:
            async with self._site.turn(), asyncio.timeout(ANSWER_LIMIT_S):
                return await self._ask(request)
        except TimeoutError:
            self._site.record.find("no answer in time", request=request[:200].decode("latin-1"))
            self.close()
            raise Unanswered("no answer in time") from None
        except (OSError, EOFError) as error:
            self.close()
            raise Unanswered(str(error)) from error

    async def _ask(self, request: bytes) -> Reply:
        if self._process is not self._site.subject.process:
            self.close()  # the connection led to one that was killed since
            self._process = self._site.subject.process
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(
                "127.0.0.1", self._site.subject.port, limit=2**24
            )
        self._writer.write(request)
        await self._writer.drain()
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status = int(head.split(" ", 2)[1])
        length = re.search(r"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        body = await self._reader.readexactly(int(length[1])) if length else b""
        if re.search(r"\r\nconnection: *close", head, re.IGNORECASE):
            self.close()
        return Reply(status, body)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


def _request(method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("ascii") + body


def package(source: str) -> bytes:
    """Return a zip with *source* as ``index.py``; equal sources give equal zips."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(zipfile.ZipInfo("index.py"), source)
    return made.getvalue()


def encoded(content: bytes) -> str:
    """Return Base64 as the API wants code."""
    return base64.b64encode(content).decode("ascii")
