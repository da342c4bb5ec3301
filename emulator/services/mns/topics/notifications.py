"""What a subscriber gets: bodies byte for byte, and the headers of a push.

Source: HttpEndpoint page; JSON bodies and SIMPLIFIED headers as observed; function events from the Function Compute
page on event formats. What is marked "assumed" is not documented.
"""

import json
from base64 import b64encode
from hashlib import md5
from typing import Any, assert_never

from emulator.kernel.clock import Millis
from emulator.services.mns.codec import VERSION
from emulator.services.mns.topics.model import ContentFormat, Publication, Subscription
from emulator.wire.dates import http_date
from emulator.wire.xml import Element, render

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


# --- bodies ------------------------------------------------------------------------------------------------------


def notification(subscription: Subscription, publication: Publication) -> str:
    """Return the text a queue or web address gets.

    The tag is left out when there is none. Everything in the JSON form is a string, the time too.
    """
    match subscription.settings.content_format:
        case ContentFormat.XML:
            return _xml(subscription, publication)
        case ContentFormat.JSON:
            return _json(subscription, publication)
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
        members: dict[str, Any] = {
            "TopicOwner": subscription.tenant.account,
            "TopicName": subscription.topic_name,
            "Subscriber": subscription.tenant.account,
            "SubscriptionName": subscription.name,
            "MessageId": publication.message_id,
            "MessageMD5": publication.body_md5,
            "Message": publication.body,
            "PublishTime": publication.published_at,
        }
        if publication.tag:
            members["MessageTag"] = publication.tag
        return _encode(members | {name: text for name, text in attributes.items() if name not in members}).encode()
    if subscription.settings.content_format is ContentFormat.STREAM and attributes:
        return _encode({"body": publication.body, "attrs": attributes}).encode()
    return notification(subscription, publication).encode()


def _xml(subscription: Subscription, publication: Publication) -> str:
    values = [
        ("TopicOwner", subscription.tenant.account),
        ("TopicName", subscription.topic_name),
        ("Subscriber", subscription.tenant.account),
        ("SubscriptionName", subscription.name),
        ("MessageId", publication.message_id),
        ("Message", publication.body),
        ("MessageMD5", publication.body_md5),
        *([("MessageTag", publication.tag)] if publication.tag else []),
        ("PublishTime", str(publication.published_at)),
    ]
    root = Element("Notification", children=[Element(name, text) for name, text in values])
    return render(root, PUSH_NAMESPACE, declaration='<?xml version="1.0" encoding="utf-8"?>').decode()


def _json(subscription: Subscription, publication: Publication) -> str:
    members = {
        "TopicOwner": subscription.tenant.account,
        "Message": publication.body,
        "Subscriber": subscription.tenant.account,
        "PublishTime": str(publication.published_at),
        "SubscriptionName": subscription.name,
        "MessageMD5": publication.body_md5,
        "TopicName": subscription.topic_name,
        "MessageId": publication.message_id,
    }
    if publication.tag:
        members["MessageTag"] = publication.tag
    return _encode(members)


# --- headers -----------------------------------------------------------------------------------------------------


def push_headers(
    subscription: Subscription, publication: Publication, body: bytes, *, now: Millis, request_id: str, cert_url: str
) -> Pairs:
    """Return the headers of a push but ``Authorization``; receivers look them up in exactly these letters.

    The envelopes name topic and subscription themselves; the bare body has them in its headers. Their digests differ:
    Base64 of the hexadecimal digest, and its upper-case letters as they are.
    """
    content_format = subscription.settings.content_format
    bare = content_format in {ContentFormat.SIMPLIFIED, ContentFormat.STREAM}
    digest = md5(body, usedforsecurity=False).hexdigest()
    headers = [
        ("Date", http_date(now)),
        ("Content-Type", _CONTENT_TYPES[content_format]),
        ("Content-md5", digest.upper() if bare else b64encode(digest.encode()).decode()),
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
