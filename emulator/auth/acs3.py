"""ACS3-HMAC-SHA256: a canonical request over verb, path, query, listed headers and the body's digest.

The list of signed headers comes from the request; ``host`` (as sent, even with a scheme in it) and every ``x-acs-*``
header must be on it. Requests to HTTP triggers are signed in the same way with fewer headers: they name no API
version, so for them nonce, digest and host are optional, and a caller may leave the digest's line empty.
Source: the signature mechanism V3 page, tea-openapi; for triggers "Configure signature authentication for HTTP
triggers" (its sample code signs an empty digest; assumed where it is silent).
"""

import hashlib
import hmac
from collections.abc import Sequence

from emulator.auth.signed_request import (
    SignedRequest,
    SignedTexts,
    check_sha256,
    encode,
    encode_path,
    fields_of,
    octets,
    read_utc,
    required,
)
from emulator.http.message import Headers, Request
from emulator.kernel.errors import AuthFailure, Reason

NAME = "ACS3-HMAC-SHA256"


def sign(secret: str, string: str) -> str:
    """Return the signature of *string*."""
    return hmac.digest(octets(secret), octets(string), "sha256").hex()


def signed_request(request: Request) -> SignedRequest | None:
    """Read who signed *request*; None when it carries no ``ACS3-`` authorization.

    Raises: AuthFailure for a call with something missing, unsigned or not supported.
    """
    headers = request.headers
    authorization = headers.get("authorization")
    if not authorization.startswith("ACS3-"):
        return None
    algorithm = authorization.partition(" ")[0]
    if algorithm != NAME or headers.get("x-acs-bearer-token"):
        raise AuthFailure(Reason.UNSUPPORTED_METHOD, scheme=NAME, detail=algorithm)
    fields = fields_of(authorization, "=", NAME)
    key_id = required(fields.get("Credential", ""), Reason.MISSING_KEY_ID, NAME, "Credential")
    signature = required(fields.get("Signature", ""), Reason.MISSING_SIGNATURE, NAME, "Signature")
    signed = fields.get("SignedHeaders", "").lower().split(";")
    date_text = headers.get("x-acs-date")
    date = read_utc(date_text, NAME)
    nonce = headers.get("x-acs-signature-nonce")
    _require_signed(headers, signed)
    if _is_api_call(headers):
        required(nonce, Reason.MISSING_NONCE, NAME, "x-acs-signature-nonce")
    return SignedRequest(
        scheme=NAME,
        key_id=key_id,
        signature=signature,
        texts=texts(request, signed),
        sign=sign,
        token=headers.get("x-acs-security-token"),
        date=date,
        date_text=date_text,
        nonce=nonce,
        check_body=lambda: _check_body(request),
    )


def _is_api_call(headers: Headers) -> bool:
    return "x-acs-version" in headers or "x-acs-action" in headers


def _require_signed(headers: Headers, signed: Sequence[str]) -> None:
    for name in headers:
        if name.startswith("x-acs-") and name not in signed:
            raise AuthFailure(Reason.UNSIGNED_HEADER, scheme=NAME, detail=name)
    if "host" not in signed and _is_api_call(headers):
        raise AuthFailure(Reason.UNSIGNED_HEADER, scheme=NAME, detail="host")


def texts(request: Request, signed: Sequence[str]) -> SignedTexts:
    """Yield what may have been signed when the headers *signed* (lower case) are covered; the body as it is stated."""
    headers = request.headers
    stated = headers.get("x-acs-content-sha256")
    digest = stated.lower() or hashlib.sha256(request.body).hexdigest()
    query = "&".join(f"{encode(name)}={encode(value)}" for name, value in sorted(request.query_pairs))
    block = "".join(f"{name}:{_joined(headers, name)}\n" for name in signed)
    names = ";".join(signed)
    for path in dict.fromkeys((request.path or "/", encode_path(request.decoded_path or "/"))):
        for last in (digest,) if stated else (digest, ""):
            canonical = f"{request.method}\n{path}\n{query}\n{block}\n{names}\n{last}"
            yield f"{NAME}\n{hashlib.sha256(octets(canonical)).hexdigest()}", canonical


def covers_head(request: Request) -> bool:
    """Whether the signature can be checked before the body is received."""
    return "x-acs-content-sha256" in request.headers


def _check_body(request: Request) -> None:
    stated = request.headers.get("x-acs-content-sha256")
    if stated or _is_api_call(request.headers):
        check_sha256(request.body, stated, NAME, "x-acs-content-sha256")


def _joined(headers: Headers, name: str) -> str:
    return ",".join(sorted(value.strip() for value in headers.all(name)))


def authorization(request: Request, key_id: str, secret: str) -> str:
    """Return the ``Authorization`` header for *request*, whose other headers (``x-acs-*``, host) are complete."""
    signed = sorted(name for name in request.headers if name in {"host", "content-type"} or name.startswith("x-acs-"))
    string = next(texts(request, signed))[0]
    return f"{NAME} Credential={key_id},SignedHeaders={';'.join(signed)},Signature={sign(secret, string)}"
