"""The operations on the account and on buckets, and the lists of objects. Source: OSS API reference."""

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64

from emulator.http.message import Response
from emulator.oss import codec, limits
from emulator.oss.errors import invalid
from emulator.oss.model import BUCKET_ACLS, STORAGE_CLASSES, StoredObject
from emulator.oss.objects import delete
from emulator.oss.request import caller_of, check_md5, document_of, missing_header, number_of, one_of
from emulator.oss.settings import in_bucket_info, settings_of_headers
from emulator.oss.storage import ObjectStorage
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


@operation("ListBuckets", "GET /")
async def list_buckets(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return a page of the account's buckets.

    Raises: OssError: InvalidArgument.
    Source: OSS API reference, ListBuckets.
    """
    prefix, marker = call.query.get("prefix", ""), call.query.get("marker", "")
    limit = number_of(call, "max-keys", limits.PAGE_DEFAULT, limits.PAGE, least=1)
    buckets = [
        bucket
        for bucket in await storage.buckets(caller_of(call))
        if bucket.name.startswith(prefix) and bucket.name > marker
    ]
    more = buckets[limit - 1].name if len(buckets) > limit else ""
    return codec.document(codec.buckets(caller_of(call).account, buckets[:limit], prefix, marker, limit, more))


@operation("PutBucket", "PUT /{bucket}")
async def create_bucket(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Create a bucket; for an existing bucket of the caller, change its ACL if the request has one.

    Raises: OssError: InvalidArgument, and as `ObjectStorage.create_bucket`.
    Source: OSS API reference, PutBucket.
    """
    acl = one_of(call, "x-oss-acl", BUCKET_ACLS)
    storage_class, region = "", ""
    if call.http.body.strip():
        settings = document_of(call, "CreateBucketConfiguration")
        storage_class = (settings.text_of("StorageClass") or "").strip()
        region = (settings.text_of("LocationConstraint") or "").strip().removeprefix("oss-")
    if storage_class and storage_class not in STORAGE_CLASSES:
        raise invalid("StorageClass", storage_class[:100])
    name = call.path["bucket"]
    bucket = await storage.create_bucket(caller_of(call), name, acl, storage_class or "Standard", region)
    for subresource, document in settings_of_headers(call.http.headers):
        await storage.put_setting(bucket, subresource, document)
    return Response(200, b"", [("Location", f"/{bucket.name}")])


@operation("DeleteBucket", "DELETE /{bucket}")
async def delete_bucket(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Delete an empty bucket.

    Raises: as `ObjectStorage.bucket`; BucketNotEmpty.
    Source: OSS API reference, DeleteBucket.
    """
    await storage.delete_bucket(caller_of(call), call.path["bucket"])
    return Response(204)


@operation("GetBucketInfo", "GET /{bucket}?bucketInfo")
async def get_bucket_info(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return all attributes of a bucket.

    Raises: as `ObjectStorage.bucket`.
    Source: OSS API reference, GetBucketInfo.
    """
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    return codec.document(codec.bucket_info(bucket, in_bucket_info(storage, bucket)))


@operation("GetBucketStat", "GET /{bucket}?stat")
async def get_bucket_stat(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return the number of bytes, objects and uploads of a bucket.

    Raises: as `ObjectStorage.bucket`.
    Source: OSS API reference, GetBucketStat.
    """
    size, objects, uploads = await storage.totals(caller_of(call), call.path["bucket"])
    return codec.document(codec.bucket_stat(size, objects, uploads, call.now))


@operation("GetBucketLocation", "GET /{bucket}?location")
async def get_bucket_location(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return the region of a bucket.

    Raises: as `ObjectStorage.bucket`.
    Source: OSS API reference, GetBucketLocation.
    """
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    return codec.document(codec.text("LocationConstraint", f"oss-{bucket.region}"))


@operation("GetBucketAcl", "GET /{bucket}?acl")
async def get_bucket_acl(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return the ACL of a bucket.

    Raises: as `ObjectStorage.bucket`.
    Source: OSS API reference, GetBucketAcl.
    """
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    return codec.document(codec.grant(bucket.account, bucket.acl))


@operation("PutBucketAcl", "PUT /{bucket}?acl")
async def put_bucket_acl(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Set the ACL of a bucket.

    Raises: as `ObjectStorage.bucket`; InvalidArgument.
    Source: OSS API reference, PutBucketAcl.
    """
    acl = one_of(call, "x-oss-acl", BUCKET_ACLS)
    if not acl:
        raise missing_header("x-oss-acl")
    await storage.set_bucket_acl(caller_of(call), call.path["bucket"], acl)
    return Response(200)


@operation("ListObjects", "GET /{bucket}")
async def list_objects(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return a page of objects, in the form of ListObjectsV2 when ``list-type`` is 2.

    Raises: as `ObjectStorage.bucket`; InvalidArgument.
    Source: OSS API reference, ListObjects.
    """
    query, is_v2 = call.query, call.query.get("list-type") == "2"
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    marker = "start-after" if is_v2 else "marker"
    listing = codec.listing_of(call, bucket, marker, "max-keys", limits.PAGE_DEFAULT)
    token = query.get("continuation-token", "") if is_v2 else ""
    after = _name_of(token) if token else listing.after
    entries = storage.rows.entries(bucket.name, listing.prefix, listing.delimiter, after, listing.limit + 1)
    page = entries[: listing.limit]
    last = page[-1] if len(entries) > listing.limit else ""
    more = last.key if isinstance(last, StoredObject) else last
    if not is_v2:
        return codec.document(codec.objects_v1(listing, page, more))
    owned = query.get("fetch-owner") == "true"
    return codec.document(codec.objects_v2(listing, page, token, _token_of(more), owned=owned))


@operation("DeleteMultipleObjects", "POST /{bucket}?delete")
async def delete_multiple_objects(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Delete up to a thousand objects.

    Raises: as `ObjectStorage.bucket`; MalformedXML, InvalidDigest.
    Source: OSS API reference, DeleteMultipleObjects.
    """
    check_md5(call)
    keys, quiet = codec.read_deletion(document_of(call, "Delete"))
    await delete(storage, caller_of(call), call.path["bucket"], keys, "ObjectRemoved:DeleteObjects")
    if quiet:
        return Response(200)
    return codec.document(codec.deleted(keys, codec.naming_of(call)))


def _token_of(name: str) -> str:
    return b2a_base64(name.encode("utf-8", "surrogateescape"), newline=False).decode("ascii")


def _name_of(token: str) -> str:
    try:
        return a2b_base64(token.encode("ascii"), strict_mode=True).decode("utf-8", "surrogateescape")
    except (Base64Error, UnicodeEncodeError):
        text = "The continuation token provided is incorrect."
        raise invalid("continuation-token", token[:100], text) from None
