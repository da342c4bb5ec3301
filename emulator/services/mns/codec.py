"""The message service's XML and queries: documents as the live service lays them out, requests as clients send them.

Three things matter to official clients: the namespace has no slash at its end (the Java client compares it), the
request id's header is written in lower case (the Python client looks it up that way), and the content type is this
one on every answer (the Node client ignores the body otherwise).
"""

from base64 import b64encode
from collections.abc import Callable
from hashlib import md5
from urllib.parse import unquote

from emulator.http.message import Request, Response
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Tenant
from emulator.services.mns.errors import InvalidArgument, InvalidDegist, MalformedXML, SchemaViolation
from emulator.wire.request import Answer, OperationRequest
from emulator.wire.xml import Element, MalformedXml, escape, parse, render

NAMESPACE = "http://mns.aliyuncs.com/doc/v1"
VERSION = "2015-06-06"

Query = dict[str, str]

# --- requests ----------------------------------------------------------------------------------------------------


def read_query(query: str | None) -> Query:
    """Return the items of a raw query by lower-case name, the first of a name.

    Each item is split at its first ``=`` and decoded once; ``+`` stays what it is, because clients put receipt handles
    into queries without escaping them.
    """
    items: Query = {}
    for item in (query or "").split("&"):
        if item:
            name, _, value = item.partition("=")
            items.setdefault(_decoded(name).lower(), _decoded(value))
    return items


def _decoded(text: str) -> str:
    return unquote(text, errors="surrogateescape") if "%" in text else text


def read_document(body: bytes, *roots: str) -> Element:
    """Parse a body whose root is one of *roots*.

    Raises: MalformedXML, SchemaViolation.
    """
    try:
        root = parse(body)
    except MalformedXml:
        raise MalformedXML from None
    if root.name not in roots:
        raise SchemaViolation(name=root.name)
    return root


def read_int(text: str, name: str) -> int:
    """Read a whole number of a body.

    Raises: SchemaViolation naming the element.
    """
    digits = text.strip()
    if len(digits) > 18 or not digits.removeprefix("-").isdigit() or not digits.isascii():
        raise SchemaViolation(name=name)
    return int(digits)


def read_bool(text: str, name: str) -> bool:
    """Read ``True`` or ``False`` in any case.

    Raises: SchemaViolation naming the element.
    """
    word = text.strip().lower()
    if word not in {"true", "false"}:
        raise SchemaViolation(name=name)
    return word == "true"


def read_query_int(text: str, name: str) -> int:
    """Read a whole number of a query or header.

    Raises: InvalidArgument.
    """
    try:
        return read_int(text, name)
    except SchemaViolation:
        raise InvalidArgument(f"The value of {name} should be a number.") from None


def check_digest(request: Request) -> None:
    """Compare ``Content-MD5``, where there is one, with the body: clients send Base64 of the digest or of its hex form.

    Raises: InvalidDegist.
    """
    told = request.headers.get("content-md5").strip()
    if told:
        digest = md5(request.body, usedforsecurity=False)
        in_hex = digest.hexdigest()
        accepted = (b64encode(in_hex.encode()).decode(), b64encode(digest.digest()).decode())
        if told not in accepted and told.lower() != in_hex:
            raise InvalidDegist


# --- answers -----------------------------------------------------------------------------------------------------


def common_headers(request_id: str) -> list[tuple[str, str]]:
    """Return the headers every answer carries."""
    return [
        ("Content-Type", "text/xml;charset=utf-8"),
        ("Server", "AliyunMQS"),
        ("x-mns-request-id", request_id),
        ("x-mns-version", VERSION),
    ]


def base_url(request: Request) -> str:
    """Return ``http://`` and the host as the client named it, also when it came by HTTPS. Source: observed."""
    host = request.headers.get("host") or "localhost"
    return host if "://" in host else f"http://{host}"


def leaf(name: str, text: str | int, indent: str = "  ") -> str:
    """Return one line with an element that has a text."""
    return f"\n{indent}<{name}>{escape(text) if isinstance(text, str) else text}</{name}>"


def document(root: str, content: str) -> bytes:
    """Return a whole document of lines that each begin with a line break; an empty root when there are none."""
    end = f"\n</{root}>" if content else f"</{root}>"
    return f'<?xml version="1.0" ?>\n<{root} xmlns="{NAMESPACE}">{content}{end}'.encode()


def render_error(error: ServiceError, request: Request, request_id: str) -> Response:
    """Write *error*. All four elements are needed: without one the Python and Node clients fail on the error itself."""
    content = Element(
        "Error",
        children=[
            Element("Code", error.code),
            Element("Message", error.message),
            Element("RequestId", request_id),
            Element("HostId", base_url(request)),
        ],
    )
    return Response(error.http_status, render(content, NAMESPACE), common_headers(request_id))


class Call:
    """A routed request. ``name`` is the queue or topic, ``query`` has its items by lower-case name."""

    __slots__ = ("context", "name", "query", "request", "subscription", "tenant")

    def __init__(self, context: OperationRequest, query: Query, name: str, subscription: str) -> None:
        self.context = context
        self.request = context.http
        self.tenant: Tenant = context.tenant
        self.query = query
        self.name = name
        self.subscription = subscription

    @property
    def base(self) -> str:
        """``http://`` and the host the client named: the start of every URL in an answer."""
        return base_url(self.request)

    def header(self, name: str) -> str:
        """Return a request header by lower-case name, "" when it is not there."""
        return self.request.headers.get(name)

    def answer(self, status: int, body: bytes = b"", location: str = "") -> Response:
        """Return a response with the headers every answer has."""
        headers = common_headers(self.context.request_id)
        if location:
            headers.append(("Location", location))
        return Response(status, body, headers)


Handler = Callable[[Call], Answer]
