"""Operations on objects: parse, call, render."""

from dataclasses import replace
from urllib.parse import quote, unquote

from emulator.http.message import Pairs, Response
from emulator.oss import limits, wire
from emulator.oss.call import KEPT_HEADERS, Call, sendable
from emulator.oss.errors import InvalidArgument, NoSuchKey
from emulator.oss.model import OBJECT_ACLS, Span, StoredObject, span_of
from emulator.oss.objects import Objects
from emulator.oss.storage import ObjectStorage
from emulator.wire.dates import http_date


class ObjectApi:
    """What is asked of objects."""

    def __init__(self, storage: ObjectStorage, objects: Objects) -> None:
        self._contents = storage.contents
        self._objects = objects

    # --- reading ---------------------------------------------------------------------------------------------------

    async def get(self, call: Call) -> Response:
        """Return an object, or the stretch of it that the request asks for."""
        stored = await self._objects.get(call.caller, call.place, call.conditions())
        standard = call.header("x-oss-range-behavior") == "standard"
        span = span_of(call.header("range"), stored.size, standard=standard) if call.header("range") else None
        whole = Span(0, stored.size)
        headers = _overridden(described(stored), call)
        if span is not None:
            headers.append(("Content-Range", f"bytes {span.start}-{span.end - 1}/{stored.size}"))
        wanted = span or whole
        status = 200 if span is None else 206
        if len(wanted) <= limits.AT_ONCE_BYTES:
            return Response(status, await self._contents.read(stored.pieces, wanted), headers)
        headers.append(("Content-Length", str(len(wanted))))
        return Response(status, self._contents.stream(stored.pieces, wanted), headers)

    async def head(self, call: Call) -> Response:
        """Tell all about an object."""
        stored = await self._objects.get(call.caller, call.place, call.conditions())
        return Response(200, b"", [*described(stored), ("Content-Length", str(stored.size))])

    async def meta(self, call: Call) -> Response:
        """Tell size, age and ETag of an object."""
        stored = await self._objects.get(call.caller, call.place)
        return Response(200, b"", [*_identity(stored), ("Content-Length", str(stored.size))])

    async def acl(self, call: Call) -> Response:
        """Tell who may read and write an object."""
        stored = await self._objects.get(call.caller, call.place, follow=False)
        return wire.document(wire.grant(call.caller.account, stored.attributes.acl))

    async def tagging(self, call: Call) -> Response:
        """Tell an object's tags."""
        stored = await self._objects.get(call.caller, call.place, follow=False)
        return wire.document(wire.tagging(stored.attributes.tags))

    async def symlink(self, call: Call) -> Response:
        """Tell where a symbolic link leads."""
        stored = await self._objects.get(call.caller, call.place, follow=False)
        if stored.kind != "Symlink":
            raise NoSuchKey("The object is not a symbolic link.", key=stored.key)
        target = quote(stored.target, safe="/", errors="surrogateescape")
        return Response(200, b"", [*_identity(stored), ("x-oss-symlink-target", target)])

    # --- writing ---------------------------------------------------------------------------------------------------

    async def put(self, call: Call) -> Response:
        """Make an object of the body, or of another object."""
        if call.source() is not None:
            return await self._copy(call)
        stored = await self._objects.put(call.caller, call.place, call.request.body, call.put())
        return written(stored)

    async def _copy(self, call: Call) -> Response:
        source = call.source()
        assert source is not None  # that is how the operation was told
        replaced = {"headers", "metadata"} if _replaces(call, "x-oss-metadata-directive") else set()
        if _replaces(call, "x-oss-tagging-directive"):
            replaced.add("tags")
        if call.header("x-oss-storage-class"):
            replaced.add("storage_class")
        conditions = call.conditions("x-oss-copy-source-")
        stored = await self._objects.copy(call.caller, source, call.place, conditions, call.put(), own=replaced)
        response = wire.document(wire.copied("CopyObjectResult", stored.etag, stored.modified_at))
        response.headers += [("ETag", wire.quoted(stored.etag)), ("x-oss-hash-crc64ecma", str(stored.crc))]
        return response

    async def append(self, call: Call) -> Response:
        """Put the body behind an object."""
        position = call.number("position", -1, limits.OBJECT_BYTES)
        if position < 0:
            raise InvalidArgument("the parameter position is missing", name="position", value="")
        stored = await self._objects.append(call.caller, call.place, call.request.body, position, call.put())
        response = written(stored)
        response.headers.append(("x-oss-next-append-position", str(stored.size)))
        return response

    async def put_symlink(self, call: Call) -> Response:
        """Make a symbolic link."""
        target = unquote(call.header("x-oss-symlink-target"), errors="surrogateescape")
        if not target:
            raise InvalidArgument("the header x-oss-symlink-target is missing", name="x-oss-symlink-target", value="")
        stored = await self._objects.put_symlink(call.caller, call.place, target, call.put())
        return Response(200, b"", [("ETag", wire.quoted(stored.etag))])

    async def set_acl(self, call: Call) -> Response:
        """Set who may read and write an object."""
        acl = call.one_of("x-oss-object-acl", OBJECT_ACLS)
        if not acl:
            raise InvalidArgument("the header x-oss-object-acl is missing", name="x-oss-object-acl", value="")
        await self._objects.change(call.caller, call.place, lambda attributes: replace(attributes, acl=acl))
        return Response(200)

    async def set_tagging(self, call: Call) -> Response:
        """Set an object's tags."""
        tags = wire.read_tagging(call.document("Tagging"))
        await self._objects.change(call.caller, call.place, lambda attributes: replace(attributes, tags=tags))
        return Response(200)

    async def delete_tagging(self, call: Call) -> Response:
        """Take an object's tags away."""
        await self._objects.change(call.caller, call.place, lambda attributes: replace(attributes, tags={}))
        return Response(204)

    async def delete(self, call: Call) -> Response:
        """Remove an object; it need not be there."""
        await self._objects.delete(call.caller, call.place.bucket, [call.place.key], "ObjectRemoved:DeleteObject")
        return Response(204)


def written(stored: StoredObject) -> Response:
    """Answer what came of writing content."""
    return Response(200, b"", [("ETag", wire.quoted(stored.etag)), ("x-oss-hash-crc64ecma", str(stored.crc))])


def _identity(stored: StoredObject) -> Pairs:
    return [("ETag", wire.quoted(stored.etag)), ("Last-Modified", http_date(stored.modified_at))]


def described(stored: StoredObject) -> Pairs:
    """Return the headers that tell about an object."""
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
        headers.append(("Content-MD5", wire.base64_of_hex(stored.etag)))
    if attributes.tags:
        headers.append(("x-oss-tagging-count", str(len(attributes.tags))))
    if stored.kind == "Appendable":
        headers.append(("x-oss-next-append-position", str(stored.size)))
    return headers


def _overridden(headers: Pairs, call: Call) -> Pairs:
    """Return *headers* as the query of a read wants them."""
    wanted = {
        name: sendable(name, value) for name in KEPT_HEADERS if (value := call.query.get(f"response-{name.lower()}"))
    }
    return [(name, value) for name, value in headers if name not in wanted] + list(wanted.items())


def _replaces(call: Call, name: str) -> bool:
    return call.one_of(name, ("COPY", "REPLACE", "Copy", "Replace")).upper() == "REPLACE"
