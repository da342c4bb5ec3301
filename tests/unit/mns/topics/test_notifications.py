"""What subscribers get, byte for byte."""

import base64
import json
from hashlib import md5

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from emulator.auth.push import string_to_sign
from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.mns.queues.message import Property
from emulator.services.mns.topics.model import (
    ContentFormat,
    Publication,
    Subscription,
    SubscriptionId,
    SubscriptionSettings,
    TopicId,
)
from emulator.services.mns.topics.notification import function_event, notification, push_headers, pushed_message

NOW = Millis(1_449_556_920_975)


def a_subscription(content_format):
    return Subscription(
        subscription_id=SubscriptionId(1),
        topic_id=TopicId(1),
        tenant=Tenant(AccountId("1234567890123456"), Region("cn-hangzhou")),
        topic_name="t",
        name="s",
        settings=SubscriptionSettings(endpoint="http://127.0.0.1/", content_format=content_format),
        created_at=NOW,
        modified_at=NOW,
    )


def a_publication(body="hello", tag=None, attributes=None):
    return Publication(
        message_id="6CC4D900CA59A2CD",
        body=body,
        body_md5=md5(body.encode()).hexdigest().upper(),
        tag=tag,
        attributes=attributes or {},
        group_id=None,
        user_properties=(Property("case", "ack", "STRING"),),
        system_properties=(),
        published_at=NOW,
    )


def test_xml_is_laid_out_as_documented():
    """Elements in the documented order; the tag only when there is one; text escaped."""
    text = notification(a_subscription(ContentFormat.XML), a_publication("a<b & c", tag="important"))

    assert text == (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<Notification xmlns="http://mns.aliyuncs.com/doc/v1/">\n'
        "  <TopicOwner>1234567890123456</TopicOwner>\n"
        "  <TopicName>t</TopicName>\n"
        "  <Subscriber>1234567890123456</Subscriber>\n"
        "  <SubscriptionName>s</SubscriptionName>\n"
        "  <MessageId>6CC4D900CA59A2CD</MessageId>\n"
        "  <Message>a&lt;b &amp; c</Message>\n"
        "  <MessageMD5>3A4D7C0CBEF5E5B4C8A3B8D2B2C8D3F1</MessageMD5>\n"
        "  <MessageTag>important</MessageTag>\n"
        "  <PublishTime>1449556920975</PublishTime>\n"
        "</Notification>"
    ).replace("3A4D7C0CBEF5E5B4C8A3B8D2B2C8D3F1", md5(b"a<b & c").hexdigest().upper())


def test_json_is_compact_in_the_observed_order_and_all_strings():
    """As recorded from the live service."""
    text = notification(a_subscription(ContentFormat.JSON), a_publication())

    assert text == (
        '{"TopicOwner":"1234567890123456","Message":"hello","Subscriber":"1234567890123456",'
        '"PublishTime":"1449556920975","SubscriptionName":"s","MessageMD5":"5D41402ABC4B2A76B9719D911017C592",'
        '"TopicName":"t","MessageId":"6CC4D900CA59A2CD"}'
    )


@pytest.mark.parametrize("content_format", [ContentFormat.XML, ContentFormat.JSON])
def test_an_envelope_has_the_tag_when_there_is_one(content_format):
    """And no empty element otherwise."""
    subscription = a_subscription(content_format)

    assert "MessageTag" in notification(subscription, a_publication(tag="red"))
    assert "MessageTag" not in notification(subscription, a_publication())


@pytest.mark.parametrize("content_format", [ContentFormat.SIMPLIFIED, ContentFormat.STREAM])
def test_the_bare_body_is_the_body(content_format):
    """Nothing added, nothing decoded."""
    body = "aGVsbG8= \r\n 你好 <&>"

    assert notification(a_subscription(content_format), a_publication(body)) == body


@pytest.mark.parametrize(
    ("content_format", "content_type", "digest"),
    [
        (ContentFormat.XML, "text/xml;charset=utf-8", "base64"),
        (ContentFormat.JSON, "application/json;charset=utf-8", "base64"),
        (ContentFormat.SIMPLIFIED, "text/plain;charset=utf-8", "hex"),
    ],
)
def test_headers_of_a_push(content_format, content_type, digest):
    """The envelopes have few headers, the bare body names topic and subscription there."""
    subscription, publication = a_subscription(content_format), a_publication(tag="red")
    body = notification(subscription, publication).encode()
    headers = dict(
        push_headers(subscription, publication, body, now=NOW, request_id="56666A78", cert_url="http://h/cert.pem")
    )

    in_hex = md5(body).hexdigest()
    assert headers["Content-Type"] == content_type
    assert headers["Content-md5"] == (in_hex.upper() if digest == "hex" else base64.b64encode(in_hex.encode()).decode())
    assert headers["Date"] == "Tue, 08 Dec 2015 06:42:00 GMT"
    assert headers["User-Agent"] == "Aliyun Notification Service Agent"
    assert base64.b64decode(headers["x-mns-signing-cert-url"]) == b"http://h/cert.pem"
    service = {name for name in headers if name.startswith("x-mns-")}
    envelope = {"x-mns-request-id", "x-mns-version", "x-mns-signing-cert-url"}
    more = {
        "x-mns-message-id", "x-mns-message-tag", "x-mns-topic-owner", "x-mns-topic-name", "x-mns-subscriber",
        "x-mns-subscription-name", "x-mns-publish-time",
    }  # fmt: skip
    assert service == (envelope | more if digest == "hex" else envelope)


def test_the_string_to_sign_has_every_service_header_in_order():
    """Method, digest, type, date, sorted headers, path and query."""
    headers = [
        ("x-mns-version", "2015-06-06"),
        ("Content-md5", "digest"),
        ("Date", "today"),
        ("x-mns-message-id", "id"),
        ("Content-Type", "text/plain"),
        ("User-Agent", "no part of it"),
    ]

    assert string_to_sign(headers, "/n?a=b") == (
        "POST\ndigest\ntext/plain\ntoday\nx-mns-message-id:id\nx-mns-version:2015-06-06\n/n?a=b"
    )


def test_a_function_gets_the_bare_body():
    """The default of a trigger."""
    assert function_event(a_subscription(ContentFormat.STREAM), a_publication("你好")) == "你好".encode()


def test_a_function_gets_body_and_attributes_together():
    """When the message has attributes."""
    event = function_event(
        a_subscription(ContentFormat.STREAM), a_publication(attributes={"Extend": '{"key":"value"}'})
    )

    assert event == rb'{"body":"hello","attrs":{"Extend":"{\"key\":\"value\"}"}}'


def test_a_function_s_json_has_a_number_and_the_attributes():
    """Unlike the JSON of a push."""
    event = function_event(a_subscription(ContentFormat.JSON), a_publication(tag="red", attributes={"Extend": "x"}))

    assert json.loads(event) == {
        "TopicOwner": "1234567890123456", "TopicName": "t", "Subscriber": "1234567890123456", "SubscriptionName": "s",
        "MessageId": "6CC4D900CA59A2CD", "MessageMD5": "5D41402ABC4B2A76B9719D911017C592", "Message": "hello",
        "PublishTime": 1449556920975, "MessageTag": "red", "Extend": "x",
    }  # fmt: skip


def test_an_attribute_never_replaces_a_member_of_the_event():
    """The envelope wins."""
    event = function_event(a_subscription(ContentFormat.JSON), a_publication(attributes={"Message": "forged"}))

    assert json.loads(event)["Message"] == "hello"


@pytest.mark.parametrize("content_format", list(ContentFormat))
@given(body=st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff")))
@example(body=" <Message>a</Message> & so on ")
@example(body='{"Message": "no"}')
def test_the_message_is_found_in_every_push(content_format, body):
    """What was published is what comes out of the envelope, and of no envelope."""
    subscription, publication = a_subscription(content_format), a_publication(body)
    pushed = notification(subscription, publication)
    headers = push_headers(
        subscription, publication, pushed.encode(), now=NOW, request_id="R", cert_url="http://127.0.0.1/"
    )

    assert pushed_message({name.lower(): value for name, value in headers}, pushed) == body


@pytest.mark.parametrize("body", ["", "plain", "<a>", '{"Message": 1}', "{", "[1]", "<Notification/>"])
def test_a_body_that_is_no_envelope_is_the_message(body):
    """Whatever it looks like; so is that of a request that is no push."""
    assert pushed_message({"x-mns-version": "2015-06-06"}, body) == body
    assert pushed_message({}, '{"Message": "inside"}') == '{"Message": "inside"}'
