"""Multipart uploads, filled part by part in any order; and PostObject, an object that comes as a form.

Source: OSS API reference, one page for each operation; the text for a failed condition of a form is assumed.
"""

import json
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from emulator.http.message import Headers, Request, Response
from emulator.oss import codec, limits
from emulator.oss.errors import OssError, invalid
from emulator.oss.model import (
    Attributes,
    Bucket,
    Caller,
    Part,
    Place,
    StoredObject,
    Upload,
    joined,
)
from emulator.oss.objects import get, put, taken, with_document, writable, written
from emulator.oss.request import (
    attributes_of,
    caller_of,
    conditions_of,
    document_of,
    header_of,
    may_replace,
    md5_of,
    number_of,
    place_of,
    put_of,
    sendable,
    source_of,
    source_span,
)
from emulator.oss.storage import ObjectStorage
from emulator.wire.multipart import FormField, MalformedForm, form_of, is_form
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest

if TYPE_CHECKING:
    from emulator.oss.s3 import S3Model


async def start(
    storage: ObjectStorage, caller: Caller, place: Place, attributes: Attributes, *, may_replace: bool
) -> Upload:
    """Start a multipart upload.

    Raises: as `ObjectStorage.bucket`; InvalidObjectName, FileAlreadyExists.
    """
    model, bucket = await writable(storage, caller, place, may_replace=may_replace)
    upload = Upload(id=storage.ids.hex(32).upper(), key=place.key, started_at=caller.now, attributes=attributes)
    with storage.unit():
        storage.rows.put_upload(bucket.name, upload)
        _report(storage, caller, bucket, "ObjectCreated:InitiateMultipartUpload", upload)
    model.put_upload(bucket.name, upload)
    await storage.settle()
    return upload


async def _put_part(
    storage: ObjectStorage, call: OperationRequest, number: int, body: bytes, md5: bytes, event: str
) -> Part:
    """Store a part, replacing one of the same number.

    Raises: as `_find`; InvalidArgument for a number that cannot be, InvalidDigest.
    """
    if not 1 <= number <= limits.PARTS:
        text = f"Part number must be an integer between 1 and {limits.PARTS}, inclusive."
        raise invalid("partNumber", str(number), text)
    await _find(storage, call)
    async with taken(storage, body, md5) as content:
        model, bucket, upload = await _find(storage, call)  # looked up again: receiving the content took time
        old, at = model.part(bucket.name, upload.id, number), call.now
        part = Part(number=number, piece=content.piece, etag=content.etag, crc=content.crc, modified_at=at)
        with storage.unit():
            unused = storage.rows.put_part(upload.id, part, old)
            _report(storage, caller_of(call), bucket, event, upload, part)
        model.put_part(bucket.name, upload.id, part)
        await storage.settle(unused)
    return part


def _report(
    storage: ObjectStorage, caller: Caller, bucket: Bucket, event: str, upload: Upload, part: Part | None = None
) -> None:
    """Report a step of an upload to triggers, which see the part as the object, or an empty one.

    Source: FAQ of Function Compute on triggers that fire more than once, for the events; size and ETag are assumed.
    """
    seen = StoredObject(
        key=upload.key, kind="Multipart", pieces=(part.piece,) if part else (), etag=part.etag if part else "",
        crc=part.crc if part else 0, modified_at=caller.now, attributes=upload.attributes,
    )  # fmt: skip
    storage.report(caller, bucket, event, seen)


async def _find(storage: ObjectStorage, call: OperationRequest) -> "tuple[S3Model, Bucket, Upload]":
    """Return the upload that a request names, with its bucket.

    Raises: as `ObjectStorage.bucket`; NoSuchUpload.
    """
    model, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    upload = model.upload(bucket.name, call.query["uploadId"])
    if upload is None or upload.key != call.path["key"]:
        raise OssError("NoSuchUpload", upload=call.query["uploadId"])
    return model, bucket, upload


def _chosen(there: dict[int, Part], wanted: Sequence[tuple[int, str]]) -> list[Part]:
    chosen: list[Part] = []
    for number, etag in wanted:
        part = there.get(number)
        if part is None or part.etag != etag.strip().strip('"').upper():
            raise OssError("InvalidPart", part=number, etag=etag)
        if chosen and chosen[-1].number >= number:
            raise OssError("InvalidPartOrder")
        chosen.append(part)
    return chosen


@operation("InitiateMultipartUpload", "POST /{bucket}/{key}?uploads")
async def initiate_multipart_upload(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Start a multipart upload.

    Raises: as `start`; InvalidArgument. Source: OSS API reference, InitiateMultipartUpload.
    """
    attributes, replaces = attributes_of(call), may_replace(call)
    upload = await start(storage, caller_of(call), place_of(call), attributes, may_replace=replaces)
    return codec.document(codec.upload_started(call.path["bucket"], upload, codec.naming_of(call)))


@operation("UploadPart", "PUT /{bucket}/{key}?uploadId")
async def upload_part(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Store a part: the body, or a range of another object.

    Raises: as `_put_part`, and `objects.get` for the other object; InvalidArgument, also for a stretch beyond its end.
    Source: OSS API reference, UploadPart.
    """
    number, source = number_of(call, "partNumber", 0, 1 << 40), source_of(call)
    if source is None:
        return written(await _put_part(storage, call, number, call.http.body, md5_of(call), "ObjectCreated:UploadPart"))
    span, conditions = source_span(call), conditions_of(call, "x-oss-copy-source-")
    original = await get(storage, caller_of(call), source, conditions, follow=False)
    if span is not None and span.end > original.size:
        raise invalid("x-oss-copy-source-range", f"bytes={span.start}-{span.end - 1}")
    body = await storage.contents.read(original.pieces, span)
    part = await _put_part(storage, call, number, body, b"", "ObjectCreated:UploadPartCopy")
    return with_document(written(part), codec.copied("CopyPartResult", part.etag, part.modified_at))


@operation("ListParts", "GET /{bucket}/{key}?uploadId")
async def list_parts(storage: ObjectStorage, call: OperationRequest) -> Response:
    """List the stored parts.

    Raises: as `ObjectStorage.bucket`; NoSuchUpload, InvalidArgument. Source: OSS API reference, ListParts.
    """
    marker = number_of(call, "part-number-marker", 0, 1 << 40)
    limit = number_of(call, "max-parts", limits.PAGE, limits.PAGE, least=1)
    model, bucket, upload = await _find(storage, call)
    rest = [part for number, part in model.parts(bucket.name, upload.id).items() if number > marker]
    more = len(rest) > limit
    return codec.document(codec.parts(bucket.name, upload, rest[:limit], marker, limit, more=more))


@operation("CompleteMultipartUpload", "POST /{bucket}/{key}?uploadId")
async def complete_multipart_upload(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Create the object from the named parts, or from all; other parts are deleted.

    Raises: as `ObjectStorage.bucket`; NoSuchUpload, MalformedXML, InvalidPart, InvalidPartOrder, EntityTooSmall,
    FileAlreadyExists.
    Source: OSS API reference, CompleteMultipartUpload.
    """
    everything = header_of(call, "x-oss-complete-all").lower() == "yes"
    wanted = None if everything else codec.read_completion(document_of(call, "CompleteMultipartUpload"))
    model, bucket, upload = await _find(storage, call)
    there = model.parts(bucket.name, upload.id)
    chosen = list(there.values()) if wanted is None else _chosen(there, wanted)
    if not chosen:
        raise OssError("InvalidPart", part="", etag="")
    for part in chosen[:-1]:
        if part.piece.size < limits.PART_BYTES_LEAST:
            raise OssError("EntityTooSmall", size=part.piece.size, least=limits.PART_BYTES_LEAST, part=part.number)
    old = model.get(bucket.name, upload.key)
    if old is not None and not may_replace(call):
        raise OssError("FileAlreadyExists", key=upload.key)
    pieces, etag, crc = joined(chosen)
    new = StoredObject(
        key=upload.key, kind="Multipart", pieces=pieces, etag=etag, crc=crc, modified_at=call.now,
        attributes=upload.attributes,
    )  # fmt: skip
    size_before = old.size if old else 0
    with storage.unit():
        unused = storage.rows.put_object(bucket.name, new, old)
        unused += storage.rows.remove_upload(upload.id, there.values())
        storage.report(caller_of(call), bucket, "ObjectCreated:CompleteMultipartUpload", new, size_before=size_before)
    model.put(bucket.name, new)
    model.remove_upload(bucket.name, upload.id)
    await storage.settle(unused)
    location = f"{call.http.scheme}://{call.host}/{call.http.path.lstrip('/')}"
    return with_document(written(new), codec.completed(location, bucket.name, new, codec.naming_of(call)))


@operation("AbortMultipartUpload", "DELETE /{bucket}/{key}?uploadId")
async def abort_multipart_upload(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Delete an upload with its parts.

    Raises: as `ObjectStorage.bucket`; NoSuchUpload. Source: OSS API reference, AbortMultipartUpload.
    """
    model, bucket, upload = await _find(storage, call)
    with storage.unit():
        unused = storage.rows.remove_upload(upload.id, model.parts(bucket.name, upload.id).values())
        _report(storage, caller_of(call), bucket, "ObjectRemoved:AbortMultipartUpload", upload)
    model.remove_upload(bucket.name, upload.id)
    await storage.settle(unused)
    return Response(204)


@operation("ListMultipartUploads", "GET /{bucket}?uploads")
async def list_multipart_uploads(storage: ObjectStorage, call: OperationRequest) -> Response:
    """List a bucket's uploads by key and id.

    Raises: as `ObjectStorage.bucket`; InvalidArgument. Source: OSS API reference, ListMultipartUploads.
    """
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    listing = codec.listing_of(call, bucket, "key-marker", "max-uploads", limits.PAGE)
    upload_marker = call.query.get("upload-id-marker", "") if listing.after else ""
    rows = storage.rows.upload_entries(
        bucket.name, listing.prefix, listing.delimiter, listing.after, upload_marker, listing.limit + 1
    )
    page = rows[: listing.limit]
    more = _marker(page[-1]) if len(rows) > listing.limit else None
    return codec.document(codec.uploads(listing, upload_marker, page, more))


def _marker(last: Upload | str) -> tuple[str, str]:
    return (last, "") if isinstance(last, str) else (last.key, last.id)


@operation("PostObject", "POST /{bucket}")
async def post_object(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Create an object from the form's file.

    Raises: InvalidArgument, InvalidPolicyDocument, AccessDenied for a form the policy does not allow, and what
    `objects.put` raises.
    Source: OSS API reference, PostObject.
    """
    if not is_form(call.http.headers.get("content-type")):
        raise OssError("MethodNotAllowed")
    parts: dict[str, FormField] = {}
    try:
        for field in form_of(call.http):
            parts.setdefault(field.name.lower(), field)  # the first counts, here and in the check of the policy
    except MalformedForm as error:
        text = "The body of your POST request is not well-formed multipart/form-data."
        raise invalid("body", str(error), text) from None
    file = parts.pop("file", None)
    form = {name: field.text for name, field in parts.items()}
    if file is None or not form.get("key"):
        missing = "file" if file is None else "key"
        raise invalid(missing, message=f"Bucket POST must contain a field named '{missing}'.")
    check_policy(_policy(form.get("policy", "")), {**form, "bucket": call.path["bucket"]}, len(file.content))
    sendable("success_action_redirect", form.get("success_action_redirect", ""))
    key = form["key"].replace("${filename}", file.filename.rpartition("/")[2].rpartition("\\")[2])
    headers = {"content-type": file.content_type, **form}
    fields = OperationRequest(Request("POST", "/", Headers(headers.items()), file.content), call.now)
    place = Place(call.path["bucket"], key)
    stored = await put(storage, caller_of(call), place, file.content, put_of(fields), "ObjectCreated:PostObject")
    return _answer(form, call, place, written(stored), stored.etag)


def check_policy(policy: Mapping[str, Any], fields: Mapping[str, str], size: int) -> None:
    """Check that a form of these *fields*, with a file of *size* bytes, is one that the policy allows.

    Raises: AccessDenied, InvalidPolicyDocument.
    """
    conditions = policy.get("conditions")
    if not isinstance(conditions, list):
        raise OssError("InvalidPolicyDocument", detail="Invalid JSON: conditions are missing")
    for condition in conditions:
        if not _holds(condition, fields, size):
            raise OssError(
                "AccessDenied", f"Invalid according to Policy: Policy Condition failed: {json.dumps(condition)}"
            )


def _holds(condition: object, fields: Mapping[str, str], size: int) -> bool:
    if isinstance(condition, dict) and len(condition) == 1:
        name, value = next(iter(condition.items()))
        return bool(fields.get(str(name).lower(), "") == value)
    match condition:
        case ["content-length-range", int(least), int(most)]:
            return least <= size <= most
        case [("eq" | "starts-with" | "in" | "not-in") as how, str(name), value] if name.startswith("$"):
            value_sent = fields.get(name[1:].lower(), "")
            match how, value:
                case "eq", str():
                    return value_sent == value
                case "starts-with", str():
                    return value_sent.startswith(value)
                case "in", list():
                    return value_sent in value
                case "not-in", list():
                    return value_sent not in value
                case _:
                    pass
    raise OssError("InvalidPolicyDocument", detail=f"Invalid condition {json.dumps(condition)[:200]}")


def _policy(text: str) -> Mapping[str, Any]:
    try:
        policy = json.loads(a2b_base64(text.encode("ascii")))
    except (Base64Error, ValueError, RecursionError):
        policy = None
    if not isinstance(policy, dict):
        raise OssError("InvalidPolicyDocument", detail="Invalid JSON")
    return policy


def _answer(form: Mapping[str, str], call: OperationRequest, place: Place, response: Response, etag: str) -> Response:
    location = f"{call.http.scheme}://{call.host}/{place.key}"
    if redirect := form.get("success_action_redirect"):
        mark = "&" if "?" in redirect else "?"
        response.status = 303
        items = urlencode({"bucket": place.bucket, "key": place.key, "etag": codec.quoted(etag)}, errors="replace")
        response.headers.append(("Location", f"{redirect}{mark}{items}"))
    elif form.get("success_action_status") == "201":
        about = [
            codec.text("Bucket", place.bucket), codec.text("Location", location), codec.text("Key", place.key),
            codec.text("ETag", codec.quoted(etag)),
        ]  # fmt: skip
        response = with_document(response, codec.tree("PostResponse", *about))
        response.status = 201
    elif form.get("success_action_status") != "200":
        response.status = 204
    return response
