"""Buckets, objects and multipart uploads, and the rules about them. Pure.

Source: OSS API reference; "assumed" marks the rest.
"""

import re
from collections.abc import Mapping, Sequence
from hashlib import md5
from typing import Literal, Protocol

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.crc64 import combine
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.oss import limits
from emulator.oss.errors import OssError

Kind = Literal["Normal", "Multipart", "Appendable", "Symlink"]

BUCKET_ACLS = ("private", "public-read", "public-read-write")
OBJECT_ACLS = ("default", *BUCKET_ACLS)
EMPTY_ETAG = "D41D8CD98F00B204E9800998ECF8427E"
STORAGE_CLASSES = ("Standard", "IA", "Archive", "ColdArchive", "DeepColdArchive")


@frozen
class Bucket:
    """A bucket. Its name is unique among all accounts and regions."""

    name: str
    account: AccountId
    region: Region
    created_at: Millis
    acl: str = "private"
    storage_class: str = "Standard"


@frozen
class Piece:
    """A stored part of content: its id and its length in bytes."""

    content: str
    size: int


@frozen
class Attributes:
    """The attributes that a writer sets on an object.

    ``headers`` are those that readers get back (``Content-Type``, ``Cache-Control`` ...), ``metadata`` the user's own
    by name without ``x-oss-meta-``.
    """

    headers: Mapping[str, str]
    metadata: Mapping[str, str]
    tags: Mapping[str, str]
    acl: str = "default"
    storage_class: str = "Standard"


@frozen
class StoredObject:
    """An object. ``etag`` has no quotes, ``crc`` is the CRC-64 of the content, ``target`` a symbolic link's."""

    key: str
    kind: Kind = "Normal"
    pieces: tuple[Piece, ...]
    etag: str
    crc: int
    modified_at: Millis
    attributes: Attributes
    target: str = ""

    @property
    def size(self) -> int:
        """The length of the content in bytes."""
        return sum(piece.size for piece in self.pieces)


@frozen
class Content:
    """Stored bytes: their piece, MD5 and CRC-64."""

    piece: Piece
    md5: bytes
    crc: int

    @property
    def etag(self) -> str:
        """The MD5 in the form of an ETag."""
        return self.md5.hex().upper()


@frozen
class Part:
    """A part of a multipart upload."""

    number: int
    piece: Piece
    etag: str
    crc: int
    modified_at: Millis


@frozen
class Upload:
    """A multipart upload that is neither completed nor aborted."""

    id: str
    key: str
    started_at: Millis
    attributes: Attributes


@frozen
class Caller:
    """The caller and the bucket or object of a call: the first argument of every operation.

    ``region`` is the one in the host name, empty for a loopback address: that reaches every bucket of the account.
    """

    account: AccountId
    region: str
    principal: str
    request_id: str
    source_ip: str
    now: Millis


@frozen(kw_only=False)
class Place:
    """An object's bucket and name."""

    bucket: str
    key: str


@frozen
class Put:
    """What a writer sends besides content: attributes, the MD5 the content must have, whether it may replace."""

    attributes: Attributes
    md5: bytes = b""
    may_replace: bool = True


@frozen
class Conditions:
    """The conditions of a request on an object. ETags have no quotes, times are whole seconds."""

    match: str = ""
    none_match: str = ""
    modified_since: Millis | None = None
    unmodified_since: Millis | None = None

    def check(self, stored: StoredObject) -> None:
        """Check *stored*; an ETag takes precedence over the date of the same direction.

        Raises: PreconditionFailed, NotModified.
        """
        modified_at = stored.modified_at // SECOND * SECOND
        if self.match and self.match not in ("*", stored.etag):
            raise OssError("PreconditionFailed", condition="If-Match")
        if self.unmodified_since is not None and modified_at > self.unmodified_since:
            raise OssError("PreconditionFailed", condition="If-Unmodified-Since")
        if self.none_match:
            same = self.none_match in ("*", stored.etag)
        else:
            same = self.modified_since is not None and modified_at <= self.modified_since
        if same:
            raise OssError("NotModified", etag=stored.etag, modified=stored.modified_at)


@frozen
class Change:
    """A change of an object.

    ``event`` is like ``ObjectCreated:PutObject``, ``etag`` has no quotes, ``principal`` is the id of the caller,
    ``size_before`` the length of what was replaced or removed.
    """

    event: str
    bucket: str
    key: str
    size: int
    size_before: int
    etag: str
    at: Millis
    request_id: str
    source_ip: str
    principal: str
    content_type: str
    metadata: Mapping[str, str]


class Watcher(Protocol):
    """Is notified of every change of an object."""

    def changed(self, tenant: Tenant, change: Change) -> None:
        """Record the change, in its transaction; *tenant* is the bucket's."""
        ...


def check_bucket_name(name: str) -> None:
    """Check the name of a new bucket.

    Raises: InvalidBucketName.
    """
    shortest, longest = limits.BUCKET_NAME_LENGTHS
    if not shortest <= len(name) <= longest or not re.fullmatch(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", name):
        raise OssError("InvalidBucketName", bucket=name)


def check_object_name(key: str) -> None:
    r"""Check the name of a new object: 1 to 1023 bytes of UTF-8, neither ``/`` nor ``\`` in front.

    Raises: InvalidObjectName.
    """
    try:
        length = len(key.encode())
    except UnicodeEncodeError:
        raise OssError("InvalidObjectName", key=key) from None
    if not 0 < length <= limits.OBJECT_NAME_BYTES or key[0] in "/\\":
        raise OssError("InvalidObjectName", key=key)


def joined(parts: Sequence[Part]) -> tuple[tuple[Piece, ...], str, int]:
    """Return pieces, ETag and CRC of the object that *parts* make.

    The ETag is the MD5 of the parts' MD5s, with their number. Source: measured by others; its form is not documented.
    """
    crc = 0
    for part in parts:
        crc = combine(crc, part.crc, part.piece.size)
    digest = md5(b"".join(bytes.fromhex(part.etag) for part in parts), usedforsecurity=False).hexdigest().upper()
    return tuple(part.piece for part in parts), f"{digest}-{len(parts)}", crc


def appended(old: StoredObject | None, more: Content) -> tuple[tuple[Piece, ...], str, int]:
    """Return pieces, ETag and CRC of *old* with *more* behind it.

    Source: that the ETag is drawn from the pieces, not from the whole content, is assumed; it is not its MD5.
    """
    pieces = (*(old.pieces if old else ()), more.piece)
    crc = combine(old.crc, more.crc, more.piece.size) if old else more.crc
    digest = md5(f"{old.etag if old else ''}{more.etag}".encode(), usedforsecurity=False).hexdigest().upper()
    return pieces, digest, crc


@frozen(kw_only=False)
class Span:
    """Bytes from *start* up to, not including, *end*."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


def span_of(text: str, size: int, *, standard: bool) -> Span | None:
    """Read a ``Range`` header over content of *size* bytes; None when all of it is to be sent.

    A range that cannot be read, or that reaches beyond the end, asks for everything; under the *standard* behaviour
    (``x-oss-range-behavior``) the latter is cut at the end, or refused when it begins there.

    Raises: InvalidRange. Source: OSS "GetObject", notes on Range.
    """
    match = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", text.strip(), re.ASCII)
    if match is None or match[0].strip() == "bytes=-":
        return None
    if not match[1]:
        return _last(int(match[2]), size, standard=standard)
    start, end = int(match[1]), int(match[2]) + 1 if match[2] else size
    if start < size and start < end <= size:
        return Span(start, end)
    if not standard or (match[2] and end <= start):
        return None
    if start >= size:
        raise OssError("InvalidRange", size=size)
    return Span(start, size)


def _last(count: int, size: int, *, standard: bool) -> Span | None:
    if 0 < count <= size:
        return Span(size - count, size)
    if standard and (not count or not size):
        raise OssError("InvalidRange", size=size)
    return None


def slices(pieces: Sequence[Piece], span: Span) -> list[tuple[Piece, Span]]:
    """Return the pieces that *span* covers, each with the part of it that belongs to the span."""
    parts, at = [], 0
    for piece in pieces:
        start, end = max(span.start - at, 0), min(span.end - at, piece.size)
        if start < end:
            parts.append((piece, Span(start, end)))
        at += piece.size
    return parts
