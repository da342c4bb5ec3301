"""Purging: a queue is emptied of everything it holds, and of nothing that comes later."""

import asyncio

import pytest

from emulator.services.mns.errors import QueueNotExist
from emulator.services.mns.queues.message import Draft


def send(mns, count, **draft):
    live = mns.service.find(mns.tenant, "q")
    for number in range(count):
        mns.service.messages.send(live, Draft(body=str(number), **draft))
    mns.database.commit()


def counters(mns):
    found = mns.service.queues.view(mns.tenant, "q").counters
    return found.active, found.inactive, found.delayed


async def test_every_state_is_purged(mns):
    """Visible, hidden and delayed messages go, more than fit into one portion; counters follow."""
    mns.create()
    send(mns, 500)
    send(mns, 3, delay_s=60)
    mns.call("GET", "/queues/q/messages?numOfMessages=16")

    deleted = await mns.service.purge(mns.tenant, "q")

    assert deleted == 503
    assert counters(mns) == (0, 0, 0)


@pytest.mark.parametrize("passed_ms", [0, 1])
async def test_message_sent_after_the_call_stays(mns, passed_ms):
    """What arrives while a large queue is being emptied is not lost, not in the same millisecond either."""
    mns.create()
    send(mns, 450)

    purging = asyncio.ensure_future(mns.service.purge(mns.tenant, "q"))
    await asyncio.sleep(0)
    mns.advance(passed_ms)
    send(mns, 2)
    assert await purging == 450
    assert counters(mns) == (2, 0, 0)


@pytest.mark.parametrize("made_again", [False, True])
async def test_queue_that_is_deleted_while_it_is_emptied(mns, made_again):
    """What has gone by then is told; another queue of that name keeps its messages, also those of the same moment."""
    mns.create()
    send(mns, 450)

    purging = asyncio.ensure_future(mns.service.purge(mns.tenant, "q"))
    await asyncio.sleep(0)
    mns.service.queues.delete(mns.tenant, "q")
    if made_again:
        mns.create()
        send(mns, 2)

    assert 0 < await purging < 450
    if made_again:
        assert counters(mns) == (2, 0, 0)


async def test_group_goes_on_after_a_purge(mns):
    """In a FIFO queue no message waits for one that is gone."""
    mns.create(fifo=True)
    send(mns, 3, group_id="g")
    (await mns.service.purge(mns.tenant, "q"))
    mns.advance(1)

    send(mns, 1, group_id="g")

    assert mns.call("GET", "/queues/q/messages").status == 200


async def test_queue_that_does_not_exist_is_refused(mns):
    """The error is the service's."""
    with pytest.raises(QueueNotExist):
        (await mns.service.purge(mns.tenant, "nope"))


async def test_longer_retention_of_a_queue_with_much_that_has_expired(mns):
    """Other calls are served before the request is answered; what has expired is not revived."""
    mns.create(retention_s=60)
    send(mns, 450)
    mns.clock.move_to(mns.clock.now() + 60_000)  # no timer has run yet

    body = "<Queue><MessageRetentionPeriod>90</MessageRetentionPeriod></Queue>"
    changing = asyncio.ensure_future(mns.ask("PUT", "/queues/q?metaoverride=true", body))
    await asyncio.sleep(0)
    assert not changing.done()
    send(mns, 2)
    assert (await changing).status == 204
    assert counters(mns) == (2, 0, 0)


async def test_queue_that_is_deleted_while_its_retention_is_made_longer(mns):
    """The request is refused, as if it had come later."""
    mns.create(retention_s=60)
    send(mns, 450)
    mns.clock.move_to(mns.clock.now() + 60_000)

    changing = asyncio.ensure_future(mns.service.change_queue(mns.tenant, "q", {"retention_s": 90}))
    await asyncio.sleep(0)
    mns.service.queues.delete(mns.tenant, "q")
    with pytest.raises(QueueNotExist):
        await changing
