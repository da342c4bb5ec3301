"""Which route a path takes, what it is rewritten to, and that searches with foreign expressions end."""

import re
import signal
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.kernel import system
from emulator.services.fc.catalog.domain_fields import wildcard
from emulator.services.fc.triggers.http_routing import SearchTooLong, best_route, rewritten, search

needs_alarm = pytest.mark.skipif(not system.ALARMS, reason="this system has no alarms")


def routes(*paths):
    """Routes for *paths*, each to a function of that name."""
    return [{"path": path, "functionName": path} for path in paths]


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("/", "/*"),
        ("/x", "/*"),
        ("/api", "/api"),
        ("/api/", "/api/*"),
        ("/api/x", "/api/*"),
        ("/api/v2/x", "/api/v2/*"),
        ("/api/v2", "/api/v2/*"),
        ("/apiary", "/*"),
        ("/logo.png", "/logo*"),
    ],
)
def test_exact_path_beats_wildcards_and_longer_prefixes_beat_shorter_ones(path, taken):
    """The order of the routes does not matter."""
    table = routes("/*", "/api", "/api/*", "/api/v2/*", "/logo*")

    for order in (table, table[::-1]):
        route = best_route(order, "GET", path)
        assert route is not None
        assert route["functionName"] == taken


def test_path_without_a_route_and_method_outside_of_one_find_nothing():
    """An empty list of methods means all of them."""
    table = [
        {"path": "/a", "functionName": "f", "methods": ["GET"]},
        {"path": "/b", "functionName": "g", "methods": []},
    ]

    assert best_route(table, "GET", "/a") is table[0]
    assert best_route(table, "POST", "/a") is None
    assert best_route(table, "DELETE", "/b") is table[1]
    assert best_route(table, "GET", "/a/b") is None


@pytest.mark.parametrize(
    ("config", "path", "query", "result"),
    [
        ({}, "/a%20b", None, "/a%20b"),
        ({}, "/a", "x=1", "/a?x=1"),
        ({"equalRules": [("/old", "/new")]}, "/old", None, "/new"),
        ({"equalRules": [("/old", "/new")]}, "/old", "x=1", "/new?x=1"),
        ({"equalRules": [("/old", "/new?y=2")]}, "/old", "x=1", "/new?y=2"),
        ({"equalRules": [("/old", "/new")]}, "/old/", None, "/old/"),
        ({"wildcardRules": [("/old/*", "/new/$1")]}, "/old/a/b", "x=1", "/new/a/b?x=1"),
        ({"wildcardRules": [("/old", "/new")]}, "/test/old", None, "/new"),
        ({"wildcardRules": [("^/old", "/new")]}, "/test/old", None, "/test/old"),
        ({"wildcardRules": [("/*/x/*", "/$2/$1")]}, "/a/x/b", None, "/b/a"),
        ({"wildcardRules": [("/a.b", "/c")]}, "/aXb", None, "/aXb"),
        ({"regexRules": [(r"^/item/(\d+)$", "/items?id=$1")]}, "/item/42", None, "/items?id=42"),
        ({"regexRules": [(r"/(?P<a>x)?y", "/$1z$9")]}, "/y", None, "/z"),
        ({"regexRules": [("/a", "b")]}, "/a", None, "/b"),
        ({"equalRules": [("/a", "/1")], "wildcardRules": [("/*", "/2")]}, "/a", None, "/1"),
        ({"wildcardRules": [("/*", "/2")], "regexRules": [("/.*", "/3")]}, "/a", None, "/2"),
    ],
)
def test_first_rule_that_matches_rewrites(config, path, query, result):
    """Equal rules are asked first, then wildcards, then regular expressions; only one is applied."""
    rules = {
        kind: [{"match": match, "replacement": replacement} for match, replacement in pairs]
        for kind, pairs in config.items()
    }

    assert rewritten(rules, path, query) == result


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_wildcard_rule_is_a_pattern(rule, text):
    """No text of a rule breaks the pattern made of it."""
    found = wildcard(rule).search(text)

    assert found is None or found.group() in text


@needs_alarm
@pytest.mark.parametrize(("kind", "rule"), [("regexRules", "(/?a+)+$"), ("wildcardRules", "*a" * 12)])
def test_a_rule_that_never_ends_is_passed_over(caplog, kind, rule):
    """The rules after it still count, and the log names it."""
    config: dict[str, list] = {"wildcardRules": [], "regexRules": []}
    config[kind].append({"match": rule, "replacement": "/bomb"})
    config["regexRules"].append({"match": "!$", "replacement": "/good"})

    assert rewritten(config, "/" + "a" * 60 + "!", None) == "/good"
    assert "takes too long" in caplog.text


@pytest.mark.parametrize(("pattern", "found"), [("^/a/(.*)$", "b"), ("^/x/(.*)$", None)])
def test_an_ordinary_search_is_the_libraries(pattern, found):
    """A match or None."""
    match = search(re.compile(pattern), "/a/b")

    assert (match and match[1]) == found


@needs_alarm
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(.*)a" * 12 + "$", "(?:a?){60}a{60}$"])
def test_a_search_that_would_not_end_is_given_up(pattern):
    """The alarm is gone afterwards, and the handler is the one from before."""
    before = signal.getsignal(signal.SIGALRM)

    with pytest.raises(SearchTooLong):
        search(re.compile(pattern), "a" * 59 + "!", longest_s=0.01)

    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_another_thread_searches_without_an_alarm():
    """Signals are the main thread's."""
    found = []

    thread = threading.Thread(target=lambda: found.append(search(re.compile("b"), "abc")))
    thread.start()
    thread.join()

    assert found[0][0] == "b"
