"""LOG, the scheme of Log Service: HMAC over verb, three headers, ``x-log-*`` and ``x-acs-*``, path and sorted query.

``x-log-signaturemethod`` names the digest. The body is covered by ``Content-MD5`` alone, in hexadecimal digits.

Source: Log Service "Request signatures"; aliyun-log-go-sdk, signature.go; alibabacloud-gateway-sls.
"""

from functools import partial
from hashlib import md5
from urllib.parse import parse_qsl

from emulator.auth.signed_request import (
    SignedRequest,
    SignedTexts,
    base64_hmac,
    id_and_signature,
    read_http_date,
    signed_head,
    signed_lines,
)
from emulator.http.message import Request
from emulator.kernel.errors import AuthFailure, Reason

NAME = "LOG"

_DIGESTS = {"hmac-sha1": "sha1", "hmac-sha256": "sha256"}


def signed_request(request: Request) -> SignedRequest | None:
    """Read who signed *request*; None when it carries no LOG authorization.

    Raises: AuthFailure for a request with something missing.
    """
    headers = request.headers
    authorization = headers.get("authorization")
    if not authorization.startswith("LOG "):
        return None
    key_id, signature = id_and_signature(authorization, NAME)
    method = headers.get("x-log-signaturemethod", "hmac-sha1")
    if method not in _DIGESTS:
        raise AuthFailure(Reason.UNSUPPORTED_METHOD, scheme=NAME, detail=method)
    date_text = headers.get("date")
    return SignedRequest(
        scheme=NAME,
        key_id=key_id,
        signature=signature,
        texts=texts(request, date_text),
        sign=partial(sign, _DIGESTS[method]),
        token=headers.get("x-acs-security-token"),
        date=read_http_date(date_text, NAME),
        date_text=date_text,
        check_body=partial(_check_body, request) if "content-md5" in headers else None,
    )


def sign(digest: str, secret: str, string: str) -> str:
    """Return the signature of *string*."""
    return base64_hmac(secret, string, digest)


def texts(request: Request, date: str) -> SignedTexts:
    """Yield what is signed under *date*: with the path as sent."""
    headers = request.headers
    block = signed_lines(headers.starting_with("x-log-") + headers.starting_with("x-acs-"))
    pairs = sorted(parse_qsl(request.query or "", keep_blank_values=True, errors="surrogateescape"))
    query = "?" + "&".join(f"{name}={value}" for name, value in pairs) if pairs else ""
    yield signed_head(request, date) + block + request.path + query, ""


def _check_body(request: Request) -> None:
    stated = request.headers.get("content-md5")
    if request.body and stated.upper() != md5(request.body, usedforsecurity=False).hexdigest().upper():
        raise AuthFailure(Reason.BODY_DIFFERS, scheme=NAME, detail="content-md5")
