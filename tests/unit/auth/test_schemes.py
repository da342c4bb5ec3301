"""Which requests a scheme takes for its own, and what it makes of those that only look like it."""

import base64
import hmac
import json

import pytest

from emulator.auth import acs3, authenticator, fc, log, mns, oss, roa, rpc
from emulator.auth.authenticator import Authenticator, Keyring, NonceMemory, scheme_of
from emulator.auth.policy import facts_of
from emulator.auth.push import PushSigner, SigningFailed
from emulator.auth.signed_request import AccessKey, base64_hmac
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis, SystemClock
from emulator.kernel.errors import AuthFailure, Reason
from emulator.kernel.identity import AccountId, Principal
from emulator.wire.request import OperationRequest

NOW = Millis(1_795_000_000_000)
KEY = AccessKey(key_id="own-key", secret="own-secret", account=AccountId("111"), arn="acs:ram::111:root")
FORM = "multipart/form-data; boundary=b"
POLICY = {"expiration": "2026-12-31T00:00:00.000Z", "conditions": []}


def a_request(method="GET", target="/", body=b"", **headers):
    fields = {"Host": "bucket.oss-cn-hangzhou.aliyuncs.com", **headers}
    return Request(method, target, Headers([(name.replace("_", "-"), text) for name, text in fields.items()]), body)


def a_gate(lenient=False):
    return Authenticator(Keyring(KEY), lenient=lenient, nonces=NonceMemory())


@pytest.mark.parametrize("scheme", [acs3, fc, log, mns, oss, roa, rpc], ids=lambda scheme: scheme.__name__)
@pytest.mark.parametrize("authorization", ["", "Bearer x"])
@pytest.mark.parametrize("query", ["", "?a=x-fc-signature"])
def test_a_request_of_no_scheme_is_not_claimed(scheme, authorization, query):
    """Whether it carries somebody's authorization or none, a query or none."""
    request = a_request(target=f"/2016-08-15/proxy/s/f/{query}", Authorization=authorization)

    assert scheme.signed_request(request) is None
    assert scheme_of(a_request(Authorization=authorization)) is None


def test_an_unknown_version_of_the_object_stores_scheme_is_named():
    """It is meant for the object store, and cannot be checked."""
    with pytest.raises(AuthFailure) as failure:
        oss.signed_request(a_request(Authorization="OSS9-HMAC x"))

    assert (failure.value.reason, failure.value.detail) == (Reason.UNSUPPORTED_METHOD, "OSS9-HMAC")


def test_names_of_which_one_begins_another_are_signed_in_the_order_of_the_names():
    """As clients sort them: a colon comes after a hyphen, the end of a name before both."""
    request = a_request(
        "PUT", Authorization=f"OSS4-HMAC-SHA256 Credential={KEY.key_id}/20261118/r/oss/aliyun_v4_request,Signature=s",
        x_oss_date="20261118T111320Z", x_oss_server_side_encryption="KMS", x_oss_server_side_encryption_key_id="k",
    )  # fmt: skip

    [(_, canonical)] = oss.signed_request(request).texts

    lines = [line for line in canonical.split("\n") if line.startswith("x-oss-server")]
    assert lines == ["x-oss-server-side-encryption:KMS", "x-oss-server-side-encryption-key-id:k"]


@pytest.mark.parametrize(("method", "digest"), [("hmac-sha1", "sha1"), ("hmac-sha256", "sha256"), ("", "sha1")])
def test_a_call_of_log_service_is_signed_over_headers_path_and_sorted_query(method, digest):
    """The method names the digest; the body counts by its MD5."""
    date, body = "Wed, 18 Nov 2026 11:13:20 GMT", b"{}"
    extra = {"x_log_signaturemethod": method} if method else {}
    head = {"Date": date, "Content_MD5": "99914B932BD37A50B983C5E7C90AE93B", "Content_Type": "application/json"}
    text = (
        f"POST\n{head['Content_MD5']}\napplication/json\n{date}\nx-log-apiversion:0.6.0\n"
        + (f"x-log-signaturemethod:{method}\n" if method else "")
        + "/logstores?a=1 2&b="
    )
    authorization = f"LOG {KEY.key_id}:{log.sign(digest, KEY.secret, text)}"
    request = a_request(
        "POST", "/logstores?b=&a=1+2", body, Authorization=authorization, x_log_apiversion="0.6.0", **head, **extra
    )

    principal = a_gate().authenticate(request, NOW, scheme=scheme_of(request))

    assert scheme_of(request) is authenticator.LOG
    assert principal.access_key_id == KEY.key_id
    changed = a_request(
        "POST", "/logstores?b=&a=1+2", b"[]", Authorization=authorization, x_log_apiversion="0.6.0", **head, **extra
    )
    with pytest.raises(AuthFailure) as failure:
        a_gate().authenticate(changed, NOW, scheme=scheme_of(changed))
    assert failure.value.reason is Reason.BODY_DIFFERS


def test_an_unknown_method_of_log_service_is_named():
    """It cannot be checked."""
    with pytest.raises(AuthFailure) as failure:
        log.signed_request(a_request(Authorization="LOG k:s", x_log_signaturemethod="hmac-md5"))

    assert (failure.value.reason, failure.value.detail) == (Reason.UNSUPPORTED_METHOD, "hmac-md5")


def a_form(policy=POLICY, target="/", host="bucket.oss-cn-hangzhou.aliyuncs.com", raw=None, **fields):
    """Return an upload form with a policy, signed in v1 unless *fields* say otherwise."""
    text = raw if raw is not None else base64.b64encode(json.dumps(policy).encode()).decode()
    signed = {"OSSAccessKeyId": KEY.key_id, "Signature": oss.sign(KEY.secret, text)} | fields
    parts = {"key": "a", "policy": text, **signed, "file": "content"}
    body = "".join(
        f'--b\r\nContent-Disposition: form-data; name="{name.replace("_", "-")}"\r\n\r\n{value}\r\n'
        for name, value in parts.items()
        if value
    )
    return a_request(
        "POST", target, f"{body}--b--\r\n".encode(), Host=host, Content_Type="multipart/form-data; boundary=b"
    )


def test_an_upload_form_is_signed_by_its_policy():
    """The key of the form is the caller's."""
    form = a_form()

    principal = a_gate().authenticate(form, NOW, scheme=scheme_of(form))

    assert scheme_of(form) is authenticator.OSS_FORM
    assert principal.access_key_id == KEY.key_id


def test_an_upload_form_may_be_signed_in_v4():
    """Its credential names day, region and product, from which the signing key follows."""
    text = base64.b64encode(json.dumps(POLICY).encode()).decode()
    scope = "20261122/cn-hangzhou/oss/aliyun_v4_request"
    signature = "ab" * 32
    form = a_form(
        OSSAccessKeyId="", Signature="", x_oss_signature_version="OSS4-HMAC-SHA256",
        x_oss_credential=f"{KEY.key_id}/{scope}", x_oss_signature=signature,
    )  # fmt: skip

    signed = oss.signed_request(form)

    assert (signed.scheme, signed.key_id, signed.signature) == ("OSS4-HMAC-SHA256", KEY.key_id, signature)
    assert list(signed.texts) == [(text, "")]
    assert len(signed.sign(KEY.secret, text)) == 64


@pytest.mark.parametrize(
    "form",
    [
        a_form(host="1.cn-hangzhou.fc.aliyuncs.com"),
        a_form(target="/one/two"),
        a_form(raw="", OSSAccessKeyId="", Signature=""),
        a_request("POST", "/", b"--b\r\nno form", Content_Type=FORM),
    ],
    ids=["host of a function", "no bucket", "unsigned", "malformed"],
)
def test_a_form_that_is_no_signed_upload_is_not_claimed(form):
    """A function takes forms as well."""
    assert oss.signed_request(form) is None


@pytest.mark.parametrize("policy", ["x", "{}", '{"expiration": 1}', '{"expiration": "soon"}', "[]"])
def test_a_form_whose_policy_does_not_say_when_it_ends_is_refused(policy):
    """Nothing would end it."""
    raw = policy if policy == "x" else base64.b64encode(policy.encode()).decode()

    with pytest.raises(AuthFailure) as failure:
        oss.signed_request(a_form(raw=raw))

    assert (failure.value.reason, failure.value.detail) == (Reason.MALFORMED_AUTHORIZATION, "policy")


def signed_for_messages(key_id=KEY.key_id):
    unsigned = a_request(Date="Sun, 22 Nov 2026 13:00:00 GMT", x_mns_version="2015-06-06")
    authorization = mns.authorization(unsigned, key_id, KEY.secret)
    return a_request(Date="Sun, 22 Nov 2026 13:00:00 GMT", x_mns_version="2015-06-06", Authorization=authorization)


@pytest.mark.parametrize(
    ("request_", "key"),
    [
        (signed_for_messages(), KEY),
        (signed_for_messages("stranger"), None),
        (a_request(), None),
        (a_request(Authorization="ACS3-HMAC-SHA256 x"), None),
    ],
    ids=["own", "unknown", "unsigned", "malformed"],
)
def test_the_key_a_request_names_is_found_without_judging_it(request_, key):
    """For the explanation of a refusal."""
    assert a_gate().key_of(request_) == key


def test_a_body_is_compared_with_the_digest_its_head_states():
    """Its head was judged before it came; lenient mode looks at neither."""
    fields = {"x_acs_action": "A", "x_acs_version": "1", "x_acs_date": "2026-11-22T13:00:00Z"}
    fields |= {"x_acs_signature_nonce": "n", "x_acs_content_sha256": "0" * 64}
    authorization = acs3.authorization(a_request("POST", **fields), KEY.key_id, KEY.secret)
    request = a_request("POST", "/", b"another body", **fields, Authorization=authorization)

    with pytest.raises(AuthFailure) as failure:
        a_gate().check_body(request, authenticator.ACS3)

    assert failure.value.reason is Reason.BODY_DIFFERS
    assert a_gate(lenient=True).check_body(request, authenticator.ACS3) is None
    assert authenticator.ACS3.covers_head(request)
    assert not authenticator.RPC.covers_head(request)


def test_a_later_source_of_keys_is_asked_too():
    """Services bring keys of their own once they are loaded."""
    keys = Keyring(KEY)
    other = AccessKey(key_id="other", secret="o", account=AccountId("111"), arn="acs:ram::111:user/u")

    keys.add(Keyring(other))

    assert (keys.find("other"), keys.find("none")) == (other, None)


def test_facts_of_a_request_are_what_conditions_read():
    """Time, address, transport and caller."""
    call = OperationRequest(a_request(), NOW)
    call.principal = Principal(KEY.account, KEY.key_id, KEY.arn)

    facts = facts_of(call)

    assert facts["acs:PrincipalARN"] == (KEY.arn,)
    assert facts["acs:SecureTransport"] == ("false",)
    assert facts["acs:CurrentTime"] == ("2026-11-18T11:06:40Z",)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("emulator.auth.push._SIGN_S", 0, "nothing was signed"),
        ("emulator.auth.push._START_S", 0, "not ready"),
        ("sys.executable", "/no/such", "cannot be started"),
    ],
)
async def test_a_signer_that_does_not_sign_says_why(tmp_path, monkeypatch, name, value, said):
    """A push waits for no signature for ever."""
    signer = PushSigner(tmp_path / "notifications", clock=SystemClock())
    if name.endswith("_SIGN_S"):
        await signer.certificate()
    monkeypatch.setattr(name, value)

    with pytest.raises(SigningFailed, match=said):
        await signer.authorization("text")
    await signer.close()


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
@pytest.mark.parametrize("secret", ["", "short", "of a block" * 6 + "long", "l" * 65, "\u5bc6" * 50], ids=len)
def test_signatures_are_the_standard_librarys_for_keys_of_any_length(algorithm, secret):
    """The second text under a key too, which begins from what the first has left."""
    for text in ("GET\n\n/", "", "\u6587" * 300):
        expected = hmac.digest(secret.encode(), text.encode(), algorithm)

        assert base64.b64decode(base64_hmac(secret, text, algorithm)) == expected
