"""Requests that are served before their bodies have come: the rest arrives at the pace in which it is taken."""

import asyncio

import pytest

from emulator.http.connections import HttpLimits
from emulator.http.message import BodyBroken, Response
from tests.unit.http.test_protocol import GET, HEAD_OF_POST
from tests.waiting import until

CHUNKED = HEAD_OF_POST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def early(application):
    """Have the application serve early, and collect what comes; return where it collects."""
    application.serves_early = 1000
    application.came = []

    def serve(request, respond):
        async def collect():
            if request.arriving is None:
                respond(Response(200, b"whole " + request.body))
                return
            try:
                async for piece in request.arriving:
                    application.came.append(piece)
            except BodyBroken as error:
                application.came.append(error)
                respond(Response(400, str(error).encode()))
                return
            respond(Response(200, b"early " + b"".join(application.came)))

        return asyncio.ensure_future(collect())

    application.handler = serve
    return application.came


async def test_pieces_arrive_as_they_come(serving, early):
    """The application has each before the next is sent, and the connection goes on after the answer."""
    async with serving() as site:
        peer = await site.peer()

        await peer.send(CHUNKED + b"2\r\nhe\r\n")
        await until(lambda: early == [b"he"])
        await peer.send(b"3\r\nllo\r\n")
        await until(lambda: early == [b"he", b"llo"])
        answer = await peer.ask(b"0\r\nTrailer: x\r\n\r\n" + GET % 7)
        after = await peer.answer()

        assert (answer.status, answer.body) == (200, b"early hello")
        assert "connection" not in answer.headers
        assert after.body == b"whole "


async def test_body_with_a_length_begins_with_its_first_bytes(serving, early):
    """An application that has not judged the head is asked when something of the body has come, and only once."""
    async with serving() as site:
        peer = await site.peer()

        await peer.send(HEAD_OF_POST + b"Content-Length: 5\r\n\r\n")
        await site.turns()
        asked_before = len(site.application.asked)
        await peer.send(b"he")
        await until(lambda: early == [b"he"])
        answer = await peer.ask(b"llo")

        assert (asked_before, len(site.application.asked)) == (0, 1)
        assert answer.body == b"early hello"


@pytest.mark.parametrize("failure", [None, OSError("cannot be read"), asyncio.CancelledError()])
async def test_application_that_does_not_know_yet_is_asked_again(serving, early, failure):
    """A client that waits for an answer to its first piece gets it, without sending more."""
    async with serving() as site:
        peer = await site.peer()
        known = site.application.serves_early = asyncio.get_running_loop().create_future()

        await peer.send(CHUNKED + b"2\r\nhe\r\n")
        await until(lambda: len(site.application.asked) == 1)
        assert early == []
        site.application.serves_early = 1000
        known.cancel() if isinstance(failure, asyncio.CancelledError) else (
            known.set_result(None) if failure is None else known.set_exception(failure)
        )
        await until(lambda: early == [b"he"])
        answer = await peer.ask(b"0\r\n\r\n")

        assert answer.body == b"early he"
        assert len(site.application.asked) == 2


async def test_body_that_is_whole_before_that_is_known_is_served_whole(serving, early):
    """Nobody is asked again, whatever has become known meanwhile."""
    async with serving() as site:
        peer = await site.peer()
        known = site.application.serves_early = asyncio.get_running_loop().create_future()

        await peer.send(CHUNKED + b"2\r\nhe\r\n")
        await until(lambda: len(site.application.asked) == 1)
        answer = await peer.ask(b"0\r\n\r\n")
        known.set_result(None)
        await site.turns()

        assert answer.body == b"whole he"
        assert len(site.application.asked) == 1


@pytest.mark.parametrize("length", [b"Content-Length: 5\r\n\r\nhello", b"Content-Length: 0\r\n\r\n"])
async def test_request_that_came_whole_is_not_early(serving, early, length):
    """Nobody is asked: ordinary requests cost what they did."""
    async with serving() as site:
        peer = await site.peer()

        answer = await peer.ask(HEAD_OF_POST + length)

        assert answer.body.startswith(b"whole ")
        assert site.application.asked == []


async def test_other_requests_are_served_whole(serving, early):
    """Where the application says 0, or less than the declared length, the body is awaited as ever."""
    async with serving() as site:
        peer = await site.peer()
        await peer.send(HEAD_OF_POST + b"Content-Length: 2000\r\n\r\n" + b"x" * 10)
        await until(lambda: site.application.asked)
        longer = await peer.ask(b"x" * 1990)
        site.application.serves_early = 0
        await peer.send(CHUNKED + b"2\r\nhe\r\n")
        await until(lambda: len(site.application.asked) == 2)
        never = await peer.ask(b"0\r\n\r\n")

        assert longer.body == b"whole " + b"x" * 2000
        assert never.body == b"whole he"
        assert early == []


async def test_application_that_fails_to_judge_gets_it_whole(serving, application, early):
    """The failure is logged; the request is served all the same."""
    application.early = lambda request: 1 // 0

    async with serving() as site:
        peer = await site.peer()
        await peer.send(CHUNKED + b"2\r\nhe\r\n")
        await site.turns()
        answer = await peer.ask(b"0\r\n\r\n")

        assert answer.body == b"whole he"


@pytest.mark.parametrize(
    ("rest", "reason"),
    [(b"3e8\r\n" + b"x" * 1000 + b"\r\n", "longer than 1000 bytes"), (b"zz\r\n", "chunk size")],
    ids=["too-long", "malformed"],
)
async def test_body_that_breaks_is_reported_where_it_is_read(serving, early, rest, reason):
    """After more bytes than it may have, and after framing that is none; the connection ends with the answer."""
    async with serving() as site:
        peer = await site.peer()
        await peer.send(CHUNKED + b"2\r\nhe\r\n")
        await until(lambda: early == [b"he"])

        answer = await peer.ask(rest)

        assert answer.status == 400
        assert reason in answer.body.decode().lower()
        assert answer.headers["connection"] == "close"
        assert await peer.ended() == b""


async def test_client_that_goes_calls_the_work_off(serving, application, early):
    """In the middle of a body its end is known at once, and what serves the request is cancelled."""
    ended = asyncio.Event()

    def serve(request, respond):
        async def wait():
            try:
                async for piece in request.arriving:
                    early.append(piece)
            finally:
                ended.set()

        return asyncio.ensure_future(wait())

    application.handler = serve
    async with serving() as site:
        peer = await site.peer()
        await peer.send(CHUNKED + b"2\r\nhe\r\n")
        await until(lambda: early == [b"he"])

        await peer.close()

        await asyncio.wait_for(ended.wait(), 5)
        assert early == [b"he"]


async def test_answer_before_the_end_of_the_body_closes_the_connection(serving, application):
    """Its head says so; what still comes is dropped, so that the client reads the answer and no reset."""
    application.serves_early = 10_000_000
    application.handler = lambda request, respond: respond(Response(200, b"enough"))

    async with serving() as site:
        peer = await site.peer()
        answer = await peer.ask(CHUNKED + b"2\r\nhe\r\n")
        await peer.send((b"3e8\r\n" + b"x" * 1000 + b"\r\n") * 1000 + b"0\r\n\r\n")

        assert (answer.body, answer.headers["connection"]) == (b"enough", "close")
        assert await peer.ended() == b""


async def test_both_directions_go_on_at_once(serving, application):
    """An answer in pieces may begin, and go on, while the body comes."""
    application.serves_early = 1000
    application.handler = lambda request, respond: respond(Response(200, request.arriving))

    async with serving() as site:
        peer = await site.peer()
        await peer.send(CHUNKED + b"2\r\nhe\r\n")
        status, headers = await peer.head()
        first = await peer.reader.readexactly(7)
        await peer.send(b"3\r\nllo\r\n")
        second = await peer.reader.readexactly(8)
        await peer.send(b"0\r\n\r\n")
        rest = await peer.ended()

        assert (status, headers["transfer-encoding"]) == (200, "chunked")
        assert (first, second, rest) == (b"2\r\nhe\r\n", b"3\r\nllo\r\n", b"0\r\n\r\n")


async def test_sender_is_held_back_while_nobody_takes_the_body(serving, application):
    """A bounded part of it waits here; when it is taken, all of it arrives."""
    application.serves_early = application.admits = 100_000_000
    gate, sizes = asyncio.Event(), []

    def serve(request, respond):
        async def collect():
            await gate.wait()
            sizes.append(request.arriving.size)
            size = sum([len(piece) async for piece in request.arriving])
            respond(Response(200, str(size).encode()))

        return asyncio.ensure_future(collect())

    application.handler = serve
    total = 30_000_000
    async with serving(limits=HttpLimits(early_bytes=64 * 1024)) as site:
        peer = await site.peer()
        sending = asyncio.create_task(peer.send(HEAD_OF_POST + b"Content-Length: %d\r\n\r\n" % total + b"x" * total))
        await asyncio.wait([sending], timeout=0.5)
        held_back = not sending.done()
        gate.set()
        answer = await peer.answer()
        await sending

        assert held_back
        assert sizes[0] < 2_000_000
        assert answer.body == str(total).encode()


async def test_client_that_waits_for_a_word_gets_it_before_the_body(serving, early):
    """``Expect: 100-continue`` is answered when the head is admitted."""
    async with serving() as site:
        peer = await site.peer()

        await peer.send(HEAD_OF_POST + b"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
        status, _ = await peer.head()
        await peer.send(b"2\r\nhe\r\n")
        await until(lambda: early == [b"he"])
        answer = await peer.ask(b"0\r\n\r\n")

        assert (status, answer.body) == (100, b"early he")
