"""Queries, numbers and routes as clients spell them."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.services.mns.codec import (
    base_url,
    document,
    leaf,
    read_bool,
    read_change,
    read_int,
    read_marker,
    read_query,
    read_query_int,
    write_marker,
)
from emulator.services.mns.errors import MnsError, SchemaViolation
from emulator.services.mns.front import ROUTES, find_operation
from emulator.services.mns.queues.codec import (
    read_account,
    read_drafts,
    read_handles,
    render_properties,
)
from emulator.services.mns.queues.message import Property, appended, restored, stored
from emulator.services.mns.queues.model import QUEUE
from emulator.wire.request import OperationRequest
from emulator.wire.xml import parse


class Route(NamedTuple):
    operation: str
    name: str = ""
    subscription: str = ""


def routed(method, target):
    call = OperationRequest(Request(method, target, Headers([])), Millis(0))
    operation = find_operation(call).name
    path = call.path
    return Route(operation, path.get("queue") or path.get("topic", ""), path.get("subscription", ""))


@pytest.mark.parametrize(
    ("query", "items"),
    [
        (None, {}),
        ("", {}),
        ("account", {"account": ""}),
        ("ReceiptHandle=a+b/c==&VisibilityTimeout=3", {"receipthandle": "a+b/c==", "visibilitytimeout": "3"}),
        ("receiptHandle=a%2Bb%3D", {"receipthandle": "a+b="}),
        ("a=1&A=2&&b=", {"a": "1", "b": ""}),
        ("x=%25%33", {"x": "%3"}),
        ("x=%ff", {"x": "\udcff"}),
    ],
)
def test_queries_are_split_at_the_first_sign_and_decoded_once(query, items):
    """A plus stays a plus; the first of a name counts, in any case."""
    assert read_query(query) == items


@pytest.mark.parametrize(("text", "number"), [("0", 0), (" 12 ", 12), ("-3", -3), ("007", 7)])
def test_numbers(text, number):
    """Plain decimal."""
    assert read_int(text, "X") == number


@pytest.mark.parametrize("text", ["", "-", "+1", "1e3", "0x1", "1 2", "\u0661", "\u00b2", "9" * 19, "--1"])
def test_texts_that_are_no_numbers(text):
    """Named in the error."""
    with pytest.raises(SchemaViolation, match="cause by X"):
        read_int(text, "X")
    with pytest.raises(MnsError, match="value of X"):
        read_query_int(text, "X")


@pytest.mark.parametrize(("text", "value"), [("True", True), ("true", True), (" FALSE ", False), ("false", False)])
def test_booleans(text, value):
    """Clients differ in the letters."""
    assert read_bool(text, "X") is value


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/?accountmeta=true", Route("GetAccountAttributes")),
        ("PUT", "/?accountmeta=true", Route("SetAccountAttributes")),
        ("GET", "/?account", Route("GetAccount")),
        ("POST", "/commonbuy/openservice", Route("OpenService")),
        ("GET", "/queues", Route("ListQueue")),
        ("PUT", "/queues/q", Route("CreateQueue", "q")),
        ("PUT", "/queues/q?metaoverride=false", Route("CreateQueue", "q")),
        ("PUT", "/queues/q?metaoverride=true", Route("SetQueueAttributes", "q")),
        ("GET", "/queues/q", Route("GetQueueAttributes", "q")),
        ("DELETE", "/queues/q", Route("DeleteQueue", "q")),
        ("POST", "/queues/q/messages", Route("SendMessage", "q")),
        ("GET", "/queues/q/messages?waitseconds=3", Route("ReceiveMessage", "q")),
        ("DELETE", "/queues/q/messages", Route("DeleteMessage", "q")),
        ("PUT", "/queues/q/messages", Route("ChangeMessageVisibility", "q")),
        ("GET", "/topics", Route("ListTopic")),
        ("PUT", "/topics/t", Route("CreateTopic", "t")),
        ("PUT", "/topics/t?metaoverride=true", Route("SetTopicAttributes", "t")),
        ("GET", "/topics/t", Route("GetTopicAttributes", "t")),
        ("DELETE", "/topics/t", Route("DeleteTopic", "t")),
        ("POST", "/topics/t/messages", Route("PublishMessage", "t")),
        ("GET", "/topics/t/subscriptions", Route("ListSubscriptionByTopic", "t")),
        ("PUT", "/topics/t/subscriptions/s", Route("Subscribe", "t", "s")),
        ("PUT", "/topics/t/subscriptions/s?metaoverride=true", Route("SetSubscriptionAttributes", "t", "s")),
        ("GET", "/topics/t/subscriptions/s", Route("GetSubscriptionAttributes", "t", "s")),
        ("DELETE", "/topics/t/subscriptions/s", Route("Unsubscribe", "t", "s")),
        ("GET", "/queues/%71/", Route("GetQueueAttributes", "q")),
    ],
)
def test_every_operation_has_its_route(method, target, expected):
    """Method, path and query name it."""
    path, _, query = target.partition("?")

    assert routed(method, path + (f"?{query}" if query else "")) == expected


@given(st.sampled_from(["GET", "PUT", "POST", "DELETE", "TRACE"]), st.text("/aq%7?-.é", max_size=20))
def test_any_path_is_routed_or_refused(method, path):
    """With the service's own code."""
    try:
        outcome = routed(method, "/" + path).operation
    except MnsError as error:
        outcome = error.code
    assert outcome == "InvalidRequestURL" or outcome in {each.name for each in ROUTES}


def test_the_address_names_the_host_the_client_used():
    """Some clients put the scheme into the header; a client of HTTP/1.0 sends none."""
    for sent, told in (("h:1", "http://h:1"), ("http://h", "http://h"), (None, "http://localhost")):
        request = Request("GET", "/", Headers([] if sent is None else [("Host", sent)]))
        assert base_url(request) == told


@given(st.text())
def test_markers_lead_back_to_their_names(name):
    """Whatever the name is."""
    if not any("\ud800" <= character <= "\udfff" for character in name):
        assert read_marker(write_marker(name)) == name


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=20)
properties = st.lists(st.builds(Property, texts, texts, texts), max_size=5).map(tuple)


@given(properties)
def test_properties_survive_tables_and_wire(entries):
    """Order and content."""
    assert restored(stored(entries)) == entries
    written = parse(document("Message", render_properties("UserProperties", "PropertyValue", entries, "  ")))
    told = [tuple(part.text for part in item.children) for item in written.children[0].children]
    assert told == [tuple(entry) for entry in entries]


def test_added_properties_replace_those_of_their_name():
    """A message that dies twice names its latest source."""
    first = stored((Property("a", "1", "STRING"), Property("b", "1", "STRING")))

    assert restored(appended(first, (Property("a", "2", "STRING"),))) == (
        Property("b", "1", "STRING"),
        Property("a", "2", "STRING"),
    )
    assert restored(appended(None, ())) == ()


@given(texts)
def test_leaves_are_escaped(text):
    """Reading a document gives what was written into it."""
    assert parse(document("R", leaf("L", text))).text_of("L") == text


@given(st.binary(max_size=200))
def test_any_body_is_read_or_refused(body):
    """With the service's own errors, by every reader."""
    from emulator.services.mns.queues.model import AccountAttributes

    outcomes = []
    for read in (
        read_drafts,
        read_handles,
        lambda content: read_change(QUEUE, content),
        lambda content: read_account(content, AccountAttributes()),
    ):
        try:
            read(body)
            outcomes.append("read")
        except MnsError as error:
            outcomes.append(error.http_status)

    assert set(outcomes) <= {"read", 400}
