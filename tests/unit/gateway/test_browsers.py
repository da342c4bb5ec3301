"""Which requests come from web browsers, and what keeps pages of functions apart from the console."""

import pytest

from emulator.gateway.browsers import SANDBOX, browser_trace, is_console_host, set_apart
from emulator.http.message import Headers, Request, Response

CHROMIUM = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"


def request(*, method="GET", **headers):
    pairs = [("Host", "127.0.0.1:8868"), *((name.replace("_", "-"), value) for name, value in headers.items())]
    return Request(method, "/", Headers(pairs))


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.com"},
        {"Origin": "http://127.0.0.1:8868"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Referer": "http://evil.com/page"},
        {"Referer": "http://127.0.0.1:3000/page"},
        {"Referer": "https://127.0.0.1:8868/page"},
        {"Referer": "http://[bad"},
    ],
    ids=str,
)
def test_a_web_pages_request_is_recognised(headers):
    """No official client sends these headers."""
    assert browser_trace(request(**headers)) is not None


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec_Fetch_Site": "none"},
        {"Sec_Fetch_Site": "same-origin"},
        {"Referer": "http://127.0.0.1:8868/_localyun/"},
        {"Upgrade": "websocket", "Origin": "http://127.0.0.1:8868"},
    ],
    ids=str,
)
def test_clients_and_typed_addresses_pass(headers):
    """The websocket client's own Origin is its target."""
    assert browser_trace(request(**headers)) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"User_Agent": CHROMIUM, "Accept": "*/*"},
        {"Sec_Fetch_Site": "none", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"},
        {"Sec_Fetch_Dest": "serviceworker"},
        {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
        {"User_Agent": CHROMIUM, "Authorization": "anything"},
    ],
    ids=str,
)
def test_answers_to_browsers_give_pages_an_origin_of_their_own(headers):
    """Of whatever kind the request is: what is fetched may be kept and shown later. The answer's own policy stays."""
    own = ("Content-Security-Policy", "img-src 'none'")
    answer = Response(200, b"<script>", [own])

    set_apart(answer, "127.0.0.1")

    assert request(**headers).is_of_browser
    assert answer.headers == [own, ("Content-Security-Policy", SANDBOX)]
    assert "allow-same-origin" not in SANDBOX


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"User_Agent": "python-requests/2.32.3", "Accept": "*/*"},
        {"User_Agent": "AlibabaCloud API Workbench", "Accept": "application/json"},
        {"User_Agent": "node", "Accept": "*/*", "Sec_Fetch_Mode": "cors"},
        {
            "User_Agent": "Java/17.0.2",
            "Accept": "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
            "Authorization": "FC id:signature",
        },
    ],
    ids=str,
)
def test_sdks_see_answers_as_they_are(headers):
    """Node.js's fetch says how it fetches, Java's client asks for pages."""
    assert not request(**headers).is_of_browser


def test_names_of_a_function_s_own_keep_their_origin():
    """The console is not reached by them."""
    machine = ["localhost", "127.0.0.1", "127.1.2.3", "::1"]
    others = ["hello.fc.localhost", "shop.localhost", "cn-shanghai.region.localhost", "shop.example", "192.168.1.2", ""]

    assert [each for each in machine + others if is_console_host(each)] == machine
    for host in others:
        answer = Response(200, b"")
        set_apart(answer, host)
        assert answer.headers == []
