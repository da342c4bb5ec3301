"""Tests of an application that keeps its orders in a queue."""

import pytest
from mns.mns_exception import MNSServerException
from mns.queue import Message


def place(queue, order):
    """What the application does."""
    queue.send_message(Message(order))


def test_order_reaches_the_worker(queue):
    place(queue, "two pears")

    received = queue.receive_message(3)

    assert received.message_body in {"two pears", b"two pears"}
    queue.delete_message(received.receipt_handle)


def test_queue_is_empty_at_first(queue):
    with pytest.raises(MNSServerException) as refused:
        queue.receive_message(-1)

    assert refused.value.type == "MessageNotExist"
