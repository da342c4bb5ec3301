"""Calls that are under way when everything stands still: they see the state as it was, or as it is afterwards."""

import asyncio
import json

from emulator.oss.store import ObjectStore
from tests.operations.calling import running
from tests.operations.test_files_of_a_restore import perform
from tests.operations.themes import admin, mns, named, oss, theirs
from tests.waiting import until

TURNS = 10
"""Turns of the loop in which whoever can go on does."""


async def test_an_object_of_an_account_that_is_being_removed(tmp_path, monkeypatch):
    """Its bytes are there once the bucket's rows have gone; it is written when there is no bucket any more."""
    async with running(tmp_path) as site:
        account = await perform(site, admin("POST", "accounts", accountId="77"))
        names = {"key": json.loads(account.body)["accessKeyId"]}
        await perform(site, named(theirs(oss("PUT", "/theirs")), names))
        contents = (await site.emulator.services._objects.storage()).contents
        add, arrived, gone = contents.add, asyncio.Event(), asyncio.Event()
        removal = ObjectStore.removal

        async def held(data):
            content = await add(data)
            arrived.set()
            await gone.wait()
            return content

        def removed(store, account):
            yield from removal(store, account)
            gone.set()
            yield from [None] * 100 * TURNS  # of these a hundred are made in a turn

        monkeypatch.setattr(contents, "add", held)
        monkeypatch.setattr(ObjectStore, "removal", removed)
        put = asyncio.create_task(site.apart(named(theirs(oss("PUT", "/theirs/name", b"new")), names)))
        await arrived.wait()
        await perform(site, admin("DELETE", "accounts/77"))

        answer = await put
        assert (answer.status, b"<Code>NoSuchBucket</Code>" in answer.body) == (404, True)
        assert site.rows("SELECT id FROM oss_contents") == []
        assert site.trouble.texts == []


async def test_an_account_that_is_removed_twice_at_once(tmp_path):
    """The second removal finds none."""
    async with running(tmp_path) as site:
        await perform(site, admin("POST", "accounts", accountId="77"))
        async with site.emulator._lab.checkpoints.kept_out():
            removals = [asyncio.create_task(site.apart(admin("DELETE", "accounts/77"))) for _ in range(2)]
            await until(lambda: len(site.emulator._lab.checkpoints._lock._waiters or ()) == 2)

        assert sorted([(await each).status for each in removals]) == [200, 404]


async def test_a_restart_while_a_checkpoint_is_being_restored(tmp_path, monkeypatch):
    """What plays a crash does not ask whether anything else ends all that runs: it goes on before that does."""
    async with running(tmp_path) as site:
        await perform(site, admin("POST", "checkpoints/c"))
        lab, services, steps, restores = site.emulator._lab, site.emulator.services, [], []
        suspend, resume = services.suspend, services.resume

        async def suspended():
            steps.append("suspend")
            await suspend()
            if not restores:
                restores.append(asyncio.create_task(lab.checkpoints.restore("c")))
                await until(lab.time._lock.locked)
                for _ in range(TURNS):
                    await asyncio.sleep(0)

        async def resumed():
            await resume()
            steps.append("resume")

        monkeypatch.setattr(services, "suspend", suspended)
        monkeypatch.setattr(services, "resume", resumed)
        await lab._standstill.restart()
        await restores[0]

        assert steps == ["suspend", "resume"] * 2


async def test_a_caller_who_goes_away_while_all_is_being_ended(tmp_path, monkeypatch):
    """What has been ended goes on all the same."""
    async with running(tmp_path) as site:
        services, reached, resumed = site.emulator.services, asyncio.Event(), []
        suspend, resume = services.suspend, services.resume

        async def suspended():
            await suspend()
            reached.set()
            await asyncio.Event().wait()

        async def going_on():
            await resume()
            resumed.append(True)

        monkeypatch.setattr(services, "suspend", suspended)
        monkeypatch.setattr(services, "resume", going_on)
        reset = asyncio.create_task(site.apart(admin("POST", "reset")))
        await reached.wait()
        reset.cancel()
        await until(lambda: resumed)

        assert (await perform(site, mns("PUT", "/queues/q", "<Queue/>"))).status == 201


async def test_what_is_due_while_the_tables_are_replaced(tmp_path):
    """It does not begin: every service sets its timers anew by what the tables hold then."""
    async with running(tmp_path) as site:
        standstill, began = site.emulator._lab._standstill, []
        timers, clock = standstill._timers, site.emulator._lab.time._clock
        due = clock.now() + 50

        async def change():
            await until(lambda: clock.now() > due)
            for _ in range(TURNS):
                await asyncio.sleep(0)

        timers.call_at(due, "of an earlier state", lambda: began.append(True))
        await standstill.change(change)

        assert began == []
