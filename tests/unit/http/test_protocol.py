"""Connections as clients see them: raw bytes over real sockets."""

import asyncio
import contextlib
import socket
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.http.connections import HttpLimits
from emulator.http.message import Response
from tests.waiting import until

GET = b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n"
HEAD_OF_POST = b"POST /p HTTP/1.1\r\nHost: a\r\n"


async def test_a_connection_serves_one_request_after_the_other(serving):
    """HTTP/1.1 connections stay open, whatever kind of body the requests have."""
    async with serving() as site:
        peer = await site.peer()

        first = await peer.ask(HEAD_OF_POST + b"Content-Length: 5\r\n\r\nhello")
        second = await peer.ask(HEAD_OF_POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n")
        third = await peer.ask(GET % 3)

        assert [answer.body for answer in (first, second, third)] == [b"POST /p hello", b"POST /p hello", b"GET /3 "]
        assert first.headers["content-length"] == "13"
        assert first.headers["date"].endswith(" GMT")
        assert "connection" not in first.headers


@pytest.mark.parametrize(
    ("request_bytes", "connection"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "close"),
        (b"GET / HTTP/1.0\r\n\r\n", "close"),
    ],
)
async def test_a_connection_ends_when_the_client_does_not_keep_it(serving, request_bytes, connection):
    """``Connection: close`` and HTTP/1.0 end the connection after the answer, which says so."""
    async with serving() as site:
        peer = await site.peer()

        answer = await peer.ask(request_bytes)

        assert answer.status == 200
        assert answer.headers["connection"] == connection
        assert await peer.ended() == b""


async def test_http_1_0_keeps_a_connection_when_asked(serving):
    """HTTP/1.0 with ``Connection: keep-alive`` gets the same back and may go on."""
    async with serving() as site:
        peer = await site.peer()
        asked = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"

        answers = [await peer.ask(asked), await peer.ask(asked)]

        assert [answer.headers["connection"] for answer in answers] == ["keep-alive"] * 2


async def test_head_gets_the_fields_of_get_and_no_body(serving, application):
    """HEAD tells the length without sending it, also one the application only promises."""
    answers = iter(
        [
            Response(200, b"hello"),
            Response(200, b"", [("Content-Length", "1234")]),
            Response(200, pieces(b"a", b"b")),
        ]
    )
    application.handler = lambda request, respond: respond(next(answers))

    async with serving() as site:
        peer = await site.peer()
        heads = []
        for _ in range(3):
            await peer.send(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
            heads.append((await peer.answer(head_only=True)).headers)

        assert [head.get("content-length") for head in heads] == ["5", "1234", None]
        assert heads[2]["transfer-encoding"] == "chunked"


async def test_options_is_an_ordinary_method(serving):
    """OPTIONS reaches the application like any other method."""
    async with serving() as site:
        answer = await (await site.peer()).ask(b"OPTIONS /x HTTP/1.1\r\nHost: a\r\n\r\n")

        assert answer.body == b"OPTIONS /x "


@pytest.mark.parametrize("status", [204, 304])
async def test_answers_that_cannot_have_a_body_have_none(serving, application, status):
    """204 and 304 carry the application's fields, no length and no body, and the connection goes on."""
    application.handler = lambda request, respond: respond(Response(status, b"", [("x-mns-version", "2015-06-06")]))

    async with serving() as site:
        peer = await site.peer()

        answers = [await peer.ask(GET % number) for number in range(2)]

        assert [answer.status for answer in answers] == [status] * 2
        assert answers[0].headers["x-mns-version"] == "2015-06-06"
        assert "content-length" not in answers[0].headers


async def test_an_ordinary_answer_is_one_write_without_delay(serving, application):
    """Head and body leave in one piece, on a socket that does not wait for more."""
    async with serving() as site:
        peer = await site.peer()
        await peer.ask(GET % 0)
        [connection] = site.connections._open
        transport = connection._transport
        written = []
        original = transport.write
        connection._transport = connection._sender._transport = Recorder(transport, written, original)

        await peer.ask(GET % 1)

        nodelay = transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert len(written) == 1
        assert written[0].endswith(b"GET /1 ")
        assert nodelay


class Recorder:
    """A transport that also notes what is written to it."""

    def __init__(self, transport, written, write):
        self._transport = transport
        self._written = written
        self._write = write

    def write(self, data):
        self._written.append(data)
        self._write(data)

    def __getattr__(self, name):
        return getattr(self._transport, name)


# Pipelining.


async def test_pipelined_requests_are_answered_in_order_one_at_a_time(serving, application):
    """The next request is not even looked at before the answer to the one before it has been given."""
    waiting = []
    application.handler = lambda request, respond: waiting.append((request.target, respond))

    async with serving() as site:
        peer = await site.peer()
        await peer.send(b"".join(GET % number for number in range(3)))
        seen = []

        for number in range(3):
            await until(lambda: waiting)
            await site.turns()
            assert len(application.admitted) == number + 1
            target, respond = waiting.pop()
            seen.append(target)
            respond(Response(200, target.encode()))

        assert seen == ["/0", "/1", "/2"]
        assert [(await peer.answer()).body for _ in range(3)] == [b"/0", b"/1", b"/2"]


async def test_a_long_pipeline_does_not_keep_others_waiting(serving, application):
    """Many requests in one packet are served in turns with other connections."""
    order = []
    application.handler = lambda request, respond: (order.append(request.target), respond(Response(200)))[0]

    async with serving() as site:
        greedy, modest = await site.peer(), await site.peer()
        await modest.ask(GET % 9999)

        greedy.writer.write(b"".join(GET % number for number in range(1000)))
        modest.writer.write(GET % 5000)
        await until(lambda: len(order) == 1002)

        assert order.index("/5000") < 200
        numbers = [int(target[1:]) for target in order if target not in {"/5000", "/9999"}]
        assert numbers == list(range(1000))


async def test_input_behind_an_unanswered_request_is_bounded(serving, application):
    """A client that goes on sending is not read from beyond a limit, and served to the end once answers come."""
    held = []
    application.handler = lambda request, respond: held.append(respond)

    async with serving(limits=HttpLimits(pipelined_bytes=10_000)) as site:
        peer = await site.peer()
        count = 20_000
        peer.writer.write((GET % 0) * count)
        await until(lambda: held)
        [connection] = site.connections._open
        await until(lambda: connection._arrival.is_paused)
        await site.turns()

        buffered = connection._reader.held
        application.handler = lambda request, respond: respond(Response(204))
        held[0](Response(204))
        for _ in range(count):
            status, _ = await peer.head()
            assert status == 204

        assert buffered < 600_000


async def test_pipelined_requests_are_answered_after_the_client_stopped_sending(serving, application):
    """A client that sends everything and shuts its sending half down gets all its answers."""
    application.handler = lambda request, respond: (
        asyncio.get_running_loop().call_later(0.02, respond, Response(200, b"<%b>" % request.target.encode())) and None
    )

    async with serving() as site:
        peer = await site.peer()
        peer.writer.write(b"".join(GET % number for number in range(3)))
        peer.writer.write_eof()

        received = await peer.ended()

        assert [received.count(b"</%d>" % number) for number in range(3)] == [1, 1, 1]
        assert received.count(b"Connection: close") == 1


# Bodies, limits, Expect.


async def test_continue_is_sent_once_the_application_wants_the_body(serving, application):
    """A client that expects 100 gets it after the request was admitted, then the answer."""
    async with serving() as site:
        peer = await site.peer()
        await peer.send(HEAD_OF_POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")

        status, _ = await peer.head()
        answer = await peer.ask(b"hello")

        assert status == 100
        assert answer.body == b"POST /p hello"


async def test_continue_is_not_sent_when_the_body_is_there(serving):
    """A client that did not wait gets only its answer."""
    async with serving() as site:
        peer = await site.peer()

        answer = await peer.ask(HEAD_OF_POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello")

        assert answer.status == 200


async def test_a_refused_request_gets_its_answer_instead_of_continue(serving, application):
    """What the application does not admit is answered at once, and the connection ends since its body is unread."""
    application.admits = Response(403, b"no")

    async with serving() as site:
        peer = await site.peer()

        answer = await peer.ask(HEAD_OF_POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")

        assert (answer.status, answer.headers["connection"]) == (403, "close")
        assert await peer.ended() == b""
        assert application.served == []


async def test_a_refused_request_without_body_keeps_the_connection(serving, application):
    """Nothing is unread, so nothing has to end."""
    application.admits = Response(403, b"no")

    async with serving() as site:
        peer = await site.peer()

        answers = [await peer.ask(GET % 1), await peer.ask(GET % 2)]

        assert [answer.status for answer in answers] == [403, 403]


async def test_other_expectations_get_417(serving):
    """Only 100-continue can be expected."""
    async with serving() as site:
        answer = await (await site.peer()).ask(HEAD_OF_POST + b"Expect: gold\r\nContent-Length: 0\r\n\r\n")

        assert answer.status == 417


async def test_a_declared_body_over_the_limit_is_refused_unread(serving, application):
    """The answer comes before the body, in place of 100 Continue, and names the limit."""
    application.admits = 10

    async with serving() as site:
        peer = await site.peer()

        answer = await peer.ask(HEAD_OF_POST + b"Expect: 100-continue\r\nContent-Length: 11\r\n\r\n")

        assert (answer.status, answer.body, answer.headers["connection"]) == (413, b"more than 10", "close")


async def test_a_chunked_body_is_refused_when_it_outgrows_the_limit(serving, application):
    """The answer does not wait for the end of a body that is too long already."""
    application.admits = 10

    async with serving() as site:
        peer = await site.peer()
        await peer.send(HEAD_OF_POST + b"Transfer-Encoding: chunked\r\n\r\n")

        answer = await peer.ask(b"6\r\nabcdef\r\n6\r\nabcdef\r\n")

        assert answer.status == 413
        assert application.served == []


async def test_a_client_that_goes_on_sending_still_sees_the_refusal(serving, application):
    """What follows an early refusal is dropped for a while, so that the answer is not lost to a reset."""
    application.admits = 10

    async with serving() as site:
        peer = await site.peer()
        body = b"x" * 2_000_000
        peer.writer.write(HEAD_OF_POST + b"Content-Length: %d\r\n\r\n" % len(body))
        peer.writer.write(body)

        answer = await peer.answer()

        assert answer.status == 413


async def test_a_body_cut_short_is_not_served(serving, application):
    """A client that goes away within its body has asked for nothing."""
    async with serving() as site:
        peer = await site.peer()
        await peer.send(HEAD_OF_POST + b"Content-Length: 50\r\n\r\nhello")
        await until(lambda: application.admitted)

        await peer.close()
        await until(lambda: len(site.connections) == 0)

        assert application.served == []


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil",
            400,
        ),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET /" + b"a" * 70_000, 414),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000, 431),
    ],
    ids=["smuggling", "hosts", "http2", "tls", "target", "fields"],
)
async def test_input_that_is_no_request_is_answered_and_the_connection_ends(serving, application, data, status):
    """The application renders the refusal; nothing of what follows is taken for a request."""
    async with serving() as site:
        peer = await site.peer()

        answer = await peer.ask(data)

        assert (answer.status, answer.headers["connection"]) == (status, "close")
        assert await peer.ended() == b""
        assert application.served == []
        assert application.rejected[0][0] == status


async def test_connect_reaches_the_application_and_ends_the_connection(serving):
    """What follows CONNECT is not HTTP, so it is never read as a request."""
    async with serving() as site:
        peer = await site.peer()

        answer = await peer.ask(
            b"CONNECT h:443 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nGET /evil HTTP/1.1\r\n\r\n"
        )

        assert answer.body == b"CONNECT h:443 "
        assert answer.headers["connection"] == "close"
        assert site.application.served[0].authority == "h:443"
        assert await peer.ended() == b""


async def test_an_absolute_target_is_reduced_and_its_authority_kept(serving, application):
    """A plain HTTP proxy request looks like any other, with the authority apart."""
    async with serving() as site:
        answer = await (await site.peer()).ask(b"GET http://1.fc.aliyuncs.com:80/x?y HTTP/1.1\r\nHost: a\r\n\r\n")

        assert answer.body == b"GET /x?y "
        assert application.served[0].authority == "1.fc.aliyuncs.com:80"


# Time.

QUICK = {"sweep_s": 0.02}


async def test_an_idle_connection_is_closed_without_a_word(serving):
    """A client that asks nothing more is told nothing."""
    async with serving(limits=HttpLimits(idle_s=0.05, **QUICK)) as site:
        peer = await site.peer()
        await peer.ask(GET % 1)

        assert await peer.ended() == b""


async def test_a_slow_head_gets_408(serving):
    """Header fields that trickle in do not hold a connection for ever."""
    async with serving(limits=HttpLimits(head_s=0.1, **QUICK)) as site:
        peer = await site.peer()
        await peer.send(b"GET / HTTP/1.1\r\nHost: a\r\n")
        trickle = asyncio.create_task(drip(peer, b"X: y\r\n"))

        answer = await peer.answer()
        trickle.cancel()

        assert answer.status == 408


async def test_a_body_without_progress_gets_408_but_a_slow_one_is_served(serving):
    """Every byte of a body renews the time for the next."""
    async with serving(limits=HttpLimits(body_s=0.15, **QUICK)) as site:
        slow, stuck = await site.peer(), await site.peer()
        await stuck.send(HEAD_OF_POST + b"Content-Length: 10\r\n\r\n")
        await slow.send(HEAD_OF_POST + b"Content-Length: 10\r\n\r\n")
        for _ in range(10):
            await slow.send(b"x")
            await asyncio.sleep(0.03)

        served, given_up = await slow.answer(), await stuck.answer()

        assert served.status == 200
        assert given_up.status == 408


async def test_a_client_that_reads_nothing_is_cut_off(serving, application):
    """An answer nobody takes does not stay in memory."""
    application.handler = lambda request, respond: respond(Response(200, b"x" * 30_000_000))

    async with serving(limits=HttpLimits(write_s=0.1, **QUICK)) as site:
        peer = await site.peer()
        peer.writer.transport.pause_reading()
        await peer.send(GET % 1)
        await until(lambda: len(site.connections) == 1)

        await until(lambda: len(site.connections) == 0)

        assert len(application.served) == 1


async def test_a_parked_request_has_no_time_limit(serving, application):
    """Long polls outlast every time-out of the connection."""
    application.handler = lambda request, respond: (
        asyncio.get_running_loop().call_later(0.3, respond, Response(200, b"late")) and None
    )

    async with serving(limits=HttpLimits(idle_s=0.05, head_s=0.05, body_s=0.05, write_s=0.05, **QUICK)) as site:
        answer = await (await site.peer()).ask(GET % 1)

        assert answer.body == b"late"


# The application's side.


async def test_a_call_is_cancelled_when_its_client_goes_away(serving, application):
    """A receiver that was killed must not be handed a message; an answer that comes anyway is dropped."""
    calls, responds = [], []

    def park(request, respond):
        responds.append(respond)
        calls.append(asyncio.get_running_loop().create_future())
        return calls[0]

    application.handler = park

    async with serving() as site:
        peer = await site.peer()
        await peer.send(GET % 1)
        await until(lambda: calls)

        await peer.close()
        await until(lambda: calls[0].cancelled())
        responds[0](Response(200, b"late"))

        assert len(site.connections) == 0


async def test_a_client_that_resets_is_noticed_too(serving, application):
    """A reset ends a parked call like an orderly close."""
    calls = []
    application.handler = lambda request, respond: calls.append(asyncio.get_running_loop().create_future()) or calls[0]

    async with serving() as site:
        sock = socket.create_connection(("127.0.0.1", site.port))
        sock.send(GET % 1)
        await until(lambda: calls)

        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
        await until(lambda: calls[0].cancelled())

        assert calls[0].cancelled()


async def test_a_second_answer_is_logged_and_not_sent(serving, application, caplog):
    """Answering twice is a bug that must not reach the client."""

    def twice(request, respond):
        respond(Response(200, b"one"))
        respond(Response(200, b"two"))

    application.handler = twice

    async with serving() as site:
        peer = await site.peer()

        answers = [await peer.ask(GET % 1), await peer.ask(GET % 2)]

        assert [answer.body for answer in answers] == [b"one", b"one"]
        assert "answered twice" in caplog.text


@pytest.mark.parametrize("failing", ["admit", "serve"])
async def test_a_failure_of_the_application_is_answered_with_500(serving, application, caplog, failing):
    """The client learns that it failed, not how; the log has the traceback."""

    def fail(*arguments):
        raise RuntimeError("secret detail")

    setattr(application, failing, fail)

    async with serving() as site:
        answer = await (await site.peer()).ask(GET % 1)

        assert (answer.status, answer.headers["connection"]) == (500, "close")
        assert b"secret" not in answer.body
        assert "secret detail" in caplog.text


async def test_a_call_that_fails_without_an_answer_gets_500(serving, application, caplog):
    """A client does not wait for ever for work that has died."""

    async def die():
        await asyncio.sleep(0)
        raise RuntimeError("died")

    application.handler = lambda request, respond: asyncio.ensure_future(die())

    async with serving() as site:
        answer = await (await site.peer()).ask(GET % 1)

        assert answer.status == 500
        assert "died" in caplog.text


@pytest.mark.parametrize(
    "response",
    [
        Response(200, b"", [("X", "a\r\nSet-Cookie: b")]),
        Response(200, b"", [("X y", "a")]),
        Response(200, b"", [("X", "\ud800")]),
        Response(1000, b""),
    ],
    ids=["injection", "name", "surrogate", "status"],
)
async def test_an_answer_that_would_break_out_of_its_fields_becomes_500(serving, application, caplog, response):
    """A function's header values cannot add fields or answers of their own."""
    application.handler = lambda request, respond: respond(response)

    async with serving() as site:
        answer = await (await site.peer()).ask(GET % 1)

        assert answer.status == 500
        assert "set-cookie" not in answer.headers
        assert "cannot be sent" in caplog.text


# Answers in pieces.


async def pieces(*parts):
    for part in parts:
        await asyncio.sleep(0)
        yield part


async def test_an_answer_in_pieces_is_chunked_as_it_comes(serving, application):
    """Each piece leaves when it is there, and the connection goes on after the last."""
    gate = asyncio.Event()

    async def slow():
        yield b"first"
        await gate.wait()
        yield b""
        yield b"second"

    application.handler = lambda request, respond: respond(Response(200, slow() if not gate.is_set() else b"whole"))

    async with serving() as site:
        peer = await site.peer()
        await peer.send(GET % 1)

        status, headers = await peer.head()
        first = await peer.reader.readuntil(b"first\r\n")
        gate.set()
        rest = await peer.reader.readuntil(b"0\r\n\r\n")
        after = await peer.ask(GET % 2)

        assert (status, headers["transfer-encoding"]) == (200, "chunked")
        assert (first, rest) == (b"5\r\nfirst\r\n", b"6\r\nsecond\r\n0\r\n\r\n")
        assert after.body == b"whole"


async def test_http_1_0_gets_pieces_until_the_connection_ends(serving, application):
    """A client that knows no chunks reads to the end of the connection."""
    application.handler = lambda request, respond: respond(Response(200, pieces(b"one", b"two")))

    async with serving() as site:
        answer = await (await site.peer()).ask(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")

        assert answer.body == b"onetwo"
        assert "transfer-encoding" not in answer.headers


async def test_pieces_with_a_known_length_are_sent_as_they_are(serving, application):
    """A length the application promises takes the place of chunks."""
    application.handler = lambda request, respond: respond(
        Response(200, pieces(b"ab", b"c"), [("Content-Length", "3")])
    )

    async with serving() as site:
        peer = await site.peer()

        answers = [await peer.ask(GET % 1), await peer.ask(GET % 2)]

        assert [answer.body for answer in answers] == [b"abc", b"abc"]


@pytest.mark.parametrize("promised", ["2", "4"])
async def test_a_body_that_breaks_its_promise_is_cut(serving, application, caplog, promised):
    """Too much or too little would make the next answer unreadable, so there is none."""
    application.handler = lambda request, respond: respond(
        Response(200, pieces(b"ab", b"c"), [("Content-Length", promised)])
    )

    async with serving() as site:
        peer = await site.peer()
        await peer.send(GET % 1)

        with contextlib.suppress(ConnectionResetError):
            received = await peer.ended()
            assert not received.endswith(b"abc\r\n")
        await until(lambda: len(site.connections) == 0)

        assert "broke off" in caplog.text


async def test_an_answer_that_breaks_off_does_not_look_complete(serving, application, caplog):
    """When the pieces fail, the client sees an error and not an end, even without chunks."""

    async def failing():
        yield b"some"
        raise RuntimeError("source failed")

    application.handler = lambda request, respond: respond(Response(200, failing()))

    async with serving() as site:
        chunked, plain = await site.peer(), await site.peer()
        await chunked.send(GET % 1)
        await plain.send(b"GET / HTTP/1.0\r\n\r\n")

        outcomes = []
        for peer in (chunked, plain):
            try:
                outcomes.append(b"0\r\n\r\n" not in await peer.ended() and peer is chunked)
            except ConnectionResetError:
                outcomes.append(True)

        assert outcomes == [True, True]
        assert "source failed" in caplog.text


async def test_a_source_of_pieces_is_held_back_and_closed_when_the_client_goes(serving, application):
    """A client that does not read stops the source; one that leaves closes it."""
    produced = []
    closed = asyncio.Event()

    async def endless():
        try:
            while True:
                produced.append(1)
                yield b"x" * 100_000
        finally:
            closed.set()

    application.handler = lambda request, respond: respond(Response(200, endless()))

    async with serving() as site:
        peer = await site.peer()
        peer.writer.transport.pause_reading()
        await peer.send(GET % 1)
        await until(lambda: produced)
        [connection] = site.connections._open
        await until(lambda: not connection._sender.writable)
        count = len(produced)
        await site.turns()

        assert len(produced) == count
        peer.writer.transport.abort()
        await asyncio.wait_for(closed.wait(), 5)


async def test_a_long_answer_arrives_whole(serving, application):
    """Answers of many megabytes leave in slices, at the client's pace."""
    body = bytes(range(256)) * 40_000
    application.handler = lambda request, respond: respond(Response(200, body))

    async with serving() as site:
        peer = await site.peer()

        answers = [await peer.ask(GET % 1), await peer.ask(GET % 2)]

        assert all(answer.body == body for answer in answers)


async def test_pipelined_answers_wait_for_a_client_that_reads_late(serving, application):
    """Requests stop being served while their answers are not taken, and go on after."""
    application.handler = lambda request, respond: respond(Response(200, b"x" * 200_000))

    async with serving() as site:
        peer = await site.peer()
        peer.writer.transport.pause_reading()
        peer.writer.write(b"".join(GET % number for number in range(200)))
        await until(lambda: application.served)
        [connection] = site.connections._open
        await until(lambda: not connection._sender.writable)
        await site.turns()
        served = len(application.served)
        peer.writer.transport.resume_reading()

        answers = [await peer.answer() for _ in range(200)]

        assert served < 150
        assert {len(answer.body) for answer in answers} == {200_000}


async def test_a_refused_client_that_never_stops_sending_is_cut_off(serving, application):
    """Dropping what follows a refusal is bounded."""
    application.admits = 10

    async with serving(limits=HttpLimits(linger_bytes=1_000_000)) as site:
        peer = await site.peer()
        peer.writer.write(HEAD_OF_POST + b"Content-Length: 100000000\r\n\r\n")

        with pytest.raises(ConnectionError):
            while True:
                await peer.send(b"x" * 100_000)

        await until(lambda: len(site.connections) == 0)
        assert application.served == []


async def test_a_refused_client_that_stays_silent_is_let_go(serving, application):
    """A client that neither sends nor closes after a refusal does not hold its connection."""
    async with serving(limits=HttpLimits(linger_s=0.05, **QUICK)) as site:
        peer = await site.peer()
        await peer.send(b"garbage\r\n\r\n")

        assert (await peer.answer()).status == 400
        await until(lambda: len(site.connections) == 0)


# Fuzzing.


@settings(max_examples=40)
@given(
    junk=st.lists(
        st.binary(max_size=80)
        | st.sampled_from(
            [GET % 1, HEAD_OF_POST, b"Content-Length: 3\r\n\r\n", b"\r\n\r\n", b"Transfer-Encoding: chunked"]
        ),
        max_size=6,
    )
)
async def test_no_input_stops_the_server(junk):
    """Whatever one connection sends, nothing escapes the protocol and the next connection is answered."""
    from emulator.http.connections import Connections
    from emulator.http.protocol import HttpProtocol
    from emulator.kernel.clock import SystemClock

    class Plain:
        def admit(self, request):
            return 1000

        def early(self, request):
            return 0

        def too_large(self, request, limit):
            return Response(413)

        def malformed(self, status, reason):
            return Response(status)

        def serve(self, request, respond):
            respond(Response(200, b"ok"))

    escaped = []

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: escaped.append(context))
    connections = Connections(Plain(), clock=SystemClock(), limits=HttpLimits())
    server = await loop.create_server(lambda: HttpProtocol(connections), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in junk:
        writer.write(piece)
        await asyncio.sleep(0)
    writer.write_eof()
    with contextlib.suppress(ConnectionResetError):
        await asyncio.wait_for(reader.read(), 5)
    writer.close()
    other, second = await asyncio.open_connection("127.0.0.1", port)
    second.write(GET % 2)
    line = await asyncio.wait_for(other.readline(), 5)
    second.close()
    server.close()
    await connections.stop(0)

    assert line == b"HTTP/1.1 200 OK\r\n"
    assert escaped == []


async def drip(peer, data):
    while True:
        await asyncio.sleep(0.02)
        await peer.send(data)
