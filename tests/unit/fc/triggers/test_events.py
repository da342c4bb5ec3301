"""The events of timers, topics and objects."""

import json

import pytest

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.services.fc.ports import QueuedMessage
from emulator.services.fc.triggers.cloud_events import event_matches, message_event, message_events
from emulator.services.fc.triggers.events import (
    ObjectChange,
    TopicMessage,
    fires,
    object_event,
    timer_event,
    topic_event,
)
from emulator.services.fc.triggers.model import config_of

WORLD = Tenant("123456789012", "cn-hangzhou")


def message(**changes):
    parts = {
        "topic": "t",
        "subscription": "s",
        "message_id": "2F5B",
        "body": "hello topic",
        "published_at": 1550216480040,
        "attributes": {},
    }
    return TopicMessage(**(parts | changes))


def change(**changes):
    parts = {
        "event": "ObjectCreated:PutObject",
        "bucket": "b",
        "key": "images/a.png",
        "size": 123,
        "etag": "E",
        "at": 1714550400007,
        "request_id": "R",
        "metadata": {},
    }
    return ObjectChange(**(parts | changes))


def test_timer_event_has_three_members():
    """Time, name and payload, in the reference's order."""
    assert timer_event("my_trigger", "awesome-fc", 1704067200000) == (
        b'{"triggerTime":"2024-01-01T00:00:00Z","triggerName":"my_trigger","payload":"awesome-fc"}'
    )


def test_stream_event_is_the_bare_body_unless_there_are_attributes():
    """With attributes both go in together."""
    assert topic_event("STREAM", WORLD, message(body="héllo")) == "héllo".encode()
    assert json.loads(topic_event("STREAM", WORLD, message(attributes={"Extend": '{"key":"value"}'}))) == {
        "body": "hello topic",
        "attrs": {"Extend": '{"key":"value"}'},
    }


def test_json_event_has_a_numeric_instant_and_attributes_as_members():
    """Attributes never hide the message's own members."""
    event = json.loads(topic_event("JSON", WORLD, message(tag="hot", attributes={"Extend": "x", "Message": "forged"})))

    assert event == {
        "TopicOwner": "123456789012",
        "TopicName": "t",
        "Subscriber": "123456789012",
        "SubscriptionName": "s",
        "MessageId": "2F5B",
        "MessageMD5": "D6206122A430035E4EC1463CDD704B59",
        "Message": "hello topic",
        "PublishTime": 1550216480040,
        "MessageTag": "hot",
        "Extend": "x",
    }


def test_object_event_is_the_one_of_the_reference():
    """Names without the prefix of the configuration, the instant with milliseconds, keys in alphabetic order."""
    (event,) = json.loads(object_event(WORLD, "rule", change()))["events"]

    assert event["eventName"] == "ObjectCreated:PutObject"
    assert event["eventTime"] == "2024-05-01T08:00:00.007Z"
    assert event["oss"]["bucket"]["arn"] == "acs:oss:cn-hangzhou:123456789012:b"
    assert event["oss"]["object"]["key"] == "images/a.png"
    assert (event["oss"]["object"]["size"], event["oss"]["object"]["deltaSize"]) == (123, 123)
    assert event["oss"]["ruleId"] == "rule"
    assert list(event) == sorted(event)
    assert list(event["oss"]) == sorted(event["oss"])


@pytest.mark.parametrize(
    ("events", "key", "fired"),
    [
        (["oss:ObjectCreated:*"], {}, True),
        (["oss:ObjectCreated:PutObject"], {}, True),
        (["oss:ObjectCreated:PostObject"], {}, False),
        (["oss:ObjectRemoved:*"], {}, False),
        (["oss:ObjectRemoved:*", "oss:ObjectCreated:PutObject"], {}, True),
        (["oss:ObjectCreated:*"], {"prefix": "images/"}, True),
        (["oss:ObjectCreated:*"], {"prefix": "docs/"}, False),
        (["oss:ObjectCreated:*"], {"prefix": "images/", "suffix": ".png"}, True),
        (["oss:ObjectCreated:*"], {"suffix": ".jpg"}, False),
        ([], {}, False),
    ],
)
def test_event_name_prefix_and_suffix_decide(events, key, fired):
    """All three have to match; of several events one is enough."""
    assert fires({"events": events, "filter": {"key": key}}, change()) is fired


@pytest.mark.parametrize("name", ["oss:ObjectModified:UpdateObjectMeta", "oss:ObjectReplication:ObjectModified"])
def test_a_trigger_may_name_events_that_never_happen_here(name):
    """A configuration of the cloud is kept as it is."""
    assert config_of("oss", {"events": [name]}) == {"events": [name]}


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("{}", True),
        ('{"type": ["mns:Queue:SendMessage"]}', True),
        ('{"type": ["other"]}', False),
        ('{"data": {"messageBody": [{"prefix": "bo"}]}}', True),
        ('{"data": {"messageBody": [{"suffix": "xx"}, "body"]}}', True),
        ('{"data": {"messageBody": [{"numeric": [">", 1]}]}}', False),
        ('{"absent": ["x"]}', False),
        ("no json", False),
    ],
)
def test_event_patterns_choose_by_values_beginnings_and_ends(pattern, fits):
    """All members have to fit, each by one of its choices."""
    event = {"type": "mns:Queue:SendMessage", "data": {"messageBody": "body"}}

    assert event_matches(pattern, event) is fits


def test_streamed_events_are_texts_in_a_list():
    """As event streaming hands them over; otherwise the function gets the event itself."""
    sent = QueuedMessage(message_id="ID", body="body", sent_at=Millis(1704067200123), token=None)
    event = message_event(WORLD, "MNS-function-trigger", "orders", sent)

    assert json.loads(message_events([event], streaming=False)) == event
    assert [json.loads(text) for text in json.loads(message_events([event, event], streaming=True))] == [event, event]
    assert (event["time"], event["source"]) == ("2024-01-01T00:00:00.123Z", "MNS-function-trigger")
