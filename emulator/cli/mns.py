"""A client of the Message Service: signed calls with XML bodies, answers as dictionaries with the API's names.

Bodies of messages come from the command line or standard input; some SDKs encode them in Base64.
"""

import base64
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from emulator.cli.client import Client
from emulator.cli.connection import Reply
from emulator.cli.output import CallRefused, Fields, WrongUsage, _
from emulator.wire.xml import Element, MalformedXml, escape, parse, render

if TYPE_CHECKING:
    from emulator.wire.schema.kinds import Shape

NAMESPACE = "http://mns.aliyuncs.com/doc/v1/"
VERSION = "2015-06-06"

_NUMBERS = frozenset({"EnqueueTime", "FirstDequeueTime", "NextVisibleTime", "DequeueCount", "Priority"})
"""Attributes of messages that are numbers; those of other resources are in their tables."""

_AT_ONCE = "250"
"""Queues or topics requested per page: a page of a thousand would block the server."""

_LOST = "\ufffd"
"""Replaces characters that XML cannot contain."""


class Mns:
    """Calls operations of the service through *client*; errors are raised as CallRefused with their code."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def call(
        self,
        method: str,
        path: str,
        content: Element | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Element | None:
        """Call one operation; *path* is percent-encoded. Returns the root of the answer, None without a body.

        Raises: NoEmulator, CallRefused.
        """
        target = f"{path}?{urlencode(query, quote_via=quote)}" if query else path
        body = b"" if content is None else render(content, NAMESPACE)
        fields = {"Content-Type": "text/xml", "x-mns-version": VERSION, **(headers or {})}
        reply = self._client.messages(method, target, body, fields)
        try:
            root = _root(reply)
        except CallRefused as refusal:
            raise self._client.explained(refusal) from None
        if reply.status >= 300:
            message = _text(root, "Message") or _("no reason was given")
            raise self._client.explained(CallRefused(reply.status, _text(root, "Code"), message))
        return root

    def listed(self, path: str, entry: str, prefix: str = "") -> Iterator[Fields]:
        """Yield every entry of a list, with its attributes, page by page.

        Raises: NoEmulator, CallRefused.
        """
        marker = ""
        while True:
            headers = {"x-mns-with-meta": "true", "x-mns-ret-number": _AT_ONCE}
            headers |= {"x-mns-prefix": prefix} if prefix else {}
            headers |= {"x-mns-marker": marker} if marker else {}
            root = self.call("GET", path, headers=headers)
            if root is None:
                return
            for element in root.all(entry):
                yield fields(element)
            marker = root.text_of("NextMarker") or ""
            if not marker:
                return


@cache
def resources() -> dict[str, "Shape"]:
    """Return the attribute tables of the service by the names of its resources."""
    from emulator.services.mns.queues.model import QUEUE  # commands that send or receive do not need it
    from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC

    return {each.title: each for each in (QUEUE, TOPIC, SUBSCRIPTION)}


@cache
def _kinds() -> dict[str, str]:
    """Return the kind of each attribute, by name."""
    return {each.name: type(each.kind).__name__ for shape in resources().values() for each in shape}


def chosen(resource: str, arguments: Namespace) -> Fields:
    """Return the attributes of a resource given as options, by their names in the API."""
    from emulator.wire.schema.command_line import option_of  # commands that send or receive do not need it

    table = resources()[resource]
    values = {each.name: getattr(arguments, option_of(each), None) for each in table.of_form("xml")}
    return {name: value for name, value in values.items() if value is not None}


def path_of(*parts: str) -> str:
    """Return the path of a resource, each part percent-encoded: ``path_of("queues", "orders")``."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def element(name: str, values: Mapping[str, object]) -> Element:
    """Return an element with a child for each value that is not None; booleans in the SDKs' spelling."""
    return Element(name, children=[Element(key, str(value)) for key, value in values.items() if value is not None])


def fields(element: Element) -> Fields:
    """Return the values of an element's children by name."""
    return {child.name: _value(child) for child in element.children}


def _value(child: Element) -> Any:
    if child.children:
        return [fields(entry) for entry in child.children]
    if child.text.isdigit() and (child.name in _NUMBERS or _is(child.name, "Whole", "Duration", "Time")):
        return int(child.text)
    if child.text in {"True", "False"} and _is(child.name, "Flag"):
        return child.text == "True"
    return child.text


def _is(name: str, *kinds: str) -> bool:
    """Whether the attribute *name* is of one of *kinds*."""
    return _kinds().get(name) in kinds


def _root(reply: Reply) -> Element | None:
    """Return the root of a body, None for an empty one. Raises: CallRefused for no XML, thus not an emulator's."""
    if not reply.body:
        return None
    try:
        return parse(reply.body)
    except MalformedXml:
        reason = reply.body.decode("utf-8", "replace")[:200]
        raise CallRefused(
            reply.status, "", _("the response is not from Simple Message Queue: {reason}", reason=reason)
        ) from None


def _text(root: Element | None, name: str) -> str:
    return (root.text_of(name) or "") if root is not None else ""


def read_body(body: str, *, as_base64: bool) -> str:
    """Return the text to send: *body*, or standard input for ``-``.

    Raises: WrongUsage for content that a message cannot contain.
    """
    content = sys.stdin.buffer.read() if body == "-" else body.encode("utf-8", "surrogateescape")
    if as_base64:
        return base64.b64encode(content).decode("ascii")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        text = _("the body is not UTF-8 text ({reason}); send it with --base64", reason=error.reason)
        raise WrongUsage(text) from error
    if _LOST not in text and _LOST in escape(text):
        raise WrongUsage(_("the body has control characters, which XML cannot carry; send it with --base64"))
    return text


def shown_body(body: str, *, from_base64: bool) -> str:
    """Return a received body for output; *from_base64* decodes it.

    A body that is not the Base64 of a text is returned unchanged.
    """
    if not from_base64:
        return body
    try:
        return base64.b64decode(body, validate=True).decode("utf-8")
    except ValueError:  # invalid Base64, non-ASCII characters, or content that is not UTF-8
        return body
