"""Answers of custom runtimes that are passed on while the program still writes them."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from emulator.http.client_connection import ClientError
from emulator.services.fc.runtime.model import HttpCall
from emulator.services.fc.runtime.program import free_port

PROGRAM = Path(__file__).with_name("listening_program.py")


def image(functions, **changes):
    """A custom runtime with the test program."""
    fields = {"runtime": "custom", "timeout_s": 20, "port": free_port(()), "command": (sys.executable, "app.py")}
    made = functions.image("", **(fields | changes))
    shutil.copy(PROGRAM, made.code_dir / "app.py")
    return made


def request(functions, method="POST", **order):
    """An HTTP request whose answer may be streamed."""
    http = HttpCall(
        method=method,
        path="/",
        request_uri="/",
        base_path="",
        client_ip="127.0.0.1",
        host="h",
        headers=(("Host", "h"),),
    )
    return functions.invocation(json.dumps(order).encode(), http=http, stream=True)


def states(pool, made):
    """What the instances of a function are doing."""
    return [info.state for info in pool.instances(made.family)]


def test_first_piece_is_there_before_the_last_is_written(functions):
    """The call is over, and logged, when the body has been read."""
    made = image(functions)
    go = made.code_dir / "go"

    async def scenario(pool):
        invocation = request(functions, pieces=2, wait_for=str(go))
        result = await pool.invoke(made, invocation)
        first = await anext(result.stream)
        during = states(pool, made), functions.logged(invocation.request_id)
        go.touch()
        rest = [piece async for piece in result.stream]
        after = states(pool, made), functions.logged(invocation.request_id)
        return result, first, rest, during, after

    result, first, rest, during, after = functions.run(scenario)

    assert (result.error_type, result.body, result.http.status) == (None, b"", 200)
    assert (first, b"".join(rest)) == (b"piece 0\n", b"piece 1\n")
    assert during[0] == ["busy"]
    assert b"FC Invoke End" not in during[1]
    assert after[0] == ["idle"]
    assert after[1].endswith(b" MB\n")
    assert b"FC Invoke End RequestId: request-1\n\nDuration: " in after[1]


def test_short_answers_are_given_whole(functions):
    """A known, small length costs no streaming."""
    made = image(functions)

    result = functions.run(lambda pool: pool.invoke(made, request(functions, echo="short")))

    assert (result.stream, result.body) == (None, b"short")


def test_program_that_dies_while_it_writes_cuts_the_answer_short(functions):
    """The reader learns of it, the next call gets a new process."""
    made = image(functions)

    async def scenario(pool):
        result = await pool.invoke(made, request(functions, pieces=3, exit_after=1))
        pieces = []
        with pytest.raises(ClientError):
            async for piece in result.stream:
                pieces.append(piece)  # noqa: PERF401 - what came before the error counts
        return pieces, await pool.invoke(made, request(functions, echo="next"))

    pieces, following = functions.run(scenario)

    assert b"".join(pieces).startswith(b"piece 0\n")
    assert b"Process exited unexpectedly" in functions.logged("request-1")
    assert (following.body, following.cold) == (b"next", True)


def test_time_out_counts_until_the_end_of_the_body(functions):
    """The program is ended while it writes."""
    made = image(functions, timeout_s=1)

    async def scenario(pool):
        result = await pool.invoke(made, request(functions, pieces=2, wait_for="never"))
        with pytest.raises(ClientError):
            async for _ in result.stream:
                pass

    functions.run(scenario)

    assert b"Error: Function timed out after 1 seconds" in functions.logged("request-1")


def test_reader_that_leaves_ends_the_call(functions):
    """As a client that gives up does for any call."""
    made = image(functions)

    async def scenario(pool):
        result = await pool.invoke(made, request(functions, pieces=2, wait_for="never"))
        await anext(result.stream)
        await result.stream.aclose()
        return await pool.invoke(made, request(functions, echo="next"))

    following = functions.run(scenario)

    assert b"Error: Invocation canceled by client" in functions.logged("request-1")
    assert (following.body, following.cold) == (b"next", True)
