"""The gateway's words for a refused request."""

import pytest

from emulator.kernel.errors import AuthFailure, Reason
from emulator.wire.rpc import pop_auth_error


@pytest.mark.parametrize("reason", list(Reason), ids=lambda reason: reason.name)
def test_every_reason_has_a_code(reason):
    """No reason is left without a code, a client status and a text."""
    error = pop_auth_error(AuthFailure(reason, detail="x-acs-date", string_to_sign="s"))

    assert error.code != "InternalServerError"
    assert 400 <= error.http_status < 500
    assert error.message


@pytest.mark.parametrize(
    ("reason", "status", "code", "message"),
    [
        (Reason.UNKNOWN_KEY, 404, "InvalidAccessKeyId.NotFound", "Specified access key is not found."),
        (Reason.INACTIVE_KEY, 400, "InvalidAccessKeyId.Inactive", "Specified access key is disabled."),
        (Reason.SKEWED_DATE, 400, "InvalidTimeStamp.Expired", "Specified time stamp or date value is expired."),
        (Reason.NONCE_USED, 400, "SignatureNonceUsed", "Specified signature nonce was used already."),
        (Reason.MISSING_TOKEN, 400, "MissingSecurityToken", "SecurityToken is mandatory for this action."),
        (Reason.TOKEN_EXPIRED, 400, "InvalidSecurityToken.Expired", "Specified SecurityToken is expired."),
        (Reason.BAD_TOKEN, 400, "InvalidSecurityToken.Malformed", "Specified SecurityToken is malformed."),
        (Reason.MISSING_SIGNATURE, 400, "MissingSignature", "Signature is mandatory for this action."),
    ],
)
def test_documented_codes(reason, status, code, message):
    """Status, code and text are the gateway's own."""
    error = pop_auth_error(AuthFailure(reason))

    assert (error.http_status, error.code, error.message) == (status, code, message)


def test_wrong_signature_shows_the_servers_string_right_after_the_colon():
    """aliyun-python-sdk-core compares what follows the first colon with its own string."""
    error = pop_auth_error(AuthFailure(Reason.SIGNATURE_DIFFERS, string_to_sign="GET&%2F&A%3D1"))

    assert error.message.split(":")[1] == "GET&%2F&A%3D1"


def test_wrong_acs3_signature_shows_the_canonical_request_too():
    """The newer scheme's error carries both texts, braces and all."""
    error = pop_auth_error(AuthFailure(Reason.SIGNATURE_DIFFERS, string_to_sign="A\nb", canonical_request="GET\n{/}"))

    assert error.message.endswith("is:A\nb, server side canonicalrequest is:GET\n{/}")


def test_unsigned_header_is_named():
    """The caller learns which header it forgot to sign."""
    assert "x-acs-date" in pop_auth_error(AuthFailure(Reason.UNSIGNED_HEADER, detail="x-acs-date")).message
