"""FIFO queues: strict order inside a group, groups side by side."""

import pytest


@pytest.fixture
def fifo(mns):
    mns.create(fifo=True)
    return mns


def send(mns, body, group="g", **elements):
    return mns.send(body, MessageGroupId=group, **elements)


def receive(mns):
    message = mns.receive()
    return None if message is None else (message.text_of("MessageBody"), message.text_of("ReceiptHandle"))


def delete(mns, handle):
    assert mns.call("DELETE", f"/queues/q/messages?ReceiptHandle={handle}").status == 204


def test_a_group_is_needed(fifo):
    """For every message, also of a batch."""
    assert fifo.error("POST", "/queues/q/messages", fifo.message_xml()) == (400, "FifoMissingMessageGroupId")
    batch = f"<Messages>{fifo.message_xml(MessageGroupId='g')}{fifo.message_xml(MessageGroupId='')}</Messages>"
    assert fifo.error("POST", "/queues/q/messages", batch) == (400, "FifoMissingMessageGroupId")
    assert fifo.error("POST", "/queues/q/messages", fifo.message_xml(MessageGroupId="g" * 257)) == (
        400,
        "InvalidArgument",
    )
    assert fifo.counters() == (0, 0, 0)


def test_the_group_is_answered_and_received(fifo):
    """In the reply to the send, on receive and on peek."""
    assert send(fifo, "a").text_of("MessageGroupId") == "g"
    peeked = fifo.element(fifo.call("GET", "/queues/q/messages?peekonly=true"), 200)
    assert peeked.text_of("MessageGroupId") == "g"
    assert fifo.receive().text_of("MessageGroupId") == "g"


def test_a_group_waits_for_its_first_message(fifo):
    """Until it is deleted; other groups go on."""
    for body, group in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a")):
        send(fifo, body, group)

    first, handle = receive(fifo)
    assert first == "a1"
    assert receive(fifo)[0] == "b1"
    assert receive(fifo) is None
    assert fifo.counters() == (2, 2, 0)

    delete(fifo, handle)
    assert receive(fifo)[0] == "a2"
    assert receive(fifo) is None


def test_a_group_goes_on_with_the_same_message_after_its_timeout(fifo):
    """Order is kept also when the first one comes back."""
    send(fifo, "1")
    send(fifo, "2")
    receive(fifo)
    fifo.advance(30)

    again, handle = receive(fifo)
    delete(fifo, handle)

    assert (again, receive(fifo)[0]) == ("1", "2")


def test_arrival_counts_inside_a_group_whatever_the_priorities(fifo):
    """An urgent message does not overtake its group."""
    send(fifo, "first", Priority=16)
    send(fifo, "urgent", Priority=1)
    send(fifo, "other", "h", Priority=9)

    assert receive(fifo)[0] == "other"
    name, handle = receive(fifo)
    delete(fifo, handle)

    assert (name, receive(fifo)[0]) == ("first", "urgent")


def test_a_batch_gets_one_message_per_group(fifo):
    """So that nobody works on two of a group at once."""
    for number in range(3):
        for group in "ab":
            send(fifo, f"{group}{number}", group)

    root = fifo.element(fifo.call("GET", "/queues/q/messages?numOfMessages=16"), 200)

    assert [message.text_of("MessageBody") for message in root.children] == ["a0", "b0"]


def test_a_delayed_first_message_holds_its_group(fifo):
    """Held messages keep their own delays; what is due counts as active."""
    send(fifo, "1", DelaySeconds=10)
    send(fifo, "2")
    handle = send(fifo, "3", DelaySeconds=30).text_of("ReceiptHandle")
    assert receive(fifo) is None
    assert fifo.counters() == (1, 0, 2)
    fifo.advance(10)

    name, first = receive(fifo)
    delete(fifo, first)
    assert (name, fifo.counters()) == ("1", (1, 0, 1))
    name, second = receive(fifo)
    delete(fifo, second)
    assert (name, receive(fifo)) == ("2", None)
    assert fifo.counters() == (0, 0, 1)
    delete(fifo, handle)
    assert fifo.counters() == (0, 0, 0)


def test_a_held_delayed_message_can_be_put_off(fifo):
    """Its handle changes when it is due; it still waits for its group."""
    send(fifo, "1")
    handle = send(fifo, "2", DelaySeconds=5).text_of("ReceiptHandle")

    changed = fifo.element(fifo.call("PUT", f"/queues/q/messages?ReceiptHandle={handle}&VisibilityTimeout=20"), 200)

    assert changed.text_of("NextVisibleTime") == str(fifo.clock.now() + 20_000)
    name, first = receive(fifo)
    delete(fifo, first)
    fifo.advance(19)
    assert (name, receive(fifo)) == ("1", None)
    fifo.advance(1)
    assert receive(fifo)[0] == "2"


def test_deleting_a_held_message_does_not_free_those_behind(fifo):
    """The first one still is the first."""
    send(fifo, "1")
    handle = send(fifo, "2", DelaySeconds=5).text_of("ReceiptHandle")
    send(fifo, "3")
    receive(fifo)

    delete(fifo, handle)

    assert receive(fifo) is None


def test_an_expired_message_holds_nobody(mns):
    """The next of its group competes from then on, whether or not it has been swept."""
    mns.create(fifo=True, retention_s=60)
    send(mns, "old")
    receive(mns)
    mns.advance(50)
    send(mns, "young")
    mns.clock.move_to(mns.clock.now() + 10_000)

    assert receive(mns)[0] == "young"
    send(mns, "next")
    assert mns.counters() == (1, 1, 0)


def test_expiry_frees_the_next_of_a_group_by_itself(mns):
    """The sweep does it within a second or so."""
    mns.create(fifo=True, retention_s=60)
    send(mns, "old", DelaySeconds=1000)
    mns.advance(50)
    send(mns, "young")

    mns.advance(12)

    assert mns.counters() == (1, 0, 0)
    assert receive(mns)[0] == "young"


def test_order_survives_a_restart(tmp_path, make_mns):
    """Held messages stay held, and counted."""
    mns = make_mns(tmp_path / "s.db")
    mns.create(fifo=True)
    for body in "123":
        send(mns, body)
    _, handle = receive(mns)

    again = make_mns(tmp_path / "s.db", clock=mns.clock)

    assert again.counters() == (2, 1, 0)
    assert receive(again) is None
    delete(again, handle)
    assert receive(again)[0] == "2"


def test_a_group_of_an_ordinary_queue_means_nothing(mns):
    """It is kept and answered, and holds nobody."""
    mns.create()
    send(mns, "1")
    send(mns, "2")

    assert receive(mns)[0] == "1"
    assert receive(mns)[0] == "2"
