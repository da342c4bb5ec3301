"""Endpoints of subscriptions: the forms there are, and what each names.

Source: Subscribe page; endpoint helpers of the official SDKs; for functions, event buses and the newer forms of mail
and short messages the parameter table of the management API's Subscribe. Functions without a service (FC 3.0) and
qualifiers are assumed.
"""

import re
from functools import lru_cache
from typing import assert_never
from urllib.parse import urlsplit

from emulator.http.answer import Unsendable
from emulator.http.client_connection import split_url
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.services.mns.errors import MnsError
from emulator.services.mns.limits import ENDPOINT_LENGTH
from emulator.services.mns.topics.model import OutboxKind

DEFAULT_PATH = "/notifications"

# SDK helpers cut account and region out of the host they talk to, so a local address gives odd ones; only names count.
_QUEUE = re.compile(r"acs:mns:[^:/]*:[^/]*:/?queues/([A-Za-z0-9][A-Za-z0-9-]*)", re.ASCII)
_OUTBOX: tuple[tuple[OutboxKind, re.Pattern[str]], ...] = (
    ("mail", re.compile(r"mail:directmail:([^\s:@]+@[^\s:@]+)")),
    ("mail", re.compile(r"smq-ep:dm:[^:]*:(__dynamic|[^\s:@]+@[^\s:@]+)")),
    ("sms", re.compile(r"sms:(?:directsms|dayu):(anonymous|\+?[0-9]{1,20})", re.ASCII)),
    ("sms", re.compile(r"smq-ep:dysms:[^:]*:(__dynamic|\+?[0-9]{1,20})", re.ASCII)),
    ("push", re.compile(r"push:([A-Za-z0-9_-]+)", re.ASCII)),
    ("event", re.compile(r"acs:eventbridge:[^:/]*:[^:/]*:eventbus/([A-Za-z0-9_.-]+)", re.ASCII)),
    ("event", re.compile(r"kafka:([^\s]+)")),
)
_FUNCTION = re.compile(
    r"acs:fc:[^:/]*:[^:/]*:(?:services/[A-Za-z0-9_.$-]+/)?functions/[A-Za-z0-9_.$-]+(?:/[A-Za-z0-9_.$-]+)?", re.ASCII
)


@frozen(kw_only=False)
class HttpEndpoint:
    """A web address; ``url`` is where the push goes."""

    url: str


@frozen(kw_only=False)
class QueueEndpoint:
    """A queue of the same account and region."""

    queue: str


@frozen(kw_only=False)
class FunctionEndpoint:
    """A function, by its resource name."""

    arn: str


@frozen(kw_only=False)
class OutboxEndpoint:
    """A mail address, telephone number, app or event bus: recorded instead of being sent."""

    kind: OutboxKind
    address: str


Endpoint = HttpEndpoint | QueueEndpoint | FunctionEndpoint | OutboxEndpoint


@lru_cache(maxsize=1024)
def read_endpoint(text: str) -> Endpoint:
    """Read the endpoint of a subscription.

    A web address without a path gets ``/notifications``. Region and account of a queue are not looked at.

    Raises: EndpointInvalid.
    """
    if len(text) > ENDPOINT_LENGTH:
        raise MnsError("EndpointInvalid")
    if text[:8].lower().startswith(("http://", "https://")):
        return HttpEndpoint(_push_url(text))
    if match := _QUEUE.fullmatch(text):
        return QueueEndpoint(match[1])
    for kind, form in _OUTBOX:
        if match := form.fullmatch(text):
            return OutboxEndpoint(kind, match[1])
    if _FUNCTION.fullmatch(text):
        return FunctionEndpoint(text)
    raise MnsError("EndpointInvalid")


def kind_of(text: str) -> str:
    """Return the kind of a subscription's endpoint, for metrics: ``http``, ``queue``, ``function`` or ``outbox``."""
    match read_endpoint(text):
        case HttpEndpoint():
            return "http"
        case QueueEndpoint():
            return "queue"
        case FunctionEndpoint():
            return "function"
        case OutboxEndpoint():
            return "outbox"
        case never:
            assert_never(never)


def queue_endpoint(tenant: Tenant, queue: str) -> str:
    """Return the endpoint that names a queue."""
    return f"acs:mns:{tenant.region}:{tenant.account}:queues/{queue}"


def _push_url(text: str) -> str:
    if not text.isprintable() or " " in text:
        raise MnsError("EndpointInvalid")
    try:
        split_url(text)
        parts = urlsplit(text)
    except (Unsendable, ValueError):
        raise MnsError("EndpointInvalid") from None
    path = parts.path or DEFAULT_PATH
    return f"{parts.scheme.lower()}://{parts.netloc}{path}" + (f"?{parts.query}" if parts.query else "")
