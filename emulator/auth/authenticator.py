"""Which signature schemes exist, in which order they are asked, and what is checked of every claim.

A scheme answers three ways: its claim (yes, somebody signed this way), None (not my scheme) or an `AuthFailure` (mine,
and broken). The order is that of the table by which the gateway chooses the service, so the two cannot disagree about
a request that carries two kinds of signature.
"""

import hmac
import logging
from collections.abc import Callable

from emulator.auth import acs3, fc, mns, oss, roa, rpc
from emulator.auth.keys import AccessKey, Keyring, NonceMemory
from emulator.auth.signed_request import SignedRequest, octets
from emulator.http.message import Request
from emulator.kernel.clock import MINUTE, Millis
from emulator.kernel.errors import AuthFailure, Reason
from emulator.kernel.identity import Principal

_log = logging.getLogger(__name__)

SCHEMES: tuple[Callable[[Request], SignedRequest | None], ...] = (
    mns.claim,
    fc.claim,
    oss.claim,
    acs3.claim,
    roa.claim,
    rpc.claim,
)

SKEW_MS = 15 * MINUTE
"""How far a request's date may be from now, either way."""

_MOST_WARNED = 1_000


class Authenticator:
    """Decides who sent a request.

    With *lenient* any well-formed request passes: of a known key as that key's identity, of any other as the
    installation's account; signature, date, token and nonce are not looked at. Ids that look like a real cloud key
    (``LTAI...``) and were not issued here are refused all the same: somebody points a real script at the emulator.
    """

    def __init__(self, keys: Keyring, *, lenient: bool, nonces: NonceMemory) -> None:
        self._keys = keys
        self._lenient = lenient
        self._nonces = nonces
        self._warned: set[str] = set()

    def authenticate(self, request: Request, now: Millis, *, host_account: str | None = None) -> Principal:
        """Return the caller.

        *host_account* is the account the host name speaks of; a key of another account is refused.

        Raises: AuthFailure. Checked in this order: the parts are there, the key exists and is active, the token is
        the key's and not expired, the date is near (or the URL not over), the signature, the nonce, the account.
        """
        claim = _claim_of(request)
        key = self._keys.find(claim.key_id)
        if key is None:
            key = self._stranger(claim)
        elif not self._lenient:
            self._check(claim, key, now)
        if host_account and key.account != host_account and key.key_id == claim.key_id:
            raise AuthFailure(Reason.FOREIGN_ACCOUNT, scheme=claim.scheme, detail=host_account)
        return Principal(key.account, claim.key_id, key.arn, key.token is not None, key.policy)

    def _check(self, claim: SignedRequest, key: AccessKey, now: Millis) -> None:
        if not key.active:
            raise AuthFailure(Reason.INACTIVE_KEY, scheme=claim.scheme, detail=claim.key_id)
        if key.token is not None or claim.token:
            _check_token(claim, key, now)
        _check_time(claim, now)
        _check_signature(claim, key)
        if claim.nonce and not self._nonces.is_new(claim.key_id, claim.nonce, now, claim.date or now):
            raise AuthFailure(Reason.NONCE_USED, scheme=claim.scheme, detail=claim.nonce)

    def _stranger(self, claim: SignedRequest) -> AccessKey:
        if claim.key_id.startswith("LTAI"):
            self._warn(
                claim.key_id,
                "a request is signed with %s, which looks like a real cloud key and was not issued here; it is refused",
            )
        elif self._lenient:
            self._warn(claim.key_id, "access key %s is unknown; accepted unchecked, because authentication is lenient")
            return self._keys.own
        raise AuthFailure(Reason.UNKNOWN_KEY, scheme=claim.scheme, detail=claim.key_id)

    def _warn(self, key_id: str, text: str) -> None:
        """Log once per key id, its end left out."""
        if key_id not in self._warned and len(self._warned) < _MOST_WARNED:
            self._warned.add(key_id)
            shown = key_id[:8] + "..." if len(key_id) > 8 else key_id
            _log.warning(text, ascii(shown))


def _claim_of(request: Request) -> SignedRequest:
    for scheme in SCHEMES:
        claim = scheme(request)
        if claim is not None:
            return claim
    if request.headers.get("authorization"):
        raise AuthFailure(Reason.MALFORMED_AUTHORIZATION, detail="the scheme is not known")
    raise AuthFailure(Reason.MISSING_AUTHORIZATION)


def _check_token(claim: SignedRequest, key: AccessKey, now: Millis) -> None:
    if not claim.token:
        raise AuthFailure(Reason.MISSING_TOKEN, scheme=claim.scheme, detail=claim.key_id)
    if key.token is None:  # a lasting key has no token to go with it
        raise AuthFailure(Reason.TOKEN_OF_ANOTHER_KEY, scheme=claim.scheme, detail=claim.key_id)
    if not hmac.compare_digest(octets(claim.token), octets(key.token)):
        alike = claim.token.startswith("CAIS") and len(claim.token) >= len(key.token) // 2
        reason = Reason.TOKEN_OF_ANOTHER_KEY if alike else Reason.BAD_TOKEN
        raise AuthFailure(reason, scheme=claim.scheme, detail=claim.key_id)
    if key.expires_at is not None and now >= key.expires_at:
        raise AuthFailure(Reason.TOKEN_EXPIRED, scheme=claim.scheme, detail=claim.key_id)


def _check_time(claim: SignedRequest, now: Millis) -> None:
    if claim.deadline is not None:
        if now > claim.deadline:
            raise AuthFailure(Reason.URL_EXPIRED, scheme=claim.scheme, detail=claim.date_text)
        if claim.date is not None and claim.date - now > SKEW_MS:
            raise AuthFailure(Reason.SKEWED_DATE, scheme=claim.scheme, detail=claim.date_text)
    elif claim.date is None or abs(claim.date - now) > SKEW_MS:
        raise AuthFailure(Reason.SKEWED_DATE, scheme=claim.scheme, detail=claim.date_text)


def _check_signature(claim: SignedRequest, key: AccessKey) -> None:
    given = octets(claim.signature)
    first: tuple[str, str] | None = None
    for text in claim.texts:
        if hmac.compare_digest(octets(claim.sign(key.secret, text[0])), given):
            return
        first = first or text
    string, canonical = first or ("", "")
    raise AuthFailure(Reason.SIGNATURE_DIFFERS, scheme=claim.scheme, string_to_sign=string, canonical_request=canonical)
