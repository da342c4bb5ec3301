"""The signature schemes. Input: a line ``METHOD TARGET``, header lines ``Name: value``, an empty line, the body.

Each target fuzzes its scheme and then the authenticator as a whole, with a key that exists.
"""

from collections.abc import Callable

from emulator.auth import acs3 as acs3_scheme
from emulator.auth import fc as fc_scheme
from emulator.auth import mns as mns_scheme
from emulator.auth import oss as oss_scheme
from emulator.auth import roa as roa_scheme
from emulator.auth import rpc as rpc_scheme
from emulator.auth.authenticator import Authenticator, Keyring, NonceMemory
from emulator.auth.signed_request import AccessKey, SignedRequest
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.errors import AuthFailure
from emulator.kernel.identity import AccountId

NOW = Millis(1_795_000_000_000)
OWN = AccessKey(key_id="k", secret="s", account=AccountId("1"), arn="acs:ram::1:root")


def request_of(data: bytes) -> Request:
    """Return the request that *data* describes."""
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.decode("utf-8", "surrogateescape").split("\n")
    method, _, target = first.partition(" ")
    pairs = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    return Request(method, target, Headers(pairs), body)


def _check(scheme: Callable[[Request], SignedRequest | None], data: bytes) -> None:
    try:
        signed_request = scheme(request_of(data))
        if signed_request is not None:
            for string, _ in signed_request.texts:
                assert signed_request.sign("secret", string).isascii()
    except AuthFailure as failure:
        assert str(failure)
    for lenient in (False, True):
        gate = Authenticator(Keyring(OWN), lenient=lenient, nonces=NonceMemory())
        try:
            principal = gate.authenticate(request_of(data), NOW)
        except AuthFailure as failure:
            assert str(failure)
        else:
            assert lenient or principal.key_id == "k"


def mns(data: bytes) -> None:
    _check(mns_scheme.signed_request, data)


def fc(data: bytes) -> None:
    _check(fc_scheme.signed_request, data)


def oss(data: bytes) -> None:
    _check(oss_scheme.signed_request, data)


def acs3(data: bytes) -> None:
    _check(acs3_scheme.signed_request, data)


def roa(data: bytes) -> None:
    _check(roa_scheme.signed_request, data)


def rpc(data: bytes) -> None:
    _check(rpc_scheme.signed_request, data)
