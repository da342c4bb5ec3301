"""Refused calls through the official clients raise what they raise in production."""

import json

import pytest
from aliyunsdkcore.acs_exception.exceptions import ServerException

pytestmark = pytest.mark.sdk


def core_error(fnf, name, **parameters):
    with pytest.raises(ServerException) as caught:
        fnf.send(name, **parameters)
    return caught.value


def test_a_wrong_secret_is_named_by_the_classic_client(emulator):
    """The client compares the string to sign in the message with its own and then blames the secret."""
    error = core_error(emulator.fnf(secret="wrong"), "ListFlows")

    assert (error.error_code, error.http_status) == ("InvalidAccessKeySecret", 400)


def test_an_unknown_key_is_not_found(emulator):
    """The gateway's code for a key that never was."""
    error = core_error(emulator.fnf(key="nobody"), "ListFlows")

    assert (error.error_code, error.http_status) == ("InvalidAccessKeyId.NotFound", 404)


def test_a_stale_date_is_expired(emulator, monkeypatch):
    """A clock more than fifteen minutes off is refused before the signature is looked at."""
    from aliyunsdkcore.auth.composer import rpc_signature_composer

    monkeypatch.setattr(rpc_signature_composer.helper, "get_iso_8061_date", lambda: "2020-01-01T00:00:00Z")

    error = core_error(emulator.fnf(), "ListFlows")

    assert (error.error_code, error.http_status) == ("InvalidTimeStamp.Expired", 400)


def test_a_tampered_parameter_breaks_the_signature(emulator):
    """What was signed is what counts."""
    from http.client import HTTPConnection

    fnf = emulator.fnf()
    request = fnf.request("DescribeFlow", Name="honest")
    endpoint = fnf.client._resolve_endpoint(request)
    signed = fnf.client._make_http_response(endpoint, request, 10, 10)
    target = signed.get_url().replace("honest", "tamper")

    connection = HTTPConnection("127.0.0.1", emulator.port, timeout=10)
    connection.request("GET", target)
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()

    assert "tamper" in target
    assert answer.status == 400
    assert told["Code"] == "SignatureDoesNotMatch"


def test_the_newer_client_raises_client_errors_with_the_code(emulator):
    """Codes arrive unchanged through the second SDK generation."""
    from alibabacloud_fnf20190315 import models
    from Tea.exceptions import TeaException

    with pytest.raises(TeaException) as wrong_secret:
        emulator.fnf_tea(secret="wrong").list_flows(models.ListFlowsRequest())
    with pytest.raises(TeaException) as missing:
        emulator.fnf_tea().describe_flow(models.DescribeFlowRequest(name="no-such-flow"))

    assert wrong_secret.value.code == "SignatureDoesNotMatch"
    assert missing.value.code == "FlowNotExists"


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"secret": "wrong"}, 403, "SignatureNotMatch"),
        ({"key": "nobody"}, 403, "InvalidAccessKeyID"),
    ],
    ids=["wrong secret", "unknown key"],
)
def test_function_compute_names_the_fault_in_its_own_words(emulator, given, status, code):
    """The classic FC client reads status and code of the JSON body."""
    import fc2

    with pytest.raises(fc2.fc_exceptions.FcError) as caught:
        emulator.fc2(**given).list_services()

    assert caught.value.status_code == status
    assert caught.value.err_code == code


def test_a_stale_date_is_too_skewed_for_function_compute(emulator, monkeypatch):
    """Fifteen minutes each way."""
    import fc2

    client = emulator.fc2()
    monkeypatch.setattr(type(client), "_build_common_headers", stale(type(client)._build_common_headers), raising=True)

    with pytest.raises(fc2.fc_exceptions.FcError) as caught:
        client.list_services()

    assert caught.value.status_code == 403
    assert caught.value.err_code == "RequestTimeTooSkewed"


def stale(original):
    def build(self, *args, **kwargs):
        headers = original(self, *args, **kwargs)
        headers["date"] = "Wed, 01 Jan 2020 00:00:00 GMT"
        return headers

    return build


@pytest.mark.parametrize(
    ("action", "parameters", "code", "status"),
    [
        ("DescribeFlow", {"Name": "absent"}, "FlowNotExists", 404),
        ("StartExecution", {"FlowName": "absent"}, "FlowNotExists", 404),
        (
            "CreateFlow",
            {"Name": "f", "Description": "", "Type": "FDL", "Definition": "steps: ["},
            "InvalidArgument",
            400,
        ),
        ("CreateFlow", {"Name": "1f", "Description": "", "Type": "FDL", "Definition": "x"}, "InvalidArgument", 400),
        ("DescribeFlow", {}, "MissingRequiredParams", 400),
    ],
)
def test_workflow_refusals(emulator, action, parameters, code, status):
    """Every refusal has the documented code and status."""
    error = core_error(emulator.fnf(), action, **parameters)

    assert (error.error_code, error.http_status) == (code, status)
    assert error.request_id


def test_an_unknown_action_is_refused_and_the_next_call_answered(emulator):
    """Through the generic request of the classic client."""
    from aliyunsdkcore.request import CommonRequest

    fnf = emulator.fnf()
    request = CommonRequest(domain=emulator.address, version="2019-03-15", action_name="MakeCoffee")

    with pytest.raises(ServerException) as caught:
        fnf.client.do_action_with_exception(request)

    assert caught.value.http_status in {400, 404}
    assert caught.value.error_code in {"ActionNotSupported", "InvalidAction.NotFound"}
    assert "Flows" in fnf.send("ListFlows")


def test_a_megabyte_of_input_is_too_large(emulator):
    """The request limit has a code of its own; nothing is started."""
    fnf = emulator.fnf()

    error = core_error(fnf, "StartExecution", FlowName="any", Input=json.dumps({"x": "y" * 1024 * 1024}))

    assert (error.error_code, error.http_status) == ("EntityTooLarge", 400)


@pytest.mark.parametrize(
    "path", ["/", "/_localyun/health", "/2016-08-15/services", "/queues", "/2023-03-30/functions", "/x"]
)
@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Sec_Fetch_Site": "cross-site"}],
    ids=["origin", "host", "sec-fetch-site"],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_web_pages_get_nothing_on_any_path(emulator, path, headers, method):
    """No CORS header, no body of a service: 403."""
    status, told, _ = emulator.get(path, method, b"" if method == "POST" else None, **headers)

    assert status == 403
    assert not [name for name in told if name.lower().startswith("access-control")]
