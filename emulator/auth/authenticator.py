"""Which signature schemes exist, how a request shows that it uses one, and what is checked of what it states.

The gateway recognises the scheme once, with `scheme_of`. The choice of the service and authentication go by it, so the
two cannot disagree about a request that carries two kinds of signature.
"""

import hmac
import logging
from collections.abc import Callable
from typing import NamedTuple

from emulator.auth import acs3, fc, log, mns, oss, roa, rpc
from emulator.auth.signed_request import AccessKey, KeySource, SignedRequest, octets
from emulator.http.message import Request
from emulator.kernel.clock import MINUTE, Millis
from emulator.kernel.errors import AuthFailure, Reason
from emulator.kernel.identity import Principal
from emulator.wire.multipart import is_form

_log = logging.getLogger(__name__)


class Scheme(NamedTuple):
    """A way to sign. ``front`` is the only service that uses it, ``""`` when several do.

    ``read`` returns what a request states about its signature, None when it states nothing after all, and raises
    `AuthFailure` for a statement with something missing. ``covers_head``: the signature can be checked before the body
    has come, because it does not cover it, or only through a digest among the headers.
    """

    read: Callable[[Request], SignedRequest | None]
    front: str = ""
    in_header: bool = True
    covers_head: Callable[[Request], bool] = lambda request: True


MNS = Scheme(mns.signed_request, "mns")
FC = Scheme(fc.signed_request, "fc")
OSS = Scheme(oss.signed_request, "oss")
LOG = Scheme(log.signed_request, "log")
OSS_FORM = Scheme(oss.signed_request, in_header=False, covers_head=lambda request: False)
ACS3 = Scheme(acs3.signed_request, covers_head=acs3.covers_head)
ROA = Scheme(roa.signed_request)
RPC = Scheme(rpc.signed_request, in_header=False, covers_head=lambda request: False)

_BY_WORD = {
    "MNS": MNS, "MNS4-HMAC-SHA256": MNS, "APSARA-MNS4-HMAC-SHA256": MNS, "FC": FC, "OSS": OSS, "OSS2": OSS,
    "OSS4-HMAC-SHA256": OSS, "LOG": LOG, "ACS3-HMAC-SHA256": ACS3, "acs": ROA,
}  # fmt: skip
"""By the first word of ``Authorization``."""

_OSS_MARKS = ("OSSAccessKeyId=", "x-oss-credential=", "x-oss-signature-version=")


def scheme_of(http: Request) -> Scheme | None:
    """Return the scheme that a request shows in its header, its query or its form; None when it shows none."""
    authorization = http.headers.get("authorization")
    if authorization:
        word = authorization.partition(" ")[0]
        scheme = _BY_WORD.get(word)
        if scheme is not None:
            return scheme
        if word.startswith("ACS3-"):
            return ACS3
        if word.startswith("OSS"):
            return OSS
    query = http.query
    if query:
        if "x-fc-signature=" in query:
            return FC
        if not authorization and any(mark in query for mark in _OSS_MARKS):
            return OSS
    if http.path in {"/", ""} and rpc.is_marked(http):
        return RPC
    if http.method == "POST" and not query and not authorization and is_form(http.headers.get("content-type")):
        return OSS_FORM
    return None


class Keyring:
    """The keys of this installation, asked in order: its own, then each further source."""

    def __init__(self, own: AccessKey, *sources: KeySource) -> None:
        self.own = own
        self._sources = list(sources)

    def add(self, source: KeySource) -> None:
        """Ask *source* too from now on."""
        self._sources.append(source)

    def find(self, key_id: str) -> AccessKey | None:
        """Return the key of that id, expired or not; None when there never was one."""
        if key_id == self.own.key_id:
            return self.own
        for source in self._sources:
            key = source.find(key_id)
            if key is not None:
                return key
        return None


REMEMBERED_MS = 15 * MINUTE
"""How long a nonce is kept at least."""

CAPACITY = 65_536


class NonceMemory:
    """Nonces by key id, each kept until no request dated with it could pass the clock check.

    Holds at most *capacity*; when full the oldest is forgotten, which costs replay protection of that one request
    rather than refusing a new caller. A nonce takes the same memory whatever its length.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._until: dict[int, Millis] = {}

    def is_new(self, key_id: str, nonce: str, now: Millis, date: Millis) -> bool:
        """Remember the nonce of a request dated *date*; return whether it was unknown."""
        # 64 bits of the interpreter's keyed hash: two nonces of 65,536 meet about once in 10**10 full memories
        entry = hash((key_id, nonce))
        known_until = self._until.get(entry)
        if known_until is not None and known_until > now:
            return False
        self._forget(now)
        self._until.pop(entry, None)
        self._until[entry] = Millis(max(now, date) + REMEMBERED_MS)
        return True

    def __len__(self) -> int:
        return len(self._until)

    def _forget(self, now: Millis) -> None:
        """Drop expired entries, and the oldest when full; entries stand nearly in the order they expire."""
        while self._until:
            oldest = next(iter(self._until))
            if self._until[oldest] > now and len(self._until) < self._capacity:
                return
            del self._until[oldest]


SKEW_MS = 15 * MINUTE
"""How far a request's date may be from now, either way."""

_MOST_WARNED = 1_000


class Authenticator:
    """Decides who sent a request.

    With *lenient* any well-formed request passes: of a known key as that key's identity, of any other as the
    installation's account; signature, date, token and nonce are not looked at. Ids that look like a real cloud key
    (``LTAI...``) and were not issued here are refused all the same: a real script was pointed at the emulator.
    """

    def __init__(self, keys: Keyring, *, lenient: bool, nonces: NonceMemory) -> None:
        self._keys = keys
        self._lenient = lenient
        self._nonces = nonces
        self._warned: set[str] = set()

    def authenticate(
        self,
        http: Request,
        now: Millis,
        *,
        host_account: str | None = None,
        scheme: Scheme | None = None,
        system: Millis | None = None,
        head_only: bool = False,
    ) -> Principal:
        """Return the caller of a request that came at *now* and is signed with *scheme*, recognised when not given.

        Clients sign with their own clocks: dates are compared with *system*, *now* when it is not given, or with *now*
        as functions do, which see the emulator's time. Keys expire by *now*. *host_account* is the account the host
        name speaks of; a key of another account is refused.
        With *head_only* the body has not come yet, and is left to `check_body`.

        Raises: AuthFailure. Checked in this order: the parts are there, the key exists, the account is the key's, the
        key is active, the token is the key's and not expired, the date is near (or the URL not over), the stated
        digest is that of the body, the signature, the nonce.
        Source: for the account before the signature aliyun-mns-nodejs-sdk test/client.test.js (wrong account and wrong
        secret); the same for other schemes is assumed.
        """
        scheme = scheme or scheme_of(http)
        signed = scheme.read(http) if scheme is not None else None
        if signed is None:
            if http.headers.get("authorization"):
                raise AuthFailure(Reason.MALFORMED_AUTHORIZATION, detail="the scheme is not known")
            raise AuthFailure(Reason.MISSING_AUTHORIZATION)
        key = self._keys.find(signed.key_id)
        if key is None:
            key = self._stranger(signed)
        else:
            if host_account and key.account != host_account:
                raise self._foreign(signed, key, host_account)
            if not self._lenient:
                self._check(signed, key, now, now if system is None else system, head_only=head_only)
        return Principal(key.account, signed.key_id, key.arn, key.token is not None, key.policy)

    def key_of(self, http: Request) -> AccessKey | None:
        """Return the key that a request names, None when it names none or an unknown one."""
        scheme = scheme_of(http)
        try:
            signed = scheme.read(http) if scheme is not None else None
        except AuthFailure:
            return None
        return None if signed is None else self._keys.find(signed.key_id)

    def covers_body(self, http: Request, scheme: Scheme | None) -> bool:
        """Whether a request, whose head has been authenticated, states a digest of its body, for `check_body`."""
        signed = None if self._lenient or scheme is None else scheme.read(http)
        return signed is not None and signed.check_body is not None

    def check_known(self, http: Request, scheme: Scheme | None, principal: Principal) -> None:
        """Check that the key is still there of a caller who was found out by the head of a request.

        Raises: AuthFailure (UNKNOWN_KEY).
        """
        if not principal.access_key_id:
            return
        key = self._keys.find(principal.access_key_id)
        if key is None and self._lenient:
            key = self._keys.own
        if key is None or key.account != principal.account:
            signed = None if scheme is None else scheme.read(http)
            name = "" if signed is None else signed.scheme
            raise AuthFailure(Reason.UNKNOWN_KEY, scheme=name, detail=principal.access_key_id)

    def check_body(self, http: Request, scheme: Scheme | None) -> None:
        """Compare the body of a request, whose head has been authenticated, with the digest it states.

        Raises: AuthFailure (BODY_DIFFERS).
        """
        signed = None if self._lenient or scheme is None else scheme.read(http)
        if signed is not None and signed.check_body is not None:
            signed.check_body()

    def _check(self, signed: SignedRequest, key: AccessKey, now: Millis, system: Millis, *, head_only: bool) -> None:
        if not key.active:
            raise AuthFailure(Reason.INACTIVE_KEY, scheme=signed.scheme, detail=signed.key_id)
        if key.token is not None or signed.token:
            _check_token(signed, key, now)
        # functions sign with the emulator's clock, everyone else with the system's
        in_function = signed.date is not None and abs(signed.date - now) <= SKEW_MS
        _check_time(signed, now if in_function else system)
        if signed.check_body is not None and not head_only:
            signed.check_body()
        _check_signature(signed, key)
        if signed.nonce and not self._nonces.is_new(signed.key_id, signed.nonce, system, signed.date or system):
            raise AuthFailure(Reason.NONCE_USED, scheme=signed.scheme, detail=signed.nonce)

    def _stranger(self, signed: SignedRequest) -> AccessKey:
        if signed.key_id.startswith("LTAI"):
            self._warn(
                signed.key_id,
                "a request is signed with %s, which looks like a real cloud key and was not issued here; it is refused",
            )
        elif self._lenient:
            self._warn(signed.key_id, "access key %s is unknown; accepted unchecked, because authentication is lenient")
            return self._keys.own
        raise AuthFailure(Reason.UNKNOWN_KEY, scheme=signed.scheme, detail=signed.key_id)

    def _foreign(self, signed: SignedRequest, key: AccessKey, asked: str) -> AuthFailure:
        """Return the refusal of a key of another account than the one *asked* for, and log it once per account."""
        own = self._keys.own.account
        if asked == own:
            advice = f"Account {asked} was asked for, the access key belongs to {key.account}: use a key of {asked}."
        else:
            advice = (
                f"Account {asked} was asked for, the emulator's account is {own}: set account_id in localyun.yaml or "
                f"LOCALYUN_ACCOUNT_ID to {asked} and restart it, or put {own} into the endpoint."
            )
        if self._is_first(f"account {asked}"):
            _log.warning("a request is refused. %s", advice)
        return AuthFailure(Reason.FOREIGN_ACCOUNT, scheme=signed.scheme, detail=asked, advice=advice)

    def _warn(self, key_id: str, text: str) -> None:
        """Log once per key id, its end left out."""
        if self._is_first(key_id):
            shown = key_id[:8] + "..." if len(key_id) > 8 else key_id
            _log.warning(text, ascii(shown))

    def _is_first(self, subject: str) -> bool:
        """Whether *subject* has not been warned of, which it counts as from now on; false for too many."""
        if subject in self._warned or len(self._warned) >= _MOST_WARNED:
            return False
        self._warned.add(subject)
        return True


def _check_token(signed: SignedRequest, key: AccessKey, now: Millis) -> None:
    if not signed.token:
        raise AuthFailure(Reason.MISSING_TOKEN, scheme=signed.scheme, detail=signed.key_id)
    if key.token is None:  # a permanent key has no security token
        raise AuthFailure(Reason.TOKEN_OF_ANOTHER_KEY, scheme=signed.scheme, detail=signed.key_id)
    if not hmac.compare_digest(octets(signed.token), octets(key.token)):
        alike = signed.token.startswith("CAIS") and len(signed.token) >= len(key.token) // 2
        reason = Reason.TOKEN_OF_ANOTHER_KEY if alike else Reason.BAD_TOKEN
        raise AuthFailure(reason, scheme=signed.scheme, detail=signed.key_id)
    if key.expires_at is not None and now >= key.expires_at:
        raise AuthFailure(Reason.TOKEN_EXPIRED, scheme=signed.scheme, detail=signed.key_id)


def _check_time(signed: SignedRequest, now: Millis) -> None:
    if signed.deadline is not None:
        if now > signed.deadline:
            raise AuthFailure(Reason.URL_EXPIRED, scheme=signed.scheme, detail=signed.date_text)
        if signed.date is not None and signed.date - now > SKEW_MS:
            raise AuthFailure(Reason.SKEWED_DATE, scheme=signed.scheme, detail=signed.date_text)
    elif signed.date is None or abs(signed.date - now) > SKEW_MS:
        raise AuthFailure(Reason.SKEWED_DATE, scheme=signed.scheme, detail=signed.date_text)


def _check_signature(signed: SignedRequest, key: AccessKey) -> None:
    signature = octets(signed.signature)
    first: tuple[str, str] | None = None
    for text in signed.texts:
        if hmac.compare_digest(octets(signed.sign(key.secret, text[0])), signature):
            return
        first = first or text
    string, canonical = first or ("", "")
    raise AuthFailure(
        Reason.SIGNATURE_DIFFERS, scheme=signed.scheme, string_to_sign=string, canonical_request=canonical
    )
