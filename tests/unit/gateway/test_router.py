"""The choice of a service."""

import pytest

from emulator.gateway.hosts import normalise
from emulator.gateway.router import choose
from emulator.http.message import Headers, Request


def route(target="/", method="GET", host="127.0.0.1", body=b"", **headers):
    pairs = [("Host", host)] + [(name.replace("_", "-"), value) for name, value in headers.items()]
    request = Request(method, target, Headers(pairs), body)
    return choose(request, normalise(host), loopback=host == "127.0.0.1").front


FORM = {"Content_Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("front", "arguments"),
    [
        ("admin", {"target": "/_localyun/health"}),
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
