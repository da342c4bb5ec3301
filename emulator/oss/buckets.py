"""The operations on the account and on buckets, their settings, and the lists of objects.

Settings are kept and answered as they were sent, without an effect on the bucket. A setting that was never made is
answered as by a fresh bucket: with an error, or with a document.

Source: OSS API reference, one page for each operation; "assumed" marks the rest.
"""

import json
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable
from typing import NamedTuple

from emulator.http.message import Response
from emulator.kernel.identity import AccountId, stable_id
from emulator.oss import codec, limits
from emulator.oss.codec import Listing, Naming, text
from emulator.oss.errors import OssError
from emulator.oss.model import BUCKET_ACLS, STORAGE_CLASSES, Bucket, StoredObject
from emulator.oss.objects import Objects
from emulator.oss.request import caller_of, check_md5, document_of, number_of, one_of
from emulator.oss.storage import ObjectStorage
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.xml import Element, parse

POLICY = "policy"
TAGGING = "tagging"


class Setting(NamedTuple):
    """A setting with an XML document.

    ``name`` is what the API's operations call it. ``unset`` is what a fresh bucket answers: the name of an error, or a
    function that makes the document. A setting without ``root``, the document's root element, cannot be made here.
    ``member`` is an element that the document must have; ``can_delete`` is false where the API has no such operation.
    """

    subresource: str
    name: str
    unset: str | Callable[[Bucket], Element]
    root: str = ""
    member: str = ""
    can_delete: bool = True


def resource_group(account: AccountId) -> str:
    """Return the id of the account's default resource group. Source: assumed, in the form of the vendor's examples."""
    return "rg-acfm" + stable_id("resource-group", account, "default")[:11]


def _document(root: str, *children: Element) -> Callable[[Bucket], Element]:
    return lambda _: Element(root, children=children)


def _default_group(bucket: Bucket) -> Element:
    return Element(
        "BucketResourceGroupConfiguration", children=[text("ResourceGroupId", resource_group(bucket.account))]
    )


def _no_domains(bucket: Bucket) -> Element:
    return Element("ListCnameResult", children=[text("Bucket", bucket.name), text("Owner", bucket.account)])


_ANY_REFERER = _document(
    "RefererConfiguration", text("AllowEmptyReferer", True), text("AllowTruncateQueryString", True),
    text("TruncatePath", True), Element("RefererList"),
)  # fmt: skip

SETTINGS = (
    Setting("accessmonitor", "AccessMonitor", _document("AccessMonitorConfiguration", text("Status", "Disabled")),
            "AccessMonitorConfiguration", "Status", can_delete=False),
    Setting("cname", "Cname", _no_domains),
    Setting("cors", "Cors", "NoSuchCORSConfiguration", "CORSConfiguration", "CORSRule"),
    Setting("encryption", "Encryption", "NoSuchServerSideEncryptionRule", "ServerSideEncryptionRule",
            "ApplyServerSideEncryptionByDefault"),
    # an empty list is assumed
    Setting("inventory", "Inventory", _document("ListInventoryConfigurationsResult", text("IsTruncated", False))),
    Setting("lifecycle", "Lifecycle", "NoSuchLifecycle", "LifecycleConfiguration", "Rule"),
    Setting("logging", "Logging", _document("BucketLoggingStatus"), "BucketLoggingStatus"),
    Setting("publicAccessBlock", "PublicAccessBlock",
            _document("PublicAccessBlockConfiguration", text("BlockPublicAccess", False))),
    Setting("referer", "Referer", _ANY_REFERER, "RefererConfiguration", "AllowEmptyReferer", can_delete=False),
    Setting("replication", "Replication", "NoSuchReplicationConfiguration"),
    Setting("requestPayment", "RequestPayment", _document("RequestPaymentConfiguration", text("Payer", "BucketOwner")),
            "RequestPaymentConfiguration", "Payer", can_delete=False),
    Setting("resourceGroup", "ResourceGroup", _default_group, "BucketResourceGroupConfiguration", "ResourceGroupId",
            can_delete=False),
    Setting(TAGGING, "Tags", _document("Tagging", Element("TagSet")), "Tagging", "TagSet"),
    Setting("transferAcceleration", "TransferAcceleration", "NoSuchTransferAccelerationConfiguration",
            "TransferAccelerationConfiguration", "Enabled", can_delete=False),
    Setting("versioning", "Versioning", _document("VersioningConfiguration")),
    Setting("website", "Website", "NoSuchWebsiteConfiguration", "WebsiteConfiguration"),
    Setting("worm", "Worm", "NoSuchWORMConfiguration"),
)  # fmt: skip

_BY_OPERATION: dict[str, Setting] = {}


async def get_setting(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return the document of a setting, or what a fresh bucket answers.

    Raises: OssError: NoSuchLifecycle and its like.
    """
    setting = _BY_OPERATION[call.operation]
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    document = storage.rows.setting(bucket.name, setting.subresource)
    if document is not None:
        return Response(200, document, [("Content-Type", codec.XML)])
    if isinstance(setting.unset, str):
        raise OssError(setting.unset)
    return codec.document(setting.unset(bucket))


async def put_setting(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Keep the document of a setting in place of an earlier one.

    Raises: OssError: MalformedXML, InvalidDigest.
    """
    setting = _BY_OPERATION[call.operation]
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    check_md5(call)
    document = document_of(call, setting.root)
    if setting.member and document.find(setting.member) is None:
        raise OssError("MalformedXML")
    await storage.put_setting(bucket, setting.subresource, codec.rendered(document))
    return Response(200)


async def delete_setting(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Delete a setting, which need not exist; of the tags only those that the query names, if it names any."""
    setting = _BY_OPERATION[call.operation]
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    keys = call.query[setting.subresource].split(",") if setting.subresource == TAGGING else [""]
    document = storage.rows.setting(bucket.name, setting.subresource) if keys != [""] else None
    if document is not None:
        root = parse(document)
        for tags in root.all("TagSet"):
            tags.children = [tag for tag in tags.children if tag.text_of("Key") not in keys]
        document = codec.rendered(root)
    await storage.put_setting(bucket, setting.subresource, document)
    return Response(204)


def in_bucket_info(storage: ObjectStorage, bucket: Bucket) -> list[Element]:
    """Return the settings that GetBucketInfo repeats."""

    def kept(subresource: str) -> Element:
        document = storage.rows.setting(bucket.name, subresource)
        return parse(document) if document is not None else Element("")

    accelerated = (kept("transferAcceleration").text_of("Enabled") or "").strip() == "true"
    rule = kept("encryption").find("ApplyServerSideEncryptionByDefault")
    return [
        text("AccessMonitor", kept("accessmonitor").text_of("Status") or "Disabled"),
        text("BlockPublicAccess", False),
        text("CrossRegionReplication", "Disabled"),
        text("ResourceGroupId", kept("resourceGroup").text_of("ResourceGroupId") or resource_group(bucket.account)),
        Element("ServerSideEncryptionRule", children=rule.children if rule else [text("SSEAlgorithm", "None")]),
        text("TransferAcceleration", "Enabled" if accelerated else "Disabled"),
    ]


for _each in SETTINGS:
    _route = f"/{{bucket}}?{_each.subresource}"
    _BY_OPERATION |= {f"{_verb}Bucket{_each.name}": _each for _verb in ("Get", "Put", "Delete")}
    operation(f"GetBucket{_each.name}", f"GET {_route}")(get_setting)
    if _each.root:
        operation(f"PutBucket{_each.name}", f"PUT {_route}")(put_setting)
        if _each.can_delete:
            operation(f"DeleteBucket{_each.name}", f"DELETE {_route}")(delete_setting)


# --- the policy, which is JSON ---------------------------------------------------------------------------------------


@operation("GetBucketPolicy", "GET /{bucket}?policy")
async def get_policy(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return the policy as it was sent.

    Raises: OssError: NoSuchBucketPolicy.
    Source: OSS API reference, GetBucketPolicy.
    """
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    policy = storage.rows.setting(bucket.name, POLICY)
    if policy is None:
        raise OssError("NoSuchBucketPolicy")
    return Response(200, policy, [("Content-Type", "application/json")])


@operation("PutBucketPolicy", "PUT /{bucket}?policy")
async def put_policy(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Keep a policy: a JSON object with statements.

    Raises: OssError: InvalidPolicyDocument.
    Source: OSS API reference, PutBucketPolicy.
    """
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    try:
        policy = json.loads(call.http.body)
    except (ValueError, RecursionError):
        policy = None
    if not isinstance(policy, dict) or not isinstance(policy.get("Statement"), list):
        raise OssError("InvalidPolicyDocument", detail="it has no statements")
    await storage.put_setting(bucket, POLICY, call.http.body)
    return Response(200)


@operation("DeleteBucketPolicy", "DELETE /{bucket}?policy")
async def delete_policy(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Delete the policy, which need not exist. Source: OSS API reference, DeleteBucketPolicy."""
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    await storage.put_setting(bucket, POLICY, None)
    return Response(204)


# --- the account -----------------------------------------------------------------------------------------------


@operation("ListBuckets", "GET /")
async def list_buckets(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return a page of the account's buckets. Source: OSS API reference, ListBuckets."""
    prefix, marker = call.query.get("prefix", ""), call.query.get("marker", "")
    limit = number_of(call, "max-keys", limits.PAGE_DEFAULT, limits.PAGE, least=1)
    buckets = [
        bucket
        for bucket in await storage.buckets(caller_of(call))
        if bucket.name.startswith(prefix) and bucket.name > marker
    ]
    more = buckets[limit - 1].name if len(buckets) > limit else ""
    return codec.document(codec.buckets(caller_of(call).account, buckets[:limit], prefix, marker, limit, more))


# --- buckets ---------------------------------------------------------------------------------------------------


@operation("PutBucket", "PUT /{bucket}")
async def create_bucket(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Create a bucket; creating one's own again changes its ACL when the request has one.

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
        raise OssError("InvalidArgument", name="StorageClass", value=storage_class[:100])
    name = call.path["bucket"]
    bucket = await storage.create_bucket(caller_of(call), name, acl, storage_class or "Standard", region)
    return Response(200, b"", [("Location", f"/{bucket.name}")])


@operation("DeleteBucket", "DELETE /{bucket}")
async def delete_bucket(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Delete an empty bucket. Source: OSS API reference, DeleteBucket."""
    await storage.delete_bucket(caller_of(call), call.path["bucket"])
    return Response(204)


@operation("GetBucketInfo", "GET /{bucket}?bucketInfo")
async def get_bucket_info(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return all attributes of a bucket. Source: OSS API reference, GetBucketInfo."""
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    return codec.document(codec.bucket_info(bucket, in_bucket_info(storage, bucket)))


@operation("GetBucketStat", "GET /{bucket}?stat")
async def get_bucket_stat(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return the number of bytes, objects and uploads of a bucket. Source: OSS API reference, GetBucketStat."""
    size, objects, uploads = await storage.totals(caller_of(call), call.path["bucket"])
    return codec.document(codec.bucket_stat(size, objects, uploads, call.now))


@operation("GetBucketLocation", "GET /{bucket}?location")
async def get_bucket_location(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return the region of a bucket. Source: OSS API reference, GetBucketLocation."""
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    return codec.document(codec.text("LocationConstraint", f"oss-{bucket.region}"))


@operation("GetBucketAcl", "GET /{bucket}?acl")
async def get_bucket_acl(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return the ACL of a bucket. Source: OSS API reference, GetBucketAcl."""
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    return codec.document(codec.grant(bucket.account, bucket.acl))


@operation("PutBucketAcl", "PUT /{bucket}?acl")
async def put_bucket_acl(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Set the ACL of a bucket. Source: OSS API reference, PutBucketAcl."""
    acl = one_of(call, "x-oss-acl", BUCKET_ACLS)
    if not acl:
        raise OssError("InvalidArgument", "the header x-oss-acl is missing", name="x-oss-acl", value="")
    await storage.set_bucket_acl(caller_of(call), call.path["bucket"], acl)
    return Response(200)


# --- lists of objects ------------------------------------------------------------------------------------------


@operation("ListObjects", "GET /{bucket}")
async def list_objects(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Return a page of objects, in the form of ListObjectsV2 when ``list-type`` is 2.

    Source: OSS API reference, ListObjects.
    """
    if call.query.get("list-type") == "2":
        return await _list_v2(storage, call)
    listing = await _listing(storage, call, call.query.get("marker", ""))
    page, more = await _page(storage, call, listing, listing.after)
    return codec.document(codec.objects_v1(listing, page, more))


async def _list_v2(storage: ObjectStorage, call: OperationRequest) -> Response:
    listing = await _listing(storage, call, call.query.get("start-after", ""))
    token = call.query.get("continuation-token", "")
    page, more = await _page(storage, call, listing, _name_of(token) if token else listing.after)
    owned = call.query.get("fetch-owner") == "true"
    return codec.document(codec.objects_v2(listing, page, token, _token_of(more), owned=owned))


async def _listing(storage: ObjectStorage, call: OperationRequest, after: str) -> Listing:
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    return Listing(
        bucket=bucket,
        prefix=call.query.get("prefix", ""),
        delimiter=call.query.get("delimiter", ""),
        after=after,
        limit=number_of(call, "max-keys", limits.PAGE_DEFAULT, limits.PAGE, least=1),
        naming=Naming(call.query.get("encoding-type", "")),
    )


async def _page(
    storage: ObjectStorage, call: OperationRequest, listing: Listing, after: str
) -> tuple[list[StoredObject | str], str]:
    entries = await Objects(storage).listed(
        caller_of(call), listing.bucket.name, listing.prefix, listing.delimiter, after
    )
    page = entries[: listing.limit]
    last = page[-1] if len(entries) > listing.limit else ""
    return page, last.key if isinstance(last, StoredObject) else last


@operation("DeleteMultipleObjects", "POST /{bucket}?delete")
async def delete_multiple_objects(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Delete up to a thousand objects. Source: OSS API reference, DeleteMultipleObjects."""
    check_md5(call)
    keys, quiet = codec.read_deletion(document_of(call, "Delete"))
    await Objects(storage).delete(caller_of(call), call.path["bucket"], keys, "ObjectRemoved:DeleteObjects")
    if quiet:
        return Response(200)
    return codec.document(codec.deleted(keys, Naming(call.query.get("encoding-type", ""))))


def _token_of(name: str) -> str:
    return b2a_base64(name.encode("utf-8", "surrogateescape"), newline=False).decode("ascii")


def _name_of(token: str) -> str:
    try:
        return a2b_base64(token.encode("ascii"), strict_mode=True).decode("utf-8", "surrogateescape")
    except (Base64Error, UnicodeEncodeError):
        raise OssError(
            "InvalidArgument",
            "The continuation token provided is incorrect.",
            name="continuation-token",
            value=token[:100],
        ) from None
