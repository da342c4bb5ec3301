"""Who gets in: links, cookies, other origins, forms without their token, frames."""

import http.client
import re
from hashlib import sha256
from urllib.parse import urlencode, urlsplit

import pytest

from emulator.console.front import Sessions
from emulator.kernel.clock import VirtualClock
from emulator.kernel.ids import CountingIds

ROOT = "/_localyun/console"


@pytest.fixture
def ask(localyun):
    """Send one request; return status, headers and body."""
    address = urlsplit(localyun.endpoint)

    def send(method, path, body=None, **headers):
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    return send


@pytest.fixture
def cookie(ask, localyun):
    """A session's cookie."""
    _, headers, _ = ask("GET", localyun.api.admin("POST", "console-link")["path"])
    return headers["Set-Cookie"].partition(";")[0]


def static(page):
    """The addresses of its scripts and styles."""
    return [part.partition('"')[0] for part in page.split('src="')[1:] + page.split('rel="stylesheet" href="')[1:]]


def token(page):
    """The token of a page's forms."""
    return page.partition('name="csrf" value="')[2].partition('"')[0]


def test_link_works_once_and_sets_a_cookie_that_scripts_cannot_read(ask, localyun):
    """A second use is refused; the cookie is HttpOnly and SameSite=Strict."""
    link = localyun.api.admin("POST", "console-link")["path"]

    first, headers, _ = ask("GET", link)
    second, again, _ = ask("GET", link)

    assert (first, second) == (303, 403)
    assert "HttpOnly" in headers["Set-Cookie"]
    assert "SameSite=Strict" in headers["Set-Cookie"]
    assert "Set-Cookie" not in again


@pytest.mark.parametrize(
    "target", ["//evil.example/", "https://evil.example/", "/\\evil.example", "/x%0d%0aSet-Cookie:a=b"]
)
def test_link_leads_nowhere_else(ask, localyun, target):
    """The page to begin with is one of the console."""
    link = localyun.api.admin("POST", "console-link")["path"]

    _, headers, _ = ask("GET", f"{link}&{urlencode({'to': target})}")

    assert (headers["Location"] or "").startswith(ROOT + "/")
    assert "a=b" not in (headers["Set-Cookie"] or "")


def test_without_a_cookie_nothing_is_shown(ask):
    """Pages, changes and posts need the cookie."""
    answers = [ask("GET", f"{ROOT}/")[0], ask("GET", f"{ROOT}/changes")[0], ask("POST", f"{ROOT}/clock", "next=1")[0]]

    assert answers == [401, 401, 401]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Referer": "http://evil.example/page"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
def test_other_origins_are_refused(ask, cookie, headers):
    """A page of another origin gets nothing, even with the cookie."""
    assert ask("GET", f"{ROOT}/", None, Cookie=cookie, **headers)[0] == 403


def test_pages_refuse_frames_and_scripts_of_others(ask, cookie):
    """The policy allows the console's own files only, and no frame."""
    status, headers, page = ask("GET", f"{ROOT}/", None, Cookie=cookie)

    assert status == 200
    assert headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "<script>" not in page
    assert "Access-Control-Allow-Origin" not in headers


def test_posts_need_the_token_of_their_session(ask, cookie, localyun):
    """Without the token, or with another session's, nothing is done."""
    _, headers, _ = ask("GET", localyun.api.admin("POST", "console-link")["path"])
    other = token(ask("GET", f"{ROOT}/clock", None, Cookie=headers["Set-Cookie"].partition(";")[0])[2])
    own = token(ask("GET", f"{ROOT}/clock", None, Cookie=cookie)[2])
    form = {"Content_Type": "application/x-www-form-urlencoded", "Cookie": cookie}

    answers = [
        ask("POST", f"{ROOT}/clock", urlencode({"freeze": "no", **more}), **form)[0]
        for more in ({}, {"csrf": "x"}, {"csrf": other}, {"csrf": own})
    ]

    assert answers == [403, 403, 403, 303]


def test_link_works_for_a_minute_and_no_longer():
    """By the clock of the machine, which the emulator's is not."""
    clock = VirtualClock()
    sessions = Sessions(clock, CountingIds(), 8868)
    links = [sessions.new_link() for _ in range(2)]

    clock.move_to(clock.now() + 59_999)
    in_time = sessions.enter(links[0])
    clock.move_to(clock.now() + 1)
    too_late = sessions.enter(links[1])

    assert in_time is not None
    assert too_late is None
    assert sessions.is_open(f"{sessions.cookie_name}={in_time[0]}") == in_time[0]


def test_first_page_is_small(ask, cookie):
    """The first visit takes less than 150 kB, with scripts and styles."""
    _, _, page = ask("GET", f"{ROOT}/", None, Cookie=cookie)
    names = static(page)

    total = len(page) + sum(len(ask("GET", name)[2]) for name in names)

    assert len(names) == 4
    assert total < 150_000


def test_scripts_and_styles_are_kept_by_the_browser_until_they_change(ask, cookie):
    """Their addresses have a digest of what is in them; under one of something else they are asked for again."""
    pages = [ask("GET", f"{ROOT}{path}", None, Cookie=cookie)[2] for path in ("/", "/histories")]
    names = {name for page in pages for name in static(page)}

    kept = {ask("GET", name)[1]["Cache-Control"] for name in names}
    others = {
        ask("GET", other)[1]["Cache-Control"]
        for name in names
        for other in (name.partition("?")[0], f"{name}0", name.partition("?v=")[0] + "?v=0123456789abcdef")
    }

    digests = [sha256(ask("GET", name)[2].encode()).hexdigest() for name in names]
    assert all(digest.startswith(name.partition("?v=")[2]) for name, digest in zip(names, digests, strict=True))
    assert kept == {"max-age=31536000"}
    assert others == {"no-cache"}
    assert ask("GET", f"{ROOT}/static/no.js?v=0")[0] == 404


@pytest.mark.parametrize("path", ["/", "/queues", "/functions", "/requests", "/clock", "/no/such/page"])
def test_every_page_tells_that_the_clock_was_moved(ask, cookie, localyun, path):
    """A day ahead is easily forgotten; nothing is said of a clock that nobody has touched."""
    before = ask("GET", f"{ROOT}{path}", None, Cookie=cookie)[2]
    saved = localyun.checkpoint("clock")
    try:
        localyun.clock.advance("1d")
        moved = ask("GET", f"{ROOT}{path}", None, Cookie=cookie)[2]
        localyun.clock.freeze()
        frozen = ask("GET", f"{ROOT}{path}", None, Cookie=cookie, HX_Request="true")[2]
    finally:
        saved.restore()

    assert "ahead of this machine" not in before
    told = re.search("The clock is (.*) ahead of this machine.", moved)
    assert told is not None
    assert told[1] in {"1d00h", "23h59m"}  # an advance of a day takes a moment of the machine's
    assert "The clock is frozen at " in frozen
