"""Messages through the XML API: what is sent, received, peeked at, deleted, hidden; every range and refusal."""

import re
from hashlib import md5

import pytest

from emulator.services.mns.limits import STRICT
from emulator.wire.xml import parse

START = 1_700_000_000_000


def bodies(answer):
    root = parse(answer.body)
    assert root.name == "Messages"
    return [message.text_of("MessageBody") for message in root.all("Message")]


def batch_xml(*messages):
    inner = "".join(message.replace(' xmlns="http://mns.aliyuncs.com/doc/v1/"', "") for message in messages)
    return f'<Messages xmlns="http://mns.aliyuncs.com/doc/v1/">{inner}</Messages>'


def handles_xml(*handles):
    inner = "".join(f"<ReceiptHandle>{handle}</ReceiptHandle>" for handle in handles)
    return f'<ReceiptHandles xmlns="http://mns.aliyuncs.com/doc/v1/">{inner}</ReceiptHandles>'


def properties_xml(*entries, root="UserProperties", entry="PropertyValue"):
    inner = "".join(
        f"<{entry}><Name>{name}</Name><Value>{value}</Value><Type>{kind}</Type></{entry}>"
        for name, value, kind in entries
    )
    return f"<Message><MessageBody>b</MessageBody><{root}>{inner}</{root}></Message>"


@pytest.fixture
def q(mns):
    """A service with one queue of default attributes."""
    mns.create()
    return mns


def test_the_answer_to_a_send_has_id_and_digest_and_nothing_else(q):
    """A receipt handle is for delayed messages only."""
    answer = q.call("POST", "/queues/q/messages", q.message_xml("aGVsbG8="))

    root = q.element(answer, 201)
    assert root.name == "Message"
    assert [child.name for child in root.children] == ["MessageId", "MessageBodyMD5"]
    assert re.fullmatch("[0-9A-F]{32}", root.text_of("MessageId"))
    assert root.text_of("MessageBodyMD5") == "0733351879B2FA9BD05C7CA3061529C0"


@pytest.mark.parametrize(
    "body",
    [
        "<MessageBody>x</MessageBody>",
        "<Priority>8</Priority><MessageBody>x</MessageBody><DelaySeconds>0</DelaySeconds>",
        "<Unknown><Deep/></Unknown><MessageBody>x</MessageBody>",
    ],
    ids=["body-only", "other-order", "unknown-element"],
)
@pytest.mark.parametrize("namespace", ["", ' xmlns="http://mns.aliyuncs.com/doc/v1"'])
def test_sends_in_every_shape_clients_use(q, body, namespace):
    """Children in any order, any namespace form, unknown elements ignored."""
    assert q.call("POST", "/queues/q/messages", f"<Message{namespace}>{body}</Message>").status == 201
    assert q.drain() == ["x"]


@pytest.mark.parametrize("text", ["hello", " ", "a & <b> \"c\" 'd' ]]>", "多字节 😀", "tab\tnew\nline", "x" * 65_536])
def test_a_body_comes_back_as_it_was_sent(q, text):
    """Unchanged, digest of the text as it was on the wire."""
    from emulator.wire.xml import escape

    sent = q.send(escape(text).replace("]]>", "]]&gt;"))
    message = q.receive()

    assert message.text_of("MessageBody") == text
    assert message.text_of("MessageBodyMD5") == sent.text_of("MessageBodyMD5") == md5(text.encode()).hexdigest().upper()


def test_a_carriage_return_survives(q):
    """Sent as a reference, it is answered as one."""
    q.send("a&#13;b")

    assert b"a&#13;b" in q.call("GET", "/queues/q/messages").body


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("<Message>", "MalformedXML"),
        ("", "MalformedXML"),
        ("<Queue/>", "InvalidArgument"),
        ("<Message/>", "InvalidArgument"),
        ("<Message><MessageBody/></Message>", "InvalidArgument"),
        ("<Message><MessageBody><b/></MessageBody></Message>", "InvalidArgument"),
        ("<Message><MessageBody>x</MessageBody><Priority>17</Priority></Message>", "InvalidArgument"),
        ("<Message><MessageBody>x</MessageBody><Priority>-1</Priority></Message>", "InvalidArgument"),
        ("<Message><MessageBody>x</MessageBody><Priority>high</Priority></Message>", "InvalidArgument"),
        ("<Message><MessageBody>x</MessageBody><DelaySeconds>-1</DelaySeconds></Message>", "InvalidArgument"),
        ("<Message><MessageBody>x</MessageBody><DelaySeconds>604801</DelaySeconds></Message>", "InvalidArgument"),
        ("<Message><MessageBody>x</MessageBody><DelaySeconds></DelaySeconds></Message>", "InvalidArgument"),
        (f"<Message><MessageBody>{'x' * 65_537}</MessageBody></Message>", "InvalidArgument"),
        ("<Messages/>", "InvalidArgument"),
    ],
)
def test_bad_sends_store_nothing(q, body, code):
    """Each has the service's code."""
    assert q.error("POST", "/queues/q/messages", body) == (400, code)
    assert q.counters() == (0, 0, 0)


def test_size_counts_bytes_against_the_queues_maximum(mns):
    """A character outside ASCII counts for what it takes in UTF-8."""
    mns.create(maximum_message_size=1_024)

    assert mns.call("POST", "/queues/q/messages", mns.message_xml("é" * 512)).status == 201
    answer = mns.call("POST", "/queues/q/messages", mns.message_xml("é" * 512 + "x"))

    assert mns.refusal(answer) == (400, "InvalidArgument")
    assert b"should between 1 and 1024 bytes" in answer.body


def test_priority_zero_is_what_the_go_client_sends_for_none(q, make_mns):
    """Eight then; refused in the strict profile."""
    q.send(Priority=0)
    assert q.receive().text_of("Priority") == "8"

    strict = make_mns(profile=STRICT)
    strict.create()
    assert strict.error("POST", "/queues/q/messages", strict.message_xml(Priority=0)) == (400, "InvalidArgument")


def test_sending_to_a_queue_that_is_not_there(mns):
    """Is told before the body is looked at."""
    assert mns.error("POST", "/queues/none/messages", "<broken") == (404, "QueueNotExist")


def test_a_delayed_message_appears_when_it_is_due(q):
    """Not a millisecond earlier; its answer carries a handle."""
    sent = q.send(DelaySeconds=5)

    assert sent.text_of("ReceiptHandle")
    assert q.counters() == (0, 0, 1)
    q.advance(4.999)
    assert q.receive() is None
    q.advance(0.001)
    assert q.counters() == (1, 0, 0)
    message = q.receive()
    assert message.text_of("EnqueueTime") == str(START)
    assert message.text_of("FirstDequeueTime") == str(START + 5_000)


def test_the_queues_delay_applies_unless_the_message_has_its_own(mns):
    """Also a delay of zero wins."""
    mns.create(delay_s=10)
    mns.send("late")
    mns.send("now", DelaySeconds=0)
    mns.send("soon", DelaySeconds=3)

    assert mns.drain() == ["now"]
    mns.advance(3)
    assert mns.drain() == ["soon"]
    mns.advance(7)
    assert mns.drain() == ["late"]


def test_the_handle_of_a_delayed_send_deletes_it(q):
    """While it is delayed; afterwards the handle is dead."""
    first = q.send(DelaySeconds=5).text_of("ReceiptHandle")
    second = q.send(DelaySeconds=5).text_of("ReceiptHandle")

    assert q.call("DELETE", f"/queues/q/messages?ReceiptHandle={first}").status == 204
    assert q.counters() == (0, 0, 1)
    q.advance(5)
    assert q.error("DELETE", f"/queues/q/messages?ReceiptHandle={second}") == (404, "MessageNotExist")
    assert q.counters() == (1, 0, 0)


def test_the_handle_of_a_delayed_send_changes_when_it_is_due(q):
    """It stays delayed, counts from now, and has a new handle."""
    handle = q.send(DelaySeconds=100).text_of("ReceiptHandle")
    q.advance(10)

    changed = q.element(q.call("PUT", f"/queues/q/messages?ReceiptHandle={handle}&VisibilityTimeout=5"), 200)

    assert changed.text_of("NextVisibleTime") == str(START + 15_000)
    assert q.counters() == (0, 0, 1)
    q.advance(5)
    assert q.receive().text_of("DequeueCount") == "1"


def test_a_received_message_is_written_as_the_live_service_does(q):
    """Elements, order and layout, byte for byte."""
    sent = q.send("aGVsbG8=")
    q.advance(3)

    answer = q.call("GET", "/queues/q/messages")

    handle = parse(answer.body).text_of("ReceiptHandle")
    assert answer.status == 200
    assert answer.body.decode() == (
        '<?xml version="1.0" ?>\n'
        '<Message xmlns="http://mns.aliyuncs.com/doc/v1">\n'
        f"  <MessageId>{sent.text_of('MessageId')}</MessageId>\n"
        "  <MessageBodyMD5>0733351879B2FA9BD05C7CA3061529C0</MessageBodyMD5>\n"
        "  <MessageBody>aGVsbG8=</MessageBody>\n"
        f"  <ReceiptHandle>{handle}</ReceiptHandle>\n"
        "  <EnqueueTime>1700000000000</EnqueueTime>\n"
        "  <FirstDequeueTime>1700000003000</FirstDequeueTime>\n"
        "  <NextVisibleTime>1700000033000</NextVisibleTime>\n"
        "  <DequeueCount>1</DequeueCount>\n"
        "  <Priority>8</Priority>\n"
        "</Message>"
    )
    assert handle.startswith(sent.text_of("MessageId") + "-")
    assert re.fullmatch("[A-Za-z0-9_.=-]+", handle)


def test_message_reappears_when_its_visibility_timeout_ends(q):
    """With the same id and first receive, one more on the count, and a new handle."""
    q.send()
    first = q.receive()
    assert q.counters() == (0, 1, 0)
    q.advance(29.999)
    assert q.receive() is None
    q.advance(0.001)
    assert q.counters() == (1, 0, 0)

    second = q.receive()

    for same in ("MessageId", "FirstDequeueTime", "EnqueueTime", "MessageBody"):
        assert second.text_of(same) == first.text_of(same)
    assert second.text_of("DequeueCount") == "2"
    assert second.text_of("ReceiptHandle") != first.text_of("ReceiptHandle")
    assert second.text_of("NextVisibleTime") == str(START + 60_000)


def test_an_empty_queue_is_an_error(q):
    """Never an empty list, for no form of the call."""
    for query in ("", "?waitseconds=0", "?numOfMessages=16", "?peekonly=true", "?peekonly=true&numOfMessages=2"):
        assert q.error("GET", f"/queues/q/messages{query}") == (404, "MessageNotExist")


def test_smaller_priorities_come_first(q):
    """Within one priority the order of sending."""
    for body, priority in (("c", 16), ("b1", 8), ("a", 1), ("b2", 8)):
        q.send(body, Priority=priority)

    assert q.drain() == ["a", "b1", "b2", "c"]


def test_what_became_visible_earlier_comes_first(q):
    """A delayed message takes its place by its due instant, a returned one by its return."""
    q.send("delayed", DelaySeconds=10)
    q.send("returned")
    q.receive()
    q.advance(20)
    q.send("later")
    q.advance(20)

    assert q.drain() == ["delayed", "later", "returned"]


def test_messages_of_one_instant_keep_the_order_of_sending(q):
    """Also those that come back at the same moment."""
    for body in "abcd":
        q.send(body)
    q.call("GET", "/queues/q/messages?numOfMessages=4")
    q.advance(30)

    assert q.drain() == list("abcd")


def test_a_batch_gets_what_is_there(q):
    """Up to the number, across priorities, in a list even of one."""
    for body, priority in (("b", 8), ("a", 3), ("c", 12)):
        q.send(body, Priority=priority)

    assert bodies(q.call("GET", "/queues/q/messages?numOfMessages=2")) == ["a", "b"]
    assert bodies(q.call("GET", "/queues/q/messages?numOfMessages=16")) == ["c"]
    assert q.counters() == (0, 3, 0)
    q.send("d")
    assert bodies(q.call("GET", "/queues/q/messages?numOfMessages=1")) == ["d"]


@pytest.mark.parametrize(
    "query",
    ["numOfMessages=0", "numOfMessages=17", "numOfMessages=x", "numOfMessages=", "waitseconds=31", "waitseconds=-1",
     "waitseconds=", "waitseconds=1.5", "peekonly=true&numOfMessages=17"],
)  # fmt: skip
def test_bad_receives_hand_out_nothing(q, query):
    """Refused before a message is touched."""
    q.send()

    assert q.error("GET", f"/queues/q/messages?{query}") == (400, "InvalidArgument")
    assert q.counters() == (1, 0, 0)


@pytest.mark.parametrize("query", ["?waitseconds=5", "?numOfMessages=3&waitseconds=5", "?peekonly=true", ""])
def test_receiving_from_a_queue_that_is_not_there(mns, query):
    """Told at once."""
    assert mns.error("GET", f"/queues/none/messages{query}") == (404, "QueueNotExist")


def test_a_peek_changes_nothing(q):
    """No handle, no next instant, zeros before the first receive."""
    sent = q.send("x")

    first = q.element(q.call("GET", "/queues/q/messages?peekonly=true"), 200)

    assert [child.name for child in first.children] == [
        "MessageId", "MessageBodyMD5", "MessageBody", "EnqueueTime", "FirstDequeueTime", "DequeueCount", "Priority",
    ]  # fmt: skip
    assert first.text_of("MessageId") == sent.text_of("MessageId")
    assert (first.text_of("FirstDequeueTime"), first.text_of("DequeueCount")) == ("0", "0")
    assert q.counters() == (1, 0, 0)


def test_a_peek_shows_active_messages_only(q):
    """Neither delayed nor received ones."""
    q.send("received")
    q.receive()
    q.send("delayed", DelaySeconds=3)
    q.send("low", Priority=9)
    q.send("high", Priority=2)

    assert bodies(q.call("GET", "/queues/q/messages?peekonly=true&numOfMessages=16")) == ["high", "low"]
    assert bodies(q.call("GET", "/queues/q/messages?peekOnly=True&numofmessages=1")) == ["high"]


@pytest.mark.parametrize("name", ["ReceiptHandle", "receiptHandle", "receipthandle"])
@pytest.mark.parametrize("escaped", [False, True])
def test_a_handle_works_escaped_and_not(q, name, escaped):
    """It holds ``=``, which some clients escape; the name comes in several spellings."""
    handles = []
    while not handles or "=" not in handles[-1]:
        q.send()
        handles.append(q.receive().text_of("ReceiptHandle"))
    handle = handles[-1].replace("=", "%3D") if escaped else handles[-1]

    assert q.call("DELETE", f"/queues/q/messages?{name}={handle}").status == 204


def test_a_handle_is_good_once(q):
    """Deleted is deleted."""
    q.send()
    handle = q.receive().text_of("ReceiptHandle")

    assert q.call("DELETE", f"/queues/q/messages?ReceiptHandle={handle}").status == 204
    assert q.error("DELETE", f"/queues/q/messages?ReceiptHandle={handle}") == (404, "MessageNotExist")
    assert q.counters() == (0, 0, 0)


def test_an_expired_handle_deletes_nothing(q):
    """The message is somebody else's by then."""
    q.send()
    handle = q.receive().text_of("ReceiptHandle")
    q.advance(30)

    assert q.error("DELETE", f"/queues/q/messages?ReceiptHandle={handle}") == (404, "MessageNotExist")
    assert q.counters() == (1, 0, 0)


def test_a_handle_of_an_earlier_receive_deletes_nothing(q):
    """The later receiver has the message."""
    q.send()
    first = q.receive().text_of("ReceiptHandle")
    q.advance(30)
    second = q.receive().text_of("ReceiptHandle")

    assert q.error("DELETE", f"/queues/q/messages?ReceiptHandle={first}") == (404, "MessageNotExist")
    assert q.call("DELETE", f"/queues/q/messages?ReceiptHandle={second}").status == 204


@pytest.mark.parametrize(
    "handle", ["x", "1-MSAx", "A" * 32 + "-", "A" * 32 + "-!!", "A" * 32 + "-MSAx", "0" * 32 + "-MSAxIDEgMQ=", "%FF"]
)
@pytest.mark.parametrize("method", ["DELETE", "PUT"])
def test_a_text_that_is_no_handle(q, method, handle):
    """Another code than a handle that was good once."""
    target = f"/queues/q/messages?ReceiptHandle={handle}&VisibilityTimeout=5"

    assert q.error(method, target) == (400, "ReceiptHandleError")


def test_another_queues_handle(q):
    """Is no handle here, and changes nothing there."""
    q.create("other")
    q.send()
    handle = q.receive().text_of("ReceiptHandle")

    assert q.error("DELETE", f"/queues/other/messages?ReceiptHandle={handle}") == (400, "ReceiptHandleError")
    assert q.counters() == (0, 1, 0)


@pytest.mark.parametrize("query", ["?ReceiptHandle=", "?ReceiptHandle", "", "?other=1"])
def test_a_delete_without_a_handle(q, query):
    """Neither in the query nor in a body."""
    assert q.error("DELETE", f"/queues/q/messages{query}") == (400, "MissingReceiptHandle")


def test_deleting_from_a_queue_that_is_not_there(mns):
    """Told whatever the handle is."""
    assert mns.error("DELETE", "/queues/none/messages?ReceiptHandle=x") == (404, "QueueNotExist")
    assert mns.error("DELETE", "/queues/none/messages", "<broken") == (404, "QueueNotExist")


def test_changing_visibility_counts_from_now_and_replaces_the_handle(q):
    """The old handle dies at once."""
    q.send()
    old = q.receive().text_of("ReceiptHandle")
    q.advance(10)

    changed = q.element(q.call("PUT", f"/queues/q/messages?receiptHandle={old}&visibilityTimeout=60"), 200)

    assert changed.name == "ChangeVisibility"
    assert [child.name for child in changed.children] == ["ReceiptHandle", "NextVisibleTime"]
    assert changed.text_of("NextVisibleTime") == str(START + 70_000)
    new = changed.text_of("ReceiptHandle")
    assert q.error("DELETE", f"/queues/q/messages?ReceiptHandle={old}") == (404, "MessageNotExist")
    q.advance(59.999)
    assert q.counters() == (0, 1, 0)
    assert q.call("DELETE", f"/queues/q/messages?ReceiptHandle={new}").status == 204
    assert q.counters() == (0, 0, 0)


def test_visibility_can_be_shortened(q):
    """The message is back after the new time."""
    q.send()
    handle = q.receive().text_of("ReceiptHandle")
    q.call("PUT", f"/queues/q/messages?ReceiptHandle={handle}&VisibilityTimeout=1")

    q.advance(1)

    assert q.counters() == (1, 0, 0)
    assert q.receive().text_of("DequeueCount") == "2"


@pytest.mark.parametrize("timeout", ["0", "43201", "-1", "x"])
def test_bad_timeouts_change_nothing(q, timeout):
    """Zero is refused too: a message cannot be released that way."""
    q.send()
    handle = q.receive().text_of("ReceiptHandle")

    assert q.error("PUT", f"/queues/q/messages?ReceiptHandle={handle}&VisibilityTimeout={timeout}") == (
        400,
        "InvalidArgument",
    )
    assert q.call("DELETE", f"/queues/q/messages?ReceiptHandle={handle}").status == 204


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("VisibilityTimeout=5", "MissingReceiptHandle"),
        ("ReceiptHandle=&VisibilityTimeout=5", "MissingReceiptHandle"),
        ("ReceiptHandle=x", "MissingVisibilityTimeout"),
        ("ReceiptHandle=x&VisibilityTimeout=", "MissingVisibilityTimeout"),
    ],
)
def test_a_change_that_lacks_something(q, query, code):
    """Each has its own code."""
    assert q.error("PUT", f"/queues/q/messages?{query}") == (400, code)


def test_an_expired_handle_changes_nothing(q):
    """The message is visible and stays it."""
    q.send()
    handle = q.receive().text_of("ReceiptHandle")
    q.advance(30)

    assert q.error("PUT", f"/queues/q/messages?ReceiptHandle={handle}&VisibilityTimeout=5") == (404, "MessageNotExist")
    assert q.counters() == (1, 0, 0)


def test_a_batch_of_sends_is_answered_in_its_order(q):
    """One entry for each message; the first of one instant is received first."""
    answer = q.call("POST", "/queues/q/messages", batch_xml(*(q.message_xml(body) for body in "abc")))

    entries = q.element(answer, 201).all("Message")
    assert [entry.text_of("MessageBodyMD5") for entry in entries] == [
        md5(body.encode()).hexdigest().upper() for body in "abc"
    ]
    assert all([child.name for child in entry.children] == ["MessageId", "MessageBodyMD5"] for entry in entries)
    assert q.drain() == ["a", "b", "c"]


def test_sixteen_messages_and_64_kib_are_the_most(q):
    """More of either refuses the whole batch."""
    quarter = q.message_xml("x" * 16_384)

    assert q.call("POST", "/queues/q/messages", batch_xml(*[q.message_xml()] * 16)).status == 201
    assert q.call("POST", "/queues/q/messages", batch_xml(*[quarter] * 4)).status == 201
    assert q.error("POST", "/queues/q/messages", batch_xml(*[q.message_xml()] * 17)) == (400, "InvalidArgument")
    assert q.error("POST", "/queues/q/messages", batch_xml(*[quarter] * 4, q.message_xml("x"))) == (
        400,
        "InvalidArgument",
    )
    assert q.counters() == (20, 0, 0)


@pytest.mark.parametrize(
    "bad", ["<Message/>", "<Message><MessageBody>x</MessageBody><Priority>17</Priority></Message>"]
)
def test_one_bad_message_refuses_the_batch(q, bad):
    """Before any is stored."""
    assert q.error("POST", "/queues/q/messages", batch_xml(q.message_xml(), bad)) == (400, "InvalidArgument")
    assert q.counters() == (0, 0, 0)


def test_a_batch_that_fails_in_part_is_500_with_exact_keys(q):
    """What was stored is told, what was not has a code; nothing else is in the entries."""
    q.database.write(
        "CREATE TRIGGER refuse BEFORE INSERT ON mns_messages WHEN new.body = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    batch = batch_xml(q.message_xml("a", DelaySeconds=5), q.message_xml("bad"), q.message_xml("b"))

    answer = q.call("POST", "/queues/q/messages", batch)

    entries = q.element(answer, 500).all("Message")
    assert [[child.name for child in entry.children] for entry in entries] == [
        ["MessageId", "MessageBodyMD5"],
        ["ErrorCode", "ErrorMessage"],
        ["MessageId", "MessageBodyMD5"],
    ]
    assert entries[1].text_of("ErrorCode") == "InternalError"
    assert q.counters() == (1, 0, 1)


def test_a_batch_of_deletes(q):
    """204 when all went well."""
    for body in "ab":
        q.send(body)
    received = parse(q.call("GET", "/queues/q/messages?numOfMessages=2").body).all("Message")
    handles = [message.text_of("ReceiptHandle") for message in received]

    assert q.call("DELETE", "/queues/q/messages", handles_xml(*handles)).status == 204
    assert q.counters() == (0, 0, 0)


def test_a_batch_of_deletes_that_fails_in_part(q):
    """404 with the failed ones only, exactly three keys each; the others are deleted."""
    for body in "ab":
        q.send(body)
    received = parse(q.call("GET", "/queues/q/messages?numOfMessages=2").body).all("Message")
    good, stale = (message.text_of("ReceiptHandle") for message in received)
    q.call("DELETE", f"/queues/q/messages?ReceiptHandle={stale}")

    answer = q.call("DELETE", "/queues/q/messages", handles_xml("no &lt; handle", good, stale, good))

    root = q.element(answer, 404)
    assert root.name == "Errors"
    assert [[child.name for child in entry.children] for entry in root.children] == [
        ["ErrorCode", "ErrorMessage", "ReceiptHandle"]
    ] * 3
    assert [entry.text_of("ReceiptHandle") for entry in root.children] == ["no < handle", stale, good]
    assert {entry.text_of("ErrorCode") for entry in root.children} == {"ReceiptHandleError"}
    assert q.counters() == (0, 0, 0)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (handles_xml(), "MissingReceiptHandle"),
        (handles_xml("x", ""), "MissingReceiptHandle"),
        (handles_xml(*["x"] * 17), "InvalidArgument"),
        ("<Handles/>", "InvalidArgument"),
        ("<ReceiptHandles>", "MalformedXML"),
    ],
)
def test_bad_batches_of_deletes(q, body, code):
    """Refused as a whole, with an ordinary error."""
    assert q.error("DELETE", "/queues/q/messages", body) == (400, code)


def test_properties_come_back_in_order_and_unchanged(q):
    """Every type, on receive and peek; a BINARY value stays the Base64 it was."""
    entries = [("z", "1", "STRING"), ("n", "-1.5e3", "NUMBER"), ("b", "true", "BOOLEAN"), ("d", "AAE=", "BINARY")]
    q.call("POST", "/queues/q/messages", properties_xml(*entries))

    for query in ("?peekonly=true", ""):
        root = q.element(q.call("GET", f"/queues/q/messages{query}"), 200)
        told = [tuple(part.text for part in item.children) for item in root.find("UserProperties").children]
        assert told == entries


def test_properties_are_laid_out_as_the_live_service_does(q):
    """Nested with two blanks per level."""
    q.call("POST", "/queues/q/messages", properties_xml(("case", "ack", "STRING")))

    assert (
        "\n  <UserProperties>"
        "\n    <PropertyValue>"
        "\n      <Name>case</Name>"
        "\n      <Value>ack</Value>"
        "\n      <Type>STRING</Type>"
        "\n    </PropertyValue>"
        "\n  </UserProperties>\n" in q.call("GET", "/queues/q/messages").body.decode()
    )


def test_system_properties_with_known_names_are_kept(q):
    """The Java client fails on a message with any other, so those are left out."""
    body = properties_xml(
        ("traceparent", "00-1-2-01", "STRING"), ("other", "x", "STRING"),
        root="SystemProperties", entry="SystemPropertyValue",
    )  # fmt: skip
    q.call("POST", "/queues/q/messages", body)

    root = q.receive()

    assert [item.text_of("Name") for item in root.find("SystemProperties").children] == ["traceparent"]


def test_properties_in_a_batch(q):
    """Each entry has its own."""
    q.call("POST", "/queues/q/messages", batch_xml(properties_xml(("a", "1", "NUMBER")), q.message_xml("plain")))

    first, second = q.receive(), q.receive()

    assert first.find("UserProperties").children[0].text_of("Value") == "1"
    assert second.find("UserProperties") is None


@pytest.mark.parametrize(
    "entries",
    [
        [(f"n{number}", "v", "STRING") for number in range(51)],
        [("", "v", "STRING")],
        [("n" * 257, "v", "STRING")],
        [("n", "v" * 4_097, "STRING")],
        [("n", "v", "TEXT")],
        [("n", "many", "NUMBER")],
        [("n", "yes", "BOOLEAN")],
    ],
    ids=["too-many", "no-name", "long-name", "long-value", "type", "number", "boolean"],
)
def test_bad_user_properties(q, entries):
    """Refused, nothing stored."""
    assert q.error("POST", "/queues/q/messages", properties_xml(*entries)) == (400, "InvalidArgument")
    assert q.counters() == (0, 0, 0)


@pytest.mark.parametrize("entry", [("baggage", "1", "NUMBER"), ("baggage", "v" * 4_097, "STRING")])
def test_bad_system_properties(q, entry):
    """They are text, and bounded."""
    body = properties_xml(entry, root="SystemProperties", entry="SystemPropertyValue")

    assert q.error("POST", "/queues/q/messages", body) == (400, "InvalidArgument")


def test_a_property_without_a_part(q):
    """Name, value and type are all needed."""
    lacking = "<UserProperties><PropertyValue><Name>n</Name></PropertyValue></UserProperties>"
    body = f"<Message><MessageBody>b</MessageBody>{lacking}</Message>"

    assert q.error("POST", "/queues/q/messages", body) == (400, "InvalidArgument")


def test_limits_of_properties_can_be_used_up(q):
    """Fifty, with the longest names and values."""
    entries = [(f"{number:0256d}", "v" * 4_096, "STRING") for number in range(50)]

    assert q.call("POST", "/queues/q/messages", properties_xml(*entries)).status == 201
    assert len(q.receive().find("UserProperties").children) == 50


def test_a_message_is_gone_when_its_retention_ends(mns):
    """To the millisecond, whatever state it is in, and the counters know."""
    mns.create(retention_s=60)
    mns.send("active")
    mns.send("delayed", DelaySeconds=100)
    mns.send("received", Priority=1)
    handle = mns.receive().text_of("ReceiptHandle")
    handle = mns.element(
        mns.call("PUT", f"/queues/q/messages?ReceiptHandle={handle}&VisibilityTimeout=200"), 200
    ).text_of("ReceiptHandle")
    mns.advance(59.999)
    assert mns.counters() == (1, 1, 1)

    mns.clock.move_to(mns.clock.now() + 1)  # no timer has run yet

    assert mns.receive() is None
    assert mns.error("GET", "/queues/q/messages?peekonly=true") == (404, "MessageNotExist")
    assert mns.error("DELETE", f"/queues/q/messages?ReceiptHandle={handle}") == (404, "MessageNotExist")
    assert mns.counters() == (0, 0, 0)


def test_a_new_retention_counts_for_old_messages(mns):
    """Shorter: they are gone; longer: they stay."""
    mns.create(retention_s=100)
    mns.send("old")
    mns.advance(90)
    mns.send("new")

    mns.call("PUT", "/queues/q?metaoverride=true", "<Queue><MessageRetentionPeriod>60</MessageRetentionPeriod></Queue>")
    assert mns.counters() == (1, 0, 0)
    mns.call("PUT", "/queues/q?metaoverride=true", "<Queue><MessageRetentionPeriod>80</MessageRetentionPeriod></Queue>")
    mns.advance(79)
    assert mns.drain() == ["new"]


def test_a_longer_retention_revives_nothing(mns):
    """What has expired is gone, also where it still lies in the file."""
    mns.create(retention_s=60)
    for _ in range(450):
        mns.service.send(mns.tenant, "q", "old")
    mns.clock.move_to(mns.clock.now() + 60_000)  # no timer has run yet
    mns.send("new")

    mns.call("PUT", "/queues/q?metaoverride=true", "<Queue><MessageRetentionPeriod>90</MessageRetentionPeriod></Queue>")

    assert mns.counters() == (1, 0, 0)
    assert mns.drain() == ["new"]


def test_expired_messages_leave_the_file_without_being_asked_for(mns):
    """Within a second or so, in portions, and then no timer is left."""
    mns.create(retention_s=60)
    for _ in range(450):
        mns.service.send(mns.tenant, "q", "x")
    mns.database.commit()

    mns.advance(62)

    assert mns.database.read("SELECT count(*) FROM mns_messages").fetchone()[0] == 0
    assert len(mns.timers) == 0


def test_counters_are_exact_while_a_large_backlog_is_being_swept(mns):
    """What has expired and still lies in the file is not counted in any state."""
    mns.create(retention_s=60)
    for number in range(500):
        mns.service.send(mns.tenant, "q", "x", delay_s=100 if number % 5 == 0 else 0)
    for _ in range(10):
        mns.receive()
    mns.clock.move_to(mns.clock.now() + 59_000)
    mns.send("young")
    mns.send("young", DelaySeconds=30)
    mns.clock.move_to(mns.clock.now() + 1_000)

    assert mns.counters() == (1, 0, 1)
    assert mns.receive().text_of("MessageBody") == "young"
    assert mns.counters() == (0, 1, 1)


def test_a_restart_counts_anew(tmp_path, make_mns):
    """Active, inactive and delayed messages of every priority."""
    mns = make_mns(tmp_path / "s.db")
    mns.create()
    for priority in (1, 8, 16):
        mns.send(Priority=priority)
        mns.send(Priority=priority, DelaySeconds=50)
    mns.receive()
    mns.send(Priority=1)

    again = make_mns(tmp_path / "s.db", clock=mns.clock)

    assert again.counters() == mns.counters() == (3, 1, 3)
    again.advance(30)
    assert again.counters() == (4, 0, 3)
    again.advance(20)
    assert again.counters() == (7, 0, 0)
    assert len(again.drain()) == 7


def test_a_handle_outlives_a_restart(tmp_path, make_mns):
    """It is about the message, not about the process."""
    mns = make_mns(tmp_path / "s.db")
    mns.create()
    mns.send()
    handle = mns.receive().text_of("ReceiptHandle")

    again = make_mns(tmp_path / "s.db", clock=mns.clock)

    assert again.call("DELETE", f"/queues/q/messages?ReceiptHandle={handle}").status == 204


def test_a_number_used_again_after_a_restart_does_not_revive_a_handle(tmp_path, make_mns):
    """The handle names the message's id too."""
    mns = make_mns(tmp_path / "s.db")
    mns.create()
    mns.send()
    handle = mns.receive().text_of("ReceiptHandle")
    mns.call("DELETE", f"/queues/q/messages?ReceiptHandle={handle}")
    again = make_mns(tmp_path / "s.db", clock=mns.clock)
    again.ids.hex(1)  # ids count on where the first process was
    for _ in range(10):
        again.ids.hex(1)
    again.send("other")
    again.receive()

    assert again.error("DELETE", f"/queues/q/messages?ReceiptHandle={handle}") == (404, "MessageNotExist")
    assert again.counters() == (0, 1, 0)


@pytest.mark.parametrize("target", ["/queues/q/", "/queues/q/messages/?peekonly=true"])
def test_one_slash_at_the_end_does_not_matter(q, target):
    """Clients with an endpoint that ends in one."""
    q.send()

    assert q.call("GET", target).status == 200


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/"), ("PUT", "/"), ("POST", "/?accountmeta=true"), ("PUT", "/?account"), ("POST", "/queues/q"),
        ("PATCH", "/queues/q/messages"), ("GET", "/queues//messages"), ("GET", "/queues/q/messages/x"),
        ("GET", "/commonbuy/openservice"), ("DELETE", "/queues"), ("HEAD", "/queues/q"), ("GET", "//"),
        ("POST", "/topics/t/subscriptions/s"), ("GET", "/topics/t/subscriptions/s/x"),
        ("GET", "/queues/%ff"), ("POST", "/queues/%ED%A0%80/messages"), ("PUT", "/topics/t/subscriptions/%ff"),
        ("GET", "/topics/\udcff"),
    ],
)  # fmt: skip
def test_urls_that_name_nothing(q, method, target):
    """Refused as an URL, whatever the method."""
    assert q.error(method, target) == (400, "InvalidRequestURL")


@pytest.mark.parametrize(
    "form",
    [
        lambda body: __import__("base64").b64encode(md5(body).hexdigest().encode()).decode(),
        lambda body: __import__("base64").b64encode(md5(body).digest()).decode(),
        lambda body: md5(body).hexdigest().upper(),
    ],
    ids=["base64-of-hex", "base64-of-raw", "hex"],
)
def test_a_digest_in_any_form_clients_send(q, form):
    """Right ones pass, wrong ones do not."""
    body = q.message_xml().encode()

    assert q.call("POST", "/queues/q/messages", body, content_md5=form(body)).status == 201
    assert q.error("POST", "/queues/q/messages", body, content_md5=form(b"other")) == (400, "InvalidDegist")
    assert q.counters() == (1, 0, 0)


def test_the_log_names_the_operation(q):
    """Batches have names of their own."""
    names = []
    for method, target, body in (
        ("POST", "/queues/q/messages", batch_xml(q.message_xml())),
        ("GET", "/queues/q/messages?peekonly=true", ""),
        ("GET", "/queues/q/messages?numOfMessages=1", ""),
        ("DELETE", "/queues/q/messages", handles_xml("x")),
    ):
        q.call(method, target, body)
        names.append(q.context.operation)

    assert names == ["BatchSendMessage", "PeekMessage", "BatchReceiveMessage", "BatchDeleteMessage"]


def test_system_properties_come_before_user_properties(q):
    """The PHP SDK reads user properties to the end of the document and loses what follows."""
    system = properties_xml(
        ("traceparent", "00-1-2-01", "STRING"), root="SystemProperties", entry="SystemPropertyValue"
    )
    user = properties_xml(("a", "b", "STRING")).removesuffix("</Message>")
    q.call("POST", "/queues/q/messages", user + system.partition("</MessageBody>")[2])

    text = q.call("GET", "/queues/q/messages").body.decode()

    assert 0 < text.index("<SystemProperties>") < text.index("<UserProperties>")
