"""Parsing requests of the object store: the caller, the bucket and object addressed, and headers."""

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from hashlib import md5
from urllib.parse import parse_qsl, unquote_plus

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.digits import read_digits
from emulator.oss import limits
from emulator.oss.errors import OssError, invalid
from emulator.oss.model import OBJECT_ACLS, STORAGE_CLASSES, Attributes, Caller, Conditions, Place, Put, Span
from emulator.wire.dates import parse_http_date
from emulator.wire.request import OperationRequest
from emulator.wire.xml import Element, MalformedXml, parse

KEPT_HEADERS = (
    "Content-Type", "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Expires",
)  # fmt: skip
"""Headers that a writer sets and readers get back."""

DEFAULT_TYPE = "application/octet-stream"
_META = "x-oss-meta-"
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"


def place_of(call: OperationRequest) -> Place:
    """Return the bucket and the object a request addresses, empty where there is none."""
    return Place(call.path["bucket"], call.path["key"])


_EVERYWHERE = ("oss-accelerate.aliyuncs.com", "oss-accelerate-overseas.aliyuncs.com")
"""Endpoints at which a bucket of any region is found."""


def caller_of(call: OperationRequest) -> Caller:
    """Return the caller of a request; only after authentication."""
    principal = call.principal
    assert principal is not None  # every request has been authenticated
    return Caller(
        account=principal.account,
        region=call.region if call.host.endswith(".aliyuncs.com") and not call.host.endswith(_EVERYWHERE) else "",
        principal=principal.arn.rpartition("/")[2] if principal.temporary else principal.account,
        request_id=call.request_id,
        source_ip=call.http.remote,
        now=call.now,
    )


def header_of(call: OperationRequest, name: str) -> str:
    """Return a header's value without surrounding blanks, "" when it is absent.

    Raises: InvalidArgument for a value that no header can have.
    """
    return sendable(name, call.http.headers.get(name).strip())


def number_of(call: OperationRequest, name: str, default: int, most: int, *, least: int = 0) -> int:
    """Return a number of the query.

    Raises: InvalidArgument.
    """
    text = call.query.get(name, "")
    if not text:
        return default
    number = read_digits(text)
    if number is None or not least <= number <= most:
        raise invalid(name, text[:100], f"Argument {name} must be an integer between {least} and {most}")
    return number


def document_of(call: OperationRequest, name: str) -> Element:
    """Read the body as XML with that root.

    Raises: MalformedXML.
    """
    try:
        root = parse(call.http.body)
    except MalformedXml as error:
        raise OssError("MalformedXML") from error
    if root.name != name:
        raise OssError("MalformedXML")
    return root


def one_of(call: OperationRequest, name: str, choices: tuple[str, ...]) -> str:
    """Return a header's value, "" when it is absent.

    Raises: InvalidArgument when it is none of *choices*.
    """
    value = header_of(call, name)
    if value and value not in choices:
        raise invalid(name, value[:100], "no such value is known: " + value[:100])
    return value


def missing_header(name: str) -> OssError:
    """Return the error for a header that an operation needs."""
    return invalid(name, message=f"the header {name} is missing")


def put_of(call: OperationRequest) -> Put:
    """Read attributes, MD5 and permission to replace from the request of a write.

    Raises: InvalidArgument, InvalidDigest, InvalidTag.
    """
    return Put(attributes=attributes_of(call), md5=md5_of(call), may_replace=may_replace(call))


def may_replace(call: OperationRequest) -> bool:
    """Whether the request may replace an existing object."""
    return header_of(call, "x-oss-forbid-overwrite").lower() != "true"


def attributes_of(call: OperationRequest) -> Attributes:
    """Read an object's attributes.

    Raises: InvalidArgument, InvalidTag.
    """
    headers = {name: value for name in KEPT_HEADERS if (value := header_of(call, name.lower()))}
    metadata = {
        name[len(_META) :]: sendable(name, value.strip()) for name, value in call.http.headers.starting_with(_META)
    }
    if sum(len(name) + len(value) for name, value in metadata.items()) > limits.METADATA_BYTES:
        raise invalid(_META, message=f"The total size of user metadata is over {limits.METADATA_BYTES} bytes.")
    return Attributes(
        headers={"Content-Type": DEFAULT_TYPE, **headers},
        metadata=metadata,
        tags=checked_tags(parse_qsl(header_of(call, "x-oss-tagging"), keep_blank_values=True)),
        acl=one_of(call, "x-oss-object-acl", OBJECT_ACLS) or "default",
        storage_class=one_of(call, "x-oss-storage-class", STORAGE_CLASSES) or "Standard",
    )


def md5_of(call: OperationRequest) -> bytes:
    """Return the MD5 that the body is stated to have, empty when none is.

    Raises: InvalidDigest.
    """
    text = header_of(call, "content-md5")
    if not text:
        return b""
    try:
        digest = a2b_base64(text.encode("ascii"), strict_mode=True)
    except (Base64Error, UnicodeEncodeError):
        digest = b""
    if len(digest) != 16:
        raise OssError("InvalidDigest")
    return digest


def check_md5(call: OperationRequest) -> None:
    """Check the stated MD5 of a body that is not an object's content.

    Raises: InvalidDigest.
    """
    stated = md5_of(call)
    if stated and md5(call.http.body, usedforsecurity=False).digest() != stated:
        raise OssError("InvalidDigest")


def conditions_of(call: OperationRequest, prefix: str = "") -> Conditions:
    """Read the conditions on the object; *prefix* is that of a copy's source.

    Raises: nothing; a date that cannot be parsed is ignored.
    """
    return Conditions(
        match=_etag(header_of(call, f"{prefix}if-match")),
        none_match=_etag(header_of(call, f"{prefix}if-none-match")),
        modified_since=_timestamp(header_of(call, f"{prefix}if-modified-since")),
        unmodified_since=_timestamp(header_of(call, f"{prefix}if-unmodified-since")),
    )


def source_of(call: OperationRequest) -> Place | None:
    """Return the object to copy, None when the request names none.

    Raises: InvalidArgument.
    """
    text = header_of(call, "x-oss-copy-source")
    if not text:
        return None
    path, _, version = text.partition("?")
    # aliyun-oss-go-sdk writes a blank as "+"
    bucket, _, key = unquote_plus(path, errors="surrogateescape").lstrip("/").partition("/")
    if not (bucket and key) or (version and version != "versionId=null"):
        message = "Copy Source must mention the source bucket and key: /sourcebucket/sourcekey."
        raise invalid("x-oss-copy-source", text[:1100], message)
    return Place(bucket, key)


def source_span(call: OperationRequest) -> Span | None:
    """Return the range of the source to copy, None for all of it.

    Raises: InvalidArgument.
    """
    text = header_of(call, "x-oss-copy-source-range")
    if not text:
        return None
    match = re.fullmatch(r"bytes=(\d{1,18})-(\d{1,18})", text, re.ASCII)
    if match is None or int(match[1]) > int(match[2]):
        raise invalid("x-oss-copy-source-range", text[:100])
    return Span(int(match[1]), int(match[2]) + 1)


def sendable(name: str, value: str) -> str:
    """Return the value of a header that readers get back; forms and queries can have values that no header can.

    A form and a query can hold what no header can.

    Raises: InvalidArgument.
    """
    if not re.fullmatch(_NAME, name) or any(mark in value for mark in "\r\n\0"):
        raise invalid(name[:100], value[:100])
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
        raise OssError("InvalidTag")
    return tags


def _etag(text: str) -> str:
    return text.strip('"').upper()


def _timestamp(text: str) -> Millis | None:
    try:
        return Millis(parse_http_date(text) // SECOND * SECOND) if text else None
    except (ValueError, OverflowError):
        return None
