"""Requests recorded from official clients authenticate, and do not any more once something signed is altered.

Source: vectors/*.json, one file per scheme, each vector naming the client and version it was recorded from.
"""

import base64
import json
from pathlib import Path

import pytest

from emulator.auth import mns
from emulator.auth.authenticator import Authenticator, Keyring, NonceMemory, scheme_of
from emulator.auth.signed_request import AccessKey
from emulator.http.message import Headers, Request
from emulator.kernel.errors import AuthFailure, Reason
from emulator.kernel.identity import AccountId
from emulator.wire.dates import parse_http_date, parse_iso

VECTORS = [
    vector
    for file in sorted((Path(__file__).parent / "vectors").glob("*.json"))
    for vector in json.loads(file.read_text(encoding="utf-8"))["vectors"]
]
BY_ID = {vector["id"]: vector for vector in VECTORS}

BODY_NOT_COVERED = {
    "RPC-V1": "only a form body is covered: other bodies carry no parameters",
    "ROA-V1": "covered only through a Content-MD5 header, which aliyun-python-sdk-core leaves out",
    "FC": "the scheme signs the Content-MD5 header as text, and the service does not compare it with the body",
    "MNS": "the scheme signs the Content-MD5 header as text; the service itself compares it",
    "OSS-V1": "the scheme signs the Content-MD5 header as text; the service itself compares it",
    "OSS-V2": "the scheme signs the Content-MD5 header as text; the service itself compares it",
    "OSS4-HMAC-SHA256": "the clients send x-oss-content-sha256: UNSIGNED-PAYLOAD",
}
HEADERS_COVERED = {
    "RPC-V1": (),  # no header at all: everything is a parameter
    "ROA-V1": ("accept", "content-type", "date", "content-md5", "x-acs-*"),
    "ACS3-HMAC-SHA256": ("host", "x-acs-*"),
    "FC": ("date", "content-type", "content-md5", "x-fc-*"),
    "MNS": ("date", "content-type", "content-md5", "x-mns-*"),
    "OSS-V1": ("date", "content-type", "content-md5", "x-oss-*"),
    "OSS-V2": ("date", "content-type", "content-md5", "x-oss-*"),
    "OSS4-HMAC-SHA256": ("content-type", "content-md5", "x-oss-*"),
}
QUERY_NOT_COVERED = {
    "FC": "the query of control plane and invocations is not signed",
    "OSS-V1": "only known subresources are signed",
}


def request_of(vector, *, target=None, body=None, header=None):
    sent = vector["request"]
    pairs = [(name, value) for name, value in sent["headers"]]
    if header is not None:
        pairs = [(name, header[1] if name.lower() == header[0] else value) for name, value in pairs]
    content = base64.b64decode(sent["body_base64"]) if body is None else body
    return Request(sent["method"], target if target is not None else sent["target"], Headers(pairs), content)


def moment_of(vector):
    """The instant the vector was signed at."""
    request = request_of(vector)
    parameters = dict(request.query_pairs + request.form_pairs)
    if expires := parameters.get("x-fc-expires") or parameters.get("Expires"):
        return int(expires) * 1000 - 1000
    text = (
        parameters.get("Timestamp")
        or parameters.get("x-oss-date")
        or next((v for n in ("x-acs-date", "x-oss-date") if (v := request.headers.get(n))), "")
    )
    text = text or request.headers.get("date") or request.headers.get("x-mns-date")
    return parse_http_date(text) if "," in text else parse_iso(text)


def authenticate(vector, request, *, secret=None):
    key = AccessKey(
        key_id=vector["access_key_id"],
        secret=secret or vector["access_key_secret"],
        account=AccountId("1234567890123456"),
        arn="acs:ram::1234567890123456:root",
        token=vector.get("security_token"),
    )
    gate = Authenticator(Keyring(key), lenient=False, nonces=NonceMemory())
    return gate.authenticate(request, moment_of(vector))


def covered_headers(vector):
    patterns = HEADERS_COVERED[vector["scheme"]]
    authorization = request_of(vector).headers.get("authorization")
    in_url = not authorization
    for name in dict.fromkeys(name.lower() for name, _ in vector["request"]["headers"]):
        listed = vector["scheme"].startswith("ACS3") and name in authorization.split("SignedHeaders=")[1].split(",")[0]
        wanted = listed or any(
            name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1])) for pattern in patterns
        )
        if wanted and not in_url:
            yield name


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["id"])
def test_recorded_request_authenticates(vector):
    """A request recorded from an official client is let in as the owner of its key."""
    principal = authenticate(vector, request_of(vector))

    assert principal.access_key_id == vector["access_key_id"]
    assert principal.account == "1234567890123456"
    assert principal.temporary == (vector.get("security_token") is not None)


WITHOUT_QUERY = [vector for vector in VECTORS if "?" not in vector["request"]["target"]]


@pytest.mark.parametrize("vector", WITHOUT_QUERY, ids=lambda v: v["id"])
def test_a_question_mark_behind_what_was_signed_changes_nothing(vector):
    """Clients that join path and query whatever the query is send a bare ``?``, and sign without it."""
    principal = authenticate(vector, request_of(vector, target=f"{vector['request']['target']}?"))

    assert principal.access_key_id == vector["access_key_id"]


def test_schemes_have_requests_without_a_query():
    """The test above covers each scheme but one, of which tests/unit/auth signs such a request."""
    assert {vector["scheme"] for vector in VECTORS} - {vector["scheme"] for vector in WITHOUT_QUERY} == {"ROA-V1"}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["id"])
def test_string_to_sign_is_the_recorded_one(vector):
    """Among the texts tried is the one the client signed, canonical request included, at the recorded place."""
    request = request_of(vector)
    claim = scheme_of(request).read(request)

    texts = list(claim.texts)

    strings = [string for string, _ in texts]
    assert vector["string_to_sign"] in strings
    assert claim.sign(vector["access_key_secret"], vector["string_to_sign"]) == vector["signature"]
    assert (vector.get("canonical_request") or "") == dict(texts)[vector["string_to_sign"]]
    assert (strings.index(vector["string_to_sign"]) == 0) == (vector["candidate_index"] == 0)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["id"])
def test_another_secret_does_not_authenticate(vector):
    """The same request fails when the key's secret is a different one."""
    with pytest.raises(AuthFailure) as caught:
        authenticate(vector, request_of(vector), secret=vector["access_key_secret"] + "x")

    assert caught.value.reason is Reason.SIGNATURE_DIFFERS
    assert caught.value.string_to_sign
    assert vector["signature"] not in str(caught.value)


def covers_body(vector):
    request = request_of(vector)
    if vector["scheme"] == "RPC-V1":
        return bool(request.form_pairs)
    if vector["scheme"] == "ROA-V1":
        return "content-md5" in request.headers
    return vector["scheme"] not in BODY_NOT_COVERED


@pytest.mark.parametrize("vector", [v for v in VECTORS if covers_body(v)], ids=lambda v: v["id"])
def test_altered_body_is_refused(vector):
    """Where the scheme covers the body, a changed body is noticed."""
    body = base64.b64decode(vector["request"]["body_base64"]) + b"x"

    with pytest.raises(AuthFailure) as caught:
        authenticate(vector, request_of(vector, body=body))

    assert caught.value.reason in {Reason.SIGNATURE_DIFFERS, Reason.BODY_DIFFERS, Reason.BAD_TOKEN, Reason.BAD_DATE}


@pytest.mark.parametrize("vector", [v for v in VECTORS if not covers_body(v)], ids=lambda v: v["id"])
def test_body_outside_the_signature_does_not_matter(vector):
    """Where the scheme leaves the body out (the table says why), a changed body still authenticates."""
    assert BODY_NOT_COVERED[vector["scheme"]]

    assert authenticate(vector, request_of(vector, body=b"something else")).access_key_id == vector["access_key_id"]


HEADER_CASES = [(vector, name) for vector in VECTORS for name in covered_headers(vector)]


@pytest.mark.parametrize(("vector", "name"), HEADER_CASES, ids=[f"{v['id']}-{n}" for v, n in HEADER_CASES])
def test_altered_signed_header_is_refused(vector, name):
    """Every header the scheme covers is protected against a change of its value."""
    value = request_of(vector).headers.get(name)
    other = value.replace("20 Nov 2026 23:", "20 Nov 2026 22:") if name == "date" else value + "x"

    with pytest.raises(AuthFailure):
        authenticate(vector, request_of(vector, header=(name, other if other != value else value + "x")))


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["scheme"] != "RPC-V1"], ids=lambda v: v["id"])
def test_altered_path_is_refused(vector):
    """Every scheme but RPC, whose path is always the root, covers the path."""
    path, mark, query = vector["request"]["target"].partition("?")

    with pytest.raises(AuthFailure):
        authenticate(vector, request_of(vector, target=path + "x" + mark + query))


def covers_query(vector):
    if vector["scheme"] == "FC":
        return "/proxy/" in vector["request"]["target"]
    return vector["scheme"] != "OSS-V1"


@pytest.mark.parametrize("vector", [v for v in VECTORS if covers_query(v)], ids=lambda v: v["id"])
def test_added_parameter_is_refused(vector):
    """A parameter that the caller did not sign is noticed."""
    target = vector["request"]["target"]

    with pytest.raises(AuthFailure):
        authenticate(vector, request_of(vector, target=target + ("&" if "?" in target else "?") + "Added=1"))


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["scheme"] == "OSS-V1"], ids=lambda v: v["id"])
def test_added_subresource_is_refused(vector):
    """In the first OSS scheme the query names with a meaning of their own are covered."""
    target = vector["request"]["target"]

    with pytest.raises(AuthFailure):
        authenticate(vector, request_of(vector, target=target + ("&" if "?" in target else "?") + "tagging"))


def test_schemes_that_leave_the_query_out_are_known():
    """The two exceptions to the rule above are deliberate."""
    assert {v["scheme"] for v in VECTORS if not covers_query(v)} == set(QUERY_NOT_COVERED)


DATE = ("Date", "Thu, 01 Jan 2026 00:00:00 GMT")
PRINTED = {
    "fc list": (
        "FC ak:0aD7uFrGXPX+wx9H+FJgrkAURYNqX+E8iM5Cx6AuYFo=", "sk", "GET", "/2016-08-15/services",
        [("Content-Type", "application/json"), ("Date", "Fri, 20 Nov 2026 00:00:00 GMT")],
    ),
    "fc invoke": (
        "FC ak:A28HHPeqCGEAHVX12j2pvTNn5XWGFYJYE627sskV0JQ=", "sk", "POST",
        "/2016-08-15/services/s.prod/functions/f/invocations",
        [
            ("Content-Type", "application/json"), ("Date", "Fri, 20 Nov 2026 00:00:00 GMT"),
            ("x-fc-invocation-type", "Async"), ("x-fc-log-type", "Tail"),
        ],
    ),
    "fc trigger": (
        "FC ak:P/w9kIc8LmzVSQRdAtGZv4YKfGtKvo1r+40yMZgrqZg=", "sk", "GET",
        "/2016-08-15/proxy/s/f/a%20b?q=1+2&a=1",
        [("Content-Type", "application/json"), ("Date", "Fri, 20 Nov 2026 00:00:00 GMT")],
    ),
    "fc trigger without query": (
        "FC ak:YYdDyR8YUP+8onv6VYTnhktbXAkRbAYPmI5bFe9OC3o=", "sk", "GET", "/2016-08-15/proxy/s/f/",
        [("Content-Type", "application/json"), ("Date", "Fri, 20 Nov 2026 00:00:00 GMT")],
    ),
    "mns": (
        "MNS ak:w+CF6NaAaPgP9geOe4TmtW3ID/o=", "testsecret", "PUT", "/queues/demo",
        [
            ("Content-MD5", "ZDQxZDhjZDk4ZjAwYjIwNGU5ODAwOTk4ZWNmODQyN2U="),
            ("Content-Type", "text/xml;charset=UTF-8"), DATE, ("x-mns-version", "2015-06-06"),
        ],
    ),
    "mns4": (
        "MNS4-HMAC-SHA256 Credential=ak/20260101/cn-hangzhou/mns/aliyun_v4_request,"
        "Signature=f5ce430554629d06ea23bf45a5c35ce89472c1f13818417a49ac79423a6a9068",
        "testsecret", "GET", "/queues/demo/messages?numOfMessages=16&waitseconds=5",
        [("Content-Type", "text/xml;charset=UTF-8"), ("x-mns-version", "2015-06-06"), DATE],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PRINTED.values(), ids=PRINTED.keys())
def test_computed_example_authenticates(case):
    """Signatures computed by hand from the vendor's rules are accepted."""
    authorization, secret, method, target, headers = case
    request = Request(method, target, Headers([*headers, ("Authorization", authorization)]))
    key = AccessKey(key_id="ak", secret=secret, account=AccountId("1"), arn="acs:ram::1:root")
    gate = Authenticator(Keyring(key), lenient=False, nonces=NonceMemory())

    principal = gate.authenticate(request, parse_http_date(request.headers.get("date")))

    assert principal.access_key_id == "ak"


def test_mns4_takes_a_plus_sign_as_it_came_or_as_a_blank():
    """A receipt handle with a plain plus verifies, and so does a query whose blanks were written as plus."""
    request = Request("DELETE", "/queues/q/messages?ReceiptHandle=a+b==", Headers([DATE, ("x-mns-version", "1")]))
    date = parse_http_date(DATE[1])

    texts = [text for text, _ in mns.texts_v4(request, mns.NAME_V4, date, "20260101/r/mns/aliyun_v4_request")]

    assert "receipthandle=a%2Bb%3D%3D\n" in texts[0]
    assert "receipthandle=a%20b%3D%3D\n" in texts[1]


def test_mns4_query_is_lower_case_trimmed_and_sorted():
    """Names are lower-cased, empty parts dropped, and an empty value leaves the bare name."""
    request = Request("GET", "/queues?Wait=%20a*&&b", Headers([DATE]))
    date = parse_http_date(DATE[1])

    texts = [text for text, _ in mns.texts_v4(request, mns.NAME_V4, date, "20260101/r/mns/aliyun_v4_request")]

    assert len(texts) == 1
    assert "\nb&wait=a%2A\n" in texts[0]
