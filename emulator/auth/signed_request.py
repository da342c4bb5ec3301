"""What a request says about who signed it, the access keys it may be signed with, and what all schemes share."""

import hashlib
import hmac
import re
from binascii import b2a_base64
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol
from urllib.parse import quote

from emulator.http.message import Pairs, Request
from emulator.kernel.clock import Millis
from emulator.kernel.digits import read_digits
from emulator.kernel.errors import AuthFailure, Reason
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import AccountId
from emulator.wire.dates import parse_http_date, parse_iso

SignedTexts = Iterator[tuple[str, str]]
"""What may have been signed, likeliest first: (string to sign, canonical request or ""); computed when asked for."""

Sign = Callable[[str, str], str]
"""(secret, string to sign) -> signature."""


class SignedRequest(NamedTuple):
    """A request's own statement, not yet believed.

    ``date`` is when the caller says it was signed, ``date_text`` the same as written. ``deadline`` is set for signed
    URLs, which last until then whatever their date. ``token`` and ``nonce`` are empty when absent. ``check_body``
    compares the body with a digest that the request states; None when it states none.
    """

    scheme: str
    key_id: str
    signature: str
    texts: SignedTexts
    sign: Sign
    token: str = ""
    date: Millis | None = None
    date_text: str = ""
    deadline: Millis | None = None
    nonce: str = ""
    check_body: Callable[[], None] | None = None


_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
_ENCODED = [chr(octet) if octet in _UNRESERVED else f"%{octet:02X}" for octet in range(256)]
_as_it_is = re.compile(r"[A-Za-z0-9\-_.~]*").fullmatch


def encode(text: str) -> str:
    """Percent-encode all but letters, digits and ``-_.~``; bytes above ASCII as they came.

    Parameters can be long (a flow's definition); this takes half the time of the standard library's function.
    """
    if _as_it_is(text):
        return text
    return "".join([_ENCODED[octet] for octet in text.encode("utf-8", "surrogateescape")])


def encode_path(text: str) -> str:
    """Percent-encode like `encode`, slashes kept."""
    return quote(text, safe="/~", errors="surrogateescape")


def octets(text: str) -> bytes:
    """Return the bytes *text* was decoded from."""
    return text.encode("utf-8", "surrogateescape")


def base64_hmac(secret: str, text: str, algorithm: str) -> str:
    """Return the HMAC of *text* under *secret* in base64."""
    inner, outer = (pad.copy() for pad in _padded(secret, algorithm))
    inner.update(octets(text))
    outer.update(inner.digest())
    return b2a_base64(outer.digest(), newline=False).decode("ascii")


@lru_cache(maxsize=64)
def _padded(secret: str, algorithm: str) -> tuple["hashlib._Hash", "hashlib._Hash"]:
    """Return the hashes of the key's two pads, with which each HMAC under it begins: few keys sign most requests.

    Source: RFC 2104. OpenSSL looks the algorithm up for each HMAC, which costs more than to hash a request's text.
    """
    key = octets(secret)
    if len(key) > hashlib.new(algorithm).block_size:
        key = hashlib.new(algorithm, key).digest()
    inner, outer = hashlib.new(algorithm), hashlib.new(algorithm)
    inner.update(bytes(octet ^ 0x36 for octet in key.ljust(inner.block_size, b"\0")))
    outer.update(bytes(octet ^ 0x5C for octet in key.ljust(outer.block_size, b"\0")))
    return inner, outer


def derived_hex_hmac(start: str, scope: str, text: str) -> str:
    """Return the hex HMAC-SHA256 of *text* under a key derived from *start* over each part of *scope* (``a/b/c``)."""
    key = octets(start)
    for part in scope.split("/"):
        key = hmac.digest(key, octets(part), "sha256")
    return hmac.digest(key, octets(text), "sha256").hex()


def signed_head(request: Request, date: str) -> str:
    """Return the first four lines of what the older schemes sign: method, digest, type, and the date as it is given."""
    headers = request.headers
    return f"{request.method}\n{headers.get('content-md5')}\n{headers.get('content-type')}\n{date}\n"


def signed_lines(fields: Pairs) -> str:
    """Return header fields, sorted, a line each."""
    fields.sort()
    return "".join([f"{name}:{value}\n" for name, value in fields])


def check_sha256(body: bytes, stated: str, scheme: str, header: str) -> None:
    """Compare *body* with the digest that *header* states.

    Raises: AuthFailure (BODY_DIFFERS).
    """
    if stated.lower() != hashlib.sha256(body).hexdigest():
        raise AuthFailure(Reason.BODY_DIFFERS, scheme=scheme, detail=header)


def id_and_signature(authorization: str, scheme: str) -> tuple[str, str]:
    """Split ``WORD {key id}:{signature}``.

    Raises: AuthFailure (MALFORMED_AUTHORIZATION).
    """
    key_id, colon, signature = authorization.partition(" ")[2].strip().partition(":")
    if not (key_id and colon and signature) or " " in key_id:
        raise AuthFailure(Reason.MALFORMED_AUTHORIZATION, scheme=scheme, detail="key id or signature is missing")
    return key_id, signature


def fields_of(authorization: str, separator: str, scheme: str) -> dict[str, str]:
    """Split ``WORD Name=value, Name=value``; blanks around the commas do not matter.

    Raises: AuthFailure (MALFORMED_AUTHORIZATION) for a part without separator or a name that comes twice.
    """
    fields: dict[str, str] = {}
    for part in authorization.partition(" ")[2].split(","):
        name, mark, value = part.strip().partition(separator)
        if not mark or name in fields:
            raise AuthFailure(Reason.MALFORMED_AUTHORIZATION, scheme=scheme, detail="a field is not readable")
        fields[name] = value
    return fields


_parse_http_date = lru_cache(maxsize=256)(parse_http_date)  # all requests of a second have the same date


def read_http_date(text: str, scheme: str) -> Millis:
    """Read the date of a request.

    Raises: AuthFailure (MISSING_DATE, BAD_DATE).
    """
    if not text:
        raise AuthFailure(Reason.MISSING_DATE, scheme=scheme, detail="Date")
    try:
        return _parse_http_date(text)
    except (ValueError, OverflowError):
        raise AuthFailure(Reason.BAD_DATE, scheme=scheme, detail=text) from None


_parse_iso = lru_cache(maxsize=256)(parse_iso)
_EXTENDED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_BASIC = re.compile(r"\d{8}T\d{6}Z", re.ASCII)


def read_utc(text: str, scheme: str, *, basic: bool = False) -> Millis:
    """Read ``2026-11-20T23:45:44Z``, or ``20261120T234544Z`` when *basic*.

    Raises: AuthFailure (MISSING_DATE, BAD_DATE).
    """
    if not text:
        raise AuthFailure(Reason.MISSING_DATE, scheme=scheme, detail="date")
    try:
        if (_BASIC if basic else _EXTENDED).fullmatch(text):
            return _parse_iso(text)
    except (ValueError, OverflowError):
        pass  # the format is right but the day does not exist: answered below like a wrong format
    raise AuthFailure(Reason.BAD_DATE, scheme=scheme, detail=text)


def read_expiry(text: str, scheme: str) -> Millis:
    """Read the expiry of a signed URL, in seconds since the epoch.

    Raises: AuthFailure (MISSING_DATE, BAD_DATE).
    """
    if not text:
        raise AuthFailure(Reason.MISSING_DATE, scheme=scheme, detail="expiry")
    seconds = read_digits(text, 12)
    if seconds is None:
        raise AuthFailure(Reason.BAD_DATE, scheme=scheme, detail=text)
    return Millis(seconds * 1000)


def required(value: str, reason: Reason, scheme: str, name: str) -> str:
    """Return *value*.

    Raises: AuthFailure with *reason* when it is empty.
    """
    if not value:
        raise AuthFailure(reason, scheme=scheme, detail=name)
    return value


@frozen
class AccessKey:
    """A key that requests may be signed with.

    ``token`` and ``expires_at`` are set for temporary keys only; ``arn`` is the identity it stands for, ``policy`` the
    document that narrows what a temporary key may do, if any.
    """

    key_id: str
    secret: str
    account: AccountId
    arn: str
    token: str | None = None
    expires_at: Millis | None = None
    active: bool = True
    policy: str = ""


class KeySource(Protocol):
    """Somewhere keys are kept."""

    def find(self, key_id: str) -> AccessKey | None:
        """Return the key of that id, expired or not; None when there never was one."""
        ...
