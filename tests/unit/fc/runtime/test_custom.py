"""Custom runtimes: real programs that listen, called over HTTP."""

import asyncio
import json
import os
import shutil
import signal
import socket
import sys
from pathlib import Path

import pytest

from emulator.kernel import system
from emulator.services.fc.runtime import program
from emulator.services.fc.runtime.custom import CustomProcess
from emulator.services.fc.runtime.listening import free_port, is_of_another, is_open
from emulator.services.fc.runtime.model import (
    Credentials,
    HealthCheck,
    HttpAnswer,
    HttpCall,
    InstanceStartFailed,
    ProgramMissing,
    ResponseTooLarge,
    RuntimeUnavailable,
)
from emulator.services.fc.runtime.process import Channel
from tests.waiting import eventually, until

PROGRAM = Path(__file__).with_name("listening_program.py")
METHODS = pytest.mark.parametrize("method", ["fork", "exec"])


def image(functions, *, script=None, **changes):
    """A custom runtime with the test program, or a shell script, as its bootstrap."""
    fields = {"runtime": "custom.debian12", "timeout_s": 20, "port": free_port(()), "memory_mb": 512}
    made = functions.image("", **(fields | changes))
    bootstrap = made.code_dir / "bootstrap"
    bootstrap.write_text(script or f'#!/bin/sh\nexec "{sys.executable}" -S app.py "$@"\n')
    bootstrap.chmod(0o755)
    shutil.copy(PROGRAM, made.code_dir / "app.py")
    return made


def ask(**order):
    """An event that tells the program what to do."""
    return json.dumps(order).encode()


async def refusal(functions, made, **settings):
    """Return what a call of *made* is refused with, and make sure that no instance is left."""
    async with functions.pool(**settings) as pool:
        with pytest.raises((InstanceStartFailed, RuntimeUnavailable)) as caught:
            await pool.invoke(made, functions.invocation())
        assert pool.instances(made.family) == []
    return caught.value


@METHODS
async def test_event_is_posted_and_the_program_stays_up(functions, method):
    """The body comes back as it is; a second call goes to the same process."""
    first, second = await functions.calls(image(functions), b"one", b"two", start_method=method)

    one, two = json.loads(first.body), json.loads(second.body)
    assert (one["method"], one["path"], one["body"]) == ("POST", "/invoke", "one")
    assert two["body"] == "two"
    assert one["pid"] == two["pid"]
    assert (first.cold, second.cold) == (True, False)
    assert first.error_type is None
    assert (first.max_memory_mb > 5) == (sys.platform == "linux")


async def test_request_carries_the_common_fields(functions):
    """About the call, the function, its hooks, and the keys of its role."""
    made = image(functions, initializer="i.h", initializer_timeout_s=7, pre_stop="s.h", log_project="p", log_store="l")
    keys = Credentials(access_key_id="STS.a", access_key_secret="b", security_token="c")
    invocation = functions.invocation(
        credentials=keys, qualifier="prod", retry_count=2, tracing={"x-fc-tracing-opentracing-span-context": "span"}
    )

    result = await functions.invoke(made, invocation)

    seen = json.loads(result.body)
    fields = dict(seen["headers"])
    assert {name: value for name, value in fields.items() if name.startswith("x-fc-")} == {
        "x-fc-request-id": "request-1",
        "x-fc-access-key-id": "STS.a",
        "x-fc-access-key-secret": "b",
        "x-fc-security-token": "c",
        "x-fc-region": "cn-hangzhou",
        "x-fc-account-id": "1234567890123456",
        "x-fc-qualifier": "prod",
        "x-fc-version-id": "LATEST",
        "x-fc-retry-count": "2",
        "x-fc-tracing-opentracing-span-context": "span",
        "x-fc-control-path": "/invoke",
        "x-fc-function-type": "0",
        "x-fc-function-name": "function",
        "x-fc-function-handler": "index.handler",
        "x-fc-function-memory": "512",
        "x-fc-function-timeout": "20",
        "x-fc-function-initializer": "i.h",
        "x-fc-initialization-timeout": "7",
        "x-fc-instance-lifecycle-pre-stop-handler": "s.h",
        "x-fc-service-name": "service",
        "x-fc-service-logproject": "p",
        "x-fc-service-logstore": "l",
    }
    assert fields["Content-Type"] == "application/octet-stream"
    assert seen["environment"]["ALIBABA_CLOUD_ACCESS_KEY_ID"] == "STS.a"


async def test_program_finds_its_port_and_code_in_the_environment(functions):
    """Both names of the port; the working directory is the code's."""
    made = image(functions, environment={"OWN": "value"})

    seen = json.loads((await functions.calls(made, b""))[0].body)

    environment = seen["environment"]
    assert environment["FC_SERVER_PORT"] == environment["FC_CUSTOM_LISTEN_PORT"] != str(made.port)
    assert seen["cwd"] == environment["FC_FUNC_CODE_PATH"] == str(made.code_dir)
    assert environment["OWN"] == "value"


@pytest.mark.parametrize(
    "command",
    [
        ("python", "/code/app.py", "--path=/code/data"),
        ("python", "app.py", "--path=/code/data"),
        ("/code/bootstrap", "--path=/code/data"),
        ("./bootstrap", "--path=/code/data"),
        ("bootstrap", "--path=/code/data"),
        ("sh", "-c", "cd /tmp && exec python /code/app.py --path=/code/data"),
    ],
)
async def test_command_replaces_bootstrap(functions, command):
    """The code's folder of the platform stands for the real one, wherever it is in the command line."""
    directory = str(Path(sys.executable).parent)
    made = image(functions, command=command, environment={"PATH": f"{directory}:/usr/bin:/bin"})

    seen = json.loads((await functions.calls(made, b""))[0].body)

    assert seen["arguments"] == [f"--path={made.code_dir}/data"]


async def test_field_and_not_the_status_tells_of_a_failure(functions):
    """Of an answer to an event only the body goes on."""
    cases = [
        ({"status": 400, "echo": '{"e": 1}'}, None, b'{"e": 1}'),
        ({"status": 404, "headers": {"x-fc-status": "404"}, "echo": "no"}, "UnhandledInvocationError", b"no"),
        ({"status": 200, "headers": {"X-Fc-Status": "404"}, "echo": "no"}, "UnhandledInvocationError", b"no"),
        ({"status": 500, "headers": {"x-fc-status": "200"}, "echo": "yes"}, None, b"yes"),
    ]

    results = await functions.calls(image(functions), *(ask(**order) for order, _, _ in cases))

    told = [(result.error_type, result.body, result.http) for result in results]
    assert told == [(error, body, None) for _, error, body in cases]


async def test_output_is_the_log_of_the_call_in_progress(functions):
    """Markers are written once, though the program prints its own; the rest goes out without a request."""
    result = (await functions.calls(image(functions), b""))[0]

    assert result.log.decode().split("\n")[:3] == [
        "FC Invoke Start RequestId: request-1",
        "POST /invoke 1",
        "FC Invoke End RequestId: request-1",
    ]
    assert functions.logged("") == b"listening soon\n"


async def test_hooks_are_requests(functions):
    """Initializer once, before the first call; preFreeze after each; preStop at the end."""
    made = image(functions, initializer="i", pre_freeze="f", pre_stop="s")

    first, second = await functions.calls(made, b"", b"")

    assert b"FC Initialize Start RequestId: request-1\nPOST /initialize 1\nFC Initialize End" in first.log
    assert b"POST /invoke 2" in first.log
    assert b"Initialize" not in second.log
    everything = b"".join(data for _, data in functions.log)
    assert everything.count(b"GET /pre-freeze ") == 2
    assert everything.count(b"GET /pre-stop ") == 1


@pytest.mark.parametrize(
    ("places", "shown"),
    [
        ({}, ("STS.a", "STS.a")),
        ({"keys_in_environment": False}, ("STS.a", None)),
        ({"keys_in_calls": False}, (None, "STS.a")),
    ],
    ids=["both", "request", "environment"],
)
async def test_keys_are_where_the_function_wants_them(functions, places, shown):
    """In the fields of each request, in the environment, or in both."""
    keys = Credentials(access_key_id="STS.a", access_key_secret="b", security_token="c")

    result = await functions.invoke(image(functions, **places), functions.invocation(credentials=keys))

    seen = json.loads(result.body)
    in_request = {name.lower(): value for name, value in seen["headers"]}.get("x-fc-access-key-id")
    assert (in_request, seen["environment"]["ALIBABA_CLOUD_ACCESS_KEY_ID"]) == shown


@pytest.mark.parametrize("by_http", [False, True], ids=["event", "http"])
async def test_hooks_see_nothing_of_the_call(functions, by_http):
    """Their requests are their own and have no body, also when the call is an HTTP request."""
    made = image(functions, initializer="i", pre_freeze="f", pre_stop="s", environment={"STATUS_OF_initialize": "503"})
    invocation = functions.invocation(ask(echo="event"), http=http_call() if by_http else None)

    result = await functions.invoke(made, invocation)

    assert result.error_type == "InitializationError"
    seen = json.loads(json.loads(result.body)["errorMessage"].partition("status 503: ")[2])
    assert (seen["method"], seen["path"], seen["body"]) == ("POST", "/initialize", "")
    assert b"/2016-08-15/proxy" not in b"".join(data for _, data in functions.log)


async def test_failing_initializer_fails_the_call_and_the_instance(functions):
    """The next call starts the program again."""
    made = image(functions, initializer="i", environment={"STATUS_OF_initialize": "503"})

    first, second = await functions.calls(made, b"", b"")

    assert [first.error_type, second.error_type] == ["InitializationError"] * 2
    assert first.instance_id != second.instance_id
    assert json.loads(first.body)["errorMessage"].startswith("the initializer answered with status 503")


@pytest.mark.parametrize(("status", "same"), [(404, True), (500, False)])
async def test_failing_pre_freeze_is_ignored_unless_it_is_500(functions, status, same):
    """A 500 has the instance started anew."""
    made = image(functions, pre_freeze="f", environment={"STATUS_OF_pre_freeze": str(status)})

    async with functions.pool() as pool:
        first = await pool.invoke(made, functions.invocation())
        left = ["idle"] if same else []
        await until(lambda: [info.state for info in pool.instances(made.family)] == left)
        second = await pool.invoke(made, functions.invocation())

    assert (first.instance_id == second.instance_id) == same
    assert second.error_type is None


@METHODS
@pytest.mark.parametrize("order", [{"exit": 3}, {"drop": 1}], ids=["exit", "drop"])
async def test_program_that_ends_or_hangs_up_is_replaced(functions, method, order):
    """The caller is told, the next call gets a new process."""
    first, second = await functions.calls(image(functions), ask(**order), b"", start_method=method)

    assert first.error_type == "UnhandledInvocationError"
    assert b"Process exited unexpectedly before completing request (duration: " in first.body
    assert (second.error_type, second.cold) == (None, True)


@METHODS
async def test_call_that_takes_too_long_ends_the_program(functions, method):
    """With what it has started: the test's program is a child of a shell."""
    made = image(functions, timeout_s=1, script=f'#!/bin/sh\n"{sys.executable}" -S app.py\necho over\n')

    first, second = await functions.calls(made, ask(sleep=30), b"", start_method=method)

    assert b"Function timed out after 1 seconds" in first.body
    assert (second.error_type, second.cold) == (None, True)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux only")
@pytest.mark.parametrize("sleep", [0, 5])
async def test_memory_beyond_the_functions_ends_the_call(functions, sleep):
    """Found at the end of a short call and during a long one; children count."""
    made = image(functions, memory_mb=128, script=f'#!/bin/sh\n"{sys.executable}" -S app.py\necho over\n')

    first, second = await functions.calls(made, ask(eat=200, sleep=sleep), b"")

    assert b"Process exited unexpectedly" in first.body
    assert second.cold


@pytest.mark.usefixtures("zygote")
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux only")
async def test_process_killed_for_its_memory_before_its_answer_is_looked_at_ends_the_call(functions, monkeypatch):
    """What the look finds no more is told by the end of the process."""
    made = image(functions, memory_mb=128)
    look, exited = program.tree_peak_kb, program.ProgramProcess.exited

    def late(pid):
        os.kill(pid, signal.SIGKILL)  # as whoever watches does, but at this moment
        eventually(lambda: not look(pid))
        return look(pid)

    def killed(process, memory_kb, reason=""):
        exited(process, memory_kb, "memory")

    monkeypatch.setattr(program.ProgramProcess, "watch", lambda process, on: None)
    monkeypatch.setattr(program.ProgramProcess, "exited", killed)
    monkeypatch.setattr(program, "tree_peak_kb", late)
    first = await functions.invoke(made, functions.invocation(ask(eat=200)))

    assert b"Process exited unexpectedly" in first.body


async def test_error_of_the_emulator_fails_the_call_before_its_deadline(functions, monkeypatch):
    """The next call is served all the same."""
    made = image(functions)

    def broken(pid):
        raise LookupError(pid)

    async with functions.pool() as pool:
        with monkeypatch.context() as patched:
            patched.setattr(program, "tree_peak_kb", broken)
            with pytest.raises(LookupError):
                await pool.invoke(made, functions.invocation())
        result = await pool.invoke(made, functions.invocation())

    assert (result.error_type, result.cold) == (None, False)


async def test_answer_beyond_the_limit_is_refused(functions):
    """The program lives on."""
    made = image(functions)

    async with functions.pool(response_limit=5000) as pool:
        with pytest.raises(ResponseTooLarge):
            await pool.invoke(made, functions.invocation(ask(echo="x" * 5001)))
        result = await pool.invoke(made, functions.invocation(ask(echo="x" * 5000)))

    assert (len(result.body), result.cold) == (5000, False)


async def test_calls_share_an_instance_up_to_its_concurrency(functions):
    """Three requests are in the program at once."""
    made = image(functions, instance_concurrency=3)

    async with functions.pool() as pool:
        calls = [pool.invoke(made, functions.invocation(ask(meet=1, echo=str(number)))) for number in range(3)]
        results = await asyncio.gather(*calls)

    assert [result.body for result in results] == [b"0", b"1", b"2"]
    assert len({result.instance_id for result in results}) == 1


async def test_each_instance_has_a_port_of_its_own(functions):
    """Two calls at once run in two processes."""
    made = image(functions)

    async with functions.pool() as pool:
        results = await asyncio.gather(*(pool.invoke(made, functions.invocation(ask(sleep=0.3))) for _ in range(2)))

    ports = {json.loads(result.body)["environment"]["FC_SERVER_PORT"] for result in results}
    assert len(ports) == 2


def insisting(functions, port, **changes):
    """A program that listens on its configured port whatever it is told."""
    return image(functions, port=port, environment={"FIXED_PORT": str(port)}, **changes)


@METHODS
async def test_program_that_insists_on_its_port_has_one_instance(functions, method):
    """Calls that come at once are served one after the other by the same process."""
    made = insisting(functions, free_port(()))

    async with functions.pool(start_method=method) as pool:
        results = await asyncio.gather(*(pool.invoke(made, functions.invocation(ask(sleep=0.1))) for _ in range(3)))

    assert [result.error_type for result in results] == [None] * 3
    assert len({json.loads(result.body)["pid"] for result in results}) == 1


async def test_functions_that_insist_on_one_port_take_turns(functions):
    """An idle instance makes way, a busy one is waited for."""
    port = free_port(())
    one, two = insisting(functions, port, family="one"), insisting(functions, port, family="two")

    async with functions.pool(isolation="none") as pool:
        first = await pool.invoke(one, functions.invocation())
        second = await pool.invoke(two, functions.invocation())
        both = await asyncio.gather(
            pool.invoke(two, functions.invocation(ask(sleep=0.2))), pool.invoke(one, functions.invocation())
        )
        results = [first, second, *both]

    assert [result.error_type for result in results] == [None] * 4
    pids = [json.loads(result.body)["pid"] for result in results]
    assert pids[1] == pids[2]
    assert len(set(pids)) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="who listens on a port is known on Linux only")
async def test_an_instance_of_another_emulator_is_not_taken_for_the_own_one(functions, tmp_path):
    """It takes the port that both were told of, before the program here listens on the one of its own."""
    port = free_port(())
    begun, go = tmp_path / "begun", tmp_path / "go"
    waits = f"#!/bin/sh\n: > '{begun}'\nwhile [ ! -e '{go}' ]; do sleep 0.01; done\n"
    here = image(functions, port=port, script=f'{waits}exec "{sys.executable}" -S app.py\n')
    other = insisting(functions, port)

    async with functions.pool(isolation="none") as pool, functions.pool() as elsewhere:
        call = asyncio.ensure_future(pool.invoke(here, functions.invocation(b"here")))
        await until(begun.exists)
        await elsewhere.invoke(other, functions.invocation(b"elsewhere"))
        for _ in range(20):  # the port is looked at meanwhile
            await is_open(port)
        go.touch()
        result = await call

    assert json.loads(result.body)["environment"]["FC_SERVER_PORT"] != str(port)
    assert json.loads(result.body)["cwd"] == str(here.code_dir)


@pytest.mark.skipif(sys.platform != "linux", reason="who listens on a port is known on Linux only")
async def test_a_program_that_no_instance_runs_may_listen_for_one(functions):
    """Such as a daemon that the program asked for, or a container's proxy."""
    with socket.create_server(("127.0.0.1", 0)) as daemon:
        port = daemon.getsockname()[1]

        assert not is_of_another(port, os.getpid(), "c-1")
        assert not is_of_another(port, 1, "c-1")
    assert not is_of_another(port, 1, "c-1")


async def test_a_free_port_is_none_that_systems_give_away():
    """And never one of those to avoid, nor one that is taken."""
    with socket.create_server(("127.0.0.1", free_port(()))) as taken:
        mine = taken.getsockname()[1]
        avoided = set(range(20_000, 30_000)) - {mine, 25_000}

        assert free_port(avoided) == 25_000
        with pytest.raises(OSError, match="in use"):
            free_port(avoided | {25_000})


async def test_port_held_by_a_stranger_is_reported(functions):
    """The program's own words are in the message."""
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        made = insisting(functions, stranger.getsockname()[1])

        error = await refusal(functions, made)

    assert isinstance(error, InstanceStartFailed)
    assert "Address already in use" in str(error)


@METHODS
@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "#!/bin/sh\necho dying >&2; exit 3\n",
            "Function instance exited unexpectedly with start command '/code/bootstrap'.\nLogs:\ndying",
        ),
        ("#!/nowhere/interpreter\n", "Failed to start function instance. Error: [Errno 2] No such file or directory"),
        ("no script\n", "Failed to start function instance. Error: [Errno 8] Exec format error"),
    ],
)
async def test_program_that_does_not_start_is_reported(functions, method, script, message):
    """With what it has said."""
    error = await refusal(functions, image(functions, script=script), start_method=method)

    assert isinstance(error, InstanceStartFailed)
    assert str(error).startswith(message)


@pytest.mark.skipif(not system.FORK, reason="a channel is connected after a fork")
async def test_end_that_is_told_before_the_channel_is_read_keeps_its_reason(functions, monkeypatch):
    """As on a busy machine, where the zygote may be heard first; nothing of the process stays open."""
    loop = asyncio.get_running_loop()
    told = loop.create_future()
    connect, made = loop.create_connection, Channel.connection_made

    async def late(*arguments, **options):
        await asyncio.wait({told})
        return await connect(*arguments, **options)

    def connected(channel, transport):
        made(channel, transport)
        if channel is told.result()[0].channel:
            program.ProgramProcess.exited(*told.result())

    monkeypatch.setattr(loop, "create_connection", late)
    monkeypatch.setattr(Channel, "connection_made", connected)
    monkeypatch.setattr(CustomProcess, "exited", lambda *end: told.done() or told.set_result(end))

    opened = set(Path("/dev/fd").iterdir())

    assert "Exec format error" in str(await refusal(functions, image(functions, script="no script\n")))

    assert set(Path("/dev/fd").iterdir()) <= opened


@METHODS
async def test_program_that_is_not_executable_is_reported(functions, method):
    """As the platform needs the permission, too."""
    made = image(functions)
    (made.code_dir / "bootstrap").chmod(0o644)

    assert "Permission denied" in str(await refusal(functions, made, start_method=method))


@pytest.mark.parametrize("command", [(), ("/code/gone", "x"), ("no-such-program-anywhere",)])
async def test_missing_program_is_told_apart(functions, command):
    """By the documented text."""
    made = image(functions, command=command)
    (made.code_dir / "bootstrap").unlink()

    error = await refusal(functions, made)

    assert isinstance(error, ProgramMissing)
    name = Path(command[0]).name if command else "bootstrap"
    path = f"{made.code_dir}/{name}"
    assert str(error) == f"Failed to start function instance. Error: the file {path} is not exist"


@METHODS
async def test_program_that_never_listens_is_given_up(functions, method):
    """The documented text, what it has said, and which port it may have missed."""
    made = image(functions, environment={"NEVER": "1"}, port=9000)

    error = await refusal(functions, made, start_method=method, listen_timeout_s=3)

    assert isinstance(error, InstanceStartFailed)
    assert str(error).startswith("Function instance health check failed on port 9000 in 3 seconds.")
    assert str(error).endswith("\nLogs:\nlistening soon")


async def test_slow_start_is_waited_for_and_not_billed(functions):
    """The function's time-out is for the call alone."""
    made = image(functions, environment={"DELAY": "1.2"}, timeout_s=1)

    result = (await functions.calls(made, b""))[0]

    assert (result.error_type, result.cold) == (None, True)
    assert result.duration_ms < 1000


async def test_client_that_gives_up_during_the_start_leaves_nothing_behind(functions):
    """The program is ended."""
    made = image(functions, environment={"NEVER": "1"})

    async with functions.pool() as pool:
        call = asyncio.create_task(pool.invoke(made, functions.invocation()))
        await until(lambda: functions.log)
        call.cancel()
        await asyncio.wait({call})
        assert pool.instances(made.family) == []


async def test_health_check_holds_calls_back_and_ends_ill_instances(functions):
    """The first call waits until the program is well; when it falls ill, the next one gets a new process."""
    check = HealthCheck(path="/health", period_s=0.05, failure_threshold=2)  # type: ignore[arg-type]  # quicker than whole seconds
    made = image(functions, health_check=check, environment={"HEALTH_PATH": "/health"})
    ill = made.code_dir / "ill"
    ill.touch()

    async with functions.pool() as pool:
        call = asyncio.create_task(pool.invoke(made, functions.invocation()))
        checks = made.code_dir / "checks"
        await until(lambda: checks.exists() and len(checks.read_text()) >= 4)
        waited = not call.done()
        ill.unlink()
        first = await call
        ill.touch()
        await until(lambda: not pool.instances(made.family))
        ill.unlink()
        second = await pool.invoke(made, functions.invocation())

    assert waited
    assert (first.error_type, second.error_type) == (None, None)
    assert first.instance_id != second.instance_id


def http_call(**changes):
    """An HTTP request with other fields on top."""
    fields = {
        "method": "PUT",
        "path": "/a b",
        "request_uri": "/2016-08-15/proxy/s/f/a%20b?x=1&x=%2F",
        "base_path": "/2016-08-15/proxy/s/f",
        "client_ip": "127.0.0.9",
        "host": "localhost:8868",
        "headers": (("Host", "localhost:8868"), ("X-Two", "a"), ("X-Two", "b"), ("Content-Type", "text/x")),
    }
    return HttpCall(**(fields | changes))


@pytest.mark.parametrize("order", [{"exit": 3}, {"drop": 1}], ids=["exit", "drop"])
@pytest.mark.parametrize(("method", "tries"), [("GET", 2), ("POST", 1)])
async def test_program_that_ends_or_hangs_up_on_a_request_fails_it(functions, method, tries, order):
    """After a second try with another instance when the method may be repeated; its memory is told all the same."""
    made = image(functions)

    result = await functions.invoke(made, functions.invocation(ask(**order), http=http_call(method=method)))

    everything = b"".join(data for _, data in functions.log)
    assert result.error_type == "UnhandledInvocationError"
    assert b"Process exited unexpectedly before completing request (duration: " in result.body
    assert everything.count(b"FC Invoke Start ") == tries
    assert b"FC Invoke End RequestId: request-1, Error: Process exited unexpectedly" in everything
    assert sys.platform != "linux" or not system.FORK or result.max_memory_mb > 0


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc shows that a process has ended")
async def test_end_of_a_program_that_is_told_late_is_waited_for(functions, monkeypatch):
    """As on a busy machine: the connection is closed long before."""
    exited = CustomProcess.exited
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(CustomProcess, "exited", lambda *told: loop.call_later(0.5, exited, *told))

    result = await functions.invoke(image(functions), functions.invocation(ask(exit=3), http=http_call(method="POST")))

    assert b"the program did not answer" not in b"".join(data for _, data in functions.log)
    assert b"Process exited unexpectedly before completing request (duration: " in result.body
    assert not system.FORK or result.max_memory_mb > 0


async def test_http_requests_pass_through_unchanged(functions):
    """Method, target, fields and body in; status, fields and body out."""
    made = image(functions)
    order = ask(status=418, headers={"X-Own": "1", "x-fc-status": "404"})

    result = await functions.invoke(made, functions.invocation(order, http=http_call()))

    assert result.error_type is None
    assert result.http is not None
    assert result.http.status == 418
    assert ("X-Own", "1") in result.http.headers
    seen = json.loads(result.body)
    assert (seen["method"], seen["path"]) == ("PUT", "/2016-08-15/proxy/s/f/a%20b?x=1&x=%2F")
    assert seen["body"] == order.decode()
    fields = [(name, value) for name, value in seen["headers"] if not name.startswith("x-fc-")]
    assert fields == [
        ("Host", "localhost:8868"),
        ("X-Two", "a"),
        ("X-Two", "b"),
        ("Content-Type", "text/x"),
        ("Content-Length", str(len(order))),
    ]
    platform = dict(seen["headers"])
    assert platform["x-fc-control-path"] == "/http-invoke"
    assert platform["x-fc-base-path"] == "/2016-08-15/proxy/s/f/"


async def test_answer_to_head_has_fields_and_no_body(functions):
    """The length is that of the body that is not there."""
    made = image(functions)

    result = await functions.invoke(made, functions.invocation(http=http_call(method="HEAD", headers=(("Host", "h"),))))

    assert result.body == b""
    assert isinstance(result.http, HttpAnswer)
    assert int(dict(result.http.headers)["Content-Length"]) > 0


async def test_hooks_of_the_redirection_are_in_the_environment(functions):
    """A program in any language gets what its language's hook needs."""
    made = image(functions)

    def add(variables):
        return {**variables, "OWN": variables["FC_FUNCTION_NAME"]}

    result = (await functions.calls(made, b"", add_hooks=add))[0]

    assert json.loads(result.body)["environment"]["OWN"] == "function"
