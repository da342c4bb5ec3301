"""Custom containers: refused without a Docker engine, else run by the docker command."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from emulator.services.fc.runtime.listening import is_open, is_served
from emulator.services.fc.runtime.model import Container, Credentials, RuntimeUnavailable

STAND_IN = Path(__file__).with_name("docker_stand_in.py")


def image(functions, **container):
    """A function with a container image and no code."""
    return functions.image(
        "",
        runtime="custom-container",
        timeout_s=20,
        port=8080,
        memory_mb=512,
        environment={"OWN": "value", "PATH": "/in/the/container"},
        container=Container(**({"image": "registry/one:1"} | container)),
    )


@pytest.fixture
def docker(tmp_path, monkeypatch):
    """A stand-in for the docker command, and the file of its calls."""
    command = tmp_path / "docker"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
    command.chmod(0o755)
    record = tmp_path / "calls"
    monkeypatch.setenv("DOCKER_RECORD", str(record))
    return command, record


async def refusal(functions, made, **settings):
    """Return what a call is refused with."""
    async with functions.pool(**settings) as pool:
        with pytest.raises(RuntimeUnavailable) as caught:
            await pool.invoke(made, functions.invocation())
        assert pool.instances(made.family) == []
    return str(caught.value)


async def test_machine_without_docker_refuses_clearly(functions, monkeypatch):
    """The message names what is missing."""
    monkeypatch.setenv("PATH", "/nowhere")

    message = await refusal(functions, image(functions))

    assert message == (
        "runtime custom-container is not available: it needs a Docker engine, and there is no docker on the PATH"
    )


async def test_engine_that_does_not_answer_is_named(functions, docker, monkeypatch):
    """With the docker command's own words."""
    command, record = docker
    monkeypatch.setenv("DOCKER_ENGINE", "Cannot connect to the Docker daemon.")

    message = await refusal(functions, image(functions), interpreters={"custom-container": str(command)})

    assert message.endswith("it needs a Docker engine, and none answers: Cannot connect to the Docker daemon.")
    assert [json.loads(line)[0] for line in record.read_text().splitlines()] == ["version"]


async def test_container_that_is_no_server_is_refused(functions, docker):
    """It would run once for each event."""
    command, _ = docker

    message = await refusal(
        functions, image(functions, web_server=False), interpreters={"custom-container": str(command)}
    )

    assert "webServerMode false" in message


@pytest.mark.parametrize("method", ["fork", "exec"])
async def test_container_is_run_called_and_removed(functions, docker, method):
    """Its port is published on a free one of this machine; variables are handed over, keys by name only."""
    command, record = docker
    made = image(functions, entrypoint=("/bin/app", "serve"), command=("--verbose",))
    keys = Credentials(access_key_id="STS.a", access_key_secret="hidden", security_token="c")

    async with functions.pool(interpreters={"custom-container": str(command)}, start_method=method) as pool:
        first = await pool.invoke(made, functions.invocation(b"event", credentials=keys))
        second = await pool.invoke(made, functions.invocation(b"event"))

    seen = json.loads(first.body)
    run = seen["arguments"]
    assert (first.error_type, second.cold) == (None, False)
    assert (seen["path"], seen["body"]) == ("/invoke", "event")
    assert run[-4:] == ["/bin/app", "registry/one:1", "serve", "--verbose"]
    assert run[-5] == "--entrypoint"
    assert run[run.index("--memory") + 1] == "512m"
    assert run[run.index("--publish") + 1].endswith(":8080")
    variables = [run[index + 1] for index, word in enumerate(run) if word == "--env"]
    assert {"OWN", "PATH=/in/the/container", "FC_SERVER_PORT", "ALIBABA_CLOUD_ACCESS_KEY_SECRET"} <= set(variables)
    assert "hidden" not in " ".join(run)
    assert seen["environment"]["FC_SERVER_PORT"] == "8080"
    assert seen["environment"]["OWN"] == "value"
    name = run[run.index("--name") + 1]
    assert json.loads(record.read_text().splitlines()[-1]) == ["rm", "--force", name]


async def test_port_of_a_proxy_with_nobody_behind_it_is_not_served():
    """A container's proxy accepts connections before its program listens, and closes them."""

    async def close(reader, writer):
        writer.close()

    has_ended = asyncio.Event()

    async def keep(reader, writer):
        await reader.read()
        writer.close()
        has_ended.set()

    answers = []
    for serve in (close, keep):
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        answers.append((await is_open(port), await is_served(port)))
        server.close()
    answers.append((await is_open(port), await is_served(port)))
    await has_ended.wait()

    assert answers == [(True, False), (True, True), (False, False)]
