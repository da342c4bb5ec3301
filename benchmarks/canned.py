"""A server with nothing behind it: canned answers of the message service, the floor under any client's figures.

Run as a program with a port; ends when its standard input is closed.
"""

import asyncio
import sys

_HEAD = (
    "HTTP/1.1 {status}\r\nContent-Type: text/xml;charset=utf-8\r\nx-mns-request-id: 0123456789ABCDEF01234567\r\n"
    "x-mns-version: 2015-06-06\r\nServer: canned\r\nContent-Length: {length}\r\n\r\n"
)
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


def _answer(status: str, body: str = "") -> bytes:
    return (_HEAD.format(status=status, length=len(body)) + body).encode("ascii")


_ANSWERS = {
    b"POST": _answer("201 Created", _SENT),
    b"GET": _answer("200 OK", _RECEIVED),
    b"DELETE": _answer("204 No Content"),
    b"PUT": _answer("201 Created"),
}


class _Canned(asyncio.Protocol):
    """Reads just enough to know where a request ends."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, mark, body = self._received.partition(b"\r\n\r\n")
        found = head.lower().find(b"content-length:")
        length = int(head[found + 15 :].split(b"\r\n", 1)[0]) if found >= 0 else 0
        if mark and len(body) >= length:
            self._received = body[length:]
            self._transport.write(_ANSWERS[head.split(b" ", 1)[0]])


async def _serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Canned, "127.0.0.1", port)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
