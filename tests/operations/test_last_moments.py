"""A stop that comes while something begins: it ends too, and nothing of it goes on afterwards."""

import asyncio
import os
import select

import pytest

from emulator import config
from emulator.app import Emulator
from emulator.deploy.seeds import Seeds
from emulator.kernel import system
from tests.operations.calling import running
from tests.waiting import until


async def test_a_start_that_deploys_is_stopped_at_once(tmp_path, monkeypatch):
    """A file may take minutes to deploy; the commands that come afterwards are not run."""
    (tmp_path / "one.yml").touch()
    (tmp_path / "localyun.yaml").write_text("deploy: [one.yml]\nhooks: {ready: [make]}\n")
    run = []

    async def never(seeds, command, environment):
        run.append(command)
        try:
            await asyncio.Event().wait()
        finally:
            run.append("ended")

    monkeypatch.setattr(Seeds, "_run", never)
    given = {"port": 0, "https_port": 0, "state": tmp_path / "state"}
    emulator = Emulator(config.load(given, {}, tmp_path).config)
    starting = asyncio.ensure_future(emulator.start())
    await until(lambda: run)
    emulator.stopped.set()
    async with asyncio.timeout(30):
        await starting
    await emulator.stop()

    assert list(run[0])[-2:] == ["--yes", "one.yml"]
    assert run[1:] == ["ended"]


@pytest.mark.skipif(not system.SESSIONS, reason="there are no sessions here, by which what a shell starts is known")
async def test_what_a_command_has_started_ends_with_the_emulator(tmp_path):
    """The shell that runs it is not alone: what it waits for would serve the next emulator of the folder too."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "localyun.yaml").write_text("hooks: {ready: ['cat pipe; true']}\n")
    resources = config.load({}, {}, tmp_path).config.resources

    def writing_end():
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads yet
            return None

    async with running(tmp_path, resources=resources):
        end = await until(writing_end)
    watched = select.poll()
    watched.register(end)
    try:
        nobody_reads = await until(lambda: any(events & select.POLLERR for _, events in watched.poll(0)))
    finally:
        os.close(end)

    assert nobody_reads
