"""Reads requests (queries, XML bodies), and writes XML documents in the layout of the live service.

Three things matter to official clients: the namespace has no slash at its end (the Java client compares it), the
request id's header is written in lower case (the Python client looks it up that way), and the content type is this
one on every answer (the Node client ignores the body otherwise).
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from hashlib import md5
from typing import Any
from urllib.parse import unquote

from emulator.http.message import Request, Response
from emulator.kernel.digits import read_whole
from emulator.kernel.errors import ServiceError
from emulator.services.mns.errors import MnsError, SchemaViolation
from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import OneOf, Shape
from emulator.wire.schema.texts import Texts, show
from emulator.wire.xml import Element, MalformedXml, escape, parse

NAMESPACE = "http://mns.aliyuncs.com/doc/v1"
VERSION = "2015-06-06"

Query = dict[str, str]


def read_query(query: str | None) -> Query:
    """Return the items of a raw query by lower-case name; of several with one name the first.

    Each item is split at its first ``=`` and decoded once; ``+`` is not decoded to a blank, because clients put receipt
    handles into queries without escaping them.
    """
    items: Query = {}
    for item in (query or "").split("&"):
        if item:
            name, _, value = item.partition("=")
            if "%" in item:
                name, value = unquote(name, errors="surrogateescape"), unquote(value, errors="surrogateescape")
            items.setdefault(name.lower(), value)
    return items


def read_document(body: bytes, *roots: str) -> Element:
    """Parse a body whose root is one of *roots*.

    Raises: MalformedXML, SchemaViolation.
    """
    try:
        root = parse(body)
    except MalformedXml:
        raise MnsError("MalformedXML") from None
    if root.name not in roots:
        raise SchemaViolation(name=root.name)
    return root


def read_int(text: str, name: str) -> int:
    """Read a whole number of a body.

    Raises: SchemaViolation naming the element.
    """
    number = read_whole(text.strip())
    if number is None:
        raise SchemaViolation(name=name)
    return number


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
        raise MnsError("InvalidArgument", f"The value of {name} should be a number.") from None


def unknown_word(name: str, _: OneOf) -> MnsError:
    """Return the error for a text that is not in an enumeration."""
    return MnsError("InvalidArgument", f"The value of {name} is invalid.")


XML = Texts("xml", read_int, read_bool, lambda name: SchemaViolation(name=name), unknown_word, blank_is_absent=False)


def read_attributes(resource: Shape, body: bytes, *, changing: bool = False) -> dict[str, Any]:
    """Return the settings in an XML document, field -> value.

    Raises: MalformedXML, SchemaViolation, InvalidArgument.
    """
    root = read_document(body, resource.title)

    def text(name: str) -> str | None:
        value = root.text_of(name)
        return value if value is None else value.strip()

    return XML.read(resource, text, changing=changing)


def read_change(resource: Shape, body: bytes, *, changing: bool = False) -> dict[str, Any]:
    """Return the settings in the body of a request, field -> value; an empty body has none.

    Raises: MalformedXML, SchemaViolation, InvalidArgument.
    """
    return read_attributes(resource, body, changing=changing) if body.strip() else {}


def check_digest(request: Request) -> None:
    """Compare ``Content-MD5``, where there is one, with the body: clients send Base64 of the digest or of its hex form.

    Raises: InvalidDegist.
    """
    stated = request.headers.get("content-md5").strip()
    if stated:
        digest = md5(request.body, usedforsecurity=False)
        in_hex = digest.hexdigest()
        accepted = (b64encode(in_hex.encode()).decode(), b64encode(digest.digest()).decode())
        if stated not in accepted and stated.lower() != in_hex:
            raise MnsError("InvalidDegist")


def read_listing(call: OperationRequest) -> tuple[str, str, int | None, bool]:
    """Return the headers of a list operation: prefix, first name, limit, whether attributes are wanted.

    Raises: InvalidArgument.
    """
    number = call.header("x-mns-ret-number")
    return (
        call.header("x-mns-prefix"),
        read_marker(call.header("x-mns-marker")),
        read_query_int(number, "x-mns-ret-number") if number else None,
        call.header("x-mns-with-meta").lower() == "true",
    )


def write_marker(name: str) -> str:
    """Return the opaque marker for the first name of the next page."""
    return b64encode(name.encode()).decode("ascii")


def read_marker(text: str) -> str:
    """Return the name in a marker; "" is the start of the list.

    Raises: InvalidArgument.
    """
    try:
        return b64decode(text, validate=True).decode()
    except ValueError:
        raise MnsError("InvalidArgument", "The value of x-mns-marker is not one this service gave.") from None


def respond(call: OperationRequest, status: int, body: bytes = b"", location: str = "") -> Response:
    """Return a response with the headers every answer has; *location* is a path of this service."""
    headers = [
        ("Content-Type", "text/xml;charset=utf-8"),
        ("Server", "AliyunMQS"),
        ("x-mns-request-id", call.request_id),
        ("x-mns-version", VERSION),
    ]
    if location:
        headers.append(("Location", base_url(call.http) + location))
    return Response(status, body, headers)


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


def render_attributes(resource: Shape, settings: object, view: object, indent: str = "  ") -> str:
    """Return the attributes that the XML API shows. No element is empty: the Python client fails on one."""
    lines = (
        leaf(name, str(value) if isinstance(value, bool) else value, indent)
        for name, value in show(resource, "xml", settings, view)
        if value != ""
    )
    return "".join(lines)


def render_resource(resource: Shape, settings: object, view: object) -> bytes:
    """Write the attributes of one resource: flat, in the live service's order, without those of the management API."""
    return document(resource.title, render_attributes(resource, settings, view))


def render_list(
    resource: Shape, entries: Iterable[tuple[str, object | None, object]], next_marker: str | None
) -> bytes:
    """Write a page of resources, each given as URL, settings (None to leave them out) and view.

    An element that would be empty is left out.
    """
    lines = []
    for url, settings, view in entries:
        attributes = "" if settings is None else render_attributes(resource, settings, view, "    ")
        lines.append(f"\n  <{resource.title}>" + leaf(f"{resource.title}URL", url, "    ") + attributes)
        lines.append(f"\n  </{resource.title}>")
    if next_marker is not None:
        lines.append(leaf("NextMarker", write_marker(next_marker)))
    return document(f"{resource.title}s", "".join(lines))


def render_error(error: ServiceError, call: OperationRequest) -> Response:
    """Write *error*. All four elements are needed: without one the Python and Node clients fail on the error itself."""
    content = leaf("Code", error.code) + leaf("Message", error.message) + leaf("RequestId", call.request_id)
    return respond(call, error.http_status, document("Error", content + leaf("HostId", base_url(call.http))))
