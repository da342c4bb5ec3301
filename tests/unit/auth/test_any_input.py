"""Whatever arrives, authentication answers with a principal or an AuthFailure, nothing else."""

from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from emulator.auth.authenticator import Authenticator, Keyring, NonceMemory
from emulator.auth.signed_request import AccessKey, encode
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.errors import AuthFailure
from emulator.kernel.identity import AccountId

NOW = Millis(1_795_000_000_000)
OWN = AccessKey(key_id="k", secret="s", account=AccountId("1"), arn="acs:ram::1:root")

wire_text = st.binary(max_size=40).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
"""Any text the server can hand on: bytes above ASCII survive as surrogates."""

SCHEMES = [
    "MNS ", "MNS", "FC ", "acs ", "OSS ", "OSS2 ", "OSS4-HMAC-SHA256 ", "ACS3-HMAC-SHA256 ", "ACS3-", "OSS",
    "MNS4-HMAC-SHA256 ", "APSARA-MNS4-HMAC-SHA256 ", "",
]  # fmt: skip
SCOPE = "20261118/r"
FRAGMENTS = [
    "k:", "Credential=k", f"Credential=k/{SCOPE}/oss/aliyun_v4_request", f"Credential=k/{SCOPE}/mns/aliyun_v4_request",
    "SignedHeaders=host;x-acs-date", "Signature=", "AccessKeyId:k", "Signature:x", "AdditionalHeaders=a;b", ",", " ",
    "AdditionalHeaders:host", ":", "=",
]  # fmt: skip
authorizations = st.builds(
    lambda scheme, parts: scheme + "".join(parts),
    st.sampled_from(SCHEMES),
    st.lists(st.one_of(st.sampled_from(FRAGMENTS), wire_text), max_size=6),
)
DATES = [
    "Fri, 20 Nov 2026 00:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 +9999", "20261118T000000Z", "2026-11-18T11:06:40Z",
    "99999999T999999Z", "", "Wed, 18 Nov 2026 11:06:40 GMT",
]  # fmt: skip
dates = st.one_of(st.sampled_from(DATES), wire_text)
header_names = st.sampled_from(
    [
        "Date", "x-mns-date", "x-acs-date", "x-oss-date", "x-fc-a", "x-acs-content-sha256", "x-acs-signature-nonce",
        "x-acs-version", "Content-MD5", "Content-Type", "Host", "security-token", "x-oss-content-sha256",
    ]
)  # fmt: skip
queries = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "Action", "AccessKeyId", "Signature", "SignatureNonce", "Timestamp", "OSSAccessKeyId", "Expires",
                "x-oss-credential", "x-oss-signature-version", "x-oss-date", "x-oss-expires", "x-oss-signature",
                "x-fc-signature", "x-fc-expires", "x-fc-access-key-id", "acl", "x",
            ]
        ),
        st.one_of(
            wire_text,
            dates,
            st.sampled_from(["k", "1795000001", "OSS4-HMAC-SHA256", "k/20261118/r/oss/aliyun_v4_request", "9" * 5000]),
        ),
    ),
    max_size=8,
)  # fmt: skip


@given(
    authorization=authorizations,
    headers=st.lists(st.tuples(header_names, dates), max_size=6),
    path=st.sampled_from(["/", "", "/queues", "/2016-08-15/proxy/s/f/%ff%zz", "/2016-08-15/services/%2F", "/b/k%E2"]),
    query=queries,
    form=st.booleans(),
    body=st.binary(max_size=30),
    lenient=st.booleans(),
)
def test_any_request_gets_a_principal_or_a_failure(authorization, headers, path, query, form, body, lenient):
    """Random headers, dates, queries and bodies never lead to any other exception."""
    pairs = [("Authorization", authorization), *headers]
    if form:
        pairs.append(("Content-Type", "application/x-www-form-urlencoded"))
    target = path + "?" + "&".join(f"{name}={quote(value, errors='surrogateescape')}" for name, value in query)
    gate = Authenticator(Keyring(OWN), lenient=lenient, nonces=NonceMemory())

    try:
        principal = gate.authenticate(Request("GET", target, Headers(pairs), body), NOW)
    except AuthFailure as failure:
        outcome = str(failure)
    else:
        outcome = principal.account

    assert outcome


@given(wire_text)
def test_encoding_is_that_of_the_standard_library(text):
    """The quicker encoder agrees with the library's for every text."""
    assert encode(text) == quote(text, safe="~", errors="surrogateescape")
