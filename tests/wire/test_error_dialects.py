"""A refused request is answered in the form of the service it was meant for."""

import re
from pathlib import Path

import pytest

from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis, VirtualClock
from emulator.kernel.errors import AuthFailure, Reason, ServiceError
from emulator.kernel.identity import Region
from emulator.kernel.ids import CountingIds, RandomIds
from emulator.kernel.timers import VirtualTimers
from emulator.oss.front import OssFront
from emulator.oss.service import SCHEMA as OSS_SCHEMA
from emulator.oss.service import LazyStorage
from emulator.services.mns.front import MnsFront
from emulator.services.mns.service import SCHEMA, MessageService
from emulator.storage.database import Database
from emulator.storage.migration import migrate
from emulator.wire.request import OperationRequest
from emulator.wire.xml import parse

NOW = Millis(0x6AB5CE46 * 1000)


_databases = []


@pytest.fixture(autouse=True)
def closed_databases():
    yield
    while _databases:
        _databases.pop().close()


def oss_front(ids):
    database = Database(None)
    _databases.append(database)
    migrate(database, [OSS_SCHEMA])
    return OssFront(ids, LazyStorage(database, Path("nowhere"), ids, home=Region("cn-hangzhou"), sync=False))


def mns_front(ids):
    database = Database(None)
    _databases.append(database)
    migrate(database, [SCHEMA])
    clock = VirtualClock()
    return MnsFront(MessageService(database, clock, ids, VirtualTimers(clock)), ids)


def a_context(front, method="GET", target="/queues", headers=()):
    context = OperationRequest(Request(method, target, Headers(headers)), NOW)
    context.host = "123.mns.cn-shanghai.aliyuncs.com"
    context.request_id = front.new_request_id(context)
    return context


VERSIONED = [("Host", "123.mns.cn-shanghai.aliyuncs.com"), ("x-mns-version", "2015-06-06")]


def test_mns_error_document_is_the_recorded_one():
    """Layout, namespace, headers and their letters are what the live service sends."""
    front = mns_front(CountingIds())
    context = a_context(front, headers=VERSIONED)

    answer = front.render_error(front.auth_error(AuthFailure(Reason.UNKNOWN_KEY), context), context)

    assert answer.status == 403
    assert answer.body.decode() == (
        '<?xml version="1.0" ?>\n'
        '<Error xmlns="http://mns.aliyuncs.com/doc/v1">\n'
        "  <Code>InvalidAccessKeyId</Code>\n"
        "  <Message>The AccessKey Id you provided is not exist.</Message>\n"
        "  <RequestId>6AB5CE460000000000000001</RequestId>\n"
        "  <HostId>http://123.mns.cn-shanghai.aliyuncs.com</HostId>\n"
        "</Error>"
    )
    assert ("Content-Type", "text/xml;charset=utf-8") in answer.headers
    assert ("x-mns-request-id", "6AB5CE460000000000000001") in answer.headers
    assert ("x-mns-version", "2015-06-06") in answer.headers


@pytest.mark.parametrize(
    ("reason", "status", "code"),
    [
        (Reason.MISSING_AUTHORIZATION, 400, "MissingAuthorizationHeader"),
        (Reason.MALFORMED_AUTHORIZATION, 400, "InvalidAuthorizationHeader"),
        (Reason.MISSING_DATE, 400, "MissingDateHeader"),
        (Reason.BAD_DATE, 400, "InvalidDateHeader"),
        (Reason.SKEWED_DATE, 408, "TimeExpired"),
        (Reason.SIGNATURE_DIFFERS, 403, "SignatureDoesNotMatch"),
        (Reason.MISSING_TOKEN, 403, "AccessDenied"),
        (Reason.BAD_TOKEN, 403, "InvalidSecurityToken"),
        (Reason.TOKEN_EXPIRED, 403, "SecurityTokenExpired"),
        (Reason.FOREIGN_ACCOUNT, 403, "AccessDenied"),
    ],
)
def test_mns_codes(reason, status, code):
    """Each reason has the code of the service's table."""
    front = mns_front(CountingIds())

    error = front.auth_error(AuthFailure(reason), a_context(front, headers=VERSIONED))

    assert (error.http_status, error.code) == (status, code)


@pytest.mark.parametrize("reason", list(Reason), ids=lambda reason: reason.name)
@pytest.mark.parametrize("make", [mns_front, oss_front], ids=["mns", "oss"])
def test_every_reason_is_answered(make, reason):
    """No reason ends in an error of the emulator's own, or without text."""
    front = make(RandomIds())
    context = a_context(front, headers=VERSIONED)

    error = front.auth_error(AuthFailure(reason, detail="d"), context)
    root = parse(front.render_error(error, context).body)

    assert 400 <= error.http_status < 500
    assert all(root.text_of(name) for name in ("Code", "Message", "RequestId", "HostId"))


@pytest.mark.parametrize(
    ("target", "headers", "code"),
    [
        ("/nothing", VERSIONED, "InvalidRequestURL"),
        ("/queues/a/b", VERSIONED, "InvalidRequestURL"),
        ("/queues", [], "MissingVersionHeader"),
        ("/queues", [("x-mns-version", "2014-01-01")], "InvalidVersionHeader"),
        ("/topics/t/subscriptions/s", VERSIONED, "ActionNotSupported"),
    ],
)
def test_mns_looks_at_url_and_version(target, headers, code):
    """URL and version are checked, also before a failed signature is reported."""
    front = mns_front(CountingIds())
    context = a_context(front, target=target, headers=headers)

    with pytest.raises(ServiceError) as caught:
        front.handle(context)

    assert (caught.value.code, caught.value.http_status) == (code, 400)
    if code != "ActionNotSupported":
        assert front.auth_error(AuthFailure(Reason.SIGNATURE_DIFFERS), context).code == code


def test_mns_host_id_of_a_client_that_sends_a_scheme():
    """A Host header with a scheme in it is not given a second one."""
    front = mns_front(CountingIds())
    context = a_context(front, headers=[("Host", "http://127.0.0.1:8868")])

    answer = front.render_error(front.too_large(10), context)

    assert parse(answer.body).text_of("HostId") == "http://127.0.0.1:8868"


def test_oss_wrong_signature_shows_what_was_signed():
    """Key id, signature, string and its bytes stand in the answer, as the real service does it."""
    front = oss_front(CountingIds())
    context = a_context(front, target="/b/k", headers=[("Authorization", "OSS key-id:abc=")])
    failure = AuthFailure(Reason.SIGNATURE_DIFFERS, string_to_sign="GET\n<é>", canonical_request="GET\n/b/k")

    answer = front.render_error(front.auth_error(failure, context), context)
    root = parse(answer.body)

    assert answer.status == 403
    assert answer.header("Content-Type") == "application/xml"
    assert answer.header("x-oss-request-id") == root.text_of("RequestId") == "6AB5CE460000000000000001"
    assert root.text_of("OSSAccessKeyId") == "key-id"
    assert root.text_of("SignatureProvided") == "abc="
    assert root.text_of("StringToSign") == "GET\n<é>"
    assert root.text_of("StringToSignBytes") == "47 45 54 0A 3C C3 A9 3E"
    assert root.text_of("CanonicalRequest") == "GET\n/b/k"
    assert re.fullmatch(r"\d{4}-\d{8}", root.text_of("EC"))


@pytest.mark.parametrize(
    ("target", "authorization", "expected"),
    [
        ("/b/k", "OSS2 AccessKeyId:a,Signature:s=", ("a", "s=")),
        ("/b/k", "OSS4-HMAC-SHA256 Credential=a/20261118/r/oss/aliyun_v4_request, Signature=00", ("a", "00")),
        ("/b/k", "OSS broken", ("broken", "")),
        ("/b/k?OSSAccessKeyId=a&Signature=s%3D", "", ("a", "s=")),
        ("/b/k?x-oss-credential=a%2F2026&x-oss-signature=00", "", ("a", "00")),
        ("/b/k", "Nonsense", ("", "")),
    ],
)
def test_oss_shows_the_signature_of_every_form(target, authorization, expected):
    """Key id and signature are found wherever the scheme puts them."""
    front = oss_front(CountingIds())
    context = a_context(front, target=target, headers=[("Authorization", authorization)] if authorization else [])

    error = front.auth_error(AuthFailure(Reason.SIGNATURE_DIFFERS), context)

    assert (error.fields["key_id"], error.fields["signature"]) == expected


@pytest.mark.parametrize(
    ("reason", "status", "code"),
    [
        (Reason.MISSING_AUTHORIZATION, 403, "AccessDenied"),
        (Reason.MALFORMED_AUTHORIZATION, 400, "InvalidArgument"),
        (Reason.MISSING_DATE, 403, "AccessDenied"),
        (Reason.SKEWED_DATE, 403, "RequestTimeTooSkewed"),
        (Reason.UNKNOWN_KEY, 403, "InvalidAccessKeyId"),
        (Reason.MISSING_TOKEN, 403, "InvalidAccessKeyId"),
        (Reason.TOKEN_EXPIRED, 403, "SecurityTokenExpired"),
        (Reason.URL_EXPIRED, 403, "AccessDenied"),
    ],
)
def test_oss_codes(reason, status, code):
    """Each reason has the code of the service's table."""
    front = oss_front(CountingIds())

    error = front.auth_error(AuthFailure(reason), a_context(front))

    assert (error.http_status, error.code) == (status, code)


async def test_oss_tells_which_operation_is_not_served():
    """A signed request gets a clear answer, with a status that no client retries."""
    front = oss_front(CountingIds())

    with pytest.raises(ServiceError) as caught:
        await front.handle(a_context(front, "PUT", "/b?replication"))
    error = caught.value

    assert (error.code, error.http_status) == ("OperationNotSupported", 400)
    assert "PUT ?replication" in error.message
    assert not front.allows_anonymous(a_context(front))
    assert front.too_large(5).code == "EntityTooLarge"
