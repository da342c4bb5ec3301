"""Requests that wait in the middle of their operation while everything stands still: they write nothing afterwards."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from emulator.kernel.errors import BEGUN_BEFORE
from emulator.services.fc.operations import functions
from tests.operations.calling import check, running
from tests.operations.test_files_of_a_restore import perform
from tests.operations.themes import BASE, admin, fc, fnf, function, mns, named, oss, theirs
from tests.waiting import until


class Gate:
    """Where an operation waits until it is opened."""

    def __init__(self):
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    def before(self, real):
        """Return *real* with the wait before it."""

        async def held(*arguments, **named):
            self.reached.set()
            await self.opened.wait()
            return await real(*arguments, **named)

        return held

    def after(self, real):
        """Return *real* with the wait behind it."""

        async def held(*arguments, **named):
            result = await real(*arguments, **named)
            self.reached.set()
            await self.opened.wait()
            return result

        return held


FLOW = fnf("CreateFlow", Name="late", Definition="version: v1\ntype: flow\nsteps:\n  - {type: pass, name: a}\n",
           Description="", Type="FDL")  # fmt: skip
DELAYED = "<Queue><DelaySeconds>7</DelaySeconds></Queue>"


async def of_mns(site, gate, patch):
    """A change of a queue that waits for the removal of expired messages."""
    messages = site.emulator.services._messages
    sweeps = iter([False])
    patch(messages._contents.retention, "sweep", lambda live, now: next(sweeps, True))
    patch(messages, "_database", SimpleNamespace(committed=gate.before(messages._database.committed)))
    return mns("PUT", "/queues/q?metaoverride=true", DELAYED), "SELECT name FROM mns_queues WHERE delay_s = 7"


async def of_fc(site, gate, patch):
    """A function whose package is decoded in a thread."""
    patch(functions, "large_body", gate.after(functions.large_body))
    made = fc("CreateFunction", "POST", "/functions", function("late"))
    return made, "SELECT name FROM fc_functions WHERE name = 'late'"


async def of_workflow(site, gate, patch):
    """A flow whose definition is read in a thread."""
    programs = site.emulator.services._workflow.flows._programs
    patch(programs, "read", gate.after(programs.read))
    return FLOW, "SELECT name FROM workflow_flows WHERE name = 'late'"


async def of_oss(site, gate, patch):
    """An upload that has begun, whose parts are on their way to the disk."""
    contents = (await site.emulator.services._objects.storage()).contents
    patch(contents, "add", gate.after(contents.add))
    return oss("PUT", "/files/late", b"content"), "SELECT key FROM oss_objects WHERE key = 'late'"


async def of_the_admin_api(site, gate, patch):
    """A queue that is emptied in portions."""
    messages = site.emulator.services._messages
    patch(messages, "_database", SimpleNamespace(committed=gate.before(messages._database.committed)))
    return admin("POST", "purge-queue", queue="q"), "SELECT seq FROM mns_messages WHERE body = 'never there'"


KINDS = [of_mns, of_fc, of_workflow, of_oss]


async def furnished(site):
    """Make what the operations are about, and keep it as a checkpoint."""
    queue = mns("PUT", "/queues/q", "<Queue/>")
    await perform(site, queue, oss("PUT", "/files"), admin("POST", f"checkpoints/{BASE}"))


async def made_meanwhile(site, kind, patch, standstill):
    """Return the answer to an operation that waits over *standstill*, and what it has left in the tables."""
    gate = Gate()
    operation, query = await kind(site, gate, patch)
    task = asyncio.create_task(site.apart(operation))
    await gate.reached.wait()
    await standstill()
    gate.opened.set()
    answer = await task
    check(operation, answer)  # is the service's own form of an error
    return answer, site.rows(query)


@pytest.mark.parametrize("standstill", ["reset", "restore", "restart"])
@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_of_it_is_in_the_new_tables(tmp_path, monkeypatch, kind, standstill):
    """The client gets what its SDK makes again, in the form of its service."""
    async with running(tmp_path) as site:
        await furnished(site)

        async def still():
            match standstill:
                case "reset":
                    await perform(site, admin("POST", "reset"))
                case "restore":
                    await perform(site, admin("POST", f"checkpoints/{BASE}/restore"))
                case _:
                    await site.emulator._lab._standstill.restart()

        answer, rows = await made_meanwhile(site, kind, monkeypatch.setattr, still)
        if standstill == "reset" and kind in {of_mns, of_oss}:  # it has found out that there is nothing any more
            assert answer.status == 404
        else:
            assert (answer.status, b"ServiceUnavailable" in answer.body) == (503, True)
            assert BEGUN_BEFORE.encode() in answer.body
        assert (rows, site.trouble.texts) == ([], [])
        contents = (await site.emulator.services._objects.storage()).contents
        await contents.removed()
        assert list(contents._folder.glob("??/*")) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_it_can_be_made_again(tmp_path, monkeypatch, kind):
    """Nothing of the first time is in its way."""
    async with running(tmp_path) as site:
        await furnished(site)
        with monkeypatch.context() as patched:
            await made_meanwhile(
                site, kind, patched.setattr, lambda: perform(site, admin("POST", f"checkpoints/{BASE}/restore"))
            )
        with monkeypatch.context() as patched:
            operation, query = await kind(site, opened := Gate(), patched.setattr)
            opened.opened.set()
            await perform(site, operation)

        assert len(site.rows(query)) == 1


async def test_an_answer_without_a_write_stays(tmp_path, monkeypatch):
    """A queue that was emptied in part answers what it has removed, if there was no more."""
    async with running(tmp_path) as site:
        await furnished(site)
        await perform(site, mns("POST", "/queues/q/messages", "<Message><MessageBody>a</MessageBody></Message>"))
        answer, _ = await made_meanwhile(
            site, of_the_admin_api, monkeypatch.setattr, lambda: perform(site, admin("POST", "reset"))
        )

        assert (answer.status, json.loads(answer.body)["deleted"]) == (200, 1)


async def test_a_function_of_an_account_that_is_being_removed(tmp_path, monkeypatch):
    """Its row does not come after all others of the account have gone."""
    async with running(tmp_path) as site:
        account = await perform(site, admin("POST", "accounts", accountId="77"))
        names = {"key": json.loads(account.body)["accessKeyId"]}

        async def theirs_is_made(site, gate, patch):
            operation, query = await of_fc(site, gate, patch)
            return named(theirs(operation), names), query

        answer, rows = await made_meanwhile(
            site, theirs_is_made, monkeypatch.setattr, lambda: perform(site, admin("DELETE", "accounts/77"))
        )

        assert (answer.status, rows) == (503, [])


async def test_a_body_that_comes_after_its_account_was_removed(tmp_path):
    """The caller was found out by the head: the key has gone by now, in a lenient installation too."""
    async with running(tmp_path) as site:
        account = await perform(site, admin("POST", "accounts", accountId="77"))
        names = {"key": json.loads(account.body)["accessKeyId"]}
        made = fc("CreateFunction", "POST", "/functions", function("late", padding=" " * 64_000))
        wire = site._signed(named(theirs(made), names))
        head, _, body = wire.partition(b"\r\n\r\n")
        port = int(site.emulator.http_url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        judged = site.emulator._pipeline._admission.judge
        seen = []
        site.emulator._pipeline._admission.judge = lambda request: (seen.append(request), judged(request))[1]
        writer.write(head + b"\r\n\r\n" + body[:1000])
        await until(lambda: seen)
        await perform(site, admin("DELETE", "accounts/77"))
        writer.write(body[1000:])
        answer = await reader.readuntil(b"}")
        writer.close()

        assert (b" 403 " in answer, b"InvalidAccessKeyID" in answer) == (True, True), answer
        assert site.rows("SELECT name FROM fc_functions") == []


async def test_a_scoped_reset_that_has_waited_for_a_restore_is_made(tmp_path):
    """All that it relies on is looked up when it begins."""
    async with running(tmp_path) as site:
        await furnished(site)
        await perform(site, mns("PUT", "/queues/more", "<Queue/>"), admin("POST", f"checkpoints/{BASE}"))
        checkpoints = site.emulator._lab.checkpoints
        async with checkpoints._lock:
            restored = asyncio.create_task(site.apart(admin("POST", f"checkpoints/{BASE}/restore")))
            await until(lambda: len(checkpoints._lock._waiters or ()) == 1)
            reset = asyncio.create_task(site.apart(admin("POST", "reset", service="mns")))
            await until(lambda: len(checkpoints._lock._waiters or ()) == 2)

        assert [(await restored).status, (await reset).status] == [200, 200]
        assert site.rows("SELECT name FROM mns_queues") == []
