"""Reasons of authentication become this service's codes and texts."""

import pytest

from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.errors import AuthFailure, Reason
from emulator.services.fc.errors import auth_error
from emulator.wire.request import OperationRequest

CASES = [
    (Reason.MISSING_DATE, "", 400, "MissingRequiredHeader", "required HTTP header Date was not specified"),
    (Reason.MISSING_AUTHORIZATION, "", 400, "InvalidArgument", "invalid authorization ''"),
    (Reason.UNKNOWN_KEY, "ak", 403, "InvalidAccessKeyID", "invalid access key ID 'ak'"),
    (Reason.INACTIVE_KEY, "ak", 403, "InvalidAccessKeyID", "invalid access key ID 'ak'"),
    (
        Reason.SKEWED_DATE,
        "yesterday",
        403,
        "RequestTimeTooSkewed",
        "the difference between the request time 'yesterday' and the current time 'NOW' is too large",
    ),
    (Reason.FOREIGN_ACCOUNT, "1", 403, "AccessDenied", "The service or function doesn't belong to you"),
]


@pytest.mark.parametrize(("reason", "detail", "status", "code", "message"), CASES, ids=lambda value: str(value)[:30])
def test_reason_has_its_documented_answer(reason, detail, status, code, message):
    """Code, status and text are those of the service's error table."""
    error = auth_error(AuthFailure(reason, detail=detail), date_given=True, now="NOW")

    assert (error.http_status, error.code, error.message) == (status, code, message)


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_an_answer_of_this_service(reason):
    """No reason is left without a code, and none is a server error."""
    error = auth_error(AuthFailure(reason), date_given=True, now="NOW")

    assert error.http_status in {400, 403}


def test_signature_error_says_what_to_look_at():
    """The text of a wrong signature is the vendor's."""
    error = auth_error(AuthFailure(Reason.SIGNATURE_DIFFERS), date_given=True, now="NOW")

    assert (error.http_status, error.code) == (403, "SignatureNotMatch")
    assert error.message.startswith("The request signature we calculated does not match the signature you provided.")


@pytest.mark.parametrize("authorization", ["FC x", "FC :sig", "Basic eDp5"])
async def test_an_authorization_that_cannot_be_read_is_shown_to_its_sender(site, authorization):
    """The text quotes the header as it came, not what is thought of it."""
    headers = Headers([("Date", "x"), ("Authorization", authorization)])
    context = OperationRequest(Request("GET", "/2016-08-15/services", headers), Millis(0))
    failure = AuthFailure(Reason.MALFORMED_AUTHORIZATION, detail="key id or signature is missing")

    error = site.front.auth_error(failure, context)

    assert (error.code, error.message) == ("InvalidArgument", f"invalid authorization '{authorization}'")


async def test_missing_date_is_reported_before_a_missing_signature(site):
    """A request with neither is told about the date first, as the live service does."""
    bare = OperationRequest(Request("GET", "/2016-08-15/services", Headers()), Millis(0))
    dated = OperationRequest(Request("GET", "/2016-08-15/services", Headers([("Date", "x")])), Millis(0))
    failure = AuthFailure(Reason.MISSING_AUTHORIZATION)

    assert site.front.auth_error(failure, bare).code == "MissingRequiredHeader"
    assert site.front.auth_error(failure, dated).code == "InvalidArgument"


@pytest.mark.parametrize("path", ["/", "/2016-08-15/nothing"])
async def test_a_path_without_an_operation_is_reported_before_the_signature(site, path):
    """Somebody who opens the service's address in a browser reads that there is nothing at it."""
    call = OperationRequest(Request("GET", path, Headers()), Millis(0))

    error = site.front.auth_error(AuthFailure(Reason.MISSING_DATE), call)

    assert (error.code, error.message) == ("PathNotSupported", f"'GET' against '{path}' is not supported")
