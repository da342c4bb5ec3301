"""Which language the console's pages have, and those that no session may see."""

import pytest

from emulator.console.app import COMING
from emulator.console.front import _page, _words
from emulator.console.language import COOKIE, chosen
from emulator.http.message import Headers, Request
from emulator.kernel.instrumentation import parted


@pytest.mark.parametrize(
    ("cookies", "accepted", "language"),
    [
        ("", "", "en"),
        ("", "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("", "en;q=0.2, zh;q=0.9", "zh"),
        ("", "fr, de;q=0.9", "en"),
        ("", "zh;q=0", "en"),
        ("", "zh;q=much, en", "en"),
        (f"a=b; {COOKIE}=zh", "en", "zh"),
        (f"{COOKIE}=en", "zh", "en"),
        (f"{COOKIE}=xx", "zh", "zh"),
    ],
)
def test_language_is_that_of_the_cookie_or_the_one_liked_best(cookies: str, accepted: str, language: str) -> None:
    """The country does not matter, nor does a weight that is no number."""
    assert chosen(cookies, accepted) == language


def test_page_of_a_refusal_speaks_the_browsers_language() -> None:
    """Its text and what it says of its language."""
    request = Request("GET", "/", Headers([("accept-language", "zh-CN")]))

    page = _page(403, "title", _words(request)("Refused"), request)

    body = page.body
    assert isinstance(body, bytes)
    assert '<html lang="zh">' in body.decode()
    assert "已拒绝" in body.decode()


def test_kind_of_what_comes_is_the_whole_of_its_words():
    """Not the shorter one that it begins with."""
    assert parted("next attempt at", COMING) == ("next attempt at", "")
    assert parted("next", COMING) == ("next", "")
    assert parted("schedule nightly", COMING) == ("schedule", " nightly")
