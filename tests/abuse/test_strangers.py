"""Web pages that reach for the emulator: by a name of their own that leads to loopback, or from another origin.

Every service, path and method is refused before anything looks at the request, and nothing is changed.
"""

import http.client
import json

import pytest

SERVICES = {
    "health": ("GET", "/_localyun/health", {}),
    "admin": ("POST", "/_localyun/reset", {"Content-Type": "application/json"}),
    "page": ("GET", "/_localyun/", {}),
    "code": ("GET", "/_localyun/code/x", {}),
    "certificate": ("GET", "/_localyun/mns/signing-cert.pem", {}),
    "functions 2016": ("GET", "/2016-08-15/services", {"Authorization": "FC k:s"}),
    "functions 2021": ("POST", "/2021-04-06/services", {"Authorization": "acs k:s"}),
    "functions 2023": ("PUT", "/2023-03-30/functions/echo", {"x-acs-version": "2023-03-30"}),
    "invocation": ("POST", "/2023-03-30/functions/echo/invocations", {}),
    "trigger": ("GET", "/2016-08-15/proxy/s/f/", {}),
    "queues": ("GET", "/queues", {"Authorization": "MNS k:s"}),
    "message": ("POST", "/queues/q/messages", {"x-mns-version": "2015-06-06"}),
    "topics": ("DELETE", "/topics/t", {}),
    "flows": ("POST", "/?Action=ListFlows&Version=2019-03-15", {}),
    "tokens": ("GET", "/?Action=GetCallerIdentity&Version=2015-04-01", {}),
    "queue management": ("POST", "/?Action=ListQueue&Version=2022-01-19", {}),
    "objects": ("PUT", "/bucket/key", {"Authorization": "OSS k:s"}),
    "nothing": ("GET", "/favicon.ico", {}),
}

REBOUND = [
    "evil.example", "evil.example:8868", "127.0.0.1.evil.example", "localhost.evil.example",
    "aliyuncs.com.evil.example", "evilaliyuncs.com", "127.0.0.1.nip.io", "10.0.0.1", "169.254.169.254", "0.0.0.0",
    "[::2]", "2130706433", "0x7f000001",
    "x", "", "localhost@evil.example", "evil.example#localhost", "127.0.0.1,evil.example",
]  # fmt: skip

TRACES = {
    "origin": {"Origin": "http://evil.example"},
    "no origin": {"Origin": "null"},
    "origin of a neighbour": {"Origin": "http://localhost:3000"},
    "cross-site": {"Sec-Fetch-Site": "cross-site"},
    "same-site": {"Sec-Fetch-Site": "same-site"},
    "referer": {"Referer": "http://evil.example/page"},
    "preflight": {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"},
}

METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]


def ask(victim, method, target, headers, host):
    """Send one request with this Host header; return (status, headers, body)."""
    connection = http.client.HTTPConnection("127.0.0.1", victim.port, timeout=20)
    try:
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": host, **headers}.items():
            connection.putheader(name, value)
        connection.endheaders(b"")
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def refused(status, headers, body, method):
    """Tell whether this is the gateway's refusal, with nothing in it that lets a page read it."""
    assert not [name for name in headers if name.startswith("access-control-")]
    if method == "HEAD":
        return status == 403
    return status == 403 and json.loads(body)["Code"] in {"ForbiddenHost", "ForbiddenOrigin"}


@pytest.mark.parametrize("host", REBOUND)
def test_a_foreign_name_reaches_no_service(victim, host):
    """DNS rebinding: the name in the Host field is the page's own, wherever it leads."""
    for method, target, headers in SERVICES.values():
        status, fields, body = ask(victim, method, target, headers, host)

        assert refused(status, fields, body, method), (target, status, body)


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("method", METHODS)
def test_another_origin_reaches_no_service(victim, trace, method):
    """Cross-site requests, simple ones and preflights: refused on every path, with every method."""
    for _, target, headers in SERVICES.values():
        if target.startswith("/2016-08-15/proxy/"):
            continue  # an anonymous trigger is open to pages; the next test
        status, fields, body = ask(victim, method, target, {**headers, **TRACES[trace]}, "localhost")

        assert refused(status, fields, body, method), (target, status, body)


def test_a_trigger_that_is_not_open_is_closed_to_pages_too(victim):
    """Without an anonymous HTTP trigger a proxy path is a path like any other."""
    for trace in TRACES.values():
        status, fields, body = ask(victim, "GET", "/2016-08-15/proxy/s/f/", trace, "localhost")

        assert refused(status, fields, body, "GET")


@pytest.mark.parametrize("target", ["http://evil.example/_localyun/health", "http://evil.example:80/queues"])
def test_the_name_in_a_whole_url_counts(victim, target):
    """A request in absolute form is for the host in its target, not for the one in the field."""
    told = victim.exchange(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())

    assert told.startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("target", ["evil.example:443", "127.0.0.1:22", "169.254.169.254:80"])
def test_the_http_port_is_no_proxy(victim, target):
    """CONNECT opens no way to anywhere."""
    told = victim.exchange(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())

    assert not told.startswith(b"HTTP/1.1 2")
    assert told.count(b"HTTP/1.1 ") == 1


def test_a_form_of_a_page_without_traces_still_needs_a_signature(victim):
    """Old browsers name no origin; what they can send is unsigned and refused by the service."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    told = [
        ask(victim, "POST", target, form, "localhost")[0]
        for target in ("/_localyun/reset", "/queues/q/messages", "/2023-03-30/functions")
    ]

    assert all(400 <= status < 500 for status in told)
    assert victim.is_well()
