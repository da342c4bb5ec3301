"""Why a signature was refused: what the client has signed is found by guessing what was changed."""

import pytest

from emulator.auth import acs3, authenticator, mns, roa
from emulator.auth.diagnosis import diagnose
from emulator.auth.signed_request import AccessKey
from emulator.http.message import Headers, Request
from emulator.kernel.errors import AuthFailure, Reason

KEY = AccessKey(key_id="id", secret="secret", account="1234567890123456", arn="")
HEADERS = {
    "Host": "127.0.0.1:8868",
    "Date": "Sun, 22 Nov 2026 13:00:00 GMT",
    "x-mns-version": "2015-06-06",
    "Content-Type": "text/xml",
}


def refused(method="PUT", target="/queues/a,b", secret="secret", signed="/queues/a,b", key=KEY, **headers):
    """Sign a request for *signed* and judge another, which differs from it as said."""
    meant = Request("PUT", signed, Headers(HEADERS.items()))
    authorization = mns.authorization(meant, "id", secret)
    present = {**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
    came = Request(method, target, Headers([*present.items(), ("Authorization", authorization)]))
    text = next(mns.signed_request(came).texts)[0]
    failure = AuthFailure(Reason.SIGNATURE_DIFFERS, scheme="MNS", string_to_sign=text)
    return diagnose(came, authenticator.MNS, failure, key)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"target": "/queues/a%2Cb"}, "path"),
        ({"target": "/queues/a,b?x=1"}, "query"),
        ({"Content_Type": "text/xml; charset=utf-8"}, "header"),
        ({"x_mns_via": "proxy"}, "header"),
        ({"method": "POST"}, "method"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_was_changed_is_found(change, cause):
    """The client's own text is known then, and differs from the server's."""
    found = refused(**change)

    assert found.cause == cause
    assert found.client == "PUT\n\ntext/xml\nSun, 22 Nov 2026 13:00:00 GMT\nx-mns-version:2015-06-06\n/queues/a,b"
    assert found.server != found.client


@pytest.mark.parametrize(("secret", "cause"), [("secret\n", "secret-blank"), ("another", "secret")])
def test_another_secret_is_told_from_a_blank_too_many(secret, cause):
    """Neither text is shown to differ: they are the same."""
    found = refused(secret=secret)

    assert (found.cause, found.client) == (cause, "")


def test_host_that_a_proxy_has_changed_is_found():
    """ACS3 covers the host name."""
    headers = {"host": "mns.example", "x-acs-action": "A", "x-acs-version": "1", "x-acs-date": "2026-11-22T13:00:00Z"}
    headers |= {"x-acs-signature-nonce": "n", "x-acs-content-sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4"}
    meant = Request("POST", "/", Headers(headers.items()))
    authorization = acs3.authorization(meant, "id", "secret")
    came = Request(
        "POST", "/", Headers([*{**headers, "host": "mns.example:80"}.items(), ("authorization", authorization)])
    )
    failure = AuthFailure(Reason.SIGNATURE_DIFFERS, scheme="ACS3", string_to_sign="x", canonical_request="x")

    found = diagnose(came, authenticator.ACS3, failure, KEY)

    assert (found.cause, found.detail) == ("host", "mns.example")


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        (Reason.SKEWED_DATE, "clock"),
        (Reason.UNKNOWN_KEY, "key"),
        (Reason.TOKEN_EXPIRED, "token"),
        (Reason.NONCE_USED, "nonce"),
        (Reason.BODY_DIFFERS, "body"),
        (Reason.MALFORMED_AUTHORIZATION, "incomplete"),
    ],
    ids=str,
)
def test_other_reasons_name_their_cause(reason, cause):
    """Nothing has to be guessed."""
    found = diagnose(Request("GET", "/", Headers([])), None, AuthFailure(reason, detail="d"), None)

    assert (found.cause, found.detail) == (cause, "d")


@pytest.mark.parametrize(
    ("sent", "signed"),
    [("x=a+b", "x=a%20b"), ("x=a%20b", "x=a+b"), ("x=%E4%BD%A0", "x=你")],
    ids=["plus", "blank", "decoded"],
)
def test_a_query_that_was_written_otherwise_is_found(sent, signed):
    """Clients sign blanks and other characters in one form and send them in another."""
    diagnosis = refused(target=f"/queues/a?{sent}", signed=f"/queues/a?{signed}")

    assert (diagnosis.cause, diagnosis.detail) == ("query", signed)
    assert diagnosis.client.endswith(f"/queues/a?{signed}")


def test_without_the_key_nothing_is_guessed():
    """It may have been deleted since the request came: the server's own text is all there is to show."""
    diagnosis = refused(key=None, target="/queues/b")

    assert (diagnosis.cause, diagnosis.client) == ("secret", "")
    assert diagnosis.server.endswith("/queues/b")


def test_guesses_that_cannot_be_signed_are_passed_over():
    """Decoded, the query of this ROA request names a parameter twice, which the scheme refuses."""
    headers = {"Accept": "application/json", "Date": HEADERS["Date"], "x-acs-signature-nonce": "n"}
    headers |= {"x-acs-signature-method": "HMAC-SHA1", "x-acs-signature-version": "1.0"}
    unsigned = Request("GET", "/services?a=1%26a=2", Headers(headers.items()))
    signed = Headers([*headers.items(), ("Authorization", roa.authorization(unsigned, "id", "another"))])
    came = Request("GET", "/services?a=1%26a=2", signed)

    diagnosis = diagnose(came, authenticator.ROA, AuthFailure(Reason.SIGNATURE_DIFFERS, string_to_sign="s"), KEY)

    assert (diagnosis.cause, diagnosis.server, diagnosis.client) == ("secret", "s", "")
