"""Programs that poll for their calls, as those of Go's built-in runtime do."""

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest

from emulator.kernel.clock import SystemClock
from emulator.services.fc.runtime.model import (
    Credentials,
    HttpAnswer,
    HttpCall,
    InstanceStartFailed,
    ProgramMissing,
    ResponseTooLarge,
)

PROGRAM = Path(__file__).with_name("polling_program.py")
METHODS = pytest.mark.parametrize("method", ["fork", "exec"])


def image(functions, **changes):
    """A function of Go's runtime whose executable is the test program."""
    made = functions.image("", **({"runtime": "go1", "handler": "main", "timeout_s": 20} | changes))
    main = made.code_dir / "main"
    shutil.copy(PROGRAM, main.with_name("program.py"))
    main.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$(dirname "$0")/program.py" "$@"\n')
    main.chmod(0o755)
    return made


def ask(**order):
    """An event that tells the program what to do."""
    return json.dumps(order).encode()


@METHODS
async def test_calls_are_polled_for_by_one_process(functions, method):
    """With the fields the vendor's library reads; the answer is posted."""
    made = image(functions)
    keys = Credentials(access_key_id="STS.a", access_key_secret="b", security_token="c")

    async with functions.pool(start_method=method) as pool:
        first = await pool.invoke(made, functions.invocation(b"one", credentials=keys, retry_count=1))
        second = await pool.invoke(made, functions.invocation(b"two"))

    seen = json.loads(first.body)
    headers = {name.lower(): value for name, value in seen["headers"].items()}
    assert seen["body"] == "one"
    assert json.loads(second.body)["body"] == "two"
    assert (first.error_type, first.cold, second.cold) == (None, True, False)
    assert headers["x-fc-request-id"] == "request-1"
    assert headers["x-fc-access-key-id"] == "STS.a"
    assert headers["x-fc-function-name"] == "function"
    assert headers["x-fc-function-handler"] == "main"
    assert headers["x-fc-function-timeout"] == "20"
    assert headers["x-fc-retry-count"] == "1"
    assert 0 < int(headers["x-fc-function-deadline"]) - SystemClock().now() <= 20_000
    assert b"FC Invoke Start RequestId: request-1\nkind 0\nFC Invoke End RequestId: request-1\n" in first.log


async def test_reported_error_fails_the_call(functions):
    """The body is what the program has posted."""
    result = (await functions.calls(image(functions), ask(fail=1, echo='{"errorMessage":"no"}')))[0]

    assert (result.error_type, result.body) == ("UnhandledInvocationError", b'{"errorMessage":"no"}')


async def test_hooks_are_calls_of_another_kind(functions):
    """The initializer's answer does not become the handler's."""
    made = image(functions, initializer="i", pre_freeze="f", pre_stop="s")

    result = (await functions.calls(made, b"event"))[0]

    assert json.loads(result.body)["body"] == "event"
    assert b"FC Initialize Start RequestId: request-1\nkind 1\nFC Initialize End" in result.log
    everything = b"".join(data for _, data in functions.log)
    assert b"kind 3\n" in everything
    assert b"kind 2\n" in everything


async def test_http_requests_are_told_in_one_field(functions):
    """And so are status and fields of the answer."""
    made = image(functions)
    http = HttpCall(
        method="POST",
        path="/a b",
        request_uri="/proxy/a%20b?x=1&x=b%20c&y",
        base_path="/proxy",
        client_ip="127.0.0.9",
        host="h",
        headers=(("x-two", "a"), ("X-Two", "b")),
    )

    result = await functions.invoke(made, functions.invocation(b"body", http=http))

    assert result.http == HttpAnswer(status=201, headers=(("X-Own", "a"), ("X-Own", "b")))
    assert json.loads(result.body) == {
        "method": "POST",
        "path": "/a b",
        "requestURI": "/proxy/a%20b?x=1&x=b%20c&y",
        "basePath": "/proxy",
        "clientIP": "127.0.0.9",
        "host": "h",
        "headersMap": {"X-Two": ["a", "b"]},
        "queriesMap": {"x": ["1", "b c"], "y": [""]},
        "body": "body",
    }


async def test_calls_share_an_instance_up_to_its_concurrency(functions):
    """The program polls on while a call runs."""
    made = image(functions, instance_concurrency=2)

    async with functions.pool() as pool:
        calls = [pool.invoke(made, functions.invocation(ask(meet=1, echo=str(number)))) for number in range(2)]
        results = await asyncio.gather(*calls)

    assert [result.body for result in results] == [b"0", b"1"]
    assert len({result.instance_id for result in results}) == 1


@METHODS
@pytest.mark.parametrize(
    ("order", "message"),
    [({"exit": 3}, b"Process exited unexpectedly"), ({"silent": 1}, b"Function timed out after 1")],
)
async def test_call_without_an_answer_ends_the_instance(functions, method, order, message):
    """The next call gets a new process."""
    made = image(functions, timeout_s=1)

    first, second = await functions.calls(made, ask(**order), b"", start_method=method)

    assert message in first.body
    assert (second.error_type, second.cold) == (None, True)


async def test_answer_beyond_the_limit_is_refused(functions):
    """Whether it is a little larger or far too large to be read."""
    made = image(functions, memory_mb=512)

    async with functions.pool(response_limit=1000) as pool:
        for size in (1001, 3_000_000):
            with pytest.raises(ResponseTooLarge):
                await pool.invoke(made, functions.invocation(ask(echo="x" * size)))
        result = await pool.invoke(made, functions.invocation(ask(echo="x" * 1000)))

    assert (len(result.body), result.cold) == (1000, False)


async def test_program_that_never_polls_is_given_up(functions):
    """Its own words are in the message."""
    made = image(functions, environment={"NEVER": "1", "STRANGER": "1"})

    async with functions.pool(start_timeout_s=1) as pool:
        with pytest.raises(InstanceStartFailed, match=r"did not ask for a call .* in 1 seconds.\nLogs:\n404 404$"):
            await pool.invoke(made, functions.invocation())
        assert pool.instances(made.family) == []


async def test_missing_executable_is_told_apart(functions):
    """The handler names it."""
    made = image(functions, handler="gone")

    async with functions.pool() as pool:
        with pytest.raises(ProgramMissing, match="/gone is not exist"):
            await pool.invoke(made, functions.invocation())
        assert pool.instances(made.family) == []
