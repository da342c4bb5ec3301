"""Instances whose interpreters are started one by one, as on systems that cannot fork."""

import asyncio

from emulator.kernel.ids import CountingIds
from emulator.services.fc.runtime.settings import RuntimeSettings
from emulator.services.fc.runtime.spawn import SpawnLauncher


async def test_instances_that_start_at_once_share_one_listener(monkeypatch):
    """A second one would stay open when the launcher has closed."""
    loop, opened = asyncio.get_running_loop(), []
    create_server = loop.create_server

    async def slow(*arguments):
        server = await create_server(*arguments)
        opened.append(server)
        await asyncio.sleep(0)
        return server

    monkeypatch.setattr(loop, "create_server", slow)
    launcher = SpawnLauncher(RuntimeSettings(), CountingIds())

    ports = await asyncio.gather(launcher._listen(), launcher._listen())
    await launcher.close()

    assert len(opened) == 1
    assert ports[0] == ports[1]
    assert not opened[0].is_serving()
