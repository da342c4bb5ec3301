"""Calls that are under way when everything stands still: they see the state as it was, or as it is afterwards."""

import asyncio
import json

import pytest

from emulator import config
from emulator.composition import Composition
from emulator.deploy.seeds import Seeds
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
        async with site.emulator._lab.checkpoints._lock:
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


@pytest.mark.parametrize("scope", ["everything", "mns", "an account"])
async def test_a_caller_who_goes_away(tmp_path, monkeypatch, scope):
    """What was asked for comes to its end all the same: it would be half done."""
    wanted = {
        "everything": admin("POST", "reset"),
        "mns": admin("POST", "reset", service="mns"),
        "an account": admin("DELETE", "accounts/77"),
    }
    (tmp_path / "localyun.yaml").write_text("buckets: [own]\nqueues: {own: {}}\ndeploy: [one.yml]\n")
    (tmp_path / "one.yml").touch()
    deployed = []

    async def run(seeds, command, environment):
        deployed.append(command[-1])
        return 0, ""

    monkeypatch.setattr(Seeds, "_run", run)
    async with running(tmp_path, resources=config.load({}, {}, tmp_path).config.resources) as site:
        await perform(site, admin("POST", "accounts", accountId="77"), mns("PUT", "/queues/more", "<Queue/>"))
        deployed.clear()
        resume = site.emulator.services.resume
        open_requests = site.emulator._open_requests._in_work
        reached, gone = asyncio.Event(), asyncio.Event()

        async def going_on():
            reached.set()
            await gone.wait()
            await resume()

        monkeypatch.setattr(site.emulator.services, "resume", going_on)
        monkeypatch.setattr(Composition, "_reset_service", held(Composition._reset_service, reached, gone))
        asked = asyncio.create_task(site.apart(wanted[scope]))
        await reached.wait()
        asked.cancel()
        await until(lambda: not open_requests)
        gone.set()
        await until(lambda: not site.emulator._lab.checkpoints._under_way and not site.emulator._background)
        queues = [name for (name,) in site.rows("SELECT name FROM mns_queues ORDER BY name")]
        buckets = site.rows("SELECT name FROM oss_buckets")
        accounts = site.rows("SELECT account FROM ram_accounts WHERE account = '77'")

        assert (await perform(site, mns("PUT", "/queues/q", "<Queue/>"))).status == 201

    assert queues == (["more", "own"] if scope == "an account" else ["own"])
    assert buckets == [("own",)]
    assert len(accounts) == (0 if scope == "an account" else 1)
    assert len(deployed) == (1 if scope == "everything" else 0)


def held(reset, reached, gone):
    """Return *reset* so that it tells when it is called, and waits for the caller to have gone."""

    async def resetting(composition, service):
        reached.set()
        await gone.wait()
        await reset(composition, service)

    return resetting


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
