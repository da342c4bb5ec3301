"""InvokeFunction: headers in, headers out, refusals."""

import base64
import json

import pytest

from emulator.services.fc import limits
from emulator.services.fc.errors import FcError
from emulator.services.fc.invoke.invoking import refusal
from emulator.services.fc.model import FunctionName
from emulator.services.fc.runtime.model import (
    InstancesExhausted,
    InstanceStartFailed,
    InvocationResult,
    ResponseTooLarge,
    RuntimeUnavailable,
)

CALL = "/services/shop/functions/order/invocations"


def a_result(**fields) -> InvocationResult:
    """Return a result with *fields* other than the usual."""
    usual = {
        "body": b"ok", "error_type": None, "log": b"", "duration_ms": 1.0, "max_memory_mb": 1.0,
        "instance_id": "c-1", "cold": False,
    }  # fmt: skip
    return InvocationResult(**{**usual, **fields})


async def test_event_and_result_are_bytes_whatever_the_content_type_says(site):
    """The body is handed over untouched, even when it claims to be JSON and is not."""
    await site.make_function()

    answer = await site.v1("POST", CALL, b"\x00\xffnot json", Content_Type="application/json")
    empty = await site.v1("POST", CALL, b"", Content_Type="application/json")

    assert (answer.status, answer.content) == (200, b"\x00\xffnot json")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert (empty.status, empty.content) == (200, b"")


async def test_answer_tells_about_the_run(site):
    """Request id, checksum, duration in whole milliseconds, memory, version and instance are in the headers."""
    made = await site.make_function()

    headers = (await site.v1("POST", CALL, b"")).headers

    assert headers["x-fc-request-id"] == site.instances.invocations[0].request_id
    assert headers["x-fc-code-checksum"] == made.body["codeChecksum"]
    assert headers["x-fc-invocation-duration"] == "1"
    assert headers["x-fc-max-memory-usage"] == "12.50"
    assert headers["x-fc-invocation-service-version"] == "LATEST"
    assert headers["x-fc-instance-id"] == "c-1"
    assert "x-fc-error-type" not in headers
    assert "x-fc-log-result" not in headers


async def test_tail_carries_the_last_4096_bytes_of_the_log(site):
    """With Tail, in any case, the log comes along in base64, cut at the front."""
    await site.make_function()
    site.instances.answer = lambda image, invocation: a_result(log=b"x" * 5000 + b"end")

    answer = await site.v1("POST", CALL, b"", X_Fc_Log_Type="tail")

    assert base64.b64decode(answer.headers["x-fc-log-result"]) == b"x" * 4093 + b"end"


async def test_failed_function_answers_200_with_its_error_type(site):
    """What goes wrong in user code is data: status 200, a header and the error JSON."""
    await site.make_function()
    site.instances.answer = lambda image, invocation: a_result(
        body=b'{"errorMessage":"boom"}', error_type="UnhandledInvocationError"
    )

    answer = await site.v1("POST", CALL, b"")

    assert (answer.status, answer.body) == (200, {"errorMessage": "boom"})
    assert answer.headers["x-fc-error-type"] == "UnhandledInvocationError"
    assert answer.headers["content-type"] == "application/json"


def test_output_of_a_program_that_has_exited_gets_no_full_stop():
    """It is quoted as it was written; the emulator's own sentences end with one."""
    said = [refusal(InstanceStartFailed(text)).message for text in ("It ended.\nLogs:\nstarted", "it died")]

    assert [each.partition("exited. ")[2] for each in said] == ["It ended.\nLogs:\nstarted", "it died."]


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (RuntimeUnavailable("java8", "no java here"), 412, "CAFileNotFound"),
        (RuntimeUnavailable("custom-container", "no Docker here"), 412, "CAExited"),
        (InstanceStartFailed("it died"), 412, "CAExited"),
        (InstancesExhausted(100), 429, "ResourceExhausted"),
        (ResponseTooLarge(33_554_432), 400, "EntityTooLarge"),
    ],
)
async def test_what_the_platform_cannot_do_is_an_api_error(site, failure, status, code):
    """When the platform fails, the answer is an error of the API with its code, and so for callers inside."""
    await site.make_function()

    def fail(image, invocation):
        raise failure

    site.instances.answer = fail

    answer = await site.v1("POST", CALL, b"")

    assert (answer.status, answer.code) == (status, code)
    assert "x-fc-error-type" not in answer.headers
    with pytest.raises(FcError) as raised:
        await site.fc.invoke(site.tenant, FunctionName("shop", "order", None), b"")
    assert (raised.value.http_status, raised.value.code) == (status, code)


@pytest.mark.parametrize(
    ("header", "value", "status", "code"),
    [
        ("X_Fc_Invocation_Type", "Sideways", 400, "InvalidArgument"),
        ("X_Fc_Log_Type", "Head", 400, "InvalidArgument"),
    ],
)
async def test_unknown_kinds_of_calls_are_refused(site, header, value, status, code):
    """Only the documented values pass."""
    await site.make_function()

    answer = await site.v1("POST", CALL, b"", **{header: value})

    assert (answer.status, answer.code) == (status, code)
    assert site.instances.images == []


async def test_dry_run_checks_the_target_and_runs_nothing(site):
    """DryRun answers 204 for a function that could be called and the usual error for one that could not."""
    await site.make_function()

    there = await site.v1("POST", CALL, b"", X_Fc_Invocation_Type="DryRun")
    missing = await site.v1("POST", CALL.replace("order", "none"), b"", X_Fc_Invocation_Type="DryRun")

    assert there.status == 204
    assert missing.code == "FunctionNotFound"
    assert site.instances.images == []


async def test_oversized_event_is_refused_before_anything_runs(open_site, monkeypatch):
    """A payload over the limit answers EntityTooLarge with the limit in its text."""
    monkeypatch.setattr(limits, "SYNC_PAYLOAD_BYTES", 100)

    async with open_site() as site:
        await site.make_function()

        fits = await site.v1("POST", CALL, b"x" * 100)
        answer = await site.v1("POST", CALL, b"x" * 101)

        assert fits.status == 200
        assert (answer.status, answer.code) == (400, "EntityTooLarge")
        assert answer.body["ErrorMessage"] == "payload size exceeds maximum allowed size (100 bytes)"
        assert len(site.instances.images) == 1


async def test_warm_call_asks_the_database_nothing(site):
    """Everything a repeated call needs is kept until something changes."""
    await site.make_function()
    await site.v1("POST", CALL, b"")
    statements = []
    site.database._connection.set_trace_callback(statements.append)

    await site.v1("POST", CALL, b"")

    site.database._connection.set_trace_callback(None)
    assert statements == []
    assert site.instances.images[0] is site.instances.images[1]


async def test_keys_of_a_role_are_shared_for_a_quarter_of_an_hour(site):
    """Calls do not ask for new temporary keys each time, and get fresh ones long before the old end."""
    await site.make_function()
    await site.v1("POST", CALL, b"")
    await site.v1("POST", CALL, b"")
    site.clock.move_to(site.clock.now() + 15 * 60_000)
    await site.v1("POST", CALL, b"")

    assert len(site.keys.asked) == 2


async def test_request_ids_have_the_form_of_their_dialect(site):
    """A UUID in the older dialects; seconds and random digits in the newest."""
    old = (await site.v1("GET", "/services")).headers["x-fc-request-id"]
    new = (await site.v3("GET", "/functions")).headers["x-fc-request-id"]

    assert len(old) == 36
    parts = new.split("-")
    assert (parts[0], [len(part) for part in parts]) == ("1", [1, 8, 8, 12])
    assert int(parts[1], 16) == site.clock.now() // 1000


async def test_error_keys_are_those_the_dialects_clients_read(site):
    """The oldest reads ErrorCode, the newest Code; the one between gets both."""
    v1 = await site.ask("GET", "/2016-08-15/services/x")
    v2 = await site.ask("GET", "/2021-04-06/services/x")
    v3 = await site.ask("GET", "/2023-03-30/functions/x")

    assert set(json.loads(v1.content)) == {"ErrorCode", "ErrorMessage"}
    assert set(v2.body) == {"ErrorCode", "ErrorMessage", "Code", "Message", "RequestId"}
    assert set(v3.body) == {"Code", "Message", "RequestId"}
    assert v3.body["RequestId"] == v3.headers["x-fc-request-id"]
