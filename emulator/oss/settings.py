"""Settings of buckets: stored and returned as they were sent, without an effect on the bucket.

The answer for a setting that was never made is that of a new bucket: an error or a document. Source: OSS API reference,
one page for each operation; "assumed" marks the rest.
"""

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

from emulator.http.message import Headers, Response
from emulator.kernel.identity import default_resource_group
from emulator.oss import codec
from emulator.oss.codec import text, tree
from emulator.oss.errors import OssError
from emulator.oss.model import Bucket
from emulator.oss.request import caller_of, check_md5, document_of
from emulator.oss.storage import ObjectStorage
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.xml import Element, parse

POLICY = "policy"
TAGGING = "tagging"


class Setting(NamedTuple):
    """A setting with an XML document.

    ``name`` is what the API's operations call it. ``unset`` is the answer of a new bucket: the name of an error, or a
    function that makes the document. A setting without ``root``, the document's root element, can only be read here.
    ``member`` is an element that the document must have; ``can_delete`` is false where the API has no such operation.
    """

    subresource: str
    name: str
    unset: str | Callable[[Bucket], Element]
    root: str = ""
    member: str = ""
    can_delete: bool = True


def _document(root: str, *children: Element) -> Callable[[Bucket], Element]:
    return lambda _: tree(root, *children)


def _default_group(bucket: Bucket) -> Element:
    return tree("BucketResourceGroupConfiguration", text("ResourceGroupId", default_resource_group(bucket.account)))


def _no_domains(bucket: Bucket) -> Element:
    return tree("ListCnameResult", text("Bucket", bucket.name), text("Owner", bucket.account))


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
    # the error's source: terraform-provider-alicloud, DescribeOssBucketHttpsConfig
    Setting("httpsConfig", "HttpsConfig", "NoSuchHttpsConfig", "HttpsConfiguration", "TLS", can_delete=False),
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

    Raises: as `ObjectStorage.bucket`; NoSuchLifecycle and its like.
    Source: OSS API reference, GetBucketLifecycle and its like.
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

    Raises: as `ObjectStorage.bucket`; MalformedXML, InvalidDigest.
    Source: OSS API reference, PutBucketLifecycle and its like.
    """
    setting = _BY_OPERATION[call.operation]
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    check_md5(call)
    document = document_of(call, setting.root)
    if setting.member and document.find(setting.member) is None:
        raise OssError("MalformedXML")
    for listed in document.all("RefererList"):
        # aliyun-oss-go-sdk writes an empty one to clear the list
        listed.children = [each for each in listed.children if each.text.strip()]
    await storage.put_setting(bucket, setting.subresource, codec.rendered(document))
    return Response(200)


async def delete_setting(storage: ObjectStorage, call: OperationRequest) -> Response:
    """Delete a setting, which need not exist; of the tags only those that the query names, if it names any.

    Raises: as `ObjectStorage.bucket`.
    Source: OSS API reference, DeleteBucketLifecycle and its like.
    """
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


_ENCRYPTION = {
    "SSEAlgorithm": "x-oss-server-side-encryption",
    "KMSMasterKeyID": "x-oss-server-side-encryption-key-id",
    "KMSDataEncryption": "x-oss-server-side-data-encryption",
}


def settings_of_headers(headers: Headers) -> Iterator[tuple[str, bytes]]:
    """Yield subresource and document of each setting made by headers of PutBucket.

    Source: terraform-provider-alicloud, resource_alicloud_oss_bucket.go.
    """
    rule = [text(name, headers.get(header)) for name, header in _ENCRYPTION.items() if header in headers]
    if _ENCRYPTION["SSEAlgorithm"] in headers:
        inside = tree("ApplyServerSideEncryptionByDefault", *rule)
        yield "encryption", codec.rendered(tree("ServerSideEncryptionRule", inside))
    if group := headers.get("x-oss-resource-group-id"):
        inside = text("ResourceGroupId", group)
        yield "resourceGroup", codec.rendered(tree("BucketResourceGroupConfiguration", inside))


def in_bucket_info(storage: ObjectStorage, bucket: Bucket) -> list[Element]:
    """Return the settings that are part of GetBucketInfo's answer."""

    def kept(subresource: str) -> Element:
        document = storage.rows.setting(bucket.name, subresource)
        return parse(document) if document is not None else Element("")

    accelerated = (kept("transferAcceleration").text_of("Enabled") or "").strip() == "true"
    rule = kept("encryption").find("ApplyServerSideEncryptionByDefault")
    return [
        text("AccessMonitor", kept("accessmonitor").text_of("Status") or "Disabled"),
        text("BlockPublicAccess", False),
        text("CrossRegionReplication", "Disabled"),
        text(
            "ResourceGroupId",
            kept("resourceGroup").text_of("ResourceGroupId") or default_resource_group(bucket.account),
        ),
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
    """Delete the policy, which need not exist.

    Raises: as `ObjectStorage.bucket`.
    Source: OSS API reference, DeleteBucketPolicy.
    """
    _, bucket = await storage.bucket(caller_of(call), call.path["bucket"])
    await storage.put_setting(bucket, POLICY, None)
    return Response(204)
