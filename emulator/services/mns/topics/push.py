"""What a subscriber gets: bodies byte for byte and the headers of a push; the push itself and what its answer means.

Source: HttpEndpoint page; JSON bodies and SIMPLIFIED headers as observed; function events from the Function Compute
page on event formats; FAQ on push time-outs for which answers count. That redirects are not followed is assumed, and
what else is marked so.
"""

import asyncio
import ipaddress
import json
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterable
from hashlib import md5
from pathlib import Path
from typing import Any, assert_never

from emulator.auth.push import PushSigner, SigningFailed, string_to_sign
from emulator.http.client import HttpClient
from emulator.http.client_connection import ClientError
from emulator.http.message import Origin, Unsendable, split_url
from emulator.kernel.clock import Clock, Millis
from emulator.kernel.ids import Ids
from emulator.services.mns.codec import VERSION
from emulator.services.mns.limits import BODY_SHOWN, PUSH_TIMEOUT_S
from emulator.services.mns.topics.model import ContentFormat, Outcome, Publication, Push, Subscription
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


def notification(subscription: Subscription, publication: Publication) -> str:
    """Return the text a queue or web address gets.

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
    """Return what an envelope has, in its *order*; a message without a tag has no such member."""
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


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA = frozenset({ipaddress.ip_address("100.100.100.200"), ipaddress.ip_address("169.254.169.254")})


class PushPolicy:
    """The rule. *allowed* has addresses, networks (``10.0.0.0/8``), host names (``*.test`` with all below) or ``*``."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        self._names: set[str] = set()
        self._suffixes: list[str] = []
        self._everywhere = False
        for entry in allowed:
            self._add(entry.strip().lower())

    def names(self, host: str) -> bool:
        """Whether *host* was allowed by its name, so that its addresses need not be."""
        return host in self._names or any(host.endswith(suffix) for suffix in self._suffixes)

    def permits(self, address: str) -> bool:
        """Whether a push may go to *address*."""
        parsed = ipaddress.ip_address(address)
        if parsed.is_loopback:
            return True
        if _is_forbidden(parsed):
            return False
        return self._everywhere or any(parsed in network for network in self._networks)

    def permits_named(self, address: str) -> bool:
        """Whether a push may go to *address*, which belongs to a host that was allowed by its name."""
        return not _is_forbidden(ipaddress.ip_address(address))

    def _add(self, entry: str) -> None:
        if entry == "*":
            self._everywhere = True
        elif entry.startswith("*."):
            self._suffixes.append(entry[1:])
        else:
            try:
                self._networks.append(ipaddress.ip_network(entry, strict=False))
            except ValueError:
                self._names.add(entry)


def _is_forbidden(address: _Address) -> bool:
    return (
        address.is_link_local or address.is_multicast or address.is_unspecified or address in _METADATA
    ) and not address.is_loopback


_KEPT_S = 1.0
"""How long a connection is kept for the next push: shorter than any server keeps one, for a push that meets a closing
connection has failed and is tried again seconds later only."""

_ANSWER_BYTES = 1024 * 1024


class GuardedClients:
    """Clients that call only where *policy* allows; *trusted* is a file with further authorities for https."""

    def __init__(self, policy: PushPolicy, trusted: Path | None) -> None:
        self._policy = policy
        self._trusted = trusted
        self._clients: dict[tuple[bool, bool], HttpClient] = {}
        self._context: ssl.SSLContext | None = None

    async def client(self, origin: Origin, *, plain: bool) -> HttpClient:
        """Return the client for calls to *origin*; *plain*: without https even if the address says so."""
        secure = origin.scheme == "https" and not plain
        named = self._policy.names(origin.host)
        if secure and self._context is None:
            # reading the system's authorities takes tens of milliseconds
            self._context = await asyncio.get_running_loop().run_in_executor(None, _client_context, self._trusted)
        client = self._clients.get((secure, named))
        if client is None:
            client = self._clients[secure, named] = HttpClient(
                permit=self._policy.permits_named if named else self._policy.permits,
                ssl_context=self._context if secure else None,
                idle_s=_KEPT_S,
            )
        return client

    async def close(self) -> None:
        """Close the connections that are kept."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()


Home = Callable[[str], tuple[str, int] | None]
"""Address and port that serve a host name of this emulator by plain HTTP; None for any other name."""


class Pusher:
    """Makes pushes.

    *certificate_url* returns the address that serves the certificate. *home* finds function URLs, custom domains and
    the like, which lead back here. *trusted* is a file with further certificate authorities for https.
    """

    def __init__(
        self,
        signer: PushSigner | None,
        clock: Clock,
        ids: Ids,
        policy: PushPolicy,
        *,
        certificate_url: Callable[[], str],
        home: Home,
        trusted: Path | None,
    ) -> None:
        self._signer = signer
        self._clock = clock
        self._ids = ids
        self._certificate_url = certificate_url
        self._home = home
        self._clients = GuardedClients(policy, trusted)

    async def push(self, url: str, subscription: Subscription, publication: Publication) -> Outcome:
        """Push a message; never raises but when cancelled.

        A status from 200 to 299, with its whole body, within 5 seconds is success.
        """
        headers: list[tuple[str, str]] = []
        body, target = b"", ""
        try:
            origin, target = split_url(url)
            body = notification(subscription, publication).encode()
            headers = await self._signed(subscription, publication, body, target)
            address = self._home(origin.host)
            called = url if address is None else f"http://{origin.authority}{target}"
            response = await (await self._clients.client(origin, plain=address is not None)).request(
                "POST",
                called,
                timeout_s=PUSH_TIMEOUT_S,
                headers=headers,
                body=body,
                connect_to=address,
                max_response=_ANSWER_BYTES,
            )
        except (ClientError, Unsendable, SigningFailed) as error:
            push = Push(url=url, target=target, headers=tuple(headers), body=_shown(body))
            return Outcome(delivered=False, detail=str(error), push=push)
        push = Push(
            url=url,
            target=target,
            headers=tuple(headers),
            body=_shown(body),
            status=response.status,
            answer_headers=tuple(response.headers.pairs),
            answer_body=_shown(response.body),
        )
        return Outcome(delivered=200 <= response.status <= 299, detail=f"HTTP {response.status}", push=push)

    def warm(self) -> None:
        """Get ready for the first push."""
        if self._signer is not None:
            self._signer.warm()

    async def close(self) -> None:
        """Close the connections that are kept."""
        await self._clients.close()

    async def _signed(
        self, subscription: Subscription, publication: Publication, body: bytes, target: str
    ) -> list[tuple[str, str]]:
        if self._signer is None:
            raise SigningFailed("nothing signs pushes here")
        now = self._clock.now()
        headers = push_headers(
            subscription,
            publication,
            body,
            now=now,
            request_id=f"{now // 1000:08X}{self._ids.hex(16).upper()}",
            cert_url=self._certificate_url(),
        )
        headers.append(("Authorization", await self._signer.authorization(string_to_sign(headers, target))))
        return headers


def _shown(body: bytes) -> str:
    return body[:BODY_SHOWN].decode("utf-8", "replace")


def _client_context(trusted: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if trusted is not None and trusted.exists():
        context.load_verify_locations(trusted)
    return context
