"""Objects: reading, writing, copying and deleting them. Source: OSS API reference, one page for each operation."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from emulator.http.message import Pairs, Response
from emulator.kernel.frozen import replace
from emulator.oss import codec, limits
from emulator.oss.errors import OssError, invalid
from emulator.oss.model import (
    EMPTY_ETAG,
    OBJECT_ACLS,
    Bucket,
    Caller,
    Conditions,
    Content,
    Kind,
    Part,
    Piece,
    Place,
    Put,
    Span,
    StoredObject,
    appended,
    check_object_name,
    span_of,
)
from emulator.oss.request import (
    KEPT_HEADERS,
    caller_of,
    conditions_of,
    document_of,
    header_of,
    missing_header,
    number_of,
    one_of,
    place_of,
    put_of,
    sendable,
    source_of,
)
from emulator.oss.storage import ObjectStorage
from emulator.wire.dates import http_date
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.xml import Element

if TYPE_CHECKING:
    from emulator.oss.s3 import S3Model


@asynccontextmanager
async def taken(storage: ObjectStorage, body: bytes, md5: bytes = b"") -> AsyncIterator[Content]:
    """Store the bytes of a request; remove them again when the context ends with an error.

    Raises: InvalidDigest when they do not have the stated *md5*.
    """
    content = await storage.contents.add(body)
    try:
        _check_digest(content, md5)
        yield content
    except Exception:  # not when cancelled: the object may be stored already, and the next start removes unused content
        storage.contents.remove([content.piece.content])
        raise


def _check_digest(content: Content, md5: bytes) -> None:
    if md5 and content.md5 != md5:
        raise OssError("InvalidDigest")


async def get(
    storage: ObjectStorage, caller: Caller, place: Place, conditions: Conditions | None = None, *, follow: bool = True
) -> StoredObject:
    """Return an object; a symbolic link is followed once unless *follow* is false.

    Raises: as `ObjectStorage.bucket`; NoSuchKey, PreconditionFailed, NotModified.
    """
    model, _ = await storage.bucket(caller, place.bucket)
    stored = _there(model, place)
    if follow and stored.kind == "Symlink":
        stored = _there(model, Place(place.bucket, stored.target))
    if conditions is not None:
        conditions.check(stored)
    return stored


async def put(
    storage: ObjectStorage, caller: Caller, place: Place, body: bytes, said: Put,
    event: str = "ObjectCreated:PutObject",
) -> StoredObject:  # fmt: skip
    """Create an object from *body*, replacing an existing one.

    Raises: as `ObjectStorage.bucket`; InvalidObjectName, FileAlreadyExists, InvalidDigest.
    """
    await writable(storage, caller, place, may_replace=said.may_replace)
    async with taken(storage, body, said.md5) as content:
        return await _store(storage, caller, place, said, event, (content.piece,), content.etag, content.crc)


async def copy(
    storage: ObjectStorage, caller: Caller, source: Place, place: Place, conditions: Conditions, said: Put,
    *, own: set[str],
) -> StoredObject:  # fmt: skip
    """Create an object with another's content; *own* names the attributes that *said* replaces.

    Raises: as `get` and `put`.
    """
    original = await get(storage, caller, source, conditions, follow=False)
    await writable(storage, caller, place, may_replace=said.may_replace)
    replaced = {name: getattr(said.attributes, name) for name in own}
    attributes = replace(original.attributes, acl=said.attributes.acl, **replaced)
    kind: Kind = "Multipart" if original.kind == "Multipart" else "Normal"
    return await _store(
        storage, caller, place, replace(said, attributes=attributes), "ObjectCreated:CopyObject", original.pieces,
        original.etag, original.crc, kind=kind,
    )  # fmt: skip


async def delete(storage: ObjectStorage, caller: Caller, bucket_name: str, keys: list[str], event: str) -> None:
    """Delete objects; names that do not exist are ignored.

    Raises: as `ObjectStorage.bucket`.
    """
    model, bucket = await storage.bucket(caller, bucket_name)
    unused: list[str] = []
    for key in keys:
        old = model.get(bucket.name, key)
        if old is None:
            continue
        with storage.unit():
            unused += storage.rows.remove_object(bucket.name, old)
            storage.report(caller, bucket, event, old, size_before=old.size)
        model.remove(bucket.name, key)
    await storage.settle(unused)


async def writable(
    storage: ObjectStorage, caller: Caller, place: Place, *, may_replace: bool
) -> "tuple[S3Model, Bucket]":
    """Return the model and the bucket for an object that may be written.

    Raises: as `ObjectStorage.bucket`; InvalidObjectName, FileAlreadyExists.
    """
    check_object_name(place.key)
    model, bucket = await storage.bucket(caller, place.bucket)
    if not may_replace and model.get(place.bucket, place.key) is not None:
        raise OssError("FileAlreadyExists", key=place.key)
    return model, bucket


async def _store(
    storage: ObjectStorage, caller: Caller, place: Place, said: Put, event: str, pieces: tuple[Piece, ...], etag: str,
    crc: int, *, kind: Kind = "Normal", target: str = "",
) -> StoredObject:  # fmt: skip
    model, bucket = await writable(storage, caller, place, may_replace=said.may_replace)  # it took time to get here
    old = model.get(place.bucket, place.key)
    new = StoredObject(
        key=place.key, kind=kind, pieces=pieces, etag=etag, crc=crc, modified_at=caller.now,
        attributes=said.attributes, target=target,
    )  # fmt: skip
    with storage.unit():
        unused = storage.rows.put_object(bucket.name, new, old)
        storage.report(caller, bucket, event, new, size_before=old.size if old else 0)
    model.put(bucket.name, new)
    await storage.settle(unused)
    return new


def _there(model: "S3Model", place: Place) -> StoredObject:
    if not place.key:
        raise invalid("object name")
    stored = model.get(place.bucket, place.key)
    if stored is None:
        raise OssError("NoSuchKey", key=place.key)
    return stored


async def _change(storage: ObjectStorage, call: OperationRequest, **attributes: Any) -> None:
    """Change attributes of an object; content and modification time stay."""
    model, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    old = _there(model, place_of(call))
    new = replace(old, attributes=replace(old.attributes, **attributes))
    unused = storage.rows.put_object(bucket.name, new, old)
    model.put(bucket.name, new)
    await storage.settle(unused)


@operation("GetObject", "GET /{bucket}/{key}")
async def get_object(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return an object, or the requested range of it.

    Raises: as `get`; InvalidRange. Source: OSS API reference, GetObject.
    """
    stored = await get(storage, caller_of(call), place_of(call), conditions_of(call))
    asked, standard = header_of(call, "range"), header_of(call, "x-oss-range-behavior") == "standard"
    span = span_of(asked, stored.size, standard=standard) if asked else None
    headers = _overridden(described(stored), call)
    status, wanted = 200, Span(0, stored.size)
    if span is not None:
        status, wanted = 206, span
        headers.append(("Content-Range", f"bytes {span.start}-{span.end - 1}/{stored.size}"))
    if len(wanted) <= limits.AT_ONCE_BYTES:
        return Response(status, await storage.contents.read(stored.pieces, wanted), headers)
    headers.append(("Content-Length", str(len(wanted))))
    return Response(status, storage.contents.stream(stored.pieces, wanted), headers)


@operation("HeadObject", "HEAD /{bucket}/{key}")
async def head_object(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return the headers of an object.

    Raises: as `get`.
    Source: OSS API reference, HeadObject.
    """
    stored = await get(storage, caller_of(call), place_of(call), conditions_of(call))
    return Response(200, b"", [*described(stored), ("Content-Length", str(stored.size))])


@operation("GetObjectMeta", "HEAD /{bucket}/{key}?objectMeta")
@operation("GetObjectMeta", "GET /{bucket}/{key}?objectMeta")
async def get_object_meta(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return size, age and ETag of an object.

    Raises: as `get`. Source: OSS API reference, GetObjectMeta.
    """
    stored = await get(storage, caller_of(call), place_of(call))
    return Response(200, b"", [*_identity(stored), ("Content-Length", str(stored.size))])


@operation("GetObjectACL", "GET /{bucket}/{key}?acl")
async def get_object_acl(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return the ACL of an object.

    Raises: as `get`.
    Source: OSS API reference, GetObjectACL.
    """
    stored = await get(storage, caller_of(call), place_of(call), follow=False)
    return codec.document(codec.grant(caller_of(call).account, stored.attributes.acl))


@operation("GetObjectTagging", "GET /{bucket}/{key}?tagging")
async def get_object_tagging(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return the tags of an object.

    Raises: as `get`. Source: OSS API reference, GetObjectTagging.
    """
    stored = await get(storage, caller_of(call), place_of(call), follow=False)
    return codec.document(codec.tagging(stored.attributes.tags))


@operation("GetSymlink", "GET /{bucket}/{key}?symlink")
async def get_symlink(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return the target of a symbolic link.

    Raises: as `get`. Source: OSS API reference, GetSymlink.
    """
    stored = await get(storage, caller_of(call), place_of(call), follow=False)
    if stored.kind != "Symlink":
        raise OssError("NoSuchKey", "The object is not a symbolic link.", key=stored.key)
    target = quote(stored.target, safe="/", errors="surrogateescape")
    return Response(200, b"", [*_identity(stored), ("x-oss-symlink-target", target)])


@operation("PutObject", "PUT /{bucket}/{key}")
async def put_object(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Create an object from the body or from another object.

    Raises: as `put` and `copy`; InvalidArgument, InvalidTag. Source: OSS API reference, PutObject.
    """
    source = source_of(call)
    if source is not None:
        return await _copy(storage, call, source)
    stored = await put(storage, caller_of(call), place_of(call), call.http.body, put_of(call))
    return written(stored)


async def _copy(storage: ObjectStorage, call: OperationRequest, source: Place) -> Response:
    replaced = {"headers", "metadata"} if _replaces(call, "x-oss-metadata-directive") else set()
    if _replaces(call, "x-oss-tagging-directive"):
        replaced.add("tags")
    if header_of(call, "x-oss-storage-class"):
        replaced.add("storage_class")
    conditions = conditions_of(call, "x-oss-copy-source-")
    stored = await copy(storage, caller_of(call), source, place_of(call), conditions, put_of(call), own=replaced)
    return with_document(written(stored), codec.copied("CopyObjectResult", stored.etag, stored.modified_at))


@operation("AppendObject", "POST /{bucket}/{key}?append")
async def append_object(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Append the body to an appendable object, or create one; ``position`` must be its length.

    Raises: as `put`; InvalidArgument, InvalidTag, ObjectNotAppendable, PositionNotEqualToLength.
    Source: OSS API reference, AppendObject.
    """
    position = number_of(call, "position", -1, limits.OBJECT_BYTES)
    if position < 0:
        raise invalid("position", message="the parameter position is missing")
    caller, place, said = caller_of(call), place_of(call), put_of(call)
    await writable(storage, caller, place, may_replace=said.may_replace)
    async with taken(storage, call.http.body, said.md5) as content:
        model, _ = await storage.bucket(caller, place.bucket)
        old = model.get(place.bucket, place.key)
        if old is not None and old.kind != "Appendable":
            raise OssError("ObjectNotAppendable")
        if position != (length := old.size if old else 0):
            raise OssError("PositionNotEqualToLength", length=length)
        if old is not None:
            said = replace(said, attributes=old.attributes)
        event = "ObjectCreated:AppendObject"
        stored = await _store(storage, caller, place, said, event, *appended(old, content), kind="Appendable")
    response = written(stored)
    response.headers.append(("x-oss-next-append-position", str(stored.size)))
    return response


@operation("PutSymlink", "PUT /{bucket}/{key}?symlink")
async def put_symlink(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Create a symbolic link to a name in the same bucket; the target need not exist.

    Raises: as `put`; InvalidArgument. Source: OSS API reference, PutSymlink.
    """
    target = unquote(header_of(call, "x-oss-symlink-target"), errors="surrogateescape")
    if not target:
        raise missing_header("x-oss-symlink-target")
    caller, place, said = caller_of(call), place_of(call), put_of(call)
    check_object_name(target)
    event = "ObjectCreated:PutSymlink"
    stored = await _store(storage, caller, place, said, event, (), EMPTY_ETAG, 0, kind="Symlink", target=target)
    return Response(200, b"", [("ETag", codec.quoted(stored.etag))])


@operation("PutObjectACL", "PUT /{bucket}/{key}?acl")
async def put_object_acl(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Set the ACL of an object.

    Raises: as `get`; InvalidArgument. Source: OSS API reference, PutObjectACL.
    """
    acl = one_of(call, "x-oss-object-acl", OBJECT_ACLS)
    if not acl:
        raise missing_header("x-oss-object-acl")
    await _change(storage, call, acl=acl)
    return Response(200)


@operation("PutObjectTagging", "PUT /{bucket}/{key}?tagging")
async def put_object_tagging(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Set an object's tags.

    Raises: as `get`; MalformedXML, InvalidTag. Source: OSS API reference, PutObjectTagging.
    """
    await _change(storage, call, tags=codec.read_tagging(document_of(call, "Tagging")))
    return Response(200)


@operation("DeleteObjectTagging", "DELETE /{bucket}/{key}?tagging")
async def delete_object_tagging(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Remove the tags of an object.

    Raises: as `get`. Source: OSS API reference, DeleteObjectTagging.
    """
    await _change(storage, call, tags={})
    return Response(204)


@operation("DeleteObject", "DELETE /{bucket}/{key}")
async def delete_object(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Delete an object; it need not exist.

    Raises: as `ObjectStorage.bucket`. Source: OSS API reference, DeleteObject.
    """
    await delete(storage, caller_of(call), call.path["bucket"], [call.path["key"]], "ObjectRemoved:DeleteObject")
    return Response(204)


def written(stored: StoredObject | Part) -> Response:
    """Return the answer to a write of content."""
    return Response(200, b"", [("ETag", codec.quoted(stored.etag)), ("x-oss-hash-crc64ecma", str(stored.crc))])


def with_document(response: Response, root: Element) -> Response:
    """Return the answer to a write with an XML document as its body."""
    document = codec.document(root)
    return Response(200, document.body, [*document.headers, *response.headers])


def _identity(stored: StoredObject) -> Pairs:
    return [("ETag", codec.quoted(stored.etag)), ("Last-Modified", http_date(stored.modified_at))]


def described(stored: StoredObject) -> Pairs:
    """Return the headers that describe an object."""
    attributes = stored.attributes
    headers = [
        *attributes.headers.items(),
        *_identity(stored),
        ("Accept-Ranges", "bytes"),
        ("x-oss-object-type", stored.kind),
        ("x-oss-storage-class", attributes.storage_class),
        ("x-oss-hash-crc64ecma", str(stored.crc)),
        *((f"x-oss-meta-{name}", value) for name, value in attributes.metadata.items()),
    ]
    if "-" not in stored.etag and stored.kind == "Normal":
        headers.append(("Content-MD5", codec.base64_of_hex(stored.etag)))
    if attributes.tags:
        headers.append(("x-oss-tagging-count", str(len(attributes.tags))))
    if stored.kind == "Appendable":
        headers.append(("x-oss-next-append-position", str(stored.size)))
    return headers


def _overridden(headers: Pairs, call: OperationRequest) -> Pairs:
    """Return *headers* with the values that the query of a read sets."""
    wanted = {
        name: sendable(name, value) for name in KEPT_HEADERS if (value := call.query.get(f"response-{name.lower()}"))
    }
    return [(name, value) for name, value in headers if name not in wanted] + list(wanted.items())


def _replaces(call: OperationRequest, name: str) -> bool:
    return one_of(call, name, ("COPY", "REPLACE", "Copy", "Replace")).upper() == "REPLACE"
