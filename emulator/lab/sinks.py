"""Sinks: addresses of this emulator that record requests and answer as configured.

A sink is a subscriber of a topic or any other HTTP endpoint. Who posts to it needs no token: the address is the secret.
"""

import asyncio
import json
from base64 import b64decode
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from emulator.auth.push import SigningFailed, string_to_sign
from emulator.gateway.entrance import SINK_PREFIX
from emulator.gateway.errors import UnsignedFront
from emulator.http.message import HangUp, Response
from emulator.kernel.clock import Clock, Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.ids import Ids
from emulator.lab.errors import LabError, invalid
from emulator.lab.faults import read_delay
from emulator.lab.mocks import shown_bytes
from emulator.services.mns.topics.notification import digests, pushed_message
from emulator.wire.dates import iso_millis
from emulator.wire.request import Answer, OperationRequest

MOST_SINKS = 1000
MOST_ANSWERS = 10_000
MOST_REQUESTS = 10_000
MOST_BYTES = 64 * 1024 * 1024
"""The most bytes kept of all sinks together; the oldest requests are dropped."""

_MEMBERS = ("status", "headers", "body", "delay", "drop")

Sign = Callable[[str], Awaitable[str]]
"""Returns the ``Authorization`` that a push with the given string to sign has."""


@frozen
class SinkAnswer:
    """One answer. The delay is real time, as HTTP time-outs are; ``drop`` closes the connection in place of it."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    delay_ms: int = 0
    drop: bool = False


class Received:
    """A request that a sink has received. ``status`` is 0 when the connection was closed in place of an answer."""

    __slots__ = ("at", "body", "headers", "method", "signature_valid", "sink", "status", "target")

    def __init__(
        self,
        sink: str,
        method: str,
        target: str,
        headers: tuple[tuple[str, str], ...],
        body: bytes,
        at: Millis,
        status: int,
    ) -> None:
        self.sink = sink
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.at = at
        self.status = status
        self.signature_valid: bool | None = None

    @property
    def is_push(self) -> bool:
        """Whether the request has the headers of a signed push of the message service."""
        names = {name.lower() for name, _ in self.headers}
        return "authorization" in names and "x-mns-signing-cert-url" in names

    @property
    def size(self) -> int:
        """How many bytes the record takes."""
        return len(self.body) + sum(len(name) + len(value) for name, value in self.headers) + 500


class Sink:
    """One address with its answers; the last of them is given again and again."""

    def __init__(self, id: str, answers: tuple[SinkAnswer, ...]) -> None:
        self.id = id
        self._answers = answers or (SinkAnswer(),)
        self.given = 0

    def next(self) -> SinkAnswer:
        """Return the next answer."""
        answer = self._answers[min(self.given, len(self._answers) - 1)]
        self.given += 1
        return answer


class Sinks:
    """All sinks and the requests they have received. *address* returns the emulator's own."""

    def __init__(self, clock: Clock, ids: Ids, address: Callable[[], str]) -> None:
        self._clock = clock
        self._ids = ids
        self._address = address
        self._sinks: dict[str, Sink] = {}
        self._received: deque[Received] = deque()
        self._bytes = 0

    def all(self) -> list[Sink]:
        """Return the sinks, oldest first."""
        return list(self._sinks.values())

    def add(self, answers: list[Any]) -> Sink:
        """Make a sink.

        Raises: LabError (InvalidParameter, LimitExceeded).
        """
        if len(self._sinks) >= MOST_SINKS:
            raise LabError("LimitExceeded", most=MOST_SINKS, what="sinks")
        if len(answers) > MOST_ANSWERS:
            raise invalid(f"a sink has at most {MOST_ANSWERS} answers")
        sink = Sink(self._ids.hex(24), tuple(_read_answer(each) for each in answers))
        self._sinks[sink.id] = sink
        return sink

    def url(self, sink: Sink) -> str:
        """Return the address of a sink."""
        return f"{self._address()}{SINK_PREFIX}{sink.id}"

    def get(self, id: str) -> Sink:
        """Return a sink.

        Raises: LabError (NotFound).
        """
        sink = self._sinks.get(id)
        if sink is None:
            raise LabError("NotFound", what="sink", name=id)
        return sink

    def remove(self, id: str) -> None:
        """Remove a sink with what it has received.

        Raises: LabError (NotFound).
        """
        self.get(id)
        del self._sinks[id]
        self._keep([each for each in self._received if each.sink != id])

    def clear(self) -> int:
        """Remove all sinks and return how many there were."""
        number = len(self._sinks)
        self._sinks.clear()
        self._keep([])
        return number

    def parts(self) -> tuple[dict[str, Sink], list[Received]]:
        """Return the sinks and the requests they have received, for `take_up`."""
        return self._sinks, list(self._received)

    def take_up(self, sinks: dict[str, Sink], received: list[Received]) -> None:
        """Replace all sinks and received requests."""
        self._sinks = sinks
        self._keep(received)

    def take(self, sink: Sink, call: OperationRequest) -> SinkAnswer:
        """Record a request and return the sink's next answer."""
        answer = sink.next()
        http = call.http
        received = Received(
            sink.id, http.method, http.target, tuple(http.headers.pairs), http.body, self._clock.now(),
            0 if answer.drop else answer.status,
        )  # fmt: skip
        self._received.append(received)
        self._bytes += received.size
        while len(self._received) > MOST_REQUESTS or self._bytes > MOST_BYTES:
            self._bytes -= self._received.popleft().size
        return answer

    async def received(self, sink: Sink, sign: Sign) -> list[Received]:
        """Return what *sink* has received, oldest first, with the signatures of pushes checked."""
        requests = [each for each in self._received if each.sink == sink.id]
        for each in requests:
            if each.is_push and each.signature_valid is None:
                each.signature_valid = await is_signed(each, sign)
        return requests

    def _keep(self, received: list[Received]) -> None:
        self._received = deque(received)
        self._bytes = sum(each.size for each in received)


async def is_signed(received: Received, sign: Sign) -> bool:
    """Whether a push has the signature of this emulator, and its digest is that of the body.

    The signature's scheme has no randomness, so the same text signed again gives the same signature.
    """
    headers = {name.lower(): value for name, value in received.headers}
    if headers.get("content-md5", "") not in digests(received.body):
        return False
    try:
        return received.method == "POST" and headers["authorization"] == await sign(
            string_to_sign(received.headers, received.target)
        )
    except SigningFailed:
        return False


def shown_request(received: Received) -> dict[str, Any]:
    """Return a request in JSON's terms; of a repeated header the values are joined.

    ``text`` is the message that a push has carried, in any format, or the body where the request is no push.
    """
    headers: dict[str, str] = {}
    for name, value in received.headers:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    body = shown_bytes("body", received.body)
    lower = {name.lower(): value for name, value in headers.items()}
    return {
        "method": received.method,
        "path": received.target,
        "headers": headers,
        **body,
        "text": pushed_message(lower, body["body"]),
        "at": iso_millis(received.at),
        "status": received.status,
        "signature_valid": received.signature_valid,
    }


class SinkFront(UnsignedFront):
    """The side of the sinks that the gateway sees: every method, every path below a sink's address."""

    name = "sink"
    max_body = 48 * 1024 * 1024

    def __init__(self, sinks: Sinks, ids: Ids) -> None:
        self._sinks = sinks
        super().__init__(ids)

    def handle(self, call: OperationRequest) -> Answer:
        """Keep the request and answer it.

        Raises: LabError (NotFound).
        """
        call.operation = f"{call.http.method} sink"
        name = call.http.path.removeprefix(SINK_PREFIX).partition("/")[0]
        answer = self._sinks.take(self._sinks.get(name), call)
        return _later(answer) if answer.delay_ms else _response(answer)


async def _later(answer: SinkAnswer) -> Response:
    await asyncio.sleep(answer.delay_ms / 1000)
    return _response(answer)


def _response(answer: SinkAnswer) -> Response:
    return HangUp() if answer.drop else Response(answer.status, answer.body, answer.headers)


def _read_answer(answer: Any) -> SinkAnswer:
    if not isinstance(answer, Mapping):
        raise invalid("each of the answers must be an object")
    unknown = [name for name in answer if name not in {*_MEMBERS, "body_base64"}]
    if unknown:
        raise invalid(f"an answer has no member {unknown[0]!r}; it has {', '.join(_MEMBERS)}")
    status, drop = answer.get("status", 200), answer.get("drop", False)
    if type(status) is not int or not 200 <= status <= 599:
        raise invalid("status must be a number from 200 to 599")
    if type(drop) is not bool:
        raise invalid("drop must be true or false")
    headers = answer.get("headers") or {}
    if not isinstance(headers, Mapping) or not all(_is_field(*pair) for pair in headers.items()):
        raise invalid("headers must be an object with texts")
    return SinkAnswer(
        status=status, headers=tuple(headers.items()), body=_body(answer), delay_ms=read_delay(answer), drop=drop
    )


def _is_field(name: Any, value: Any) -> bool:
    return (
        isinstance(name, str)
        and isinstance(value, str)
        and name.isascii()
        and bool(name)
        and all(letter.isalnum() or letter in "!#$%&'*+-.^_`|~" for letter in name)
        and value.isprintable()
        and name.lower() not in {"content-length", "transfer-encoding", "connection", "date"}
    )


def _body(answer: Mapping[str, Any]) -> bytes:
    if "body_base64" in answer:
        try:
            return b64decode(answer["body_base64"], validate=True)
        except (ValueError, TypeError):
            raise invalid("body_base64 is not valid base64") from None
    body = answer.get("body")
    if body is None:
        return b""
    return body.encode("utf-8", "replace") if isinstance(body, str) else json.dumps(body).encode()
