"""The XML documents that the object store reads and writes.

Source: OSS API reference; oss2 ``xml_utils.py`` for what clients read.
"""

from binascii import b2a_base64
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from emulator.http.message import Response
from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.digits import read_digits
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import AccountId
from emulator.oss import limits
from emulator.oss.errors import OssError
from emulator.oss.model import Bucket, Part, StoredObject, Upload
from emulator.oss.request import checked_tags, number_of
from emulator.wire.dates import iso_millis
from emulator.wire.request import OperationRequest
from emulator.wire.xml import Element, render

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
XML = "application/xml"


def document(root: Element) -> Response:
    """Answer with an XML document."""
    return Response(200, rendered(root), [("Content-Type", XML)])


def rendered(root: Element) -> bytes:
    """Return the bytes of a document."""
    return render(root, declaration=DECLARATION)


def text(name: str, value: object) -> Element:
    """Return an element with a text; booleans are written in lower case."""
    return Element(name, str(value).lower() if isinstance(value, bool) else str(value))


def tree(name: str, *children: Element) -> Element:
    """Return an element with child elements."""
    return Element(name, children=list(children))


def quoted(etag: str) -> str:
    """Return an ETag in quotes."""
    return f'"{etag}"'


def timestamp(at: Millis) -> str:
    """Return a time; the service always writes its milliseconds as 000."""
    return iso_millis(Millis(at // SECOND * SECOND))


class Naming:
    """How names of objects are written in a list: as they are, or percent-encoded when the request asks for it."""

    def __init__(self, encoding: str) -> None:
        self.encoded = encoding == "url"

    def __call__(self, tag: str, name: str) -> Element:
        """Return an element with a name of an object in it."""
        return Element(tag, quote(name, safe="", errors="surrogateescape") if self.encoded else name)

    def note(self) -> list[Element]:
        """Return the element ``EncodingType``, if names are encoded."""
        return [text("EncodingType", "url")] if self.encoded else []


def owner(account: AccountId) -> Element:
    """Return the owner of a bucket or object."""
    return tree("Owner", text("ID", account), text("DisplayName", account))


def grant(account: AccountId, acl: str) -> Element:
    """Return the document of an ACL."""
    return tree("AccessControlPolicy", owner(account), tree("AccessControlList", text("Grant", acl)))


def buckets(account: AccountId, page: Sequence[Bucket], prefix: str, marker: str, limit: int, more: str) -> Element:
    """Return a list of buckets; *more* is the next page's marker, and only with it the request is repeated."""
    paging = [
        text("Prefix", prefix), text("Marker", marker), text("MaxKeys", limit), text("IsTruncated", True),
        text("NextMarker", more),
    ]  # fmt: skip
    entries = (tree("Bucket", *_about(each), text("Region", each.region), text("Name", each.name)) for each in page)
    return tree("ListAllMyBucketsResult", owner(account), *(paging if more else []), tree("Buckets", *entries))


def bucket_info(bucket: Bucket, settings: Iterable[Element]) -> Element:
    """Return all attributes of a bucket."""
    attributes = [
        *_about(bucket), text("Name", bucket.name), owner(bucket.account),
        tree("AccessControlList", text("Grant", bucket.acl)), text("DataRedundancyType", "LRS"), text("Comment", ""),
    ]  # fmt: skip
    return tree("BucketInfo", tree("Bucket", *attributes, *settings))


def _about(bucket: Bucket) -> list[Element]:
    return [
        text("CreationDate", timestamp(bucket.created_at)),
        text("ExtranetEndpoint", f"oss-{bucket.region}.aliyuncs.com"),
        text("IntranetEndpoint", f"oss-{bucket.region}-internal.aliyuncs.com"),
        text("Location", f"oss-{bucket.region}"),
        text("StorageClass", bucket.storage_class),
    ]


def bucket_stat(size: int, objects: int, uploads: int, now: Millis) -> Element:
    """Return the number of bytes, objects and uploads of a bucket."""
    return tree(
        "BucketStat",
        text("Storage", size), text("ObjectCount", objects), text("MultipartUploadCount", uploads),
        text("LiveChannelCount", 0), text("LastModifiedTime", now // SECOND),
        text("StandardStorage", size), text("StandardObjectCount", objects),
    )  # fmt: skip


@frozen
class Listing:
    """The request of a list. ``after`` is V1's marker, or V2's start."""

    bucket: Bucket
    prefix: str
    delimiter: str
    after: str
    limit: int
    naming: Naming


def listing_of(call: OperationRequest, bucket: Bucket, marker: str, size: str, default: int) -> Listing:
    """Read the request of a list; *marker* and *size* are the names of its parameters for the start and the length.

    Raises: InvalidArgument.
    """
    return Listing(
        bucket=bucket,
        prefix=call.query.get("prefix", ""),
        delimiter=call.query.get("delimiter", ""),
        after=call.query.get(marker, ""),
        limit=number_of(call, size, default, limits.PAGE, least=1),
        naming=naming_of(call),
    )


def naming_of(call: OperationRequest) -> Naming:
    """Return how a request wants names of objects written."""
    return Naming(call.query.get("encoding-type", ""))


def objects_v1(listing: Listing, page: Sequence[StoredObject | str], more: str) -> Element:
    """Return a list of objects in the first form; *more* is the next page's marker, empty at the end."""
    naming = listing.naming
    next_page = [naming("NextMarker", more)] if more else []
    return _objects(listing, naming("Marker", listing.after), page, [text("IsTruncated", bool(more)), *next_page])


def objects_v2(
    listing: Listing, page: Sequence[StoredObject | str], token: str, more: str, *, owned: bool
) -> Element:  # fmt: skip
    """Return a list of objects in the second form; *token* is the request's, *more* the next one, empty at the end."""
    end = [
        text("IsTruncated", bool(more)), text("KeyCount", len(page)),
        *([text("ContinuationToken", token)] if token else []),
        *([text("NextContinuationToken", more)] if more else []),
    ]  # fmt: skip
    return _objects(listing, listing.naming("StartAfter", listing.after), page, end, owned=owned)


def _objects(
    listing: Listing, begin: Element, page: Sequence[StoredObject | str], end: Iterable[Element], *, owned: bool = True
) -> Element:
    naming = listing.naming
    return tree(
        "ListBucketResult",
        text("Name", listing.bucket.name), naming("Prefix", listing.prefix), begin, text("MaxKeys", listing.limit),
        naming("Delimiter", listing.delimiter), *naming.note(), *end, *_entries(listing, page, owned=owned),
    )  # fmt: skip


def _entries(listing: Listing, page: Iterable[StoredObject | str], *, owned: bool) -> list[Element]:
    contents, prefixes = [], []
    for each in page:
        if isinstance(each, str):
            prefixes.append(tree("CommonPrefixes", listing.naming("Prefix", each)))
            continue
        about = [
            listing.naming("Key", each.key), text("LastModified", timestamp(each.modified_at)),
            text("ETag", quoted(each.etag)), text("Type", each.kind), text("Size", each.size),
            text("StorageClass", each.attributes.storage_class),
        ]  # fmt: skip
        contents.append(tree("Contents", *about, *([owner(listing.bucket.account)] if owned else [])))
    return [*contents, *prefixes]


def copied(name: str, etag: str, modified_at: Millis) -> Element:
    """Return the result of a copy, ``CopyObjectResult`` or ``CopyPartResult``."""
    return tree(name, text("LastModified", timestamp(modified_at)), text("ETag", quoted(etag)))


def read_deletion(root: Element) -> tuple[list[str], bool]:
    """Read the names of the objects to delete, and whether the answer is to be empty.

    Raises: MalformedXML.
    """
    keys = [entry.text_of("Key") for entry in root.all("Object")]
    if not keys or len(keys) > limits.DELETED_AT_ONCE or not all(keys):
        raise OssError("MalformedXML")
    return [key for key in keys if key], (root.text_of("Quiet") or "").strip().lower() == "true"


def deleted(keys: Iterable[str], naming: Naming) -> Element:
    """Return the deleted names."""
    return tree("DeleteResult", *naming.note(), *(tree("Deleted", naming("Key", key)) for key in keys))


def tagging(tags: Mapping[str, str]) -> Element:
    """Return the document of an object's tags."""
    pairs = (tree("Tag", text("Key", key), text("Value", value)) for key, value in tags.items())
    return tree("Tagging", tree("TagSet", *pairs))


def read_tagging(root: Element) -> dict[str, str]:
    """Read an object's tags.

    Raises: MalformedXML, InvalidTag.
    """
    tag_set = root.find("TagSet")
    if tag_set is None:
        raise OssError("MalformedXML")
    return checked_tags([(tag.text_of("Key") or "", tag.text_of("Value") or "") for tag in tag_set.all("Tag")])


def upload_started(bucket: str, upload: Upload, naming: Naming) -> Element:
    """Return the id of a new upload."""
    about = [text("Bucket", bucket), naming("Key", upload.key), text("UploadId", upload.id)]
    return tree("InitiateMultipartUploadResult", *naming.note(), *about)


def read_completion(root: Element) -> list[tuple[int, str]]:
    """Read numbers and ETags of the parts an object is to be made of.

    Raises: MalformedXML.
    """
    wanted = []
    for part in root.all("Part"):
        number, etag = read_digits((part.text_of("PartNumber") or "").strip(), 8), part.text_of("ETag")
        if number is None or etag is None:
            raise OssError("MalformedXML")
        wanted.append((number, etag))
    if not wanted:
        raise OssError("MalformedXML")
    return wanted


def completed(location: str, bucket: str, stored: StoredObject, naming: Naming) -> Element:
    """Return the result of an upload."""
    return tree(
        "CompleteMultipartUploadResult", *naming.note(), text("Location", location), text("Bucket", bucket),
        naming("Key", stored.key), text("ETag", quoted(stored.etag)),
    )  # fmt: skip


def parts(bucket: str, upload: Upload, page: Sequence[Part], marker: int, limit: int, *, more: bool) -> Element:
    """Return a list of parts; the key stands in it as it is."""
    last = page[-1].number if page else marker
    head = [
        text("Bucket", bucket), text("Key", upload.key), text("UploadId", upload.id), text("StorageClass", "Standard"),
        text("PartNumberMarker", marker), text("NextPartNumberMarker", last), text("MaxParts", limit),
        text("IsTruncated", more),
    ]  # fmt: skip
    rows = (
        tree(
            "Part", text("PartNumber", part.number), text("LastModified", timestamp(part.modified_at)),
            text("ETag", quoted(part.etag)), text("HashCrc64ecma", part.crc), text("Size", part.piece.size),
        )
        for part in page
    )  # fmt: skip
    return tree("ListPartsResult", *head, *rows)


def uploads(
    listing: Listing, upload_marker: str, page: Sequence[Upload | str], more: tuple[str, str] | None
) -> Element:  # fmt: skip
    """Return a list of uploads and common prefixes; *more* is the next page's marker, a key and an id."""
    naming = listing.naming
    next_key, next_upload = more or ("", "")
    head = [
        text("Bucket", listing.bucket.name), *naming.note(), naming("KeyMarker", listing.after),
        text("UploadIdMarker", upload_marker), naming("NextKeyMarker", next_key),
        text("NextUploadIdMarker", next_upload), naming("Delimiter", listing.delimiter),
        naming("Prefix", listing.prefix), text("MaxUploads", listing.limit), text("IsTruncated", more is not None),
    ]  # fmt: skip
    rows = []
    for each in page:
        if isinstance(each, str):
            rows.append(tree("CommonPrefixes", naming("Prefix", each)))
        else:
            about = [naming("Key", each.key), text("UploadId", each.id), text("Initiated", timestamp(each.started_at))]
            rows.append(tree("Upload", *about, text("StorageClass", each.attributes.storage_class)))
    return tree("ListMultipartUploadsResult", *head, *rows)


def base64_of_hex(digest: str) -> str:
    """Return a digest in the form of ``Content-MD5``."""
    return b2a_base64(bytes.fromhex(digest), newline=False).decode("ascii")
