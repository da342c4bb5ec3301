"""Requests cut out of bytes, and everything that is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.http.connections import HttpLimits
from emulator.http.reader import BodyTooLarge, Incoming, Malformed, RequestReader

LIMIT = 1 << 20


def a_block(*lines: str) -> bytes:
    return "".join(f"{line}\r\n" for line in lines).encode("utf-8", "surrogateescape") + b"\r\n"


def read_all(reader: RequestReader) -> list[tuple[Incoming, bytes]]:
    found = []
    while (incoming := reader.head()) is not None:
        body = reader.body(LIMIT)
        if body is None:
            break
        found.append((incoming, body))
    return found


def read_one(data: bytes) -> tuple[Incoming, bytes]:
    reader = RequestReader(HttpLimits())
    reader.feed(data)
    [only] = read_all(reader)
    return only


def refusal_of(data: bytes, limits: HttpLimits | None = None) -> int:
    reader = RequestReader(limits or HttpLimits())
    reader.feed(data)
    with pytest.raises(Malformed) as caught:
        read_all(reader)
    return caught.value.status


def test_a_request_keeps_its_target_and_fields_as_sent():
    """Signatures are computed over the target and fields, so both stay undecoded, in order and spelling."""
    incoming, body = read_one(
        a_block(
            "PUT /a%2Fb?x=%20&y HTTP/1.1", "Host: h", "X-B:  two words \t", "x-a:", "X-B: again", "Content-Length: 2"
        )
        + b"hi"
    )

    request = incoming.request
    assert (request.method, request.target, request.path, request.query) == (
        "PUT",
        "/a%2Fb?x=%20&y",
        "/a%2Fb",
        "x=%20&y",
    )
    assert request.headers.pairs == [
        ("Host", "h"),
        ("X-B", "two words"),
        ("x-a", ""),
        ("X-B", "again"),
        ("Content-Length", "2"),
    ]
    assert body == b"hi"


def test_bytes_above_ascii_in_a_field_survive():
    """A value that is not UTF-8 encodes back to the bytes that came."""
    incoming, _ = read_one(b"GET / HTTP/1.1\r\nHost: a\r\nX: \xe4\xb8\xad\xff\r\n\r\n")

    value = incoming.request.headers.get("x")

    assert value.startswith("中")
    assert value.encode("utf-8", "surrogateescape") == b"\xe4\xb8\xad\xff"


@pytest.mark.parametrize(
    ("line", "fields", "keep_alive"),
    [
        ("GET / HTTP/1.1", [], True),
        ("GET / HTTP/1.1", ["Connection: close"], False),
        ("GET / HTTP/1.1", ["Connection: foo, Close"], False),
        ("GET / HTTP/1.1", ["Connection: foo", "Connection: close"], False),
        ("GET / HTTP/1.0", [], False),
        ("GET / HTTP/1.0", ["Connection: Keep-Alive"], True),
    ],
)
def test_keep_alive_follows_version_and_connection_field(line, fields, keep_alive):
    """HTTP/1.1 keeps the connection unless told to close it, HTTP/1.0 only when told to keep it."""
    incoming, _ = read_one(a_block(line, "Host: a", *fields))

    assert incoming.keep_alive is keep_alive


@pytest.mark.parametrize(
    ("line", "target", "authority"),
    [
        ("GET /x HTTP/1.1", "/x", None),
        ("GET //x HTTP/1.1", "//x", None),
        ("GET http://h:80/x?y HTTP/1.1", "/x?y", "h:80"),
        ("GET HTTP://1.fc.aliyuncs.com HTTP/1.1", "/", "1.fc.aliyuncs.com"),
        ("GET https://h?y=/ HTTP/1.1", "/?y=/", "h"),
        ("GET http://[::1]:8868/ HTTP/1.1", "/", "[::1]:8868"),
        ("OPTIONS * HTTP/1.1", "*", None),
        ("CONNECT h.aliyuncs.com:443 HTTP/1.1", "h.aliyuncs.com:443", "h.aliyuncs.com:443"),
    ],
)
def test_every_form_of_target_is_reduced(line, target, authority):
    """An absolute target gives its authority apart; CONNECT and ``*`` pass as they are."""
    incoming, _ = read_one(a_block(line, "Host: other"))

    assert (incoming.request.target, incoming.request.authority) == (target, authority)


@pytest.mark.parametrize(
    "line",
    [
        "GET path HTTP/1.1",
        "GET * HTTP/1.1",
        "GET http:///x HTTP/1.1",
        "GET http://user@h/ HTTP/1.1",
        "GET http://h:99999/ HTTP/1.1",
        "GET http://h:x/ HTTP/1.1",
        "GET ftp://h/ HTTP/1.1",
        "GET http://a b/ HTTP/1.1",
        "GET /a#b HTTP/1.1",
        "GET http://h/a#b HTTP/1.1",
        "GET /a\x01 HTTP/1.1",
        "CONNECT /path HTTP/1.1",
        "CONNECT http://h HTTP/1.1",
        "GET  /two-blanks HTTP/1.1",
        "GET /two-blanks  HTTP/1.1",
        "GET /tab\tHTTP/1.1",
        "GET / HTTP/1.1 ",
        "GET /",
        "GET",
        "SOURCE / ICE/1.0",
        "DESCRIBE / RTSP/1.0",
    ],
)
def test_a_line_that_is_no_request_line_is_refused(line):
    """Only ``METHOD TARGET HTTP/1.x`` with single blanks and a target in one of the four forms is a request."""
    status = refusal_of(a_block(line, "Host: a"))

    assert status == 400


@pytest.mark.parametrize("version", ["HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/3", "HTTP/9.9"])
def test_other_versions_are_refused_with_505(version):
    """HTTP/1.0 and 1.1 are the versions spoken."""
    assert refusal_of(a_block(f"GET / {version}", "Host: a")) == 505


def test_the_preface_of_http_2_is_refused_with_505():
    """A client that speaks HTTP/2 without asking learns that it is not understood."""
    assert refusal_of(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == 505


def test_an_unknown_method_is_refused_with_501():
    """Methods no server knows are not implemented here either."""
    assert refusal_of(a_block("BREW /pot HTTP/1.1", "Host: a")) == 501


@pytest.mark.parametrize(
    "block",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\tc\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\r\nX: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",
        b"GET / HTTP/1.1\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\x7f\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX\0: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX(y): b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n\xe4: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nnocolon\r\n\r\n",
    ],
)
def test_fields_that_two_readers_could_read_differently_are_refused(block):
    """Repeated or missing hosts, folding, bare CR or LF, blanks before the colon and control characters get 400."""
    assert refusal_of(block) == 400


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (["Content-Length: 5", "Transfer-Encoding: chunked"], 400),
        (["Transfer-Encoding: chunked", "Content-Length: 5"], 400),
        (["Transfer-Encoding: chunked", "Content-Length: 0"], 400),
        (["Content-Length: 5", "Content-Length: 6"], 400),
        (["Content-Length: 5, 6"], 400),
        (["Content-Length: +5"], 400),
        (["Content-Length: -5"], 400),
        (["Content-Length: 0x5"], 400),
        (["Content-Length: 5 5"], 400),
        (["Content-Length:"], 400),
        (["Content-Length: 99999999999999999999999999"], 400),
        (["Transfer-Encoding: gzip, chunked"], 501),
        (["Transfer-Encoding: chunked, chunked"], 400),
        (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], 400),
        (["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], 400),
        (["Transfer-Encoding: xchunked"], 400),
        (["Transfer-Encoding: chunked\x0b"], 400),
    ],
)
def test_a_body_with_doubtful_framing_is_refused(fields, status):
    """Whatever could hide a second request in a body ends the connection."""
    assert refusal_of(a_block("POST / HTTP/1.1", "Host: a", *fields) + b"0\r\n\r\nGET /") == status


def test_http_1_0_has_no_chunks():
    """A chunked body in HTTP/1.0 is refused."""
    assert refusal_of(a_block("POST / HTTP/1.0", "Transfer-Encoding: chunked") + b"0\r\n\r\n") == 400


@pytest.mark.parametrize(
    "body",
    [
        b"5\nhello\r\n0\r\n\r\n",
        b"5 \r\nhello\r\n0\r\n\r\n",
        b"-5\r\nhello\r\n0\r\n\r\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"5\r\nhello0\r\n\r\n",
        b"5\r\nhelloworld\r\n0\r\n\r\n",
        b"fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        b"5;\0\r\nhello\r\n0\r\n\r\n",
        b"0\r\nContent-Length: 5\r\n\r\n",
        b"0\r\nX: a\n\r\n\r\n",
    ],
)
def test_chunks_that_are_not_quite_chunks_are_refused(body):
    """Sizes, extensions and trailers are read strictly."""
    assert refusal_of(a_block("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked") + body) == 400


def test_framing_that_outweighs_its_content_is_refused():
    """An endless chunk extension or trailer is cut off, although it is no content."""
    head = a_block("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked")

    assert refusal_of(head + b"5;x=" + b"a" * 200_000) == 400
    assert refusal_of(head + b"0\r\nX: " + b"a" * 200_000) == 400


def test_a_chunked_body_ends_before_the_next_request():
    """The bytes after the last chunk wait for their turn, even when an empty line stands in the content."""
    reader = RequestReader(HttpLimits())
    head = a_block("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: Chunked")
    reader.feed(head + b"8;name=value\r\n\r\n\r\nabcd\r\n2\r\n\r\n\r\n0\r\nX: y\r\n\r\n" + b"GET /next HTTP/1.1\r\n")

    incoming = reader.head()

    assert incoming is not None
    assert incoming.length is None
    assert reader.body(LIMIT) == b"\r\n\r\nabcd\r\n"
    assert reader.held == len(b"GET /next HTTP/1.1\r\n")


def test_a_request_that_asks_for_an_upgrade_keeps_its_body():
    """Clients that offer HTTP/2 with each request send their body all the same; it is not the next request."""
    fields = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAEAAAAIAAAAB")
    for framing, body in (("Content-Length: 5", b"hello"), ("Transfer-Encoding: chunked", b"5\r\nhello\r\n0\r\n\r\n")):
        reader = RequestReader(HttpLimits())
        block = a_block("POST / HTTP/1.1", "Host: a", *fields, framing)
        reader.feed((block + body) * 2 + a_block("GET /after HTTP/1.1", "Host: a", *fields))

        found = read_all(reader)

        assert [(incoming.request.method, incoming.keep_alive, text) for incoming, text in found] == [
            ("POST", True, b"hello"),
            ("POST", True, b"hello"),
            ("GET", True, b""),
        ]


def test_empty_lines_before_a_request_are_skipped():
    """Some clients send a line end too many after a body."""
    reader = RequestReader(HttpLimits())
    for piece in (b"\r", b"\n\r\n\r", b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"):
        reader.feed(piece)
        found = read_all(reader)

    assert [incoming.request.target for incoming, _ in found] == ["/"]


@pytest.mark.parametrize(
    "data", [b"\x16\x03\x01\x02\x00", b" GET / HTTP/1.1", b"\0", b"\xff\xfe", b"a" * 40, b"GET /\n"]
)
def test_garbage_is_refused_before_its_end(data):
    """What cannot become a request is not waited for."""
    assert refusal_of(data) == 400


def test_sizes_are_limited():
    """A long target gets 414, long or many fields 431, whether or not their end has come."""
    limits = HttpLimits(target_bytes=100, head_bytes=200, header_fields=5)

    assert refusal_of(a_block(f"GET /{'a' * 200} HTTP/1.1", "Host: a"), limits) == 414
    assert refusal_of(b"GET /" + b"a" * 200, limits) == 414
    assert refusal_of(a_block("GET / HTTP/1.1", "Host: a", f"X: {'a' * 300}"), limits) == 431
    assert refusal_of(b"GET / HTTP/1.1\r\nX: " + b"a" * 300, limits) == 431
    assert refusal_of(a_block("GET / HTTP/1.1", "Host: a", *["X: y"] * 5), limits) == 431


@pytest.mark.parametrize("framing", ["Content-Length: 20", "Transfer-Encoding: chunked"])
def test_a_body_is_given_up_when_it_outgrows_its_limit(framing):
    """The caller learns of the excess before the body is complete."""
    reader = RequestReader(HttpLimits())
    reader.feed(a_block("POST / HTTP/1.1", "Host: a", framing) + b"f\r\n" + b"a" * 15)
    reader.head()

    with pytest.raises(BodyTooLarge):
        reader.body(10)


def test_expectations_other_than_100_continue_are_refused():
    """``Expect: 100-continue`` is noted, HTTP/1.0 cannot expect anything, all else is 417."""
    incoming, _ = read_one(a_block("GET / HTTP/1.1", "Host: a", "Expect: 100-Continue"))
    old, _ = read_one(a_block("GET / HTTP/1.0", "Expect: 100-continue"))

    assert incoming.expects_continue
    assert not old.expects_continue
    assert refusal_of(a_block("GET / HTTP/1.1", "Host: a", "Expect: a miracle")) == 417


TOKENS = st.text("abcdefXYZ-_0123456789", min_size=1, max_size=8)
VALUES = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x17F, exclude_characters="\x7f"), max_size=12)


@st.composite
def request_bytes(draw):
    method = draw(st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD"]))
    target = "/" + draw(st.text("abc/%20?&=", max_size=12))
    fields = draw(st.lists(st.tuples(TOKENS.map(lambda name: f"x-{name}"), VALUES), max_size=4))
    body = draw(st.binary(max_size=40) | st.sampled_from([b"\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"0\r\n\r\n"]))
    head = f"{method} {target} HTTP/1.1\r\nHost: a\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields)
    if draw(st.booleans()):
        cuts = sorted(draw(st.lists(st.integers(0, len(body)), max_size=3)))
        pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True) if start < end]
        sent = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        framing = "Transfer-Encoding: chunked\r\n\r\n"
    else:
        sent = body
        framing = f"Content-Length: {len(body)}\r\n\r\n"
    return (method, target, fields, body), head.encode() + framing.encode() + sent


@given(requests=st.lists(request_bytes(), min_size=1, max_size=4), data=st.data())
def test_the_same_requests_come_out_however_the_bytes_are_split(requests, data):
    """Neither the cuts between packets nor pipelining change what is read."""
    wire = b"".join(sent for _, sent in requests)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=12)))
    reader = RequestReader(HttpLimits())
    pending: Incoming | None = None
    found = []

    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        reader.feed(wire[start:end])
        while True:
            pending = pending or reader.head()
            body = reader.body(LIMIT) if pending is not None else None
            if pending is None or body is None:
                break
            found.append((pending.request.method, pending.request.target, pending.request.headers.pairs[1:-1], body))
            pending = None

    assert found == [(method, target, fields, body) for (method, target, fields, body), _ in requests]
    assert reader.held == 0


@given(pieces=st.lists(st.binary(max_size=60), max_size=6))
def test_arbitrary_bytes_raise_nothing_but_refusals(pieces):
    """No input whatever gets anything out of the reader but requests and refusals."""
    reader = RequestReader(HttpLimits())

    outcome = consume(reader, pieces)

    assert outcome in {"waiting", "refused"}


@given(start=request_bytes(), cut=st.integers(0, 200), junk=st.binary(max_size=20), rest=st.binary(max_size=60))
def test_damaged_requests_raise_nothing_but_refusals(start, cut, junk, rest):
    """A valid request with a hole or an addition anywhere is read, waited for or refused."""
    _, wire = start

    outcome = consume(RequestReader(HttpLimits()), [wire[:cut] + junk + wire[cut + 1 :], rest])

    assert outcome in {"waiting", "refused"}


def consume(reader: RequestReader, pieces: list[bytes]) -> str:
    pending = False
    try:
        for piece in pieces:
            reader.feed(piece)
            while pending or reader.head() is not None:
                pending = reader.body(LIMIT) is None
                if pending:
                    break
    except (Malformed, BodyTooLarge):
        return "refused"
    return "waiting"
