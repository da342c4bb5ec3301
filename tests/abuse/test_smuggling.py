"""Requests that two servers could read differently: refused whole, so that nothing rides in on them.

Each attack carries a second request. What must never be is a second answer that shows it was understood.
"""

import pytest

SECOND = b"GET /_localyun/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
START = b"POST /_localyun/first HTTP/1.1\r\nHost: localhost\r\n"


def chunked(body: bytes, *fields: bytes) -> bytes:
    return START + b"".join(field + b"\r\n" for field in (b"Transfer-Encoding: chunked", *fields)) + b"\r\n" + body


ATTACKS = {
    "CL.TE": START + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SECOND,
    "TE.CL": START
    + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n%x\r\n" % len(SECOND)
    + SECOND
    + b"\r\n0\r\n\r\n",
    "TE.TE": chunked(b"0\r\n\r\n" + SECOND, b"Transfer-Encoding: identity"),
    "coding with a tab": START + b"Transfer-Encoding:\tchunked, identity\r\n\r\n0\r\n\r\n" + SECOND,
    "coding behind a blank": START + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + SECOND,
    "foreign coding": START + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + SECOND,
    "two codings": START + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + SECOND,
    "two lengths": START + b"Content-Length: 0\r\nContent-Length: 60\r\n\r\n" + SECOND,
    "equal lengths": START + b"Content-Length: 5, 5\r\n\r\nabcde" + SECOND,
    "signed length": START + b"Content-Length: +5\r\n\r\nabcde" + SECOND,
    "negative length": START + b"Content-Length: -1\r\n\r\n" + SECOND,
    "hexadecimal length": START + b"Content-Length: 0x5\r\n\r\nabcde" + SECOND,
    "huge length": START + b"Content-Length: 99999999999999999999\r\n\r\n" + SECOND,
    "folded field": START + b"X: a\r\n Content-Length: 60\r\n\r\n" + SECOND,
    "folded coding": START + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + SECOND,
    "bare line feeds": START.replace(b"\r\n", b"\n") + b"\n" + SECOND,
    "one bare line feed": START + b"X: a\nContent-Length: 60\r\n\r\n" + SECOND,
    "bare carriage return": START + b"X: a\rContent-Length: 60\r\n\r\n" + SECOND,
    "NUL in a field": START + b"X: a\0b\r\n\r\n" + SECOND,
    "NUL in a name": START + b"X\0: a\r\n\r\n" + SECOND,
    "blank first line": START[:-2] + b"\r\n X: a\r\n\r\n" + SECOND,
    "chunk size with a sign": chunked(b"+0\r\n\r\n" + SECOND),
    "chunk size with 0x": chunked(b"0x0\r\n\r\n" + SECOND),
    "chunk size too large": chunked(b"fffffffffffffffff\r\n" + SECOND),
    "chunk size with a blank": chunked(b" 0\r\n\r\n" + SECOND),
    "chunk without its end": chunked(b"3\r\nabcX\r\n0\r\n\r\n" + SECOND),
    "chunk with line feeds": chunked(b"3\nabc\n0\n\n" + SECOND),
    "extension with a line feed": chunked(b"3;a\nb\r\nabc\r\n0\r\n\r\n" + SECOND),
    "chunks in HTTP/1.0": chunked(b"0\r\n\r\n" + SECOND).replace(b"HTTP/1.1", b"HTTP/1.0", 1),
    "two hosts": START + b"Host: 127.0.0.1\r\n\r\n" + SECOND,
    "HTTP/0.9": b"GET /_localyun/health\r\n" + SECOND,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SECOND,
}


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_rides_in_on_a_doubtful_request(victim, name):
    """One refusal, then the end of the connection; the second request has no answer."""
    told = victim.exchange(ATTACKS[name])

    assert told.count(b"HTTP/1.1 ") == 1
    assert told.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 ", b"HTTP/1.1 505 ", b"HTTP/1.1 413 "))
    assert b"smuggled" not in told
    assert b"Connection: close" in told


@pytest.mark.parametrize(
    "body", [b"0\r\n\r\n", b"3;name=value\r\nabc\r\n0\r\n\r\n", b"0003\r\nabc\r\n0\r\nTrailer: x\r\n\r\n"]
)
def test_chunks_that_are_in_order_end_where_they_say(victim, body):
    """What comes after an ordinary chunked body is the next request, trailer fields are dropped."""
    told = victim.exchange(chunked(body) + SECOND[:-2] + b"Connection: close\r\n\r\n")

    assert told.count(b"HTTP/1.1 404 ") == 2
    assert told.count(b"smuggled") == 1


@pytest.mark.parametrize(
    "fields",
    [b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AA\r\n", b"Upgrade: websocket\r\n"],
)
def test_an_upgrade_does_not_hide_a_request(victim, fields):
    """The body is a body, and what follows it the next request."""
    told = victim.exchange(
        START + fields + b"Content-Length: 5\r\n\r\nabcde" + SECOND[:-2] + b"Connection: close\r\n\r\n"
    )

    assert told.count(b"HTTP/1.1 404 ") == 2


def test_trailers_do_not_become_header_fields(victim):
    """A token in the trailer gives no access, a host in the trailer none either."""
    token = victim.keys["adminToken"].encode()
    told = victim.exchange(
        b"POST /_localyun/reset HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Localyun-Token: " + token + b"\r\n\r\n", end=True
    )  # fmt: skip

    assert told.startswith(b"HTTP/1.1 403 ")
