"""A server with nothing behind it: canned answers of the message service, the floor under any client's figures.

Run as a program with a port, and ``stack`` to answer through the emulator's HTTP stack instead of the least asyncio
needs; ends when its standard input is closed.
"""

import argparse
import asyncio
import sys

from benchmarks.bare import Http
from emulator.gateway.server import Server
from emulator.http.message import Request, Respond, Response
from emulator.kernel.clock import SystemClock

_HEADERS = [
    ("Content-Type", "text/xml;charset=utf-8"),
    ("x-mns-request-id", "0123456789ABCDEF01234567"),
    ("x-mns-version", "2015-06-06"),
    ("Server", "canned"),
]
_SENT = (
    '<?xml version="1.0" ?>\n<Message xmlns="http://mns.aliyuncs.com/doc/v1">\n'
    "  <MessageId>0123456789ABCDEF0123456789ABCDEF</MessageId>\n"
    "  <MessageBodyMD5>0123456789ABCDEF0123456789ABCDEF</MessageBodyMD5>\n</Message>"
)
_RECEIVED = (
    '<?xml version="1.0" ?>\n<Message xmlns="http://mns.aliyuncs.com/doc/v1">\n'
    "  <MessageId>0123456789ABCDEF0123456789ABCDEF</MessageId>\n"
    "  <MessageBodyMD5>0123456789ABCDEF0123456789ABCDEF</MessageBodyMD5>\n"
    f"  <MessageBody>{'eHh4' * 34}</MessageBody>\n"
    "  <ReceiptHandle>0123456789ABCDEF0123456789ABCDEF-MSAxIDEgMTIzNDU2Nzg5MDEyMw==</ReceiptHandle>\n"
    "  <EnqueueTime>1234567890123</EnqueueTime>\n  <FirstDequeueTime>1234567890123</FirstDequeueTime>\n"
    "  <NextVisibleTime>1234567890123</NextVisibleTime>\n  <DequeueCount>1</DequeueCount>\n"
    "  <Priority>8</Priority>\n</Message>"
)


_ANSWERS = {"POST": (201, _SENT), "GET": (200, _RECEIVED), "DELETE": (204, ""), "PUT": (201, "")}
_PHRASES = {200: "OK", 201: "Created", 204: "No Content"}


def _rendered(status: int, body: str) -> bytes:
    fields = "".join(f"{name}: {value}\r\n" for name, value in [*_HEADERS, ("Content-Length", str(len(body)))])
    return f"HTTP/1.1 {status} {_PHRASES[status]}\r\n{fields}\r\n{body}".encode("ascii")


_RENDERED = {method.encode("ascii"): _rendered(*answer) for method, answer in _ANSWERS.items()}


class _Bare(Http):
    def answer(self, head: bytes, body: bytes) -> None:
        del body
        self.transport.write(_RENDERED[head.split(b" ", 1)[0]])


class _Canned:
    """The application of the emulator's HTTP stack; answers at once whatever the request says."""

    def admit(self, request: Request) -> int:
        del request
        return 1024 * 1024

    def early(self, request: Request) -> int:
        del request
        return 0

    def too_large(self, request: Request, limit: int) -> Response:
        del request, limit
        return Response(413)

    def malformed(self, status: int, reason: str) -> Response:
        del reason
        return Response(status)

    def serve(self, request: Request, respond: Respond) -> None:
        status, body = _ANSWERS[request.method]
        respond(Response(status, body.encode("ascii"), _HEADERS))


async def _serve(port: int, *, stack: bool) -> None:
    loop = asyncio.get_running_loop()
    if stack:
        ours = Server(_Canned(), clock=SystemClock(), hosts=["127.0.0.1"], port=port)
        await ours.start()
        await loop.run_in_executor(None, sys.stdin.read)
        await ours.stop(0)
    else:
        bare = await loop.create_server(_Bare, "127.0.0.1", port)  # type: ignore[arg-type] # a protocol by form
        await loop.run_in_executor(None, sys.stdin.read)
        bare.close()


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("stack", nargs="?", choices=["stack"])
    arguments = parser.parse_args()
    asyncio.run(_serve(arguments.port, stack=arguments.stack is not None))


if __name__ == "__main__":
    main()
