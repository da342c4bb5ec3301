"""The pure rules of a queue, one by one."""

from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.mns.queues.message import Message
from emulator.services.mns.queues.model import DeadLetterPolicy, Queue, QueueId, QueueSettings
from emulator.services.mns.queues.visibility import (
    HELD,
    dead_letter_properties,
    due_at,
    expiry_bound,
    hidden_key,
    hidden_until,
    is_held,
    is_last_receive,
    released,
    state,
)


def a_message(visible_from, dequeue_count=0):
    return Message(1, 1, 8, visible_from, dequeue_count, 0, 0, 0, "A" * 32, "B" * 32, None, None, None, "body")


def test_a_delay_of_its_own_wins_over_the_queues():
    """Also when it is zero."""
    settings = QueueSettings(delay_s=7)

    assert [due_at(settings, delay, 1_000) for delay in (None, 0, 3)] == [8_000, 1_000, 4_000]


def test_a_timeout_counts_from_now():
    """In seconds."""
    assert hidden_until(30, 1_000) == 31_000


def test_retention_is_over_at_its_last_millisecond():
    """What was sent at the bound is gone, what was sent a millisecond later is not."""
    assert expiry_bound(QueueSettings(retention_s=60), 60_000) == 0


def test_states_change_at_the_instant():
    """Delayed or inactive before, active from then on."""
    assert [state(a_message(10), now) for now in (9, 10, 11)] == ["delayed", "active", "active"]
    assert [state(a_message(10, dequeue_count=1), now) for now in (9, 10)] == ["inactive", "active"]
    assert [state(a_message(HELD + 10), now) for now in (9, 10)] == ["delayed", "active"]


def test_held_messages_are_counted_by_their_own_delay():
    """And released not before it is over."""
    assert (is_held(HELD + 5), is_held(5)) == (True, False)
    assert (hidden_key(HELD + 5), hidden_key(5)) == (5, 5)
    assert (released(HELD + 50, 20), released(HELD + 5, 20)) == (50, 20)


def test_the_last_receive_is_the_one_that_reaches_the_maximum():
    """Only under a policy that is on."""
    on = DeadLetterPolicy(enabled=True, target="d", max_receives=3)
    off = DeadLetterPolicy(enabled=False, target="d", max_receives=3)

    assert [is_last_receive(on, count) for count in (2, 3, 4)] == [False, True, True]
    assert not is_last_receive(off, 4)
    assert not is_last_receive(None, 4)


def test_a_dead_letter_names_its_source():
    """Region, account, queue and its former id."""
    tenant = Tenant(AccountId("1"), Region("cn-x"))
    queue = Queue(
        queue_id=QueueId(1), tenant=tenant, name="q", settings=QueueSettings(), created_at=0, modified_at=0
    )  # fmt: skip

    told = {item.name: item.value for item in dead_letter_properties(queue, a_message(0))}

    assert told["DLQSourceArn"] == "acs:mns:cn-x:1:/queues/q"
    assert told["DLQOriginMessageId"] == "A" * 32
