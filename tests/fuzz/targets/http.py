"""HTTP and what comes before it: requests, whole conversations, answers, the TLS greeting, host names."""

import asyncio
import atexit

from emulator.gateway.browsers import browser_trace
from emulator.gateway.hosts import HostPolicy, facts, normalise
from emulator.http.connections import Connections, HttpLimits
from emulator.http.message import Headers, Request, Response
from emulator.http.protocol import HttpProtocol
from emulator.http.reader import BodyTooLarge, Malformed, RequestReader
from emulator.kernel.clock import VirtualClock

_BODY_LIMIT = 512
_LOOP = asyncio.new_event_loop()
atexit.register(_LOOP.close)


def reader(data: bytes) -> None:
    """However the input is cut, the same requests come out, and nothing else is ever raised."""
    whole = _read([data])
    half = len(data) // 2

    assert _read([data[at : at + 1] for at in range(len(data))]) == whole
    assert _read([data[:half], data[half:]]) == whole


def _read(pieces: list[bytes]) -> tuple[list[tuple], bool]:
    """Return the requests read, and whether the rest was refused."""
    reader = RequestReader(HttpLimits())
    found: list[tuple] = []
    incoming = None
    try:
        for piece in pieces:
            reader.feed(piece)
            while True:
                incoming = incoming or reader.head()
                body = reader.body(_BODY_LIMIT) if incoming is not None else None
                if incoming is None or body is None:
                    break
                request = incoming.request
                found.append((request.method, request.target, request.authority, request.headers.pairs, body))
                incoming = None
    except (Malformed, BodyTooLarge):
        return found, True
    finally:
        reader.close()
    return found, False


class _Wire(asyncio.Transport):
    """A transport that keeps what is written, and delivers nothing while reading is paused."""

    def __init__(self, protocol: HttpProtocol) -> None:
        super().__init__()
        self._protocol = protocol
        self.written = b""
        self.reading = True
        self.open = True
        self.eof_sent = False

    def write(self, data: bytes) -> None:
        assert self.open, "nothing is written after the end"
        assert not self.eof_sent, "nothing is written after the end of the output"
        self.written += data

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.eof_sent = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return not self.open

    def close(self) -> None:
        if self.open:
            self.open = False
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    abort = close


class _Echo:
    """Answers what it was asked; an admitted body may have `_BODY_LIMIT` bytes."""

    def __init__(self, response: Response | None = None) -> None:
        self.served: list[tuple] = []
        self.refused: list[int] = []
        self._response = response

    def admit(self, request: Request) -> Response | int:
        return Response(403, b"no") if request.path == "/refused" else _BODY_LIMIT

    def early(self, request: Request) -> int:
        return _BODY_LIMIT if request.path == "/early" else 0

    def too_large(self, request: Request, limit: int) -> Response:
        self.refused.append(413)
        return Response(413, b"%d" % limit)

    def malformed(self, status: int, reason: str) -> Response:
        self.refused.append(status)
        return Response(status, reason.encode("utf-8", "surrogateescape"))

    def serve(self, request: Request, respond) -> None:
        self.served.append((request.method, request.target, request.headers.pairs, request.body))
        respond(self._response or Response(200, request.body))


def protocol(data: bytes) -> None:
    """The same conversation however the input is cut: as many answers as requests, each well-formed."""
    whole = _LOOP.run_until_complete(_converse([data], _Echo()))
    cut = _LOOP.run_until_complete(_converse([data[at : at + 7] for at in range(0, len(data), 7)], _Echo()))

    assert cut == whole


async def _converse(pieces: list[bytes], application: _Echo) -> tuple:
    connections = Connections(application, clock=VirtualClock(), limits=HttpLimits())
    connection = HttpProtocol(connections)
    wire = _Wire(connection)
    connection.connection_made(wire)
    for piece in pieces:
        await _settle(wire, until_reading=True)
        if not wire.open:
            break
        connection.data_received(piece)
    await _settle(wire)
    assert not wire.open or wire.reading, "a connection with nothing to answer goes on reading"
    refused = bool(application.refused)
    answers = read_answers(wire.written, [served[0] for served in application.served])
    connection.abort()
    await _settle(wire)
    await connections.stop(0)
    statuses = [status for status, _, _ in answers]
    assert len([status for status in statuses if status != 403]) == len(application.served) + len(application.refused)
    return application.served, refused, [status for status in statuses if status in {200, 403}]


async def _settle(wire: _Wire, *, until_reading: bool = False) -> None:
    """Let the loop run until nothing more is written; the connection answers sixteen requests in a turn."""
    quiet, before = 0, -1
    while quiet < 3 or (until_reading and wire.open and not wire.reading):
        await asyncio.sleep(0)
        quiet = quiet + 1 if len(wire.written) == before else 0
        before = len(wire.written)
        assert quiet < 1000, "a paused connection goes on in the end"


def read_answers(wire: bytes, methods: list[str]) -> list[tuple[int, dict[str, str], bytes]]:
    """Cut *wire* into final answers, as a strict client would; *methods* are those of the requests served.

    An answer to a refused request counts as one to GET.
    """
    answers = []
    asked = iter(methods)
    while wire:
        head, end, wire = wire.partition(b"\r\n\r\n")
        assert end, "a head has an end"
        first, *lines = head.split(b"\r\n")
        assert first.startswith(b"HTTP/1.1 "), "an answer begins with a status line"
        status = int(first[9:12])
        assert not any(b"\n" in line or b"\r" in line for line in lines)
        fields = {}
        for line in lines:
            name, colon, value = line.partition(b": ")
            assert colon, "a field has a name and a value"
            fields[name.decode("ascii").lower()] = value.decode("utf-8", "surrogateescape")
        if status == 100:
            assert not lines
            continue
        method = next(asked, "GET") if status == 200 else "GET"
        length = 0 if method == "HEAD" or status in {204, 304} else int(fields.get("content-length", 0))
        body, wire = wire[:length], wire[length:]
        assert len(body) == length, "a body is as long as its field says"
        answers.append((status, fields, body))
    return answers


def sender(data: bytes) -> None:
    """Whatever status, fields and body an application answers with, one well-formed answer leaves, or a 500."""
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.decode("utf-8", "surrogateescape").split("\n")
    fields = [(name, value) for name, _, value in (line.partition("=") for line in lines)]
    pieces = first.endswith("*")
    status = int(first.rstrip("*")[:4]) if first.rstrip("*")[:4].isdecimal() else 200

    async def slowly():
        for at in range(0, len(body), 5):
            yield body[at : at + 5]

    response = Response(status, slowly() if pieces else body, fields)
    written = _LOOP.run_until_complete(_send(response))
    heads, _, _ = written.partition(b"\r\n\r\n")
    assert heads.startswith(b"HTTP/1.1 ")
    assert all(b": " in line and b"\n" not in line and b"\r" not in line for line in heads.split(b"\r\n")[1:])
    if not pieces and not 100 <= status < 200:
        answers = read_answers(written, ["GET"])
        assert len(answers) == 1
        names = [line.partition(b":")[0].lower() for line in heads.split(b"\r\n")[1:]]
        assert names.count(b"content-length") <= 1
        assert not (b"content-length" in names and b"transfer-encoding" in names)


async def _send(response: Response) -> bytes:
    application = _Echo(response)
    connections = Connections(application, clock=VirtualClock(), limits=HttpLimits())
    connection = HttpProtocol(connections)
    wire = _Wire(connection)
    connection.connection_made(wire)
    connection.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    await _settle(wire)
    connection.abort()
    await _settle(wire)
    await connections.stop(0)
    return wire.written


def hosts(data: bytes) -> None:
    """Any host name is normalised once and for all, and judged; any origin is compared."""
    text = data.decode("utf-8", "surrogateescape")
    host, _, origin = text.partition("\n")
    name = normalise(host)

    HostPolicy(["allowed.example"]).allows(name)
    HostPolicy(wide=True).allows(name)
    facts(name)
    for field in ("Origin", "Referer", "Sec-Fetch-Site"):
        trace = browser_trace(Request("GET", "/", Headers([("Host", host), (field, origin)])))
        assert trace in (None, field)
