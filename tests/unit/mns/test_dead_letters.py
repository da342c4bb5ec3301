"""Dead letters: moved at the instant they would be visible once more, with their history."""

import asyncio
from collections import Counter
from unittest.mock import Mock

import pytest

from emulator.services.mns.queues import dead_letters
from emulator.services.mns.queues.dead_letters import DeadLetters
from emulator.services.mns.queues.model import DeadLetterPolicy
from emulator.services.mns.queues.store import NotStored, QueueStore

START = 1_700_000_000_000


def policy(receives=2, target="dead", *, enabled=True):
    return DeadLetterPolicy(enabled=enabled, target=target, max_receives=receives)


@pytest.fixture
def dlq(mns):
    """Queue ``q`` with a visibility timeout of 10 s, whose messages die after two receives."""
    mns.create("dead")
    mns.create(dead_letter=policy(), visibility_timeout_s=10)
    return mns


def receive_times(mns, number, seconds=10):
    for _ in range(number):
        assert mns.receive() is not None
        mns.advance(seconds)


def test_a_message_moves_when_its_last_receive_times_out(dlq):
    """By itself, at that instant, not a millisecond earlier."""
    dlq.send("x")
    receive_times(dlq, 1)
    dlq.receive()
    dlq.advance(9.999)
    assert (dlq.counters(), dlq.counters("dead")) == ((0, 1, 0), (0, 0, 0))

    dlq.advance(0.001)

    assert (dlq.counters(), dlq.counters("dead")) == ((0, 0, 0), (1, 0, 0))
    assert dlq.receive() is None


def test_a_dead_letter_keeps_what_it_was_and_tells_where_it_comes_from(dlq):
    """New id and count; body, priority, properties and the instant of sending stay."""
    sent = dlq.element(
        dlq.call(
            "POST",
            "/queues/q/messages",
            "<Message><MessageBody>x</MessageBody><Priority>3</Priority>"
            "<UserProperties><PropertyValue><Name>n</Name><Value>1</Value><Type>NUMBER</Type></PropertyValue>"
            "</UserProperties><SystemProperties><SystemPropertyValue><Name>traceparent</Name><Value>t</Value>"
            "<Type>STRING</Type></SystemPropertyValue></SystemProperties></Message>",
        ),
        201,
    )
    receive_times(dlq, 2)

    message = dlq.receive("dead")

    assert message.text_of("MessageId") != sent.text_of("MessageId")
    assert [message.text_of(name) for name in ("MessageBody", "Priority", "DequeueCount", "EnqueueTime")] == [
        "x", "3", "1", str(START),
    ]  # fmt: skip
    assert message.find("UserProperties").children[0].text_of("Value") == "1"
    told = {item.text_of("Name"): item.text_of("Value") for item in message.find("SystemProperties").children}
    assert told == {
        "traceparent": "t",
        "DLQMessageType": "QUEUE",
        "DLQSourceArn": "acs:mns:cn-hangzhou:1234567890123456:/queues/q",
        "DLQOriginMessageId": sent.text_of("MessageId"),
    }


def test_retention_goes_on_in_the_dead_letter_queue(mns):
    """The time spent in both queues adds up."""
    mns.create("dead", retention_s=100)
    mns.create(dead_letter=policy(1), visibility_timeout_s=60, retention_s=1000)
    mns.send("x")
    receive_times(mns, 1, 60)
    assert mns.counters("dead") == (1, 0, 0)

    mns.advance(39.999)
    assert mns.counters("dead") == (1, 0, 0)
    mns.advance(0.001)

    assert mns.counters("dead") == (0, 0, 0)


def test_a_deleted_message_does_not_die(dlq):
    """Also when it is deleted during its last receive."""
    dlq.send("x")
    receive_times(dlq, 1)
    handle = dlq.receive().text_of("ReceiptHandle")
    dlq.call("DELETE", f"/queues/q/messages?ReceiptHandle={handle}")

    dlq.advance(100)

    assert (dlq.counters(), dlq.counters("dead")) == ((0, 0, 0), (0, 0, 0))
    assert len(dlq.timers) == 1  # the sweep: it finds nothing


def test_changing_visibility_moves_the_instant(dlq):
    """Later or earlier, it is the new one that counts."""
    for body, timeout in (("late", 20), ("early", 5)):
        dlq.send(body)
        receive_times(dlq, 1)
        handle = dlq.receive().text_of("ReceiptHandle")
        dlq.call("PUT", f"/queues/q/messages?ReceiptHandle={handle}&VisibilityTimeout={timeout}")
        dlq.advance(timeout - 0.001)
        assert dlq.counters("dead")[0] == 0
        dlq.advance(0.001)
        assert dlq.drain("dead") == [body]


def test_an_expired_message_does_not_move(dlq):
    """It is gone, wherever it was to go."""
    dlq.call("PUT", "/queues/q?metaoverride=true", "<Queue><MessageRetentionPeriod>60</MessageRetentionPeriod></Queue>")
    dlq.send("x")
    receive_times(dlq, 1)
    handle = dlq.receive().text_of("ReceiptHandle")
    dlq.call("PUT", f"/queues/q/messages?ReceiptHandle={handle}&VisibilityTimeout=50")

    dlq.advance(50)

    assert (dlq.counters(), dlq.counters("dead")) == ((0, 0, 0), (0, 0, 0))


async def test_somebody_polling_the_dead_letter_queue_is_woken(make_mns):
    """At the instant of the move, although nobody polls the source."""
    mns = make_mns()
    mns.create("dead")
    mns.create(dead_letter=policy(1), visibility_timeout_s=5)
    mns.send("x")
    mns.receive()
    future = mns.ask("GET", "/queues/dead/messages?waitseconds=30")
    mns.timers.advance(5_000)
    await mns.turns()
    assert mns.element(future.result(), 200).text_of("MessageBody") == "x"


def test_without_its_target_a_message_stays(mns):
    """It is received again and again; once the queue exists it goes there."""
    mns.create(dead_letter=policy(1), visibility_timeout_s=10)
    mns.send("x")
    receive_times(mns, 3)
    assert mns.counters() == (1, 0, 0)

    mns.create("dead")

    assert mns.receive() is None
    assert mns.counters("dead") == (1, 0, 0)


def test_a_policy_that_is_off_moves_nothing(mns):
    """And one that is turned off spares who was about to die."""
    mns.create("dead")
    mns.create("off", dead_letter=policy(1, enabled=False), visibility_timeout_s=10)
    mns.create(dead_letter=policy(1), visibility_timeout_s=10)
    mns.send("x", "off")
    mns.send("y")
    mns.receive("off")
    mns.receive()
    mns.service.queues.change(mns.tenant, "q", {"dead_letter": policy(1, enabled=False)})
    mns.advance(10)

    assert mns.drain("off") == ["x"]
    assert mns.drain() == ["y"]
    assert mns.counters("dead") == (0, 0, 0)


def test_a_stricter_policy_counts_at_the_next_receive(mns):
    """What has been received too often by then moves, others take its place."""
    mns.create("dead")
    mns.create(visibility_timeout_s=10)
    mns.send("old")
    receive_times(mns, 3)
    mns.send("new")
    mns.service.queues.change(mns.tenant, "q", {"dead_letter": policy(2)})

    assert mns.drain() == ["new"]
    assert mns.drain("dead") == ["old"]


def test_moves_go_on_after_a_restart(tmp_path, make_mns):
    """Those that fell due while nothing ran, and those still to come."""
    mns = make_mns(tmp_path / "s.db")
    mns.create("dead")
    mns.create(dead_letter=policy(1), visibility_timeout_s=10)
    mns.send("a")
    mns.send("b", DelaySeconds=15)
    mns.receive()
    mns.advance(5)
    mns.close()
    mns.clock.move_to(mns.clock.now() + 20_000)

    again = make_mns(tmp_path / "s.db", clock=mns.clock)
    again.advance(0)
    assert again.counters("dead") == (1, 0, 0)
    again.receive()
    again.close()
    third = make_mns(tmp_path / "s.db", clock=mns.clock)
    third.advance(10)

    assert third.drain("dead") == ["a", "b"]


@pytest.mark.parametrize(("hidden_s", "dead"), [(10, (1, 0, 0)), (60, (0, 0, 0)), (90, (0, 0, 0))])
def test_what_died_before_it_expired_moves_although_nothing_ran_at_either_time(tmp_path, make_mns, hidden_s, dead):
    """After a long pause the earlier of the two counts; one that expired while it was hidden is gone."""
    mns = make_mns(tmp_path / "s.db")
    mns.create("dead")
    mns.create(dead_letter=policy(1), visibility_timeout_s=hidden_s, retention_s=60)
    mns.send("a")
    mns.receive()
    mns.close()
    mns.clock.move_to(mns.clock.now() + 100_000)

    again = make_mns(tmp_path / "s.db", clock=mns.clock)

    assert (again.counters(), again.counters("dead")) == ((0, 0, 0), dead)


def test_many_dying_at_once_move_in_portions(mns):
    """None is forgotten."""
    mns.create("dead")
    mns.create(dead_letter=policy(1), visibility_timeout_s=10)
    for _ in range(450):
        mns.service.send(mns.tenant, "q", "x")
    while mns.call("GET", "/queues/q/messages?numOfMessages=16").status == 200:
        pass
    mns.advance(9.999)
    assert mns.counters() == (0, 450, 0)

    mns.advance(0.1)

    assert (mns.counters(), mns.counters("dead")) == ((0, 0, 0), (450, 0, 0))


def test_a_receive_moves_no_more_than_a_portion(mns):
    """What a changed policy condemns all at once does not hold up one receiver."""
    mns.create("dead")
    mns.create(visibility_timeout_s=1)
    for _ in range(450):
        mns.service.send(mns.tenant, "q", "x")
    while mns.call("GET", "/queues/q/messages?numOfMessages=16").status == 200:
        pass
    mns.advance(1)
    mns.service.queues.change(mns.tenant, "q", {"dead_letter": policy(1)})

    moved = []
    for _ in range(4):
        assert mns.receive() is None
        moved.append(mns.counters("dead")[0])

    assert moved == [200, 400, 450, 450]


def test_a_dead_letter_frees_its_fifo_group(mns):
    """The next message of the group is received."""
    mns.create("dead", fifo=True)
    mns.create(dead_letter=policy(1), visibility_timeout_s=10, fifo=True)
    for body in ("bad", "next"):
        mns.send(body, MessageGroupId="g")
    receive_times(mns, 1)

    assert mns.receive().text_of("MessageBody") == "next"
    mns.advance(10)
    dead = mns.receive("dead")
    assert (dead.text_of("MessageBody"), dead.text_of("MessageGroupId")) == ("bad", "g")
    assert mns.receive("dead") is None


def test_a_deleted_source_forgets_its_moves(dlq):
    """The timer finds no queue."""
    dlq.send("x")
    receive_times(dlq, 1)
    dlq.receive()
    dlq.call("DELETE", "/queues/q")

    dlq.advance(100)

    assert dlq.counters("dead") == (0, 0, 0)


def test_a_move_that_cannot_be_stored_loses_nothing_and_is_tried_again(dlq, monkeypatch):
    """A full disk leaves the message where it was; it moves once there is room."""
    dlq.send("x")
    receive_times(dlq, 1)
    dlq.receive()
    with monkeypatch.context() as full:
        full.setattr(QueueStore, "add", Mock(side_effect=NotStored("full")))
        dlq.advance(10)
        assert (dlq.counters(), dlq.counters("dead")) == ((1, 0, 0), (0, 0, 0))

    dlq.advance(5)

    assert (dlq.counters(), dlq.counters("dead")) == ((0, 0, 0), (1, 0, 0))


async def test_moves_that_are_overdue_at_a_start_leave_turns_to_others(dlq, monkeypatch):
    """A portion in each turn of the loop; nothing is left for the start itself."""
    monkeypatch.setattr(dead_letters, "SWEEP_ROWS", 2)
    for _ in range(5):
        dlq.send("x")
    for _ in range(2):
        while dlq.receive() is not None:
            pass
        dlq.clock.move_to(dlq.clock.now() + 10_000)
    moved, turn = [], 0
    move = DeadLetters.move
    monkeypatch.setattr(DeadLetters, "move", lambda *given: (moved.append(turn), move(*given))[1])

    catching_up = asyncio.create_task(dlq.service.catch_up())
    while not catching_up.done():
        await asyncio.sleep(0)
        turn += 1

    assert sorted(Counter(moved).values()) == [1, 2, 2]
    assert dlq.counters("dead") == (5, 0, 0)
