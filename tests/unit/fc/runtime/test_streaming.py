"""Answers of custom runtimes that are passed on while the program still writes them."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from emulator.http.client_connection import ClientError
from emulator.services.fc.runtime.listening import free_port
from emulator.services.fc.runtime.model import HttpCall
from emulator.services.fc.runtime.streaming import FailedMidway

PROGRAM = Path(__file__).with_name("listening_program.py")


def image(functions, **changes):
    """A custom runtime with the test program."""
    fields = {"runtime": "custom", "timeout_s": 20, "port": free_port(()), "command": (sys.executable, "-S", "app.py")}
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


async def test_first_piece_is_there_before_the_last_is_written(functions):
    """The call is over, and logged, when the body has been read."""
    made = image(functions)
    go = made.code_dir / "go"

    async with functions.pool() as pool:
        invocation = request(functions, pieces=2, wait_for=str(go))
        result = await pool.invoke(made, invocation)
        first = await anext(result.stream)
        during = states(pool, made), functions.logged(invocation.request_id)
        go.touch()
        rest = [piece async for piece in result.stream]
        after = states(pool, made), functions.logged(invocation.request_id)

    assert (result.error_type, result.body, result.http.status) == (None, b"", 200)
    assert (first, b"".join(rest)) == (b"piece 0\n", b"piece 1\n")
    assert during[0] == ["busy"]
    assert b"FC Invoke End" not in during[1]
    assert after[0] == ["idle"]
    assert after[1].endswith(b" MB\n")
    assert b"FC Invoke End RequestId: request-1\n\nDuration: " in after[1]


async def test_short_answers_are_given_whole(functions):
    """A known, small length costs no streaming."""
    made = image(functions)

    result = await functions.invoke(made, request(functions, echo="short"))

    assert (result.stream, result.body) == (None, b"short")


async def test_program_that_dies_while_it_writes_cuts_the_answer_short(functions):
    """The reader learns of it, the next call gets a new process."""
    made = image(functions)

    async with functions.pool() as pool:
        result = await pool.invoke(made, request(functions, pieces=3, exit_after=1))
        pieces = []
        with pytest.raises(ClientError):
            async for piece in result.stream:
                pieces.append(piece)  # noqa: PERF401 - what came before the error counts
        following = await pool.invoke(made, request(functions, echo="next"))

    assert b"".join(pieces).startswith(b"piece 0\n")
    assert b"Process exited unexpectedly" in functions.logged("request-1")
    assert (following.body, following.cold) == (b"next", True)


async def test_time_out_counts_until_the_end_of_the_body(functions):
    """The program is ended while it writes."""
    made = image(functions, timeout_s=1)

    async with functions.pool() as pool:
        result = await pool.invoke(made, request(functions, pieces=2, wait_for="never"))
        with pytest.raises(ClientError):
            async for _ in result.stream:
                pass

    assert b"Error: Function timed out after 1 seconds" in functions.logged("request-1")


async def test_reader_that_leaves_ends_the_call(functions):
    """As a client that gives up does for any call."""
    made = image(functions)

    async with functions.pool() as pool:
        result = await pool.invoke(made, request(functions, pieces=2, wait_for="never"))
        await anext(result.stream)
        await result.stream.aclose()
        following = await pool.invoke(made, request(functions, echo="next"))

    assert b"Error: Invocation canceled by client" in functions.logged("request-1")
    assert (following.body, following.cold) == (b"next", True)


PYTHON = """
import os, time

def handler(environ, start_response):
    order = environ["wsgi.input"].read().decode()
    folder = os.environ["FC_FUNC_CODE_PATH"]
    headers = [("X-Own", "a")]
    if order == "short":
        headers.append(("Content-Length", "14"))
    write = start_response("201 Created", headers)
    if order == "list":
        return [b"piece 0", b"piece 1"]
    return pieces(order, folder, write)

def pieces(order, folder, write):
    if order == "write":
        write(b"piece 0")
    else:
        yield b"piece 0"
    if order == "fail":
        raise ValueError("midway")
    if order == "exit":
        os._exit(3)
    while order not in ("short", "many") and not os.path.exists(folder + "/go"):
        time.sleep(0.01)
    for _ in range(100 if order == "many" else 0):
        yield b"x" * 100_000
    print("all written")
    yield b"piece 1"
"""

NODE = """
const fs = require('fs');
const { Readable } = require('stream');

exports.handler = (request, response, context) => {
  const order = request.body.toString();
  response.setStatusCode(201);
  response.setHeader('X-Own', 'a');
  if (order === 'short') {
    response.setHeader('Content-Length', '14');
  }
  if (order === 'stream') {
    const source = new Readable({ read() {} });
    source.push('piece 0');
    whenAllowed(() => { source.push('piece 1'); source.push(null); });
    response.send(source);
    return;
  }
  response.write('piece 0');
  if (order === 'fail') {
    throw new Error('midway');
  }
  if (order === 'exit') {
    setTimeout(() => process.exit(3), 10);
    return;
  }
  const finish = () => {
    for (let count = 0; order === 'many' && count < 100; count += 1) {
      response.write(Buffer.alloc(100000, 'x'));
    }
    console.log('all written');
    response.end('piece 1');
  };
  if (order === 'short' || order === 'many') {
    finish();
  } else {
    whenAllowed(finish);
  }
};

function whenAllowed(then) {
  if (fs.existsSync(`${process.env.FC_FUNC_CODE_PATH}/go`)) {
    then();
  } else {
    setTimeout(() => whenAllowed(then), 10);
  }
}
"""

node = pytest.param("nodejs20", marks=pytest.mark.skipif(shutil.which("node") is None, reason="there is no node"))
BUILT_IN = pytest.mark.parametrize("runtime", ["python3", node])


def built_in(functions, runtime, **changes):
    """A function of a built-in runtime that answers in two pieces."""
    made = functions.image(PYTHON, **({"runtime": runtime, "timeout_s": 20, "memory_mb": 512} | changes))
    (made.code_dir / "index.js").write_text(NODE)
    return made


def built_in_request(functions, order):
    """An HTTP request whose answer may be streamed, with *order* as its body."""
    http = HttpCall(
        method="POST",
        path="/",
        request_uri="/",
        base_path="",
        client_ip="127.0.0.1",
        host="h",
        headers=(("Host", "h"),),
    )
    return functions.invocation(order.encode(), http=http, stream=True)


@pytest.mark.parametrize(
    ("runtime", "order"),
    [("python3", "iterate"), ("python3", "write"), ("nodejs20", "write"), ("nodejs20", "stream")],
)
@pytest.mark.parametrize("method", ["fork", "exec"])
async def test_built_in_runtimes_send_pieces_as_they_are_written(functions, runtime, order, method):
    """The first is there while the handler waits; status and fields come with it; the log ends with the body."""
    if runtime.startswith("node") and shutil.which("node") is None:
        pytest.skip("there is no node")
    made = built_in(functions, runtime)

    async with functions.pool(start_method=method) as pool:
        invocation = built_in_request(functions, order)
        result = await pool.invoke(made, invocation)
        first = await anext(result.stream)
        during = states(pool, made), functions.logged(invocation.request_id)
        (made.code_dir / "go").touch()
        rest = [piece async for piece in result.stream]
        after = (states(pool, made), functions.logged(invocation.request_id))

    assert (result.http.status, result.http.headers) == (201, (("X-Own", "a"),))
    assert (first, b"".join(rest)) == (b"piece 0", b"piece 1")
    assert during[0] == ["busy"]
    assert b"FC Invoke End" not in during[1]
    assert after[0] == ["idle"]
    assert b"\nFC Invoke End RequestId: request-1\n\nDuration: " in after[1]


@BUILT_IN
async def test_built_in_runtimes_give_short_answers_whole(functions, runtime):
    """A known, small length costs no streaming."""
    result = await functions.invoke(built_in(functions, runtime), built_in_request(functions, "short"))

    assert (result.stream, result.body) == (None, b"piece 0piece 1")


async def test_a_list_of_pieces_is_given_whole(functions):
    """All of it is there already."""
    result = await functions.invoke(built_in(functions, "python3"), built_in_request(functions, "list"))

    assert (result.stream, result.body) == (None, b"piece 0piece 1")


@BUILT_IN
@pytest.mark.parametrize(
    ("order", "error", "logged", "cold"),
    [
        ("fail", FailedMidway, b"FC Invoke End RequestId: request-1, Error: Unhandled function error\n", False),
        ("exit", ClientError, b"Error: Process exited unexpectedly", True),
    ],
    ids=["a failure", "an end"],
)
async def test_a_failure_or_an_end_midway_cuts_the_answer_short(functions, runtime, order, error, logged, cold):
    """The log says so; the instance serves on after a failure, a new one after an end."""
    made = built_in(functions, runtime)

    async with functions.pool() as pool:
        result = await pool.invoke(made, built_in_request(functions, order))
        with pytest.raises(error):
            async for _ in result.stream:
                pass
        second = await pool.invoke(made, built_in_request(functions, "short"))

    assert logged in functions.logged("request-1")
    assert (second.cold, second.body) == (cold, b"piece 0piece 1")


async def test_a_slow_reader_holds_the_handler_back(functions):
    """Its pieces are not collected without bounds."""
    made = built_in(functions, "python3")

    async with functions.pool() as pool:
        invocation = built_in_request(functions, "many")
        result = await pool.invoke(made, invocation)
        first = await anext(result.stream)
        before = functions.logged(invocation.request_id)
        rest = [piece async for piece in result.stream]
        rest, after = b"".join(rest), functions.logged(invocation.request_id)

    assert (first, len(rest), rest[-7:]) == (b"piece 0", 10_000_007, b"piece 1")
    assert b"all written" not in before
    assert b"all written" in after
