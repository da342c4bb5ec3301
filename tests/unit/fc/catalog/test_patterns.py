"""Searches with foreign expressions end."""

import re
import signal
import threading

import pytest

from emulator.services.fc.invoke.http_routing import SearchTooLong, search

needs_alarm = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no alarms")


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
