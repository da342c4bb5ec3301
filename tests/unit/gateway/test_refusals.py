"""The latest refused requests, and why each was refused."""

from types import SimpleNamespace

import pytest

from emulator.auth import authenticator, mns
from emulator.auth.signed_request import AccessKey
from emulator.gateway.errors import KEPT, Refusals
from emulator.http.message import Headers, Request
from emulator.kernel.errors import AuthFailure, Reason

KEY = AccessKey(key_id="id", secret="secret", account="1234567890123456", arn="")
DATE = ("Date", "Sun, 22 Nov 2026 13:00:00 GMT")


@pytest.fixture
def refusals():
    """Refusals of an installation with one key."""
    return Refusals(SimpleNamespace(key_of=lambda http: KEY))


def refuse(refusals, request_id, path="/queues/a%2Cb", body=b""):
    """Add the refusal of a request that was signed for another path."""
    signed = mns.authorization(Request("GET", "/queues/a,b", Headers([DATE])), "id", "secret")
    http = Request("GET", path, Headers([DATE, ("Authorization", signed)]), body)
    text = next(mns.signed_request(http).texts)[0]
    call = SimpleNamespace(request_id=request_id, http=http, scheme=authenticator.MNS)
    refusals.add(call, AuthFailure(Reason.SIGNATURE_DIFFERS, scheme="MNS", string_to_sign=text))


def test_a_refusal_is_explained_with_the_place_where_both_texts_differ(refusals):
    """No secret and no signature is among what is answered."""
    refuse(refusals, "r1")

    found = refusals.explain("r1")

    assert (found["cause"], found["detail"], found["reason"]) == ("path", "/queues/a,b", "SIGNATURE_DIFFERS")
    assert found["server"][found["differs_at"] :] == "%2Cb"
    assert found["client"][found["differs_at"] :] == ",b"
    assert "secret" not in str(found)


def test_what_the_client_says_is_compared_instead(refusals):
    """The answer tells where it differs."""
    refuse(refusals, "r1")

    assert refusals.explain("r1", "GET-")["differs_at"] == 3


def test_only_the_latest_are_kept_and_no_large_body(refusals):
    """Floods of refused requests do not fill the memory."""
    for number in range(KEPT + 1):
        refuse(refusals, f"r{number}", body=b"x" * 100_000)

    assert refusals.explain("r0") is None
    assert refusals.explain(f"r{KEPT}")["cause"] == "path"
