"""One request of the object store, read: whom it is from, what it addresses, and what its headers say."""

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Mapping
from hashlib import md5
from urllib.parse import parse_qsl, unquote

from emulator.auth.oss import resource
from emulator.http.message import Request
from emulator.kernel.clock import SECOND, Millis
from emulator.oss import limits
from emulator.oss.errors import InvalidArgument, InvalidDigest, InvalidTag, MalformedXML
from emulator.oss.model import OBJECT_ACLS, STORAGE_CLASSES, Attributes, Span
from emulator.oss.objects import Conditions, Place, Put
from emulator.oss.storage import Caller
from emulator.wire.dates import parse_http_date
from emulator.wire.request import OperationRequest
from emulator.wire.xml import Element, MalformedXml, parse

KEPT_HEADERS = (
    "Content-Type", "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Expires",
)  # fmt: skip
"""What a writer sets and readers get back."""

DEFAULT_TYPE = "application/octet-stream"
_META = "x-oss-meta-"
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"


def place_of(request: Request) -> Place:
    """Return what a request addresses: bucket and object of the host name or the path, empty where there is none."""
    bucket, _, key = resource(request)[1:].partition("/")
    return Place(bucket, key)


class Call:
    """A request on its way to the operation it names.

    *request* is read in place of the context's own, where that only wraps it.
    """

    def __init__(self, context: OperationRequest, request: Request | None = None) -> None:
        self.context = context
        self.request = request or context.http
        self.place = place_of(context.http)
        self.query: Mapping[str, str] = dict(reversed(context.http.query_pairs))

    @property
    def caller(self) -> Caller:
        """Whom the request is from; only after authentication."""
        context, principal = self.context, self.context.principal
        assert principal is not None  # authentication comes before the operation
        return Caller(
            account=principal.account,
            region=context.region if context.host.endswith(".aliyuncs.com") else "",
            principal=principal.arn.rpartition("/")[2] if principal.temporary else principal.account,
            request_id=context.request_id,
            source_ip=context.http.remote,
            now=context.now,
        )

    def header(self, name: str) -> str:
        """Return a header's value without the blanks around it, empty when it is not there.

        Raises: InvalidArgument for one of a form that no header can have.
        """
        return sendable(name, self.request.headers.get(name).strip())

    def number(self, name: str, default: int, most: int, *, least: int = 0) -> int:
        """Return a number of the query.

        Raises: InvalidArgument.
        """
        text = self.query.get(name, "")
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and len(text) < 19 and least <= int(text) <= most):
            raise InvalidArgument(
                f"Argument {name} must be an integer between {least} and {most}", name=name, value=text[:100]
            )
        return int(text)

    def document(self, name: str) -> Element:
        """Read the body as XML with that root.

        Raises: MalformedXML.
        """
        try:
            root = parse(self.request.body)
        except MalformedXml as error:
            raise MalformedXML from error
        if root.name != name:
            raise MalformedXML
        return root

    # --- what headers say ------------------------------------------------------------------------------------------

    def acl(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """Read the header *name* as an ACL.

        Raises: InvalidArgument.
        """
        return self.one_of(name, choices) or default

    def one_of(self, name: str, choices: tuple[str, ...]) -> str:
        """Return a header's value, empty when it is not there.

        Raises: InvalidArgument when it is none of *choices*.
        """
        value = self.header(name)
        if value and value not in choices:
            raise InvalidArgument("no such value is known: " + value[:100], name=name, value=value[:100])
        return value

    def put(self) -> Put:
        """Read what a writer asks for.

        Raises: InvalidArgument, InvalidDigest, InvalidTag.
        """
        return Put(attributes=self.attributes(), md5=self.md5(), may_replace=self.may_replace())

    def may_replace(self) -> bool:
        """Tell whether the request may replace an object that is there."""
        return self.header("x-oss-forbid-overwrite").lower() != "true"

    def attributes(self) -> Attributes:
        """Read an object's attributes.

        Raises: InvalidArgument, InvalidTag.
        """
        headers = {name: value for name in KEPT_HEADERS if (value := self.header(name.lower()))}
        metadata = {
            name[len(_META) :]: sendable(name, value.strip())
            for name, value in self.request.headers.starting_with(_META)
        }
        if sum(len(name) + len(value) for name, value in metadata.items()) > limits.METADATA_BYTES:
            raise InvalidArgument(
                f"The total size of user metadata is over {limits.METADATA_BYTES} bytes.", name=_META, value=""
            )
        return Attributes(
            headers={"Content-Type": DEFAULT_TYPE, **headers},
            metadata=metadata,
            tags=checked_tags(parse_qsl(self.header("x-oss-tagging"), keep_blank_values=True)),
            acl=self.acl("x-oss-object-acl", OBJECT_ACLS, "default"),
            storage_class=self.one_of("x-oss-storage-class", STORAGE_CLASSES) or "Standard",
        )

    def md5(self) -> bytes:
        """Return the MD5 that the body is stated to have, empty when none is.

        Raises: InvalidDigest.
        """
        text = self.header("content-md5")
        if not text:
            return b""
        try:
            digest = a2b_base64(text.encode("ascii"), strict_mode=True)
        except (Base64Error, UnicodeEncodeError):
            digest = b""
        if len(digest) != 16:
            raise InvalidDigest
        return digest

    def check_md5(self) -> None:
        """Check that a body that is no content of an object has the MD5 it is stated to have.

        Raises: InvalidDigest.
        """
        stated = self.md5()
        if stated and md5(self.request.body, usedforsecurity=False).digest() != stated:
            raise InvalidDigest

    def conditions(self, prefix: str = "") -> Conditions:
        """Read what the object has to be; *prefix* is that of a copy's source.

        Raises: nothing; a date that cannot be read is no condition.
        """
        return Conditions(
            match=_etag(self.header(f"{prefix}if-match")),
            none_match=_etag(self.header(f"{prefix}if-none-match")),
            modified_since=_instant(self.header(f"{prefix}if-modified-since")),
            unmodified_since=_instant(self.header(f"{prefix}if-unmodified-since")),
        )

    def source(self) -> Place | None:
        """Return the object to copy, None when the request names none.

        Raises: InvalidArgument.
        """
        text = self.header("x-oss-copy-source")
        if not text:
            return None
        path, _, version = text.partition("?")
        bucket, _, key = unquote(path, errors="surrogateescape").lstrip("/").partition("/")
        if not (bucket and key) or (version and version != "versionId=null"):
            raise InvalidArgument(
                "Copy Source must mention the source bucket and key: /sourcebucket/sourcekey.",
                name="x-oss-copy-source",
                value=text[:1100],
            )
        return Place(bucket, key)

    def source_span(self) -> Span | None:
        """Return the stretch of the source to copy, None for all of it.

        Raises: InvalidArgument.
        """
        text = self.header("x-oss-copy-source-range")
        if not text:
            return None
        match = re.fullmatch(r"bytes=(\d{1,18})-(\d{1,18})", text, re.ASCII)
        if match is None or int(match[1]) > int(match[2]):
            raise InvalidArgument(name="x-oss-copy-source-range", value=text[:100])
        return Span(int(match[1]), int(match[2]) + 1)


def sendable(name: str, value: str) -> str:
    """Return the value of a header that readers are to get back.

    A form and a query can hold what no header can.

    Raises: InvalidArgument.
    """
    if not re.fullmatch(_NAME, name) or any(mark in value for mark in "\r\n\0"):
        raise InvalidArgument(name=name[:100], value=value[:100])
    return value


def checked_tags(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Check an object's tags.

    Raises: InvalidTag.
    """
    tags = dict(pairs)
    too_long = any(
        not 0 < len(key) <= limits.TAG_KEY_LENGTH or len(value) > limits.TAG_VALUE_LENGTH for key, value in pairs
    )
    if too_long or len(tags) != len(pairs) or len(tags) > limits.TAGS:
        raise InvalidTag
    return tags


def _etag(text: str) -> str:
    return text.strip('"').upper()


def _instant(text: str) -> Millis | None:
    try:
        return Millis(parse_http_date(text) // SECOND * SECOND) if text else None
    except (ValueError, OverflowError):
        return None
