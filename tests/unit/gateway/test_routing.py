"""The choice of a service."""

import pytest

from emulator.auth.authenticator import scheme_of
from emulator.gateway.entrance import choose
from emulator.gateway.hosts import normalise
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.wire.request import OperationRequest


def route(target="/", method="GET", host="127.0.0.1", body=b"", **headers):
    pairs = [("Host", host)] + [(name.replace("_", "-"), value) for name, value in headers.items()]
    request = Request(method, target, Headers(pairs), body)
    call = OperationRequest(request, Millis(0))
    call.host = normalise(host)
    call.scheme = scheme_of(request)
    return choose(call, loopback=host == "127.0.0.1").front


FORM = {"Content_Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("front", "arguments"),
    [
        ("admin", {"target": "/_localyun/health"}),
        ("deployments", {"target": "/_localyun/deployments/shop", "Authorization": "FC ak:sig"}),
        ("mns", {"target": "/queues/q/messages", "Authorization": "MNS ak:sig"}),
        ("mns", {"target": "/queues/q", "Authorization": "MNS4-HMAC-SHA256 Credential=x"}),
        ("fc", {"target": "/2016-08-15/services", "Authorization": "FC ak:sig"}),
        ("fc", {"target": "/2016-08-15/proxy/s/f/?x-fc-signature=abc"}),
        ("oss", {"target": "/bucket/key", "Authorization": "OSS ak:sig"}),
        ("oss", {"target": "/bucket/key?OSSAccessKeyId=a&Signature=b&Expires=1"}),
        (
            "fc",
            {"target": "/2023-03-30/functions", "Authorization": "ACS3-HMAC-SHA256 x", "x_acs_version": "2023-03-30"},
        ),
        ("mns-open", {"Authorization": "ACS3-HMAC-SHA256 x", "x_acs_version": "2022-01-19"}),
        ("sts", {"Authorization": "acs ak:sig", "x_acs_version": "2015-04-01"}),
        ("fnf", {"target": "/?Action=ListFlows&Version=2019-03-15"}),
        ("fnf", {"method": "POST", "body": b"Action=ListFlows&Version=2019-03-15", **FORM}),
        ("rpc", {"target": "/?Action=ListFlows&Version=1999-01-01"}),
        ("fnf", {"target": "/?Action=ListFlows&Version=1999-01-01", "host": "cn-hangzhou.fnf.aliyuncs.com"}),
        ("rpc", {"target": "/?Action=ListFlows&Version=1999-01-01", "host": "123.mns.cn-hangzhou.aliyuncs.com"}),
        ("fnf", {"target": "/?Version=2019-03-15&AccessKeyId=a&Signature=b"}),
        ("rpc", {"target": "/?Action=ListFlows&AccessKeyId=a&Signature=b"}),
        ("rpc", {"method": "POST", "body": b"AccessKeyId=a&Signature=b", **FORM}),
        ("fc", {"target": "/?AccessKeyId=a&Signature=b", "host": "f-abc.cn-hangzhou.fcapp.run"}),
        ("", {"target": "/x?AccessKeyId=a&Signature=b"}),
        ("mns", {"target": "/anything", "host": "123.mns.cn-hangzhou.aliyuncs.com"}),
        ("fc", {"target": "/", "host": "f-abc.cn-hangzhou.fcapp.run"}),
        ("fc", {"target": "/2021-04-06/services"}),
        ("mns", {"target": "/queues"}),
        ("mns", {"target": "/topics/t"}),
        ("mns", {"target": "/?accountmeta=true"}),
        ("oss", {"target": "/key", "host": "bucket.oss-cn-hangzhou.aliyuncs.com"}),
        ("", {"target": "/favicon.ico"}),
        ("", {"target": "/_localyun/health", "host": "x.aliyuncs.com"}),
    ],
    ids=str,
)
def test_first_match_wins(front, arguments):
    """Signature scheme, then version, then host, then path."""
    assert route(**arguments) == front


@pytest.mark.parametrize("prefix", ["/2016-08-15/proxy/s/f", "/2021-04-06/proxy/s/f", "/2023-03-30/proxy/f"])
def test_everything_below_a_trigger_is_the_functions(prefix):
    """A query that looks like another service's call stays a query of the function."""
    assert route(f"{prefix}/x?Action=ListFlows&Version=2019-03-15") == "fc"


def test_host_that_belongs_to_a_front_is_for_it_whatever_the_request_looks_like():
    """Only the emulator's own pages on loopback names come before."""

    def owned(target, *, loopback=False, console=True, owner="fc", **headers):
        pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
        request = Request("GET", target, Headers([("Host", "shop.example"), *pairs]))
        call = OperationRequest(request, Millis(0))
        call.host = "shop.example"
        return choose(call, loopback=loopback, console=console, owner=owner).front

    assert owned("/queues", Authorization="MNS ak:sig") == "fc"
    assert owned("/?Action=ListFlows&Version=2019-03-15") == "fc"
    assert owned("/_localyun/health") == "fc"
    assert owned("/_localyun/health", loopback=True) == "admin"
    assert owned("/_localyun/console/", loopback=True) == "console"
    assert owned("/_localyun/console/", loopback=True, console=False) == ""
    assert owned("/_localyun/", loopback=True, console=False) == ""
    assert owned("/", Accept="text/html", loopback=True, owner="") == "console"
    assert owned("/", Accept="text/html", loopback=True, console=False) == "fc"
