"""Which rights each request for the object store needs: actions, and the bucket or object.

Source: OSS, "RAM policies" and the pages of the operations. The region of a resource may be written with or without
``oss-`` in front of it.
"""

from collections.abc import Iterator
from urllib.parse import unquote

from emulator.auth.oss import resource
from emulator.http.message import Request
from emulator.kernel.identity import Demand
from emulator.oss.subresources import choosing
from emulator.wire.multipart import MalformedForm, read_form
from emulator.wire.request import OperationRequest

_BUCKET = {
    ("PUT", ""): "PutBucket", ("GET", ""): "ListObjects", ("HEAD", ""): "GetBucketInfo", ("DELETE", ""): "DeleteBucket",
    ("GET", "bucketInfo"): "GetBucketInfo", ("GET", "location"): "GetBucketLocation", ("GET", "stat"): "GetBucketStat",
    ("GET", "acl"): "GetBucketAcl", ("PUT", "acl"): "PutBucketAcl", ("GET", "uploads"): "ListMultipartUploads",
}  # fmt: skip
_OBJECT = {
    ("GET", "acl"): "GetObjectAcl", ("PUT", "acl"): "PutObjectAcl", ("GET", "tagging"): "GetObjectTagging",
    ("PUT", "tagging"): "PutObjectTagging", ("DELETE", "tagging"): "DeleteObjectTagging",
    ("GET", "uploadId"): "ListParts", ("DELETE", "uploadId"): "AbortMultipartUpload",
}  # fmt: skip
_BY_METHOD = {
    "GET": "GetObject",
    "HEAD": "GetObject",
    "PUT": "PutObject",
    "POST": "PutObject",
    "DELETE": "DeleteObject",
}


def demands(context: OperationRequest) -> Iterator[Demand]:
    """Yield what a request needs; copying needs the right to read the source as well."""
    request = context.http
    method = request.method
    query = dict(request.query_pairs)
    bucket, _, key = resource(request)[1:].partition("/")
    sub = next(iter(choosing(query)), "")
    if not bucket:
        yield _demand(context, "ListBuckets", "*")
    elif not key and (method, sub) == ("POST", "delete"):
        yield _demand(context, "DeleteObject", f"{bucket}/*")
    elif not key and (method, sub) == ("POST", ""):
        yield _demand(context, "PutObject", f"{bucket}/{_key_of_form(request) or '*'}")
    elif not key:
        asked = tuple((f"oss:{name.title()}", query.get(name, "")) for name in ("prefix", "delimiter"))
        action = _BUCKET.get((method, sub), f"{method.title()}Bucket{sub[:1].upper()}{sub[1:]}")
        yield _demand(context, action, bucket, asked if action == "ListObjects" else ())
    else:
        yield _demand(context, _OBJECT.get((method, sub), _BY_METHOD.get(method, "GetObject")), f"{bucket}/{key}")
        source = unquote(request.headers.get("x-oss-copy-source")).lstrip("/").partition("?")[0]
        if source:
            yield _demand(context, "GetObject", source)


def _key_of_form(request: Request) -> str:
    """Return the name that an upload form asks for, empty in a form that is refused anyway."""
    try:
        fields = read_form(request.headers.get("content-type"), request.body)
    except MalformedForm:
        return ""
    return next((field.text for field in fields if field.name.lower() == "key"), "")


def _demand(context: OperationRequest, action: str, name: str, facts: tuple[tuple[str, str], ...] = ()) -> Demand:
    account, region = context.tenant.account, context.region
    return Demand(
        f"oss:{action}", f"acs:oss:oss-{region}:{account}:{name}", (f"acs:oss:{region}:{account}:{name}",), facts
    )
