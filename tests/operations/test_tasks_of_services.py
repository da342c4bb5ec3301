"""What services do in tasks of their own has ended before the tables are replaced."""

import asyncio

from emulator.kernel.tasks import TaskGroup
from tests.operations.calling import running

LEFT_ALONE = {
    "emulator": "looks after files, and asks for the tables as anybody does",
    "http": "reads requests, each of which knows the era in which it began",
    "https": "as http",
    "tls": "as http",
    "tunnel": "passes on bytes",
    "certificates": "makes files",
    "push-signer": "makes signatures",
    "fc-folder": "writes in its turn, which the standstill takes",
    "instances": "ends processes, whose calls have ended before",
}
"""The groups whose tasks a standstill leaves alone, each with the reason."""


async def test_every_task_ends_but_those_that_write_nothing_meanwhile(tmp_path, monkeypatch):
    """A new group of tasks is ended by the suspension of its service, or stands above with its reason."""
    groups = []
    usual = TaskGroup.__init__

    def made(group, name):
        usual(group, name)
        groups.append(group)

    monkeypatch.setattr(TaskGroup, "__init__", made)
    async with running(tmp_path, functions=tmp_path) as site:
        services = site.emulator.services
        never = asyncio.Event()
        begun = [(group._name, group.spawn(never.wait(), "until suspended")) for group in groups]
        await services.suspend()
        left = {name for name, task in begun if not task.done()}
        await services.resume()

        assert {"fc-async", "fc-folder", "fc-timers", "workflow", "mns-push"} <= {name for name, _ in begun}
        assert left == LEFT_ALONE.keys() & {name for name, _ in begun}
        never.set()
