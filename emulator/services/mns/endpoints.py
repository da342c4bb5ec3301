"""Endpoints of subscriptions: the forms there are, and what each names.

Source: Subscribe page and the endpoint helpers of the official SDKs. The form for functions is assumed: the cloud
makes such subscriptions itself and publishes no form.
"""

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from emulator.http.fields import Unsendable
from emulator.http.outgoing import split_url
from emulator.kernel.identity import World
from emulator.services.mns.topic_errors import EndpointInvalid
from emulator.services.mns.topic_limits import ENDPOINT_LENGTH

DEFAULT_PATH = "/notifications"

# SDK helpers cut account and region out of the host they talk to, so a local address gives odd ones; only names count.
_QUEUE = re.compile(r"acs:mns:[^:/]*:[^/]*:/?queues/([A-Za-z0-9][A-Za-z0-9-]*)", re.ASCII)
_MAIL = re.compile(r"mail:directmail:([^\s:@]+@[^\s:@]+)")
_SMS = re.compile(r"sms:(?:directsms|dayu):(anonymous|\+?[0-9]{1,20})", re.ASCII)
_PUSH = re.compile(r"push:([A-Za-z0-9_-]+)", re.ASCII)
_FUNCTION = re.compile(
    r"acs:fc:[^:/]*:[^:/]*:(?:services/[A-Za-z0-9_.$-]+/)?functions/[A-Za-z0-9_.$-]+(?:/[A-Za-z0-9_.$-]+)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """A web address; ``url`` is where the push goes."""

    url: str


@dataclass(frozen=True, slots=True)
class QueueEndpoint:
    """A queue of the same account and region."""

    queue: str


@dataclass(frozen=True, slots=True)
class FunctionEndpoint:
    """A function, by its resource name."""

    arn: str


@dataclass(frozen=True, slots=True)
class OutboxEndpoint:
    """A mail address, a telephone number or an app: recorded instead of being sent."""

    kind: Literal["mail", "sms", "push"]
    address: str


Endpoint = HttpEndpoint | QueueEndpoint | FunctionEndpoint | OutboxEndpoint


def read_endpoint(text: str) -> Endpoint:
    """Read the endpoint of a subscription.

    A web address without a path gets ``/notifications``. Region and account of a queue are not looked at.

    Raises: EndpointInvalid.
    """
    if len(text) > ENDPOINT_LENGTH:
        raise EndpointInvalid
    if text[:8].lower().startswith(("http://", "https://")):
        return HttpEndpoint(_push_url(text))
    if match := _QUEUE.fullmatch(text):
        return QueueEndpoint(match[1])
    if match := _MAIL.fullmatch(text):
        return OutboxEndpoint("mail", match[1])
    if match := _SMS.fullmatch(text):
        return OutboxEndpoint("sms", match[1])
    if match := _PUSH.fullmatch(text):
        return OutboxEndpoint("push", match[1])
    if _FUNCTION.fullmatch(text):
        return FunctionEndpoint(text)
    raise EndpointInvalid


def queue_endpoint(world: World, queue: str) -> str:
    """Return the endpoint that names a queue."""
    return f"acs:mns:{world.region}:{world.account}:queues/{queue}"


def _push_url(text: str) -> str:
    if not text.isprintable() or " " in text:
        raise EndpointInvalid
    try:
        split_url(text)
        parts = urlsplit(text)
    except (Unsendable, ValueError):
        raise EndpointInvalid from None
    path = parts.path or DEFAULT_PATH
    return f"{parts.scheme.lower()}://{parts.netloc}{path}" + (f"?{parts.query}" if parts.query else "")
