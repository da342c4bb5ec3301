"""ROA v1: ``Authorization: acs {key id}:{signature}``, HMAC-SHA1 over verb, five headers, ``x-acs-*`` and resource.

The resource holds the query decoded and sorted. Clients disagree on two points, so four texts are tried: the path as
sent or decoded, an empty value written ``name=`` or as the bare ``name``. The body is covered through ``Content-MD5``
when there is one.
"""

import hashlib
from binascii import b2a_base64

from emulator.auth.signed_request import (
    SignedRequest,
    SignedTexts,
    base64_hmac,
    id_and_signature,
    octets,
    read_http_date,
    read_utc,
)
from emulator.http.message import Request
from emulator.kernel.clock import Millis
from emulator.kernel.errors import AuthFailure, Reason

NAME = "ROA-V1"

_BLANKS = str.maketrans("\t\n\r\f", "    ")


def sign(secret: str, string: str) -> str:
    """Return the signature of *string*."""
    return base64_hmac(secret, string, "sha1")


def signed_request(request: Request) -> SignedRequest | None:
    """Read who signed *request*; None when it carries no ``acs`` authorization.

    Raises: AuthFailure for a call with something missing or not supported.
    """
    headers = request.headers
    authorization = headers.get("authorization")
    if not authorization.startswith("acs "):
        return None
    key_id, signature = id_and_signature(authorization, NAME)
    if headers.get("x-acs-signature-method", "HMAC-SHA1") != "HMAC-SHA1" or headers.get("x-acs-signature-type"):
        raise AuthFailure(Reason.UNSUPPORTED_METHOD, scheme=NAME, detail="x-acs-signature-method")
    date_text = headers.get("date") or headers.get("x-acs-date")
    return SignedRequest(
        scheme=NAME,
        key_id=key_id,
        signature=signature,
        texts=texts(request),
        sign=sign,
        token=headers.get("x-acs-security-token"),
        date=_read_date(date_text),
        date_text=date_text,
        nonce=headers.get("x-acs-signature-nonce"),
        check_body=lambda: _check_body(request),
    )


def _read_date(text: str) -> Millis:
    return read_utc(text, NAME) if "-" in text[:5] else read_http_date(text, NAME)


def texts(request: Request) -> SignedTexts:
    """Yield what may have been signed.

    Raises: AuthFailure (REPEATED_PARAMETER).
    """
    headers = request.headers
    query: dict[str, str] = {}
    for name, value in request.query_pairs:
        if query.setdefault(name, value) != value:
            raise AuthFailure(Reason.REPEATED_PARAMETER, scheme=NAME, detail=name)
    digest = headers.get("content-md5")
    own = sorted((name, value.translate(_BLANKS).strip()) for name, value in headers.starting_with("x-acs-"))
    head = (
        f"{request.method}\n{headers.get('accept')}\n{digest}\n{headers.get('content-type')}\n{headers.get('date')}\n"
        + "".join(f"{name}:{value}\n" for name, value in own)
    )
    pairs = sorted(query.items())
    full = "&".join(f"{name}={value}" for name, value in pairs)
    short = "&".join(f"{name}={value}" if value else name for name, value in pairs)
    for path in dict.fromkeys((request.path, request.decoded_path)):
        for items in dict.fromkeys((full, short)):
            yield f"{head}{path}?{items}" if items else head + path, ""


def _check_body(request: Request) -> None:
    """Compare the body with its ``Content-MD5``.

    Raises: AuthFailure (BODY_DIFFERS).
    """
    digest = request.headers.get("content-md5")
    if digest and not _is_md5_of(request.body, digest):
        raise AuthFailure(Reason.BODY_DIFFERS, scheme=NAME, detail="Content-MD5")


def _is_md5_of(body: bytes, stated: str) -> bool:
    digest = hashlib.md5(body, usedforsecurity=False)
    raw = b2a_base64(digest.digest(), newline=False)
    hexadecimal = digest.hexdigest().encode("ascii")  # as terraform-provider-alicloud sends it for fcv2_function
    text = b2a_base64(hexadecimal, newline=False)  # some clients encode the hex digits
    return octets(stated) in {raw, hexadecimal, text}


def authorization(request: Request, key_id: str, secret: str) -> str:
    """Return the ``Authorization`` header for *request*, whose other headers are complete."""
    return f"acs {key_id}:{sign(secret, next(texts(request))[0])}"
