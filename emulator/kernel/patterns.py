"""Searching with regular expressions of others.

Such an expression can take longer than the universe lasts on a text of fifty characters, and the search holds the
interpreter all the while. The engine does look at signals now and then, so an alarm can end it. Alarms exist on POSIX
and reach the main thread only, which is where a running emulator has its loop; elsewhere a search is not limited.
"""

import re
import signal
import threading
from types import FrameType
from typing import Final

LONGEST_SEARCH_S: Final = 0.05
"""How long one search may hold up everybody else; an honest one takes microseconds."""


class SearchTooLong(Exception):
    """A search was given up."""


def search(pattern: re.Pattern[str], text: str, longest_s: float = LONGEST_SEARCH_S) -> re.Match[str] | None:
    """Return the first match of *pattern* in *text*, or None.

    Raises: SearchTooLong after *longest_s* seconds.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return pattern.search(text)
    searching = True

    def give_up(number: int, frame: FrameType | None) -> None:
        del number, frame
        if searching:  # else the alarm and the end of the search have crossed
            raise SearchTooLong

    before = signal.signal(signal.SIGALRM, give_up)
    try:
        signal.setitimer(signal.ITIMER_REAL, longest_s)
        return pattern.search(text)
    finally:
        searching = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
