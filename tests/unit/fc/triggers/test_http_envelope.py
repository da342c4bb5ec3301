"""Requests as events of 3.0, and results as answers."""

import json
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.services.fc.errors import BadResponse
from emulator.services.fc.invoke.invoking import FunctionCall
from emulator.services.fc.runtime.model import HttpCall
from emulator.services.fc.triggers.http_envelope import canonical, is_text, read_result, render_event


def rendered(headers=(), body=b"Hello FC!"):
    """The event for a request."""
    http = HttpCall(
        method="POST",
        path="/example x",
        request_uri="/example%20x?p1=v1&p2=v1&p2=v2&flag",
        base_path="",
        client_ip="1.2.3.4",
        host="id.cn-hangzhou.fcapp.run:80",
        headers=headers,
    )
    call = FunctionCall(
        service="", function="f", qualifier=None, event=body, request_id="1-64f6cd87-x", now=1693896071895, http=http
    )
    return json.loads(render_event(call, "123", "id.cn-hangzhou.fcapp.run"))


def test_event_is_the_one_of_the_reference():
    """Every member, with its type."""
    assert rendered((("header1", "v1"), ("HEADER2", "v1"), ("header2", "v2"), ("user-agent", "curl/8"))) == {
        "version": "v1",
        "rawPath": "/example%20x",
        "body": "Hello FC!",
        "isBase64Encoded": False,
        "headers": {"Header1": "v1", "Header2": "v1,v2", "User-Agent": "curl/8"},
        "queryParameters": {"p1": "v1", "p2": "v1,v2", "flag": ""},
        "requestContext": {
            "accountId": "123",
            "domainName": "id.cn-hangzhou.fcapp.run",
            "domainPrefix": "id",
            "http": {
                "method": "POST",
                "path": "/example x",
                "protocol": "HTTP/1.1",
                "sourceIp": "1.2.3.4",
                "userAgent": "curl/8",
            },
            "requestId": "1-64f6cd87-x",
            "time": "2023-09-05T06:41:11Z",
            "timeEpoch": "1693896071895",
        },
    }


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("text/html; charset=utf-8", True),
        ("application/json", True),
        ("application/vnd.api+json", True),
        ("application/x-www-form-urlencoded", True),
        ("application/javascript", True),
        ("image/svg+xml", True),
        ("image/png", False),
        ("application/octet-stream", False),
        ("multipart/form-data; boundary=x", False),
    ],
)
def test_content_type_decides_about_base64(kind, text):
    """Text goes in as it is, anything else in base64."""
    event = rendered((("content-type", kind),))

    assert is_text(kind) is text
    assert event["isBase64Encoded"] is not text
    assert event["body"] == ("Hello FC!" if text else b64encode(b"Hello FC!").decode())


def test_text_that_is_none_keeps_its_bytes():
    """A body that is called text and is no UTF-8 goes in base64."""
    event = rendered((("content-type", "text/plain"),), b"\xff\x00")

    assert (event["isBase64Encoded"], event["body"]) == (True, "/wA=")


@pytest.mark.parametrize(
    ("result", "status", "headers", "body"),
    [
        (b'{"statusCode": 404, "headers": {"X-A": "1"}, "body": "no"}', 404, {"X-A": "1"}, b"no"),
        (b'{"statusCode": "302", "headers": {"Location": "/"}}', 302, {"Location": "/"}, b""),
        (b'{"statusCode": 200, "isBase64Encoded": true, "body": "AAE="}', 200, {}, b"\x00\x01"),
        (b'{"statusCode": 200, "isBase64Encoded": false, "body": "AAE="}', 200, {}, b"AAE="),
        (b'{"statusCode": 200, "body": {"a": [1]}}', 200, {"Content-Type": "application/json"}, b'{"a": [1]}'),
        (b'{"statusCode": 200, "headers": {"content-type": "a/b"}, "body": "x"}', 200, {"content-type": "a/b"}, b"x"),
        (b'{"a": 1}', 200, {"Content-Type": "application/json"}, b'{"a": 1}'),
        (b"[1]", 200, {"Content-Type": "application/json"}, b"[1]"),
        (b"plain", 200, {"Content-Type": "text/plain; charset=utf-8"}, b"plain"),
        (b"\xff\xfe", 200, {"Content-Type": "application/octet-stream"}, b"\xff\xfe"),
        (b"", 200, {"Content-Type": "text/plain; charset=utf-8"}, b""),
    ],
)
def test_result_becomes_an_answer(result, status, headers, body):
    """An envelope is taken apart; other JSON and other bytes are the body."""
    answered = read_result(result)

    assert (answered.http.status, answered.body) == (status, body)
    assert headers.items() <= dict(answered.http.headers).items()


@pytest.mark.parametrize(
    "envelope",
    [
        {"statusCode": "teapot"},
        {"statusCode": None},
        {"statusCode": True},
        {"statusCode": "9" * 5000},
        {"statusCode": 200, "headers": ["a"]},
        {"statusCode": 200, "isBase64Encoded": True, "body": "!"},
    ],
)
def test_envelope_with_broken_parts_is_a_bad_response(envelope):
    """What cannot be passed on is told as the function's doing."""
    with pytest.raises(BadResponse):
        read_result(json.dumps(envelope).encode())


@given(st.binary(max_size=200))
def test_any_result_is_an_answer_or_a_bad_response(result):
    """Nothing a function returns breaks the gateway."""
    try:
        assert isinstance(read_result(result).body, bytes)
    except BadResponse:
        assert b"statusCode" in result


def test_header_names_are_spelled_as_the_platform_does():
    """Each word begins with a capital."""
    assert canonical("x-FC-request-iD") == "X-Fc-Request-Id"
