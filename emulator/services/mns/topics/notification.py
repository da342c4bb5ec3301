"""Renders notifications for subscribers (bodies, headers of a push, function events), and parses pushes.

Source: HttpEndpoint page; JSON bodies and SIMPLIFIED headers as observed; function events from the Function Compute
page on event formats, unless marked as assumed.
"""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import md5
from typing import Any, assert_never

from emulator.kernel.clock import Millis
from emulator.services.mns.codec import VERSION
from emulator.services.mns.topics.model import ContentFormat, Publication, Subscription
from emulator.wire.dates import http_date
from emulator.wire.xml import Element, parse, render

PUSH_NAMESPACE = "http://mns.aliyuncs.com/doc/v1/"
USER_AGENT = "Aliyun Notification Service Agent"

_CONTENT_TYPES = {
    ContentFormat.XML: "text/xml;charset=utf-8",
    ContentFormat.JSON: "application/json;charset=utf-8",  # assumed
    ContentFormat.SIMPLIFIED: "text/plain;charset=utf-8",
    ContentFormat.STREAM: "text/plain;charset=utf-8",  # assumed: only functions use it
}

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

Pairs = list[tuple[str, str]]


def notification(subscription: Subscription, publication: Publication) -> str:
    """Return the text that is sent to a queue or web address.

    The tag is left out when there is none. Everything in the JSON form is a string, the time too.
    """
    match subscription.settings.content_format:
        case ContentFormat.XML:
            return _xml(subscription, publication)
        case ContentFormat.JSON:
            return _encode(_members(subscription, publication, _IN_JSON))
        case ContentFormat.SIMPLIFIED | ContentFormat.STREAM:
            return publication.body
        case never:
            assert_never(never)


def function_event(subscription: Subscription, publication: Publication) -> bytes:
    """Return the event a function gets.

    STREAM is the bare body, or body and attributes together when there are any; in JSON the attributes are further
    keys and the time is a number. The other two forms are those of a push.
    """
    attributes = publication.attributes
    if subscription.settings.content_format is ContentFormat.JSON:
        members = _members(subscription, publication, _IN_EVENT) | {"PublishTime": publication.published_at}
        return _encode(members | {name: text for name, text in attributes.items() if name not in members}).encode()
    if subscription.settings.content_format is ContentFormat.STREAM and attributes:
        return _encode({"body": publication.body, "attrs": attributes}).encode()
    return notification(subscription, publication).encode()


_IN_XML = (
    "TopicOwner", "TopicName", "Subscriber", "SubscriptionName", "MessageId", "Message", "MessageMD5", "MessageTag",
    "PublishTime",
)  # fmt: skip
_IN_JSON = (
    "TopicOwner", "Message", "Subscriber", "PublishTime", "SubscriptionName", "MessageMD5", "TopicName", "MessageId",
    "MessageTag",
)  # fmt: skip
_IN_EVENT = (
    "TopicOwner", "TopicName", "Subscriber", "SubscriptionName", "MessageId", "MessageMD5", "Message", "PublishTime",
    "MessageTag",
)  # fmt: skip


def _members(subscription: Subscription, publication: Publication, order: Iterable[str]) -> dict[str, Any]:
    """Return the members of an envelope in *order*; a message without a tag has no tag member."""
    members = {
        "TopicOwner": subscription.tenant.account,
        "TopicName": subscription.topic_name,
        "Subscriber": subscription.tenant.account,
        "SubscriptionName": subscription.name,
        "MessageId": publication.message_id,
        "Message": publication.body,
        "MessageMD5": publication.body_md5,
        "PublishTime": str(publication.published_at),
    }
    if publication.tag:
        members["MessageTag"] = publication.tag
    return {name: members[name] for name in order if name in members}


def _xml(subscription: Subscription, publication: Publication) -> str:
    members = _members(subscription, publication, _IN_XML)
    root = Element("Notification", children=[Element(name, text) for name, text in members.items()])
    return render(root, PUSH_NAMESPACE, declaration='<?xml version="1.0" encoding="utf-8"?>').decode()


def push_headers(
    subscription: Subscription, publication: Publication, body: bytes, *, now: Millis, request_id: str, cert_url: str
) -> Pairs:
    """Return the headers of a push without ``Authorization``; receivers depend on the case of their names.

    The envelopes name topic and subscription themselves; the bare body has them in its headers.
    """
    content_format = subscription.settings.content_format
    bare = content_format in {ContentFormat.SIMPLIFIED, ContentFormat.STREAM}
    of_bare, of_envelope = digests(body)
    headers = [
        ("Date", http_date(now)),
        ("Content-Type", _CONTENT_TYPES[content_format]),
        ("Content-md5", of_bare if bare else of_envelope),
        ("User-Agent", USER_AGENT),
        ("Accept", "*/*"),
        ("Connection", "keep-alive"),
        ("x-mns-request-id", request_id),
        ("x-mns-version", VERSION),
        ("x-mns-signing-cert-url", b64encode(cert_url.encode()).decode()),
    ]
    if bare:
        headers += [
            ("x-mns-message-id", publication.message_id),
            ("x-mns-topic-owner", subscription.tenant.account),
            ("x-mns-topic-name", subscription.topic_name),
            ("x-mns-subscriber", subscription.tenant.account),
            ("x-mns-subscription-name", subscription.name),
            ("x-mns-publish-time", str(publication.published_at)),
        ]
        if publication.tag:
            headers.append(("x-mns-message-tag", publication.tag))
    return headers


def digests(body: bytes) -> tuple[str, str]:
    """Return the ``Content-md5`` of a bare body, and that of an envelope.

    The former is the hexadecimal digest in upper case, the latter the Base64 of the digest in lower case.
    """
    digest = md5(body, usedforsecurity=False).hexdigest()
    return digest.upper(), b64encode(digest.encode()).decode()


def pushed_message(headers: Mapping[str, str], body: str) -> str:
    """Return the message in a push of any format; *body* itself when it is no envelope.

    The names of *headers* are in lower case. A bare body is recognized by headers that name its topic.
    """
    if "x-mns-topic-name" in headers or "x-mns-version" not in headers:
        return body
    try:
        members = json.loads(body) if body.startswith("{") else _children(parse(body.encode()))
    except (ValueError, RecursionError):
        return body
    message = members.get("Message")
    return message if isinstance(message, str) else body


def _children(root: Element) -> dict[str, str]:
    return {child.name: child.text for child in root.children}
