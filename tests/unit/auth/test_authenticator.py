"""What is checked of a signed request, in which order, and what lenient mode leaves out."""

import base64
import hashlib
import logging

import pytest

from emulator.auth import acs3, fc, mns, oss, roa, rpc
from emulator.auth.authenticator import OSS_FORM, Authenticator, Keyring, NonceMemory, scheme_of
from emulator.auth.signed_request import AccessKey
from emulator.http.message import Headers, Request
from emulator.kernel.clock import MINUTE, SECOND, Millis
from emulator.kernel.errors import AuthFailure, Reason
from emulator.kernel.identity import AccountId
from emulator.wire.dates import http_date, iso_seconds
from emulator.wire.request import OperationRequest

NOW = Millis(1_795_000_000_000)
OWN = AccessKey(key_id="own-key", secret="own-secret", account=AccountId("111"), arn="acs:ram::111:root")
TEMPORARY = AccessKey(
    key_id="STS.one",
    secret="temporary-secret",
    account=AccountId("111"),
    arn="acs:ram::111:assumed-role/r/s",
    token="CAIS" + "t" * 40,
    expires_at=Millis(NOW + 60 * SECOND),
)
OTHERS = AccessKey(key_id="other-key", secret="other", account=AccountId("222"), arn="acs:ram::222:root")
SWITCHED_OFF = AccessKey(
    key_id="off-key", secret="off", account=AccountId("111"), arn="acs:ram::111:user/u", active=False
)


class MoreKeys:
    """A source of keys beside the installation's own."""

    def __init__(self, *keys):
        self.keys = {key.key_id: key for key in keys}

    def find(self, key_id):
        return self.keys.get(key_id)


def a_gate(lenient=False, **options):
    keys = Keyring(OWN, MoreKeys(TEMPORARY, OTHERS, SWITCHED_OFF))
    return Authenticator(keys, lenient=lenient, nonces=NonceMemory(**options))


def mns_request(key=OWN, at=NOW, token=None, secret=None, headers=(), target="/queues"):
    pairs = [("Date", http_date(at)), ("x-mns-version", "2015-06-06"), *headers]
    if token:
        pairs.append(("security-token", token))
    unsigned = Request("GET", target, Headers(pairs))
    return Request(
        "GET",
        target,
        Headers([*pairs, ("Authorization", mns.authorization(unsigned, key.key_id, secret or key.secret))]),
    )


def fc_request(key=OWN, at=NOW, token=None, path="/2016-08-15/services"):
    pairs = [("Date", http_date(at))] + ([("x-fc-security-token", token)] if token else [])
    unsigned = Request("GET", path, Headers(pairs))
    return Request(
        "GET", path, Headers([*pairs, ("Authorization", fc.authorization(unsigned, key.key_id, key.secret))])
    )


def rpc_request(key=OWN, at=NOW, token=None, nonce="n-1", method="GET", extra=()):
    signed = rpc.signed_parameters(
        method,
        {"Action": "ListFlows", "Version": "2019-03-15", **dict(extra)},
        key_id=key.key_id,
        secret=key.secret,
        timestamp=at,
        nonce=nonce,
        token=token,
    )
    text = "&".join(f"{rpc.encode(name)}={rpc.encode(value)}" for name, value in signed.items())
    if method == "POST":
        form = [("Content-Type", "application/x-www-form-urlencoded")]
        return Request("POST", "/", Headers(form), text.encode())
    return Request("GET", "/?" + text, Headers())


def acs3_request(key=OWN, at=NOW, token=None, nonce="n-1", headers=(), body=b"", drop=()):
    pairs = [
        ("host", "http://127.0.0.1:8868"),
        ("x-acs-version", "2023-03-30"),
        ("x-acs-action", "ListFunctions"),
        ("x-acs-date", iso_seconds(at)),
        ("x-acs-signature-nonce", nonce),
        ("x-acs-content-sha256", hashlib.sha256(body).hexdigest()),
        *headers,
    ]
    if token:
        pairs.append(("x-acs-security-token", token))
    pairs = [pair for pair in pairs if pair[0] not in drop]
    unsigned = Request("GET", "/2023-03-30/functions", Headers(pairs), body)
    authorization = acs3.authorization(unsigned, key.key_id, key.secret)
    return Request("GET", "/2023-03-30/functions", Headers([*pairs, ("Authorization", authorization)]), body)


def roa_request(key=OWN, at=NOW, token=None, headers=()):
    pairs = [("Date", http_date(at)), ("Accept", "application/json"), ("x-acs-signature-nonce", "n"), *headers]
    if token:
        pairs.append(("x-acs-security-token", token))
    unsigned = Request("GET", "/2016-08-15/services?limit=3", Headers(pairs))
    authorization = roa.authorization(unsigned, key.key_id, key.secret)
    return Request("GET", "/2016-08-15/services?limit=3", Headers([*pairs, ("Authorization", authorization)]))


def oss_request(key=OWN, at=NOW, token=None):
    pairs = [("Date", http_date(at)), ("Host", "my-bucket.oss-cn-hangzhou.aliyuncs.com")]
    if token:
        pairs.append(("x-oss-security-token", token))
    unsigned = Request("GET", "/key?acl", Headers(pairs))
    authorization = oss.authorization(unsigned, key.key_id, key.secret)
    return Request("GET", "/key?acl", Headers([*pairs, ("Authorization", authorization)]))


BUILDERS = {
    "mns": mns_request,
    "fc": fc_request,
    "rpc": rpc_request,
    "acs3": acs3_request,
    "roa": roa_request,
    "oss": oss_request,
}
every_scheme = pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS.keys())


def refusal(request, now=NOW, gate=None, **options):
    with pytest.raises(AuthFailure) as caught:
        (gate or a_gate()).authenticate(request, now, **options)
    return caught.value


def with_header(request, name, value):
    """The same request with a header set (or, for None, taken away) after signing."""
    pairs = [pair for pair in request.headers.pairs if pair[0].lower() != name.lower()]
    return Request(
        request.method, request.target, Headers(pairs + ([(name, value)] if value is not None else [])), request.body
    )


@every_scheme
def test_signed_request_is_its_keys_owner(build):
    """What a client signs with this module's own helper is let in as the key's identity."""
    principal = a_gate().authenticate(build(), NOW)

    assert (principal.account, principal.access_key_id, principal.arn) == ("111", "own-key", "acs:ram::111:root")
    assert not principal.temporary


@every_scheme
def test_temporary_key_with_its_token_is_its_session(build):
    """A temporary key is accepted together with its token."""
    principal = a_gate().authenticate(build(TEMPORARY, token=TEMPORARY.token), NOW)

    assert principal.arn == "acs:ram::111:assumed-role/r/s"
    assert principal.temporary


@every_scheme
def test_unknown_key_is_refused(build):
    """A key nobody has is told apart from a wrong signature."""
    stranger = AccessKey(key_id="nobody", secret="x", account=AccountId("111"), arn="")

    failure = refusal(build(stranger))

    assert failure.reason is Reason.UNKNOWN_KEY
    assert failure.detail == "nobody"


@every_scheme
def test_inactive_key_is_refused(build):
    """A key that has been switched off signs nothing any more."""
    assert refusal(build(SWITCHED_OFF)).reason is Reason.INACTIVE_KEY


@every_scheme
def test_temporary_key_without_token_is_refused(build):
    """A temporary key counts only together with its token."""
    assert refusal(build(TEMPORARY)).reason is Reason.MISSING_TOKEN


@every_scheme
def test_token_of_another_key_is_refused(build):
    """A well-formed token that belongs to a different key is called that."""
    assert refusal(build(TEMPORARY, token="CAIS" + "u" * 40)).reason is Reason.TOKEN_OF_ANOTHER_KEY


@every_scheme
def test_text_that_is_no_token_is_refused(build):
    """A text that STS would never hand out is called malformed."""
    assert refusal(build(TEMPORARY, token="nonsense")).reason is Reason.BAD_TOKEN


@every_scheme
def test_lasting_key_with_a_token_is_refused(build):
    """A lasting key has no token, so sending one with it is an error."""
    assert refusal(build(OWN, token=TEMPORARY.token)).reason is Reason.TOKEN_OF_ANOTHER_KEY


@every_scheme
def test_temporary_key_ends_at_its_expiry(build):
    """The last millisecond before expiry counts, the expiry itself does not."""
    end = TEMPORARY.expires_at

    assert a_gate().authenticate(build(TEMPORARY, token=TEMPORARY.token), Millis(end - 1)).temporary
    assert refusal(build(TEMPORARY, token=TEMPORARY.token), end).reason is Reason.TOKEN_EXPIRED


@every_scheme
@pytest.mark.parametrize("offset_s", [-15 * 60, 0, 15 * 60], ids=["15 minutes old", "now", "15 minutes ahead"])
def test_date_within_fifteen_minutes_is_accepted(build, offset_s):
    """Both edges of the window belong to it."""
    assert a_gate().authenticate(build(at=Millis(NOW + offset_s * SECOND)), NOW).account == "111"


@every_scheme
@pytest.mark.parametrize("offset_ms", [-15 * MINUTE - 1000, 15 * MINUTE + 1000], ids=["too old", "too far ahead"])
def test_date_outside_the_window_is_refused(build, offset_ms):
    """More than fifteen minutes either way is too much, and the failure tells the date."""
    failure = refusal(build(at=Millis(NOW + offset_ms)))

    assert failure.reason is Reason.SKEWED_DATE
    assert failure.detail


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (with_header(mns_request(), "Date", None), Reason.MISSING_DATE),
        (with_header(mns_request(), "Date", "yesterday"), Reason.BAD_DATE),
        (with_header(fc_request(), "Date", None), Reason.MISSING_DATE),
        (with_header(fc_request(), "Date", "Fri, 99 Nov 2026 00:00:00 GMT"), Reason.BAD_DATE),
        (with_header(acs3_request(), "x-acs-date", None), Reason.MISSING_DATE),
        (with_header(acs3_request(), "x-acs-date", "2026-11-20 23:45:44"), Reason.BAD_DATE),
        (with_header(acs3_request(), "x-acs-date", "2026-13-20T23:45:44Z"), Reason.BAD_DATE),
        (with_header(roa_request(), "Date", None), Reason.MISSING_DATE),
        (with_header(oss_request(), "Date", None), Reason.MISSING_DATE),
        (with_header(oss_request(), "Date", "0001-01-01"), Reason.BAD_DATE),
    ],
    ids=lambda v: "" if isinstance(v, Request) else v.name,
)
def test_date_must_be_there_and_readable(request_, reason):
    """A missing and an unreadable date are different errors."""
    assert refusal(request_).reason is reason


def test_mns_date_stands_in_for_date_only_when_that_is_absent():
    """With a Date header present the other one is only signed, so it cannot move the clock."""
    old = http_date(Millis(NOW - 60 * MINUTE))
    both = mns_request(headers=[("x-mns-date", old)])
    pairs = [("x-mns-date", http_date(NOW)), ("x-mns-version", "2015-06-06")]
    string = f"GET\n\n\n{http_date(NOW)}\nx-mns-date:{http_date(NOW)}\nx-mns-version:2015-06-06\n/queues"
    alone = Request(
        "GET", "/queues", Headers([*pairs, ("Authorization", f"MNS own-key:{mns.sign('own-secret', string)}")])
    )

    assert a_gate().authenticate(both, NOW).account == "111"
    assert a_gate().authenticate(alone, NOW).account == "111"


@pytest.mark.parametrize("build", [rpc_request, acs3_request, roa_request], ids=["rpc", "acs3", "roa"])
def test_nonce_counts_once_within_fifteen_minutes(build):
    """Sent again the same request is refused, from another key the nonce is fresh."""
    gate = a_gate()
    gate.authenticate(build(), NOW)

    failure = refusal(build(), Millis(NOW + 15 * MINUTE - 1), gate=gate)

    assert failure.reason is Reason.NONCE_USED
    assert gate.authenticate(build(OTHERS), NOW).account == "222"


@pytest.mark.parametrize("build", [mns_request, fc_request, oss_request], ids=["mns", "fc", "oss"])
def test_schemes_without_nonce_may_be_sent_again(build):
    """Clients of these schemes repeat the very same bytes when a connection breaks."""
    gate = a_gate()

    assert gate.authenticate(build(), NOW) == gate.authenticate(build(), NOW)


def test_request_from_the_future_stays_remembered_until_its_date_is_too_old():
    """A request dated ahead would pass the clock for half an hour, so its nonce is kept that long."""
    gate = a_gate()
    ahead = rpc_request(at=Millis(NOW + 14 * MINUTE))
    gate.authenticate(ahead, NOW)

    assert refusal(ahead, Millis(NOW + 28 * MINUTE), gate=gate).reason is Reason.NONCE_USED
    assert refusal(ahead, Millis(NOW + 30 * MINUTE), gate=gate).reason is Reason.SKEWED_DATE


def test_stranger_cannot_burn_a_nonce():
    """The nonce is looked at after the signature, so a guess at somebody's nonce does no harm."""
    gate = a_gate()
    forged = AccessKey(key_id="own-key", secret="guess", account=AccountId("111"), arn="")

    assert refusal(rpc_request(forged), gate=gate).reason is Reason.SIGNATURE_DIFFERS
    assert gate.authenticate(rpc_request(), NOW).account == "111"


@pytest.mark.parametrize(
    "request_",
    [
        acs3_request(drop=("x-acs-signature-nonce",)),
        with_header(Request("GET", rpc_request().target.replace("SignatureNonce=n-1&", ""), Headers()), "X", "y"),
    ],
    ids=["acs3", "rpc"],
)
def test_nonce_is_required_where_the_scheme_has_one(request_):
    """RPC and ACS3 calls carry a nonce."""
    assert refusal(request_).reason is Reason.MISSING_NONCE


@every_scheme
def test_host_of_another_account_is_refused(build):
    """A host name that speaks of one account does not take another account's key."""
    assert refusal(build(), host_account="222").reason is Reason.FOREIGN_ACCOUNT
    assert a_gate().authenticate(build(), NOW, host_account="111").account == "111"


def test_account_is_looked_at_before_the_signature():
    """A wrong secret at another account's host is refused for the account, as MNS does it."""
    forged = AccessKey(key_id="own-key", secret="guess", account=AccountId("111"), arn="")

    assert refusal(mns_request(forged), host_account="222").reason is Reason.FOREIGN_ACCOUNT
    assert refusal(mns_request(forged), host_account="111").reason is Reason.SIGNATURE_DIFFERS


def test_refusal_of_another_account_says_which_and_what_to_set(caplog):
    """Which was asked for, which the emulator is, and the variable; in the log once per account."""
    gate = a_gate()

    advice = {refusal(mns_request(), gate=gate, host_account="222").advice for _ in range(3)}

    assert advice == {
        "Account 222 was asked for, the emulator's account is 111: set account_id in localyun.yaml or "
        "LOCALYUN_ACCOUNT_ID to 222 and restart it, or put 111 into the endpoint."
    }
    assert [record.getMessage() for record in caplog.records] == [f"a request is refused. {next(iter(advice))}"]


def test_rpc_parameter_that_comes_twice_is_refused():
    """Two values of one name, in the query or in the form, are never chosen from."""
    signed = rpc_request(method="POST")
    in_form = Request("POST", signed.target, signed.headers, signed.body + b"&Action=DeleteFlow")
    twice = Request("GET", rpc_request().target + "&Action=DeleteFlow", Headers())
    first = Request("GET", "/?Action=DeleteFlow&" + rpc_request().target[2:], Headers())

    failures = [refusal(request) for request in (in_form, twice, first)]

    assert {(failure.reason, failure.detail) for failure in failures} == {(Reason.REPEATED_PARAMETER, "Action")}


def test_rpc_parameter_of_the_form_counts_before_one_of_the_query():
    """Clients sign its value alone; whoever adds another one to the query changes nothing."""
    signed = rpc_request(method="POST")
    added = Request("POST", "/?Action=DeleteFlow", signed.headers, signed.body)

    assert a_gate().authenticate(added, NOW).account == "111"
    assert OperationRequest(added, NOW).action == "ListFlows"


def test_rpc_parameter_repeated_with_the_same_value_is_one_parameter():
    """Some clients send a system parameter in both places."""
    signed = rpc_request(method="POST")

    assert (
        a_gate().authenticate(Request("POST", "/?Action=ListFlows", signed.headers, signed.body), NOW).account == "111"
    )


def test_roa_parameter_that_comes_twice_is_refused():
    """The ROA string holds each name once, so a second value is not covered."""
    signed = roa_request()

    assert refusal(Request("GET", signed.target + "&limit=9", signed.headers)).reason is Reason.REPEATED_PARAMETER


def test_rpc_signature_counts_on_the_root_path_only():
    """An RPC signature does not cover the path, so it opens nothing that is addressed by path."""
    request = rpc_request()

    failure = refusal(Request("GET", "/2023-03-30/functions" + request.target[1:], Headers()))

    assert failure.reason is Reason.MISSING_AUTHORIZATION


def test_signed_url_opens_triggers_only():
    """The control plane's paths are not covered together with their query, so a URL signature is none there."""
    request = Request("GET", "/2016-08-15/services", Headers())
    query = "&".join(f"{n}={rpc.encode(v)}" for n, v in fc.signed_query(request, "own-key", "own-secret", NOW))

    failure = refusal(Request("GET", "/2016-08-15/services?" + query, Headers()))

    assert failure.reason is Reason.MISSING_AUTHORIZATION


def test_repeated_header_is_covered_with_all_its_values():
    """A second value of a signed header, put in by somebody else, is noticed."""
    signed = fc_request(TEMPORARY, token=TEMPORARY.token)
    added = Request(signed.method, signed.target, Headers([*signed.headers.pairs, ("X-Fc-Security-Token", "other")]))

    assert refusal(added).reason is Reason.SIGNATURE_DIFFERS


def test_acs3_host_with_scheme_is_verified_as_sent():
    """A client given an endpoint with a scheme signs that text, and it differs from the bare host."""
    request = acs3_request()

    assert a_gate().authenticate(request, NOW).account == "111"
    assert refusal(with_header(request, "host", "127.0.0.1:8868")).reason is Reason.SIGNATURE_DIFFERS


def test_acs3_header_of_its_own_must_be_signed():
    """A gateway header that somebody added after signing is refused."""
    failure = refusal(with_header(acs3_request(), "x-acs-security-token", TEMPORARY.token))

    assert (failure.reason, failure.detail) == (Reason.UNSIGNED_HEADER, "x-acs-security-token")


def test_acs3_host_must_be_signed():
    """An API call that does not cover the host is refused."""
    request = acs3_request(drop=("host",))

    assert (refusal(request).reason, refusal(request).detail) == (Reason.UNSIGNED_HEADER, "host")


def test_acs3_digest_must_be_the_bodys():
    """The body is compared with the signed digest, and an API call must state one."""
    signed = acs3_request(body=b"{}")
    altered = Request(signed.method, signed.target, signed.headers, b"{ }")

    assert refusal(altered).reason is Reason.BODY_DIFFERS
    assert refusal(acs3_request_without_digest()).reason is Reason.BODY_DIFFERS


def acs3_request_without_digest():
    pairs = [pair for pair in acs3_request().headers.pairs if pair[0] != "x-acs-content-sha256"]
    headers = [
        (name, value.replace("x-acs-content-sha256;", "") if name == "Authorization" else value)
        for name, value in pairs
    ]
    return Request("GET", "/2023-03-30/functions", Headers(headers))


@pytest.mark.parametrize("algorithm", ["ACS3-RSA-SHA256", "ACS3-HMAC-SM3"])
def test_acs3_sibling_algorithms_are_not_supported(algorithm):
    """The relatives of the one algorithm are recognised and refused."""
    request = acs3_request()
    text = request.headers.get("authorization").replace("ACS3-HMAC-SHA256", algorithm)

    failure = refusal(with_header(request, "Authorization", text))

    assert (failure.reason, failure.detail) == (Reason.UNSUPPORTED_METHOD, algorithm)


def test_acs3_failure_shows_string_and_canonical_request():
    """Whoever debugs a client sees both texts the server computed."""
    forged = AccessKey(key_id="own-key", secret="guess", account=AccountId("111"), arn="")

    failure = refusal(acs3_request(forged))

    assert failure.string_to_sign.startswith("ACS3-HMAC-SHA256\n")
    assert failure.canonical_request.startswith("GET\n/2023-03-30/functions\n")


def trigger_request(digest, body=b"hello"):
    pairs = [("Host", "f.cn-hangzhou.fcapp.run"), ("x-acs-date", iso_seconds(NOW)), ("x-acs-security-token", "")]
    names = ["x-acs-date", "x-acs-security-token"]
    block = f"x-acs-date:{iso_seconds(NOW)}\nx-acs-security-token:\n"
    canonical = f"POST\n/a%24b\nq=1\n{block}\n{';'.join(names)}\n{digest}"
    string = "ACS3-HMAC-SHA256\n" + hashlib.sha256(canonical.encode()).hexdigest()
    signature = acs3.sign("own-secret", string)
    pairs.append(
        ("authorization", f"ACS3-HMAC-SHA256 Credential=own-key,SignedHeaders={';'.join(names)},Signature={signature}")
    )
    return Request("POST", "/a$b?q=1", Headers(pairs), body)


def test_acs3_call_of_a_trigger_needs_a_date_only():
    """HTTP triggers are called without version, nonce, signed host or digest, as the vendor's sample does."""
    assert a_gate().authenticate(trigger_request(""), NOW).account == "111"
    assert refusal(trigger_request("wrong")).reason is Reason.SIGNATURE_DIFFERS


def test_acs3_joins_the_values_of_a_repeated_header():
    """The values of a header that is signed and comes twice are trimmed, sorted and joined by commas."""
    request = acs3_request(headers=[("x-acs-more", " b"), ("x-acs-more", "a ")])

    failure = refusal(with_header(request, "x-acs-more", "a"))

    assert a_gate().authenticate(request, NOW).account == "111"
    assert failure.reason is Reason.SIGNATURE_DIFFERS


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("/?Action=ListFlows", Reason.MISSING_KEY_ID),
        ("/?Action=ListFlows&AccessKeyId=own-key", Reason.MISSING_SIGNATURE),
        ("/?Action=ListFlows&AccessKeyId=own-key&Signature=x", Reason.MISSING_DATE),
        ("/?Action=A&AccessKeyId=own-key&Signature=x&Timestamp=1", Reason.BAD_DATE),
        ("/?Action=A&AccessKeyId=own-key&SignatureMethod=MD5", Reason.UNSUPPORTED_METHOD),
        ("/?Action=A&AccessKeyId=own-key&SignatureVersion=2.0", Reason.UNSUPPORTED_METHOD),
        ("/?Action=A&SignatureType=BEARERTOKEN", Reason.UNSUPPORTED_METHOD),
    ],
)
def test_rpc_call_with_something_missing(target, reason):
    """Each missing or unsupported system parameter has its own reason."""
    assert refusal(Request("GET", target, Headers())).reason is reason


@pytest.mark.parametrize(
    ("authorization", "reason"),
    [
        ("", Reason.MISSING_AUTHORIZATION),
        ("Bearer x", Reason.MALFORMED_AUTHORIZATION),
        ("MNS", Reason.MALFORMED_AUTHORIZATION),
        ("MNS ", Reason.MALFORMED_AUTHORIZATION),
        ("MNS own-key", Reason.MALFORMED_AUTHORIZATION),
        ("MNS :sig", Reason.MALFORMED_AUTHORIZATION),
        ("MNS own key:sig", Reason.MALFORMED_AUTHORIZATION),
        ("FC own-key", Reason.MALFORMED_AUTHORIZATION),
        ("acs own-key", Reason.MALFORMED_AUTHORIZATION),
        ("OSS own-key", Reason.MALFORMED_AUTHORIZATION),
        ("OSS3 x", Reason.UNSUPPORTED_METHOD),
        ("OSS2 AccessKeyId:own-key", Reason.MALFORMED_AUTHORIZATION),
        ("OSS4-HMAC-SHA256 Credential=own-key", Reason.MALFORMED_AUTHORIZATION),
        ("MNS4-HMAC-SHA256 Credential=own-key,Signature=x", Reason.MALFORMED_AUTHORIZATION),
        ("ACS3-HMAC-SHA256 Credential", Reason.MALFORMED_AUTHORIZATION),
        ("ACS3-HMAC-SHA256 Credential=a,Credential=b", Reason.MALFORMED_AUTHORIZATION),
        ("ACS3-HMAC-SHA256 SignedHeaders=host", Reason.MISSING_KEY_ID),
        ("ACS3-HMAC-SHA256 Credential=a,SignedHeaders=host", Reason.MISSING_SIGNATURE),
    ],
)
def test_authorization_that_cannot_be_read(authorization, reason):
    """Unreadable authorizations are refused with a reason, and without their text in it."""
    pairs = [("Date", http_date(NOW)), ("Host", "h")] + ([("Authorization", authorization)] if authorization else [])

    failure = refusal(Request("GET", "/queues", Headers(pairs)))

    assert failure.reason is reason
    assert "sig" not in str(failure).lower().replace("signature", "")


@pytest.mark.parametrize(
    "md5",
    [
        base64.b64encode(hashlib.md5(b"").digest()).decode(),
        base64.b64encode(hashlib.md5(b"").hexdigest().encode()).decode(),
        hashlib.md5(b"").hexdigest(),
    ],
    ids=["raw", "hex", "plain hex"],
)
def test_roa_body_is_covered_through_its_md5(md5):
    """Clients write the digest in base64 or hexadecimal, or both; a body that fits none of these is refused."""
    request = roa_request(headers=[("Content-MD5", md5)])

    assert a_gate().authenticate(request, NOW).account == "111"
    assert refusal(Request("GET", request.target, request.headers, b"x")).reason is Reason.BODY_DIFFERS


def test_fc_path_that_was_signed_without_decoding_is_accepted():
    """One client signs the path of the control plane as it sends it."""
    path = "/2016-08-15/services/a%20b"
    signature = fc.sign("own-secret", f"GET\n\n\n{http_date(NOW)}\n{path}")
    headers = Headers([("Date", http_date(NOW)), ("Authorization", f"FC own-key:{signature}")])

    assert a_gate().authenticate(Request("GET", path, headers), NOW).account == "111"


def test_trigger_url_is_good_until_its_expiry():
    """A signed URL lasts to the second it names and carries its token in the query."""
    unsigned = Request("GET", "/2016-08-15/proxy/s/f/a%20b?q=1", Headers())
    query = fc.signed_query(unsigned, "STS.one", TEMPORARY.secret, Millis(NOW + 30 * SECOND), TEMPORARY.token)
    target = "/2016-08-15/proxy/s/f/a%20b?" + "&".join(f"{n}={rpc.encode(v)}" for n, v in query)
    end = NOW + 30 * SECOND

    assert a_gate().authenticate(Request("GET", target, Headers()), Millis(end)).temporary
    assert refusal(Request("GET", target, Headers()), Millis(end + 1)).reason is Reason.URL_EXPIRED
    assert refusal(Request("GET", target + "&more=1", Headers())).reason is Reason.SIGNATURE_DIFFERS


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("x-fc-signature=s&x-fc-access-key-id=a", Reason.MISSING_DATE),
        ("x-fc-signature=s&x-fc-expires=9999999999", Reason.MISSING_KEY_ID),
        ("x-fc-signature=&x-fc-expires=9999999999&x-fc-access-key-id=a", Reason.MISSING_SIGNATURE),
        ("x-fc-signature=s&x-fc-expires=soon&x-fc-access-key-id=a", Reason.BAD_DATE),
        ("y=x-fc-signature", Reason.MISSING_AUTHORIZATION),
        ("OSSAccessKeyId=a", Reason.MISSING_SIGNATURE),
        ("OSSAccessKeyId=a&Signature=s", Reason.MISSING_DATE),
        ("OSSAccessKeyId=&Signature=s", Reason.MISSING_KEY_ID),
        ("x-oss-credential=a", Reason.UNSUPPORTED_METHOD),
        ("x-oss-signature-version=OSS4-HMAC-SHA256", Reason.MALFORMED_AUTHORIZATION),
    ],
)
def test_signed_url_with_something_missing(query, reason):
    """Each missing part of a signed URL has its own reason."""
    assert refusal(Request("GET", f"/2016-08-15/proxy/s/f?{query}", Headers())).reason is reason


V4_URL = (
    "/k?x-oss-signature-version=OSS4-HMAC-SHA256&x-oss-credential=own-key%2F20261118%2Fr%2Foss%2Faliyun_v4_request"
    "&x-oss-date={date}&x-oss-expires={expires}&x-oss-signature=s"
)


@pytest.mark.parametrize(
    ("offset_ms", "expires", "reason"),
    [
        (0, "600", Reason.SIGNATURE_DIFFERS),
        (0, "604801", Reason.MALFORMED_AUTHORIZATION),
        (0, "-1", Reason.MALFORMED_AUTHORIZATION),
        (-11 * MINUTE, "600", Reason.URL_EXPIRED),
        (16 * MINUTE, "600", Reason.SKEWED_DATE),
    ],
)
def test_oss_v4_url_lasts_as_long_as_it_says(offset_ms, expires, reason):
    """At most seven days from its date, which must not lie in the future."""
    date = iso_seconds(Millis(NOW + offset_ms)).replace("-", "").replace(":", "")

    assert refusal(Request("GET", V4_URL.format(date=date, expires=expires), Headers())).reason is reason


def test_oss_v4_digest_that_is_stated_must_be_the_bodys():
    """A client may sign the body's digest; then it is compared."""
    pairs = [
        ("x-oss-date", iso_seconds(NOW).replace("-", "").replace(":", "")),
        ("x-oss-content-sha256", "0" * 64),
        ("Authorization", "OSS4-HMAC-SHA256 Credential=own-key/20261118/r/oss/aliyun_v4_request, Signature=s"),
    ]

    assert refusal(Request("PUT", "/b/k", Headers(pairs), b"x")).reason is Reason.BODY_DIFFERS


@every_scheme
def test_lenient_mode_takes_any_key_as_the_installations_account(build, caplog):
    """An unknown key, a wrong date and a used nonce do not matter; the log says so once per key."""
    gate = a_gate(lenient=True)
    stranger = AccessKey(key_id="some-key", secret="x", account=AccountId("9"), arn="")

    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            principal = gate.authenticate(build(stranger, at=Millis(NOW - 99 * MINUTE)), NOW, host_account="555")

    assert (principal.account, principal.access_key_id) == ("111", "some-key")
    assert len(caplog.records) == 1
    assert "some-key" in caplog.text


def test_lenient_mode_still_knows_its_own_keys():
    """A known key is that key's identity, unchecked, and stays out of other accounts."""
    gate = a_gate(lenient=True)
    forged = AccessKey(key_id="other-key", secret="guess", account=AccountId("222"), arn="")

    assert gate.authenticate(mns_request(forged), NOW).account == "222"
    assert refusal(mns_request(forged), gate=gate, host_account="111").reason is Reason.FOREIGN_ACCOUNT


def test_lenient_mode_refuses_malformed_requests():
    """Leniency is about keys, not about form."""
    gate = a_gate(lenient=True)

    assert refusal(Request("GET", "/queues", Headers()), gate=gate).reason is Reason.MISSING_AUTHORIZATION
    assert refusal(with_header(fc_request(), "Date", None), gate=gate).reason is Reason.MISSING_DATE


@pytest.mark.parametrize("lenient", [False, True], ids=["verify", "lenient"])
def test_real_looking_key_is_refused_and_reported(lenient, caplog):
    """A script that carries a real cloud key was pointed here by mistake: say so, once, without the whole key."""
    gate = a_gate(lenient=lenient)
    real = AccessKey(key_id="LTAI5tRealLookingKeyId", secret="s3cret", account=AccountId("1"), arn="")
    request = mns_request(real)

    with caplog.at_level(logging.WARNING):
        reasons = {refusal(request, gate=gate).reason for _ in range(2)}

    assert reasons == {Reason.UNKNOWN_KEY}
    assert len(caplog.records) == 1
    assert "LTAI5tRe" in caplog.text
    assert real.key_id not in caplog.text
    assert request.headers.get("authorization").partition(":")[2] not in caplog.text


def test_warnings_do_not_grow_without_bound(caplog):
    """A flood of key ids fills neither the log nor the memory."""
    gate = a_gate(lenient=True)

    with caplog.at_level(logging.WARNING):
        for number in range(1_100):
            key = AccessKey(key_id=f"key-{number}", secret="x", account=AccountId("9"), arn="")
            gate.authenticate(mns_request(key), NOW)

    assert len(caplog.records) == 1_000


def test_a_form_is_recognised_behind_a_bare_question_mark():
    """An empty query is none."""
    form = Headers([("Content-Type", "multipart/form-data; boundary=b")])

    assert scheme_of(Request("POST", "/?", form)) is scheme_of(Request("POST", "/", form)) is OSS_FORM


def test_a_roa_request_may_end_in_a_bare_question_mark():
    """It is signed without."""
    pairs = [("Date", http_date(NOW)), ("x-acs-signature-nonce", "n")]
    signature = roa.authorization(Request("GET", "/2016-08-15/services", Headers(pairs)), OWN.key_id, OWN.secret)
    sent = Request("GET", "/2016-08-15/services?", Headers([*pairs, ("Authorization", signature)]))

    assert a_gate().authenticate(sent, NOW).access_key_id == OWN.key_id


@pytest.mark.parametrize(
    ("host", "named"),
    [
        ("my-bucket.oss-cn-hangzhou.aliyuncs.com", "/my-bucket/key"),
        ("my-bucket.oss-accelerate.aliyuncs.com", "/my-bucket/key"),
        ("my-bucket.cn-hangzhou.oss.aliyuncs.com", "/my-bucket/key"),
        ("my-bucket.oss.aliyuncs.com", "/my-bucket/key"),
        ("cn-hangzhou.oss.aliyuncs.com", "/key/"),
        ("oss-accelerate.aliyuncs.com", "/key/"),
    ],
)
def test_bucket_is_the_name_in_front_of_an_endpoint(host, named):
    """A region's own endpoint has none."""
    assert oss.resource(Request("GET", "/key", Headers([("Host", host)]))) == named
