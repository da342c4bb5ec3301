"""The three schemes of OSS, each in a header form and as a signed URL.

OSS (v1, HMAC-SHA1) covers the known subresources of the query only; OSS2 and OSS4-HMAC-SHA256 all of it. The bucket
is part of what is signed even when it stands in the host name. The body is covered through ``Content-MD5`` (text to
the signature) or, in v4, through ``x-oss-content-sha256`` unless that says ``UNSIGNED-PAYLOAD``.

Source: OSS "Include signatures in the Authorization header" and "... in URLs", V1 and V4; oss2, ali-oss.
"""

import hashlib
import json
import re
from binascii import a2b_base64
from urllib.parse import unquote

from emulator.auth.signed_request import (
    SignedRequest,
    SignedTexts,
    base64_hmac,
    check_sha256,
    derived_hex_hmac,
    encode,
    encode_path,
    fields_of,
    id_and_signature,
    octets,
    read_expiry,
    read_http_date,
    read_utc,
    required,
    signed_head,
    signed_lines,
)
from emulator.http.message import Request
from emulator.kernel.clock import DAY, Millis
from emulator.kernel.digits import read_digits
from emulator.kernel.errors import AuthFailure, Reason
from emulator.wire.dates import parse_iso
from emulator.wire.multipart import MalformedForm, form_of, is_form

NAME = "OSS"
NAME_V2 = "OSS2"
NAME_V4 = "OSS4-HMAC-SHA256"

LONGEST_URL_S = 7 * DAY // 1000
"""The longest validity of a v4 URL."""

_UNSIGNED = "UNSIGNED-PAYLOAD"
# Texts, not compiled patterns: a start does not pay for a scheme that few clients use.
_VIRTUAL_HOST = (
    r"(?i)(?:https?://)?(?!(?:ap|cn|eu|me|na|us)-[a-z0-9-]+\.oss\.)"  # not the host of a region without a bucket
    r"([a-z0-9][a-z0-9-]{1,61}[a-z0-9])\.(?:oss[-.]|(?:ap|cn|eu|me|na|us)-[a-z0-9-]+\.oss\.|localhost\b)"
)
_FORM_HOST = r"(?i)(?:localhost|127\.0\.0\.1|\[::1\]|[a-z0-9-]+\.oss-[a-z0-9-]+\.aliyuncs\.com)(?::\d+)?"
_CREDENTIAL = r"([^/]+)/(\d{8}/[A-Za-z0-9-]+/oss(?:-[a-z]+)?/aliyun_v4_request)"

SUBRESOURCES = frozenset(
    """acl uploads location cors logging website referer lifecycle delete append tagging objectMeta objectInfo uploadId
    partNumber position stat symlink restore bucketInfo comp qos live status vod startTime endTime img style styleName
    replication replicationProgress replicationLocation cname security-token x-oss-process x-oss-async-process callback
    callback-var versioning versions versionId policy requestPayment encryption inventory inventoryId
    continuation-token worm wormId wormExtend transferAcceleration metaQuery resourceGroup sequential qosInfo
    asyncFetch group link x-oss-traffic-limit x-oss-request-payer response-content-type response-content-language
    response-cache-control response-content-encoding response-expires response-content-disposition x-oss-ac-source-ip
    x-oss-ac-subnet-mask x-oss-ac-vpc-id x-oss-ac-forward-allow regionList httpsConfig publicAccessBlock accessPoint
    accessPointPolicy policyStatus bucketArchiveDirectRead redundancyTransition x-oss-target-redundancy-type
    x-oss-redundancy-transition-taskid x-oss-write-get-object-response x-oss-access-point-name requesterQosInfo
    qosRequester resourcePoolInfo resourcePool resourcePoolBuckets rtc responseHeader cloudboxes withHashContext
    x-oss-enable-md5 x-oss-enable-sha1 x-oss-enable-sha256 x-oss-hash-ctx x-oss-md5-ctx x-oss-dir x-oss-rename
    x-oss-delete accessPointConfigForObjectProcess accessPointForObjectProcess accessPointPolicyForObjectProcess
    dataAccelerator redundancyProgress redundancyType regionsV2 userDefinedLogFieldsConfig""".split()  # noqa: SIM905 - a list of eighty quoted words is harder to compare with the manual
)
"""The query names that take part in a v1 signature: those of oss2, aliyun-oss-go-sdk, the Java SDK and
alibabacloud-gateway-oss together."""


def resource(request: Request) -> str:
    """Return ``/bucket/key``, decoded; ``/`` when no bucket is addressed."""
    path = unquote(request.path, errors="surrogateescape")
    host = re.match(_VIRTUAL_HOST, request.headers.get("host"))
    if host is not None:
        return f"/{host[1]}/{path[1:]}"
    bucket, _, key = path[1:].partition("/")
    return f"/{bucket}/{key}" if bucket else "/"


def signed_request(request: Request) -> SignedRequest | None:
    """Read who signed *request*; None when it carries no OSS signature, in a header or in the query.

    Raises: AuthFailure for a request with something missing.
    """
    authorization = request.headers.get("authorization")
    if authorization.startswith("OSS"):
        word = authorization.partition(" ")[0]
        if word == NAME:
            return _signed_v1(request, authorization)
        if word == NAME_V2:
            return _signed_v2(request, authorization)
        if word == NAME_V4:
            return _signed_v4(request, authorization)
        raise AuthFailure(Reason.UNSUPPORTED_METHOD, scheme=NAME, detail=word)
    if authorization:
        return None
    if request.method == "POST" and not request.query and is_form(request.headers.get("content-type")):
        return _signed_of_form(request)
    if request.query is None:
        return None
    query = dict(reversed(request.query_pairs))  # of a repeated name the first value counts, here and in the operation
    if query.get("x-oss-signature-version") == NAME_V2:
        return _signed_v2_of_url(request, query)
    if "x-oss-credential" in query or "x-oss-signature-version" in query:
        return _signed_v4_of_url(request, query)
    if "OSSAccessKeyId" in query:
        return _signed_v1_of_url(request, query)
    return None


def sign(secret: str, string: str) -> str:
    """Return the v1 signature of *string*."""
    return base64_hmac(secret, string, "sha1")


def _signed_v1(request: Request, authorization: str) -> SignedRequest:
    key_id, signature = id_and_signature(authorization, NAME)
    date_text = request.headers.get("x-oss-date") or request.headers.get("date")
    date = read_utc(date_text, NAME, basic=True) if date_text[:4].isdigit() else read_http_date(date_text, NAME)
    return SignedRequest(
        scheme=NAME,
        key_id=key_id,
        signature=signature,
        texts=texts(request, date_text),
        sign=sign,
        token=request.headers.get("x-oss-security-token"),
        date=date,
        date_text=date_text,
    )


def _signed_v1_of_url(request: Request, query: dict[str, str]) -> SignedRequest:
    expires = query.get("Expires", "")
    return SignedRequest(
        scheme=NAME,
        key_id=required(query["OSSAccessKeyId"], Reason.MISSING_KEY_ID, NAME, "OSSAccessKeyId"),
        signature=required(query.get("Signature", ""), Reason.MISSING_SIGNATURE, NAME, "Signature"),
        deadline=read_expiry(expires, NAME),
        texts=texts(request, expires),
        sign=sign,
        token=query.get("security-token", ""),
        date_text=expires,
    )


def texts(request: Request, date: str) -> SignedTexts:
    """Yield what is signed in v1 under *date*: the date header's text, or the expiry of a signed URL."""
    sub = sorted((name, value) for name, value in request.query_pairs if name in SUBRESOURCES)
    items = "&".join(f"{name}={value}" if value else name for name, value in sub)
    head = signed_head(request, date) + signed_lines(request.headers.starting_with("x-oss-"))
    yield head + resource(request) + (f"?{items}" if items else ""), ""


def authorization(request: Request, key_id: str, secret: str) -> str:
    """Return the v1 ``Authorization`` header for *request*, whose other headers (``Date`` among them) are complete."""
    date = request.headers.get("x-oss-date") or request.headers.get("date")
    return f"{NAME} {key_id}:{sign(secret, next(texts(request, date))[0])}"


def _signed_of_form(request: Request) -> SignedRequest | None:
    """Read who signed an upload form: what is signed is its policy, which says until when it holds.

    The policy covers neither host nor path, so it counts only where nothing but a bucket can be meant, and not at a
    function's address. Source: OSS "PostObject", with signatures of v1 and of v4.
    """
    if not re.fullmatch(_FORM_HOST, request.headers.get("host")) or not re.fullmatch("/[^/]+/", resource(request)):
        return None
    try:
        form = {field.name.lower(): field.text for field in form_of(request) if field.name.lower() != "file"}
    except MalformedForm:
        return None
    policy = form.get("policy", "")
    key_id, signature, scope = form.get("ossaccesskeyid", ""), form.get("signature", ""), ""
    if form.get("x-oss-signature-version") == NAME_V4:
        key_id, scope = _credential(form.get("x-oss-credential", ""))
        signature = form.get("x-oss-signature", "")
    if not (key_id or signature or policy):
        return None

    def sign_policy(secret: str, text: str) -> str:
        return derived_hex_hmac("aliyun_v4" + secret, scope, text) if scope else sign(secret, text)

    return SignedRequest(
        scheme=NAME_V4 if scope else NAME,
        key_id=required(key_id, Reason.MISSING_KEY_ID, NAME, "OSSAccessKeyId"),
        signature=required(signature, Reason.MISSING_SIGNATURE, NAME, "Signature"),
        deadline=_policy_expiry(policy),
        texts=iter([(policy, "")]),
        sign=sign_policy,
        token=form.get("x-oss-security-token", ""),
        date_text="expiration",
    )


def _policy_expiry(policy: str) -> Millis:
    try:
        return parse_iso(json.loads(a2b_base64(policy.encode("ascii")))["expiration"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise AuthFailure(Reason.MALFORMED_AUTHORIZATION, scheme=NAME, detail="policy") from None


def sign_v2(secret: str, string: str) -> str:
    """Return the v2 signature of *string*."""
    return base64_hmac(secret, string, "sha256")


def _signed_v2(request: Request, authorization: str) -> SignedRequest:
    fields = fields_of(authorization, ":", NAME_V2)
    headers = request.headers
    date_text = headers.get("x-oss-date") or headers.get("date")
    return SignedRequest(
        scheme=NAME_V2,
        key_id=required(fields.get("AccessKeyId", ""), Reason.MALFORMED_AUTHORIZATION, NAME_V2, "AccessKeyId"),
        signature=required(fields.get("Signature", ""), Reason.MALFORMED_AUTHORIZATION, NAME_V2, "Signature"),
        texts=_texts_v2(request, date_text, _names(fields.get("AdditionalHeaders", ""))),
        sign=sign_v2,
        token=headers.get("x-oss-security-token"),
        date=read_http_date(date_text, NAME_V2),
        date_text=date_text,
    )


def _signed_v2_of_url(request: Request, query: dict[str, str]) -> SignedRequest:
    expires = query.get("x-oss-expires", "")
    return SignedRequest(
        scheme=NAME_V2,
        key_id=required(query.get("x-oss-access-key-id", ""), Reason.MISSING_KEY_ID, NAME_V2, "x-oss-access-key-id"),
        signature=required(query.get("x-oss-signature", ""), Reason.MISSING_SIGNATURE, NAME_V2, "x-oss-signature"),
        deadline=read_expiry(expires, NAME_V2),
        texts=_texts_v2(request, expires, _names(query.get("x-oss-additional-headers", ""))),
        sign=sign_v2,
        token=query.get("security-token", ""),
        date_text=expires,
    )


def _texts_v2(request: Request, date: str, extra: list[str]) -> SignedTexts:
    own = [
        (name.lower(), value)
        for name, value in request.headers.pairs
        if name.lower().startswith("x-oss-") or name.lower() in extra
    ]
    query = _canonical_query([pair for pair in request.query_pairs if pair[0] != "x-oss-signature"])
    text = f"{signed_head(request, date)}{signed_lines(own)}{';'.join(extra)}\n{encode(resource(request))}"
    yield text + (f"?{query}" if query else ""), ""


def _names(text: str) -> list[str]:
    return sorted(name for name in text.lower().split(";") if name)


def _canonical_query(pairs: list[tuple[str, str]]) -> str:
    encoded = sorted((encode(name), encode(value)) for name, value in pairs)
    return "&".join(f"{name}={value}" if value else name for name, value in encoded)


def sign_v4(secret: str, string: str) -> str:
    """Return the v4 signature of *string*, under the key derived for the scope it names."""
    return derived_hex_hmac("aliyun_v4" + secret, string.split("\n", 3)[2], string)


def _signed_v4(request: Request, authorization: str) -> SignedRequest:
    fields = fields_of(authorization, "=", NAME_V4)
    key_id, scope = _credential(fields.get("Credential", ""))
    headers = request.headers
    # aliyun-oss-go-sdk sends and signs Date alone
    date_text = headers.get("x-oss-date") or headers.get("date")
    is_basic = "x-oss-date" in headers
    date = read_utc(date_text, NAME_V4, basic=True) if is_basic else read_http_date(date_text, NAME_V4)
    return SignedRequest(
        scheme=NAME_V4,
        key_id=key_id,
        signature=required(fields.get("Signature", ""), Reason.MALFORMED_AUTHORIZATION, NAME_V4, "Signature"),
        texts=_texts_v4(request, scope, date_text, _names(fields.get("AdditionalHeaders", "")), in_url=False),
        check_body=lambda: _check_body(request),
        sign=sign_v4,
        token=headers.get("x-oss-security-token"),
        date=date,
        date_text=date_text,
    )


def _signed_v4_of_url(request: Request, query: dict[str, str]) -> SignedRequest:
    version = query.get("x-oss-signature-version")
    if version != NAME_V4:
        raise AuthFailure(Reason.UNSUPPORTED_METHOD, scheme=NAME_V4, detail="x-oss-signature-version")
    key_id, scope = _credential(query.get("x-oss-credential", ""))
    date_text = query.get("x-oss-date", "")
    date = read_utc(date_text, NAME_V4, basic=True)
    seconds = read_digits(query.get("x-oss-expires", ""), 6)
    if seconds is None or seconds > LONGEST_URL_S:
        raise AuthFailure(Reason.MALFORMED_AUTHORIZATION, scheme=NAME_V4, detail="x-oss-expires")
    return SignedRequest(
        scheme=NAME_V4,
        key_id=key_id,
        signature=required(query.get("x-oss-signature", ""), Reason.MISSING_SIGNATURE, NAME_V4, "x-oss-signature"),
        texts=_texts_v4(request, scope, date_text, _names(query.get("x-oss-additional-headers", "")), in_url=True),
        check_body=lambda: _check_body(request),
        sign=sign_v4,
        token=query.get("x-oss-security-token", ""),
        date=date,
        date_text=date_text,
        deadline=Millis(date + int(seconds) * 1000),
    )


def _credential(text: str) -> tuple[str, str]:
    match = re.fullmatch(_CREDENTIAL, text)
    if match is None:
        raise AuthFailure(Reason.MALFORMED_AUTHORIZATION, scheme=NAME_V4, detail="Credential")
    return match[1], match[2]


def _check_body(request: Request) -> None:
    payload = request.headers.get("x-oss-content-sha256", _UNSIGNED)
    if payload != _UNSIGNED:
        check_sha256(request.body, payload, NAME_V4, "x-oss-content-sha256")


def _texts_v4(request: Request, scope: str, date: str, extra: list[str], *, in_url: bool) -> SignedTexts:
    headers = request.headers
    payload = headers.get("x-oss-content-sha256", _UNSIGNED)
    taken = {*extra, "content-type", "content-md5"}
    own = signed_lines(
        [
            (name.lower(), value.strip())
            for name, value in headers.pairs
            if name.lower().startswith("x-oss-") or name.lower() in taken
        ]
    )
    query = _canonical_query([pair for pair in request.query_pairs if not (in_url and pair[0] == "x-oss-signature")])
    # whoever signs a URL often does not know yet which headers the request will have
    for block in dict.fromkeys((own, "") if in_url else (own,)):
        canonical = (
            f"{request.method}\n{encode_path(resource(request))}\n{query}\n{block}\n{';'.join(extra)}\n{payload}"
        )
        digest = hashlib.sha256(octets(canonical)).hexdigest()
        yield f"{NAME_V4}\n{date}\n{scope}\n{digest}", canonical
