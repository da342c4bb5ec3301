"""MNS: the common scheme (HMAC-SHA1 over the request target as sent) and MNS4-HMAC-SHA256 of the newer Java client.

Neither covers the body, except through ``Content-MD5``, which is text to them; the service checks it. The security
token is not covered either. With a ``Date`` header present ``x-mns-date`` is just one more ``x-mns-*`` header.

Source: MNS "Sign requests"; the official SDKs; for MNS4 aliyun-mns-java-sdk 2.0.0; metmit/alimns for a bare ``?``.
"""

import re
from urllib.parse import unquote

from emulator.auth.signed_request import (
    SignedRequest,
    SignedTexts,
    base64_hmac,
    derived_hex_hmac,
    encode,
    encode_path,
    fields_of,
    id_and_signature,
    read_http_date,
    signed_head,
    signed_lines,
)
from emulator.http.message import Request
from emulator.kernel.clock import Millis
from emulator.kernel.errors import AuthFailure, Reason
from emulator.wire.dates import iso_seconds

NAME = "MNS"
NAME_V4 = "MNS4-HMAC-SHA256"

_CREDENTIAL = re.compile(r"([^/]+)/(\d{8}/[A-Za-z0-9-]+/mns/(?:aliyun|apsara)_v4_request)")
_KEY_PREFIXES = {NAME_V4: "aliyun_v4", f"APSARA-{NAME_V4}": "apsara_v4"}


def signed_request(request: Request) -> SignedRequest | None:
    """Read who signed *request*; None when it carries no MNS authorization.

    Raises: AuthFailure for a request with something missing.
    """
    headers = request.headers
    authorization = headers.get("authorization")
    if not authorization.startswith("MNS "):
        return _signed_v4(request, authorization)
    key_id, signature = id_and_signature(authorization, NAME)
    date_text = headers.get("date") or headers.get("x-mns-date")
    return SignedRequest(
        NAME,
        key_id,
        signature,
        texts(request, date_text),
        sign,
        headers.get("security-token"),
        read_http_date(date_text, NAME),
        date_text,
    )


def sign(secret: str, string: str) -> str:
    """Return the signature of *string*."""
    return base64_hmac(secret, string, "sha1")


def texts(request: Request, date: str) -> SignedTexts:
    """Yield what is signed under *date*, the text of ``Date`` or else of ``x-mns-date``."""
    head = signed_head(request, date) + signed_lines(request.headers.starting_with("x-mns-"))
    yield head + request.target, ""
    if request.target.endswith("?"):  # one client appends the question mark after signing
        yield head + request.target.removesuffix("?"), ""


def authorization(request: Request, key_id: str, secret: str) -> str:
    """Return the ``Authorization`` header for *request*, whose other headers (``Date`` among them) are complete."""
    return f"{NAME} {key_id}:{sign(secret, next(texts(request, request.headers.get('date')))[0])}"


def _signed_v4(request: Request, authorization: str) -> SignedRequest | None:
    algorithm = authorization.partition(" ")[0]
    if algorithm not in _KEY_PREFIXES:
        if algorithm == NAME:
            raise AuthFailure(Reason.MALFORMED_AUTHORIZATION, scheme=NAME, detail="key id or signature is missing")
        return None
    fields = fields_of(authorization, "=", NAME_V4)
    credential = _CREDENTIAL.fullmatch(fields.get("Credential", ""))
    if credential is None or not fields.get("Signature"):
        raise AuthFailure(Reason.MALFORMED_AUTHORIZATION, scheme=NAME_V4, detail="Credential or Signature is missing")
    date_text = request.headers.get("date") or request.headers.get("x-mns-date")
    date = read_http_date(date_text, NAME_V4)
    return SignedRequest(
        scheme=NAME_V4,
        key_id=credential[1],
        signature=fields["Signature"],
        texts=texts_v4(request, algorithm, date, credential[2]),
        sign=sign_v4,
        token=request.headers.get("security-token"),
        date=date,
        date_text=date_text,
    )


def sign_v4(secret: str, string: str) -> str:
    """Return the signature of *string*, under the key derived for the algorithm and scope it names."""
    algorithm, _, scope, _ = string.split("\n", 3)
    return derived_hex_hmac(_KEY_PREFIXES[algorithm] + secret, scope, string)


def texts_v4(request: Request, algorithm: str, date: Millis, scope: str) -> SignedTexts:
    """Yield what may have been signed; the canonical request stands in the string to sign as it is, not its digest."""
    stamp = iso_seconds(date).replace("-", "").replace(":", "")
    headers = request.headers
    own = headers.starting_with("x-mns-") + headers.starting_with("content-type") + headers.starting_with("content-md5")
    block = "".join(f"{name}:{value.strip()}\n" for name, value in sorted(own))
    head = f"{algorithm}\n{stamp}\n{scope}\n{request.method}\n{encode_path(request.decoded_path)}\n"
    query = request.query or ""
    # receipt handles contain unescaped plus signs, so a plus is tried as a plus first and as a blank second
    for text in dict.fromkeys((query, query.replace("+", " "))):
        yield f"{head}{_canonical_query(text)}\n{block}\n", ""


def _canonical_query(query: str) -> str:
    pairs = []
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if part:
            pairs.append((_cleaned(name.lower()), _cleaned(value)))
    return "&".join(f"{name}={value}" if value else name for name, value in sorted(pairs))


def _cleaned(text: str) -> str:
    return encode(unquote(text, errors="surrogateescape").strip())
