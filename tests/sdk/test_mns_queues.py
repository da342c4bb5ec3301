"""Queues and messages through the official Python client, and raw requests with what other clients need."""

import base64
import hmac
import http.client
import logging
import time
from email.utils import formatdate
from hashlib import md5, sha1
from threading import Thread
from uuid import uuid4

import pytest

mns = pytest.importorskip("mns.account")

from mns.account import Account, AccountMeta  # noqa: E402
from mns.message_property import MessagePropertyValue, MessageSystemPropertyValue  # noqa: E402
from mns.mns_exception import MNSServerException  # noqa: E402
from mns.queue import Message, QueueMeta  # noqa: E402

pytestmark = [
    pytest.mark.sdk,
    pytest.mark.filterwarnings("ignore:Call to deprecated function"),  # the client's own notes on the counters
]


@pytest.fixture
def queue(account):
    made = account.get_queue(f"sdk-{uuid4().hex}")
    made.create(QueueMeta())
    yield made
    made.delete()


def refused(call, *arguments):
    with pytest.raises(MNSServerException) as caught:
        call(*arguments)
    assert caught.value.req_id
    return caught.value.type


def test_create_is_idempotent_for_equal_attributes_only(emulator, account):
    """201, then 204, both with the address; other attributes conflict."""
    queue = account.get_queue(f"sdk-{uuid4().hex}")
    address = f"{emulator.url}/queues/{queue.queue_name}"

    assert queue.create(QueueMeta()) == address
    assert queue.create(QueueMeta()) == address
    other = QueueMeta()
    other.set_visibilitytimeout(31)
    assert refused(queue.create, other) == "QueueAlreadyExist"
    queue.delete()
    queue.delete()
    assert refused(queue.get_attributes) == "QueueNotExist"


def test_attributes_go_there_and_back(queue):
    """Every one of them."""
    queue.set_attributes(QueueMeta(7, 2_048, 1_000, 9, 3, True))

    meta = queue.get_attributes()

    told = (
        meta.visibility_timeout, meta.maximum_message_size, meta.message_retention_period, meta.delay_seconds,
        meta.polling_wait_seconds, meta.logging_enabled,
    )  # fmt: skip
    assert told == (7, 2_048, 1_000, 9, 3, True)
    assert (meta.active_messages, meta.inactive_messages, meta.delay_messages) == (0, 0, 0)
    assert abs(meta.create_time - time.time()) < 60
    assert meta.queue_name == queue.queue_name


def test_lists_are_paged(account):
    """With and without a next page, with a prefix, and empty."""
    prefix = f"page-{uuid4().hex[:8]}-"
    queues = [account.get_queue(f"{prefix}{letter}") for letter in "abc"]
    for queue in queues:
        queue.create(QueueMeta())

    first, marker = account.list_queue(prefix=prefix, ret_number=2)
    second, end = account.list_queue(prefix=prefix, ret_number=2, marker=marker)
    nothing, no_marker = account.list_queue(prefix=f"{prefix}z")

    assert [url.rpartition("-")[2] for url in first + second] == ["a", "b", "c"]
    assert (end, nothing, no_marker) == ("", [], "")
    for queue in queues:
        queue.delete()


def test_lists_with_meta_hold_every_attribute(account, queue):
    """The client drops a list with an empty element in it."""
    from mns.mns_request import ListQueueRequest, ListQueueResponse

    answer = ListQueueResponse()
    account.get_client().list_queue(ListQueueRequest(queue.queue_name, 10, "", True), answer)

    (meta,) = answer.queuemeta_list
    assert meta["QueueURL"].endswith(queue.queue_name)
    assert (meta["VisibilityTimeout"], meta["ActiveMessages"]) == ("30", "0")


def test_account_attributes(account):
    """An empty bucket is read as one."""
    assert account.get_attributes().logging_bucket == ""
    account.set_attributes(AccountMeta("logs"))
    assert account.get_attributes().logging_bucket == "logs"
    account.set_attributes(AccountMeta(""))
    assert account.get_attributes().logging_bucket == ""


def test_the_service_is_open(account):
    """The order has a number."""
    assert account.open_service()


def test_a_message_goes_there_and_back(queue):
    """Sent, peeked at, received, put off, deleted."""
    sent = queue.send_message(Message("你好 & <all>", priority=3))
    assert sent.message_body_md5 == md5(base64.b64encode("你好 & <all>".encode())).hexdigest().upper()
    peeked = queue.peek_message()
    assert (peeked.message_id, peeked.dequeue_count, int(peeked.first_dequeue_time)) == (sent.message_id, 0, 0)

    received = queue.receive_message(1)
    assert (received.message_body.decode(), received.message_id) == ("你好 & <all>", sent.message_id)
    assert (received.dequeue_count, received.priority) == (1, 3)
    assert abs(received.next_visible_time - time.time() * 1000 - 30_000) < 5_000
    assert queue.get_attributes().inactive_messages == 1

    changed = queue.change_message_visibility(received.receipt_handle, 100)
    assert int(changed.next_visible_time) > received.next_visible_time
    assert refused(queue.delete_message, received.receipt_handle) == "MessageNotExist"
    queue.delete_message(changed.receipt_handle)
    assert queue.get_attributes().inactive_messages == 0


def test_raw_bodies_without_base64(queue):
    """What the text was, the text is."""
    queue.set_encoding(False)
    queue.send_message(Message('{"a": "<b> & ü"}'))

    assert queue.receive_message(1).message_body == '{"a": "<b> & ü"}'


def test_an_empty_queue_raises_message_not_exist(queue):
    """For receive and peek, single and batch."""
    for call in (queue.receive_message, queue.peek_message):
        assert refused(call) == "MessageNotExist"
    for call in (queue.batch_receive_message, queue.batch_peek_message):
        assert refused(call, 16) == "MessageNotExist"


def test_a_queue_that_is_not_there(account):
    """Every operation names it."""
    queue = account.get_queue("not-there")

    for call, arguments in (
        (queue.send_message, (Message("x"),)),
        (queue.batch_send_message, ([Message("x")],)),
        (queue.receive_message, (3,)),
        (queue.peek_message, ()),
        (queue.delete_message, ("x",)),
        (queue.batch_delete_message, (["x"],)),
        (queue.change_message_visibility, ("x", 3)),
        (queue.set_attributes, (QueueMeta(),)),
    ):
        assert refused(call, *arguments) == "QueueNotExist"


def test_batches(queue):
    """In order of priority; deleted at once."""
    sent = queue.batch_send_message([Message("low", priority=16), Message("high", priority=1), Message("mid")])
    assert len({entry.message_id for entry in sent}) == 3
    assert [message.message_body for message in queue.batch_peek_message(16)] == [b"high", b"mid", b"low"]

    received = queue.batch_receive_message(16)

    assert [message.message_body for message in received] == [b"high", b"mid", b"low"]
    queue.batch_delete_message([message.receipt_handle for message in received])
    assert refused(queue.batch_peek_message, 16) == "MessageNotExist"


def test_a_batch_of_deletes_that_fails_in_part(queue):
    """The client compares the names of every failed entry with what it knows."""
    queue.send_message(Message("x"))
    handle = queue.receive_message(1).receipt_handle

    with pytest.raises(MNSServerException) as caught:
        queue.batch_delete_message([handle, "no-handle"])

    assert caught.value.type == "ReceiptHandleError"
    assert [entry["ReceiptHandle"] for entry in caught.value.sub_errors] == ["no-handle"]
    assert queue.get_attributes().inactive_messages == 0


@pytest.mark.parametrize("message", [Message("x", priority=17), Message("x", delay_seconds=604_801)])
def test_values_out_of_range(queue, message):
    """Refused by the server; single and in a batch."""
    assert refused(queue.send_message, message) == "InvalidArgument"
    assert refused(queue.batch_send_message, [Message("fine"), message]) == "InvalidArgument"
    assert queue.get_attributes().active_messages == 0


def test_bodies_beyond_the_maximum(queue):
    """Base64 counts, because that is what travels."""
    queue.send_message(Message("x" * 49_152))

    assert refused(queue.send_message, Message("x" * 49_153)) == "InvalidArgument"


def test_delayed_messages(queue):
    """Invisible until due; the handle of the send calls them off."""
    sent = queue.send_message(Message("x", delay_seconds=100))
    assert sent.receipt_handle
    assert queue.get_attributes().delay_messages == 1
    assert refused(queue.receive_message) == "MessageNotExist"

    queue.delete_message(sent.receipt_handle)

    assert queue.get_attributes().delay_messages == 0


def test_a_message_comes_back_after_its_timeout(queue):
    """With the same id, one more on the count and another handle."""
    queue.set_attributes(QueueMeta(vis_timeout=1))
    queue.send_message(Message("x"))
    first = queue.receive_message(1)

    second = queue.receive_message(5)

    assert (second.message_id, second.dequeue_count) == (first.message_id, 2)
    assert second.first_dequeue_time == first.first_dequeue_time
    assert second.receipt_handle != first.receipt_handle


def test_properties(queue):
    """Every type, and a system property."""
    message = Message("x")
    message.add_user_property("text", MessagePropertyValue.create_string("<a> & b"))
    message.add_user_property("number", MessagePropertyValue.create_number("1.5"))
    message.add_user_property("switch", MessagePropertyValue.create_boolean(True))
    message.add_user_property("bytes", MessagePropertyValue.create_binary(b"\x00\xff"))
    message.add_system_property("traceparent", MessageSystemPropertyValue.create_string("00-1-2-01"))
    queue.send_message(message)

    received = queue.receive_message(1)

    user = received.get_user_properties()
    assert user["text"].get_string_value_by_type() == "<a> & b"
    assert user["number"].get_string_value_by_type() == "1.5"
    assert user["switch"].get_string_value_by_type() == "true"
    assert user["bytes"].get_binary_value() == b"\x00\xff"
    assert received.get_system_properties()["traceparent"].get_string_value_by_type() == "00-1-2-01"


def test_an_empty_poll_of_a_second_takes_less_than_a_second(queue):
    """As the live service, which answers a little early and never late."""
    started = time.monotonic()

    assert refused(queue.receive_message, 1) == "MessageNotExist"

    assert 0.8 <= time.monotonic() - started < 1.0


def test_an_arrival_ends_the_wait(emulator, account, queue):
    """Another client sends meanwhile."""
    other = Account(
        emulator.url,
        emulator.keys["accessKeyId"],
        emulator.keys["accessKeySecret"],
        logger=logging.getLogger("test.mns"),
    )
    received = []
    thread = Thread(target=lambda: received.append(other.get_queue(queue.queue_name).receive_message(20)))
    started = time.monotonic()
    thread.start()

    queue.send_message(Message("x"))
    thread.join(10)
    other.get_client().close_connection()

    assert received[0].message_body == b"x"
    assert time.monotonic() - started < 5


class Raw:
    """Signed requests with every detail in the caller's hands."""

    def __init__(self, emulator):
        self.keys = emulator.keys
        self.connection = http.client.HTTPConnection("127.0.0.1", emulator.port, timeout=20)

    def __call__(self, method, target, body=b"", **headers):
        sent = {"Date": formatdate(usegmt=True), "x-mns-version": "2015-06-06"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        lower = {name.lower(): value for name, value in sent.items()}
        signed = "".join(f"{name}:{lower[name]}\n" for name in sorted(lower) if name.startswith("x-mns-"))
        text = "\n".join([method, lower.get("content-md5", ""), lower.get("content-type", ""), sent["Date"]])
        digest = hmac.new(self.keys["accessKeySecret"].encode(), f"{text}\n{signed}{target}".encode(), sha1).digest()
        sent["Authorization"] = f"MNS {self.keys['accessKeyId']}:{base64.b64encode(digest).decode()}"
        self.connection.request(method, target, body=body, headers=sent)
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()


@pytest.fixture
def raw(emulator):
    made = Raw(emulator)
    yield made
    made.connection.close()


def test_every_answer_has_the_namespace_and_headers_clients_check(raw, queue):
    """No slash at the end of the namespace, the id's header in lower case, one content type, also on 204."""
    queue.send_message(Message("x"))
    answers = [
        raw("GET", "/queues"),
        raw("GET", f"/queues/{queue.queue_name}"),
        raw("GET", f"/queues/{queue.queue_name}/messages?peekonly=true"),
        raw("GET", "/queues/none"),
        raw("DELETE", "/queues/none"),
    ]

    assert [status for status, _, _ in answers] == [200, 200, 200, 404, 204]
    for _, headers, body in answers:
        assert "x-mns-request-id" in [name for name in headers if name != name.title()]
        assert headers["Content-Type"] == "text/xml;charset=utf-8"
        assert not body or ' xmlns="http://mns.aliyuncs.com/doc/v1">' in body


def test_a_request_as_the_go_client_sends_it(raw, queue):
    """No namespace, application/xml, zeros for what was not given, a digest of the hex form."""
    body = b"<Message><MessageBody>raw text</MessageBody><DelaySeconds>0</DelaySeconds><Priority>0</Priority></Message>"
    digest = base64.b64encode(md5(body).hexdigest().encode()).decode()

    status, _, _ = raw(
        "POST", f"/queues/{queue.queue_name}/messages", body, content_type="application/xml", Content_Md5=digest
    )

    assert status == 201
    queue.set_encoding(False)
    received = queue.receive_message(1)
    assert (received.message_body, received.priority) == ("raw text", 8)


def test_a_handle_with_equal_signs_works_escaped_and_not(raw, queue):
    """And under either spelling of its name; a delete may carry a body on a connection that is used again."""
    target = f"/queues/{queue.queue_name}/messages"
    for change in (lambda text: text, lambda text: text.replace("=", "%3D")):
        handle = ""
        while "=" not in handle:
            queue.send_message(Message("x"))
            handle = queue.receive_message(1).receipt_handle
        assert raw("PUT", f"{target}?receiptHandle={change(handle)}&visibilityTimeout=3")[0] == 200
    body = b"<ReceiptHandles><ReceiptHandle>x</ReceiptHandle></ReceiptHandles>"
    assert raw("DELETE", target, body, content_type="text/xml")[0] == 404
    assert raw("GET", f"/queues/{queue.queue_name}")[0] == 200


def test_acknowledged_messages_survive_a_kill(new_emulator):
    """Acknowledged messages are there after the process was killed, with their counters."""
    emulator = new_emulator().start()
    options = {"logger": logging.getLogger("test.mns")}
    account = Account(emulator.url, emulator.keys["accessKeyId"], emulator.keys["accessKeySecret"], **options)
    queue = account.get_queue("survivor")
    queue.create(QueueMeta())
    for number in range(20):
        queue.send_message(Message(str(number)))
    taken = queue.receive_message(1)
    emulator.kill()
    account.get_client().close_connection()

    emulator.start()
    account = Account(emulator.url, emulator.keys["accessKeyId"], emulator.keys["accessKeySecret"], **options)
    queue = account.get_queue("survivor")

    meta = queue.get_attributes()
    assert (meta.active_messages, meta.inactive_messages) == (19, 1)
    queue.delete_message(taken.receipt_handle)
    bodies = [message.message_body for message in queue.batch_receive_message(16) + queue.batch_receive_message(16)]
    assert bodies == [str(number).encode() for number in range(1, 20)]
    account.get_client().close_connection()


def test_a_strict_emulator_refuses_what_the_documentation_excludes(new_emulator):
    """Names over 120 characters and priority 0, which are allowed otherwise."""
    emulator = new_emulator(None, "--strict").start()

    raw = Raw(emulator)
    message = b"<Message><MessageBody>x</MessageBody><Priority>0</Priority></Message>"

    answers = [
        raw("PUT", f"/queues/{'x' * 120}"),
        raw("PUT", f"/queues/{'x' * 121}"),
        raw("PUT", f"/topics/{'x' * 121}"),
        raw("POST", f"/queues/{'x' * 120}/messages", message),
    ]
    raw.connection.close()

    assert [status for status, _, _ in answers] == [201, 400, 400, 400]
    assert "<Code>QueueNameLengthError</Code>" in answers[1][2]
    assert "<Code>TopicNameLengthError</Code>" in answers[2][2]
    assert "<Message>The value of Priority should between 1 and 16.</Message>" in answers[3][2]
