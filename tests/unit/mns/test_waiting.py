"""Long polls under virtual time: what wakes them, who is served, and that they never wait too long."""

import asyncio
import contextlib
import sqlite3

import pytest

from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import AccountId, Tenant
from emulator.services.mns.errors import MessageNotExist, QueueNotExist
from emulator.services.mns.queues import waiters as waiting


@contextlib.asynccontextmanager
async def mns_with_a_queue(make_mns, **change):
    """A service with a queue ``q``."""
    mns = make_mns()
    mns.create(**change)
    try:
        yield mns
    finally:
        mns.service.close()


def poll(mns, query="waitseconds=10", queue="q"):
    future = mns.ask("GET", f"/queues/{queue}/messages?{query}")
    assert isinstance(future, asyncio.Future)
    return future


def body_of(mns, future):
    return mns.element(future.result(), 200).text_of("MessageBody")


async def advance(mns, seconds):
    mns.timers.advance(round(seconds * 1000))
    await mns.turns()


def send_uncommitted(mns, body="x", **draft):
    mns.service.send(mns.tenant, "q", body, **draft)


async def test_an_arrival_wakes_a_parked_receiver(make_mns):
    """The message is received, hidden, and no timer stays behind for the poll."""
    async with mns_with_a_queue(make_mns) as mns:
        future = poll(mns)
        await mns.turns()
        assert not future.done()

        mns.send("x")
        await mns.turns()

        assert body_of(mns, future) == "x"
        assert mns.counters() == (0, 1, 0)
        assert len(mns.service.long_polls) == 0


async def test_a_receiver_is_woken_only_after_the_commit(make_mns):
    """It must not see what its sender has not been told is stored."""
    async with mns_with_a_queue(make_mns) as mns:
        future = poll(mns)
        send_uncommitted(mns)
        assert not future.done()
        assert mns.database.dirty

        mns.database.commit()

        assert future.done()


async def test_a_message_whose_commit_failed_wakes_nobody(make_mns):
    """The receiver goes on waiting, and the next message finds it."""
    async with mns_with_a_queue(make_mns) as mns:
        future = poll(mns)
        await mns.turns()
        send_uncommitted(mns, "lost")
        mns.database._connection.execute("ROLLBACK")  # what a full disk does behind our back
        mns.database.commit()
        await mns.turns()
        await advance(mns, 0.01)
        assert not future.done()
        assert mns.counters() == (0, 0, 0)

        mns.send("kept")
        await mns.turns()

        assert body_of(mns, future) == "kept"


async def test_a_lost_receive_gives_its_message_to_somebody_else(make_mns):
    """When the commit of a receive fails, the message is visible again, and a parked receiver learns of it."""
    async with mns_with_a_queue(make_mns) as mns:
        mns.send("x")
        mns.ask("GET", "/queues/q/messages")  # hidden, not committed
        future = poll(mns)
        mns.database._connection.execute("ROLLBACK")
        mns.database.commit()
        await mns.turns()

        await advance(mns, 0)

        assert body_of(mns, future) == "x"


async def test_a_message_becoming_visible_wakes_at_that_instant(make_mns):
    """A delayed message, and one whose visibility timeout ends; not a moment earlier."""
    async with mns_with_a_queue(make_mns) as mns:
        mns.send("delayed", DelaySeconds=3)
        mns.send("hidden")
        mns.receive()
        first, second = poll(mns, "waitseconds=30"), poll(mns)
        await advance(mns, 2.999)
        assert not second.done()
        assert not first.done()
        await advance(mns, 0.001)
        assert body_of(mns, first) == "delayed"

        third = poll(mns, "waitseconds=30")
        await advance(mns, 26.999)
        assert isinstance(second.exception(), MessageNotExist)
        assert not third.done()
        await advance(mns, 0.001)

        assert body_of(mns, third) == "hidden"


async def test_an_earlier_instant_moves_the_wake_up(make_mns):
    """A change of visibility or a shorter delay while somebody waits."""
    async with mns_with_a_queue(make_mns) as mns:
        mns.send("x")
        handle = mns.receive().text_of("ReceiptHandle")
        future = poll(mns)
        mns.call("PUT", f"/queues/q/messages?ReceiptHandle={handle}&VisibilityTimeout=2")
        await advance(mns, 1.999)
        assert not future.done()

        await advance(mns, 0.001)

        assert body_of(mns, future) == "x"
        again = poll(mns)
        mns.send("soon", DelaySeconds=1)
        await advance(mns, 1)
        assert body_of(mns, again) == "soon"


@pytest.mark.parametrize("wait_s", [1, 10, 30])
async def test_a_poll_never_waits_longer_than_asked(make_mns, wait_s):
    """An empty one-second poll is answered after about 0.88 s, as the live service does."""
    async with mns_with_a_queue(make_mns) as mns:
        future = poll(mns, f"waitseconds={wait_s}")
        await advance(mns, wait_s - 0.121)
        assert not future.done()
        await advance(mns, 0.001)
        with pytest.raises(MessageNotExist):
            future.result()
        assert len(mns.service.long_polls) == 0
        assert len(mns.timers) == 0


async def test_the_queues_own_wait_applies_when_the_call_names_none(make_mns):
    """For the single and the batch form; zero in the call means no waiting at all."""
    async with mns_with_a_queue(make_mns, polling_wait_s=2) as mns:
        single = poll(mns, "")
        batch = poll(mns, "numOfMessages=3")
        assert mns.error("GET", "/queues/q/messages?waitseconds=0") == (404, "MessageNotExist")
        await advance(mns, 1.88)
        for future in (single, batch):
            with pytest.raises(MessageNotExist):
                future.result()


async def test_a_peek_does_not_wait(make_mns):
    """Whatever it asks for."""
    async with mns_with_a_queue(make_mns, polling_wait_s=5) as mns:
        assert mns.error("GET", "/queues/q/messages?peekonly=true&waitseconds=9") == (404, "MessageNotExist")


async def test_a_message_at_the_very_deadline_is_still_received(make_mns):
    """Serving comes before sending away."""
    async with mns_with_a_queue(make_mns) as mns:
        handle = mns.send("x", DelaySeconds=1).text_of("ReceiptHandle")
        assert handle
        mns.clock.move_to(mns.clock.now() + 120)
        future = poll(mns, "waitseconds=1")
        await advance(mns, 0.88)

        assert body_of(mns, future) == "x"


async def test_the_longest_waiting_receiver_is_served_first_and_only_one(make_mns):
    """No herd: one message wakes one receiver."""
    async with mns_with_a_queue(make_mns) as mns:
        futures = [poll(mns) for _ in range(5)]
        mns.send("a")
        await mns.turns()
        assert [future.done() for future in futures] == [True, False, False, False, False]

        mns.send("b")
        mns.send("c")
        await mns.turns()

        assert [body_of(mns, future) for future in futures[:3]] == ["a", "b", "c"]
        assert [future.done() for future in futures[3:]] == [False, False]


async def test_a_batch_takes_what_is_there_and_leaves_the_rest(make_mns):
    """It does not wait until it is full."""
    async with mns_with_a_queue(make_mns) as mns:
        batch = poll(mns, "numOfMessages=2&waitseconds=10")
        single = poll(mns)
        for body in "abc":
            send_uncommitted(mns, body)
        await mns.turns()

        root = mns.element(batch.result(), 200)
        assert root.name == "Messages"
        assert [message.text_of("MessageBody") for message in root.children] == ["a", "b"]
        assert body_of(mns, single) == "c"


async def test_a_client_that_goes_away_takes_no_message(make_mns):
    """Its place is free at once, and nothing is lost."""
    async with mns_with_a_queue(make_mns) as mns:
        gone, stays = poll(mns), poll(mns)
        gone.cancel()
        await mns.turns()
        assert len(mns.service.long_polls) == 1

        mns.send("x")
        await mns.turns()

        assert body_of(mns, stays) == "x"


async def test_a_client_that_goes_away_in_the_tick_of_the_arrival_takes_no_message(make_mns):
    """Cancelled, but not yet out of the room."""
    async with mns_with_a_queue(make_mns) as mns:
        gone, stays = poll(mns), poll(mns)
        send_uncommitted(mns, "x")
        gone.cancel()
        await mns.turns()

        assert body_of(mns, stays) == "x"
        assert mns.counters() == (0, 1, 0)


async def test_the_last_client_leaving_closes_the_room(make_mns):
    """No timer is left, and a later message is just stored."""
    async with mns_with_a_queue(make_mns) as mns:
        future = poll(mns)
        future.cancel()
        await mns.turns()
        assert len(mns.timers) == 0

        mns.send("x")

        assert mns.drain() == ["x"]


async def test_a_receiver_that_comes_while_the_room_is_being_woken(make_mns):
    """It is served by the next message although the others have left."""
    async with mns_with_a_queue(make_mns) as mns:
        first = poll(mns)
        mns.send("hidden", DelaySeconds=4)
        send_uncommitted(mns, "x")
        assert mns.receive().text_of("MessageBody") == "x"  # a quicker client
        first.cancel()
        second = poll(mns, "waitseconds=10")
        await mns.turns()
        await advance(mns, 4)

        assert body_of(mns, second) == "hidden"


async def test_too_many_receivers_are_answered_at_once(make_mns, monkeypatch):
    """As the live service does."""
    monkeypatch.setattr(waiting, "PARKED_POLLS", 3)

    async with mns_with_a_queue(make_mns) as mns:
        for _ in range(3):
            poll(mns)
        assert mns.error("GET", "/queues/q/messages?waitseconds=5") == (404, "MessageNotExist")
        mns.create("other")
        poll(mns, queue="other")


async def test_deleting_the_queue_sends_its_receivers_away(make_mns):
    """At once, with the code of a queue that is not there."""
    async with mns_with_a_queue(make_mns) as mns:
        future = poll(mns)
        mns.call("DELETE", "/queues/q")
        with pytest.raises(QueueNotExist):
            future.result()
        assert len(mns.timers) == 0


async def test_closing_and_resetting_leave_nobody_parked(make_mns):
    """Each with its own word."""
    async with mns_with_a_queue(make_mns) as mns:
        first = poll(mns)
        mns.service.reset()
        with pytest.raises(QueueNotExist):
            first.result()
        mns.create()
        second = poll(mns)
        mns.service.close()
        with pytest.raises(MessageNotExist):
            second.result()


async def test_a_failing_receive_reaches_its_own_receiver_only(make_mns):
    """The next one is served when it can be."""
    async with mns_with_a_queue(make_mns) as mns:
        mns.database.write("CREATE TRIGGER refuse BEFORE UPDATE ON mns_messages BEGIN SELECT RAISE(ABORT, 'no'); END")
        mns.database.commit()
        first, second = poll(mns), poll(mns)
        mns.send("x")
        await mns.turns()
        assert isinstance(first.exception(), sqlite3.IntegrityError)
        assert not second.done()

        mns.database.write("DROP TRIGGER refuse")
        mns.send("y")
        await mns.turns()

        assert body_of(mns, second) == "x"


async def test_many_parked_receivers_hold_one_timer(make_mns):
    """A queue has at most one, however many wait."""
    async with mns_with_a_queue(make_mns) as mns:
        futures = [poll(mns, f"waitseconds={1 + number % 30}") for number in range(500)]
        assert len(mns.timers) == 1
        assert len(mns.service.long_polls) == 500
        assert len(asyncio.all_tasks()) == 1
        await advance(mns, 30)
        for future in futures:
            assert isinstance(future.exception(), MessageNotExist)


async def test_other_services_send_receive_and_delete(make_mns):
    """Bytes or text; an empty answer instead of an error when nothing came in time."""
    async with mns_with_a_queue(make_mns) as mns:
        service, tenant = mns.service, mns.tenant
        receipt = service.send(tenant, "q", '{"a": "ä"}'.encode(), delay_s=0, priority=3)
        (message,) = await service.receive(tenant, "q")
        assert (message.message_id, message.body, message.priority) == (receipt.message_id, '{"a": "ä"}', 3)
        service.delete(tenant, "q", message)
        assert mns.counters() == (0, 0, 0)

        waiting_task = asyncio.ensure_future(service.receive(tenant, "q", wait_s=5))
        await mns.turns()
        service.send(tenant, "q", "late")
        await mns.turns()
        assert [message.body for message in await waiting_task] == ["late"]

        assert await service.receive(tenant, "q") == ()
        for call in (lambda: service.send(tenant, "none", "x"), lambda: service.find(tenant, "none")):
            with pytest.raises(QueueNotExist):
                call()
        with pytest.raises(QueueNotExist):
            await service.receive(Tenant(AccountId("2"), tenant.region), "q")


async def test_errors_of_a_poll_are_the_services_own(make_mns):
    """What a future fails with can be written as this dialect's error."""
    async with mns_with_a_queue(make_mns) as mns:
        future = poll(mns, "waitseconds=1")
        await advance(mns, 1)
        error = future.exception()
        assert isinstance(error, ServiceError)
        assert mns.refusal(mns.front.render_error(error, mns.context)) == (404, "MessageNotExist")
