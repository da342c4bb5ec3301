"""Operations on multipart uploads: parse, call, render."""

from emulator.http.message import Response
from emulator.oss import limits, wire
from emulator.oss.call import Call
from emulator.oss.model import Upload
from emulator.oss.object_api import written
from emulator.oss.storage import ObjectStorage
from emulator.oss.uploads import UploadPlace, Uploads
from emulator.oss.wire import Listing, Naming


class UploadApi:
    """What is asked of multipart uploads."""

    def __init__(self, storage: ObjectStorage, uploads: Uploads) -> None:
        self._storage = storage
        self._uploads = uploads

    async def start(self, call: Call) -> Response:
        """Begin an upload."""
        upload = await self._uploads.start(
            call.caller, call.place, call.attributes(), may_replace=call.may_replace()
        )  # fmt: skip
        return wire.document(wire.upload_started(call.place.bucket, upload, _naming(call)))

    async def put_part(self, call: Call) -> Response:
        """Keep a part: the body, or a stretch of another object."""
        number = call.number("partNumber", 0, 1 << 40)
        source = call.source()
        if source is None:
            part = await self._uploads.put_part(call.caller, _place(call), number, call.request.body, call.md5())
            return Response(200, b"", [("ETag", wire.quoted(part.etag)), ("x-oss-hash-crc64ecma", str(part.crc))])
        conditions = call.conditions("x-oss-copy-source-")
        part = await self._uploads.copy_part(
            call.caller, _place(call), number, source, call.source_span(), conditions
        )  # fmt: skip
        response = wire.document(wire.copied("CopyPartResult", part.etag, part.modified_at))
        response.headers += [("ETag", wire.quoted(part.etag)), ("x-oss-hash-crc64ecma", str(part.crc))]
        return response

    async def list_parts(self, call: Call) -> Response:
        """List the parts there are."""
        marker = call.number("part-number-marker", 0, 1 << 40)
        limit = call.number("max-parts", limits.PAGE, limits.PAGE, least=1)
        rest = [part for part in await self._uploads.parts(call.caller, _place(call)) if part.number > marker]
        place = call.place
        return wire.document(
            wire.parts(place.bucket, _place(call).id, place.key, rest[:limit], marker, limit, more=len(rest) > limit)
        )

    async def complete(self, call: Call) -> Response:
        """Make the object."""
        everything = call.header("x-oss-complete-all").lower() == "yes"
        wanted = None if everything else wire.read_completion(call.document("CompleteMultipartUpload"))
        stored = await self._uploads.complete(
            call.caller, _place(call), wanted, may_replace=call.may_replace()
        )  # fmt: skip
        location = f"{call.request.scheme}://{call.context.host}/{call.request.path.lstrip('/')}"
        response = wire.document(wire.completed(location, call.place.bucket, stored, _naming(call)))
        response.headers += written(stored).headers
        return response

    async def abort(self, call: Call) -> Response:
        """Drop an upload with its parts."""
        await self._uploads.abort(call.caller, _place(call))
        return Response(204)

    async def list_uploads(self, call: Call) -> Response:
        """List a bucket's uploads by key and id."""
        query = call.query
        _, bucket = await self._storage.bucket(call.caller, call.place.bucket)
        asked = Listing(
            bucket=bucket,
            prefix=query.get("prefix", ""),
            delimiter=query.get("delimiter", ""),
            after=query.get("key-marker", ""),
            limit=call.number("max-uploads", limits.PAGE, limits.PAGE, least=1),
            naming=_naming(call),
        )
        upload_marker = query.get("upload-id-marker", "") if asked.after else ""
        rows = _rows(await self._uploads.listed(call.caller, bucket.name), asked, upload_marker)
        page = rows[: asked.limit]
        more = _marker(page[-1]) if len(rows) > asked.limit else None
        return wire.document(wire.uploads(asked, upload_marker, page, more))


def _place(call: Call) -> UploadPlace:
    return UploadPlace(call.place.bucket, call.place.key, call.query.get("uploadId", ""))


def _naming(call: Call) -> Naming:
    return Naming(call.query.get("encoding-type", ""))


def _rows(uploads: list[Upload], asked: Listing, upload_marker: str) -> list[Upload | str]:
    """Return what a list shows beyond the markers: uploads, and each common prefix once.

    Without an upload's id the marker stands behind all uploads of its key.
    """
    rows: list[Upload | str] = []
    for upload in uploads:
        if not upload.key.startswith(asked.prefix) or upload.key < asked.after:
            continue
        if upload.key == asked.after and (not upload_marker or upload.id <= upload_marker):
            continue
        head, mark, _ = upload.key[len(asked.prefix) :].partition(asked.delimiter or "\0")
        common = asked.prefix + head + mark
        if not (asked.delimiter and mark):
            rows.append(upload)
        elif common not in rows[-1:] and common > asked.after:
            rows.append(common)
    return rows


def _marker(last: Upload | str) -> tuple[str, str]:
    return (last, "") if isinstance(last, str) else (last.key, last.id)
