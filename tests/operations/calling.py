"""A running emulator, a raw connection to it, and what every answer has to keep to."""

import asyncio
import copy
import hashlib
import json
import logging
import secrets
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from emulator.app import Emulator
from emulator.auth import acs3
from emulator.config import Config
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis, SystemClock
from emulator.wire.dates import http_date, iso_seconds
from emulator.wire.xml import parse
from tests.operations import mutating, samples
from tests.operations.recording import Operation

HANGS_S = 20
"""A call that takes longer hangs; those that are meant to wait are abandoned much earlier."""

WAITS_S = 0.3
_MEANT_TO_WAIT = (
    "Receive", "Describe", "GetExecutionHistory", "StartSync", "Invoke", "invoke_function", "Peek",
)  # fmt: skip


class Answer(NamedTuple):
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes


class Complaint(Exception):
    """An answer that breaks a promise."""


class Trouble(logging.Handler):
    """Collects what the log says of failures inside."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR or record.exc_info:
            self.texts.append(self.format(record))


class Site:
    """One emulator in this process, and a connection that is opened again when a call was abandoned."""

    def __init__(self, emulator: Emulator, trouble: Trouble) -> None:
        self.emulator = emulator
        self._reader = sqlite3.connect(emulator.config.state / "state.db", isolation_level=None)
        self.trouble = trouble
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._clock = SystemClock()
        self._nonce = 0

    @property
    def changes(self) -> int:
        """A number that is another one once the emulator has committed anything."""
        return self._reader.execute("PRAGMA data_version").fetchone()[0]

    def dump(self) -> dict[str, str]:
        """Return a hash over each table."""
        tables = self._reader.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        found = {}
        for (table,) in tables:
            rows = "\n".join(sorted(map(repr, self._reader.execute(f'SELECT * FROM "{table}"'))))
            found[table] = hashlib.sha256(rows.encode("utf-8", "replace")).hexdigest()
        return found

    def sibling(self) -> "Site":
        """Return another client of the same emulator, with a connection of its own."""
        other = copy.copy(self)
        other._streams = None
        other._nonce = secrets.randbits(62)
        return other

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return what a query finds in the state file."""
        return self._reader.execute(sql).fetchall()

    async def whole(self, operation: Operation) -> Answer:
        """Send *operation* and return the answer, however long it waits.

        Raises: OSError, TimeoutError.
        """
        async with asyncio.timeout(HANGS_S):
            return await self._exchange(self._signed(operation))

    async def apart(self, operation: Operation) -> Answer:
        """Send *operation* on a connection of its own and return the answer, however long it waits.

        Raises: as `whole`.
        """
        caller = self.sibling()
        try:
            return await caller.whole(operation)
        finally:
            await caller.hang_up()

    async def call(self, operation: Operation) -> Answer | None:
        """Send *operation* and return the answer, None when it waits for something as it may.

        Raises: Complaint.
        """
        may_wait = operation.name.startswith(_MEANT_TO_WAIT) or "Receive" in operation.name
        try:
            async with asyncio.timeout(WAITS_S if may_wait else HANGS_S):
                return await self._exchange(self._signed(operation))
        except TimeoutError:
            await self.hang_up()
            if may_wait:
                return None
            raise Complaint("no answer") from None
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            await self.hang_up()
            raise Complaint(f"no HTTP answer: {error!r}") from error

    async def close(self) -> None:
        await self.hang_up()
        self._reader.close()

    async def hang_up(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            await asyncio.wait([asyncio.ensure_future(self._streams[1].wait_closed())])
            self._streams = None

    async def _exchange(self, wire: bytes) -> Answer:
        if self._streams is None:
            port = int(self.emulator.http_url.rpartition(":")[2])
            self._streams = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        reader, writer = self._streams
        writer.write(wire)
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head[:-4].decode("utf-8", "replace").split("\r\n")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        status = int(first.split(" ")[1])
        if fields.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(await reader.readline(), 16):
                body += (await reader.readexactly(size + 2))[:-2]
            await reader.readline()
        else:
            has_body = status not in {204, 304} and not wire.startswith(b"HEAD ")
            body = await reader.readexactly(int(fields.get("content-length", 0)) if has_body else 0)
        if fields.get("connection") == "close":
            await self.hang_up()
        return Answer(status, fields, body)

    def _signed(self, operation: Operation) -> bytes:
        self._nonce += 1
        return signed(operation, self.emulator.keys.admin_token, self._clock.now(), self._nonce)


def signed(operation: Operation, admin_token: str, now: Millis, nonce: int) -> bytes:
    """Return the request of a call as bytes for the wire, for an emulator that takes any key."""
    target, headers, body, content_type = mutating.wire(operation)
    headers = {"Host": "127.0.0.1", "Content-Type": content_type, "Date": http_date(now), **headers}
    if operation.dialect == "mns":
        headers.setdefault("Authorization", "MNS k:signature")
    elif operation.dialect == "fc2":
        headers.setdefault("Authorization", "FC k:signature")
    elif operation.dialect == "oss":
        headers.setdefault("Authorization", "OSS k:signature")
    elif operation.dialect == "admin":
        headers["X-Localyun-Token"] = admin_token
    elif operation.sdk == "aliyunsdkfnf":
        given = {"Action": operation.name, "Version": operation.version, "AccessKeyId": "k", "Signature": "s",
                 "SignatureNonce": str(nonce), "Timestamp": iso_seconds(now), "Format": "JSON"}  # fmt: skip
        target += ("&" if "?" in target else "?") + "&".join(f"{k}={v}".replace(":", "%3A") for k, v in given.items())
    else:
        headers |= {
            "x-acs-action": operation.name,
            "x-acs-version": operation.version,
            "x-acs-date": iso_seconds(now),
            "x-acs-signature-nonce": str(nonce),
            "x-acs-content-sha256": hashlib.sha256(body).hexdigest(),
        }
        request = Request(operation.method, target, Headers(headers.items()), body)
        headers.setdefault("Authorization", acs3.authorization(request, "k", "s"))
    lines = [f"{operation.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode("utf-8", "surrogateescape") + body


def check(operation: Operation, answer: Answer) -> None:
    """Hold an answer against what every answer promises.

    Raises: Complaint.
    """
    if answer.status == 500 or b"Traceback (most recent call last)" in answer.body:
        raise Complaint(f"an internal error: {answer}")
    if answer.status < 400:
        return
    if answer.status in {414, 431}:  # refused before anybody could tell the service
        operation = operation._replace(dialect="")
    if operation.dialect in {"mns", "oss"}:
        if operation.method == "HEAD":
            return
        try:
            root = parse(answer.body)
        except ValueError:
            raise Complaint(f"an error that is no XML: {answer}") from None
        parts = [root] if root.name == "Error" else []
        good = all(part.text_of(name) for part in parts for name in ("Code", "Message", "RequestId"))
        request_id = answer.headers.get("x-mns-request-id") or answer.headers.get("x-oss-request-id")
        code = parts[0].text_of("Code") if parts else "batch"
        good = good and (root.name in {"Error", "Errors", "Messages"})
    else:
        try:
            content = json.loads(answer.body)
        except ValueError:
            raise Complaint(f"an error that is no JSON: {answer}") from None
        code = content.get("Code") or content.get("ErrorCode")
        good = bool(code and (content.get("Message") or content.get("ErrorMessage")) is not None)
        request_id = content.get("RequestId") or answer.headers.get("x-fc-request-id")
    if not good or not request_id:
        raise Complaint(f"not the service's own form of error: {answer}")
    if code in {"InternalError", "InternalServerError"}:
        raise Complaint(f"an internal error: {answer}")


@asynccontextmanager
async def running(folder: Path, **settings: Any) -> AsyncIterator[Site]:
    """Run an emulator that takes any key, with one of everything in it; *settings* are others of its `Config`."""
    trouble = Trouble()
    trouble.setFormatter(logging.Formatter("%(name)s %(message)s"))
    for name in ("emulator", "asyncio"):
        logging.getLogger(name).addHandler(trouble)
    account = {"auth": "lenient", "account_id": "1234567890123456"}
    config = Config(port=0, https_port=0, state=folder / "state", **account, **settings)
    emulator = Emulator(config)
    await emulator.start()
    site = Site(emulator, trouble)
    try:
        yield site
    finally:
        await site.close()
        await emulator.stop()
        for name in ("emulator", "asyncio"):
            logging.getLogger(name).removeHandler(trouble)


async def furnish(site: Site, operations: list[Operation]) -> None:
    """Make what the operations name; what is there already stays."""
    function = {"functionName": "f", "runtime": "python3.10", "handler": "index.handler"}
    function["code"] = {"zipFile": samples.text("zipFile")}
    schedule = {"FlowName": "flow", "ScheduleName": "sched", "CronExpression": samples.CRON}
    wanted = [
        ("fc2", "create_service", {"serviceName": "s"}),
        ("fc2", "create_function", function),
        ("fc2", "publish_version", {}),
        ("fc2", "create_alias", {"aliasName": "online", "versionId": "1"}),
        ("fc20230330", "CreateFunction", function),
        ("fc20230330", "PublishFunctionVersion", {}),
        ("fc20230330", "CreateAlias", {"aliasName": "online", "versionId": "1"}),
        ("aliyunsdkfnf", "CreateFlow", {"Name": "flow", "Description": "", "Definition": samples.FLOW, "Type": "FDL"}),
        ("aliyunsdkfnf", "CreateSchedule", schedule),
        ("aliyunsdkfnf", "StartExecution", {"FlowName": "flow", "ExecutionName": "run", "Input": "{}"}),
        ("mns", "CreateQueue", None),
        ("mns", "CreateTopic", None),
        ("mns", "Subscribe", None),
        ("mns", "SendMessage", None),
    ]  # fmt: skip
    known = {(operation.sdk, operation.name): operation for operation in operations}
    for sdk, name, body in wanted:
        operation = mutating.as_meant(known[sdk, name])
        if body is not None:
            operation = operation._replace(body=body, query={})
        answer = await site.call(operation)
        assert answer is not None
        assert answer.status in {200, 201, 204, 400, 409, 404}, (str(operation), answer)


__all__ = ["Answer", "Complaint", "Site", "check", "furnish", "running", "signed"]
