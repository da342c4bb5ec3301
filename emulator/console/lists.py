"""Lists with filters by name, state and time, taken from the address, and paging in both directions."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from urllib.parse import urlencode

from flask import request

from emulator.console.view import PAGE, marker, view
from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.paging import Page

T = TypeVar("T")

SINCE = {"1m": 60_000, "10m": 600_000, "1h": 3_600_000, "1d": 86_400_000}
"""Spans of time that a list can be limited to, in milliseconds."""

SPANS = {"1m": "the last minute", "10m": "the last 10 minutes", "1h": "the last hour", "1d": "the last day"}

_READ = 40
"""The most pages read for one page shown, so that the search for a state that nothing has comes to an end."""

_TURNS = 30
"""How many earlier pages an address remembers."""


@frozen
class Wanted:
    """The filter of a list: a part of names, a state, an earliest time; each empty or None for no filter."""

    text: str
    state: str
    since: Millis | None

    def names(self, name: str) -> bool:
        """Whether *name* passes the filter."""
        return self.text.lower() in name.lower()

    @property
    def is_limited(self) -> bool:
        """Whether any filter is set."""
        return bool(self.text or self.state or self.since is not None)


def wanted() -> Wanted:
    """Return the filter in the address of the page."""
    span = SINCE.get(request.args.get("since", ""))
    return Wanted(
        text=request.args.get("q", "").strip()[:200],
        state=request.args.get("state", "")[:40],
        since=Millis(view().now() - span) if span is not None else None,
    )


def chosen(
    read: Callable[[str], Page[T]], keep: Callable[[T], bool], name_of: Callable[[T], str]
) -> tuple[list[T], str | None]:
    """Return a page of the items for which *keep* is true, from where the address says, and the next page's beginning.

    *read* returns items from a name on, and the name to go on with.
    """
    found: list[T] = []
    following: str | None = marker()
    for _ in range(_READ):
        page = read(following or "")
        found += [each for each in page.items if keep(each)]
        following = page.next_marker
        if len(found) > PAGE:
            return found[:PAGE], name_of(found[PAGE])
        if following is None:
            break
    return found, following


def turning(following: Any) -> dict[str, str | None]:
    """Return the addresses of the page ``before`` and of the ``next`` one, which begins at *following*.

    The address contains the beginnings of earlier pages, because lists have markers for the next page only.
    """
    begun, earlier = request.args.get("from", ""), request.args.getlist("back")
    before = None
    if begun:
        first = earlier[-1] if earlier else ""
        before = _address(first, earlier[:-1])
    after = None if following is None else _address(str(following), [*earlier, begun][-_TURNS:])
    return {"before": before, "next": after}


def _address(begin: str, back: Iterable[str]) -> str:
    others = [pair for pair in request.args.items(multi=True) if pair[0] not in {"from", "back"}]
    return "?" + urlencode([*others, *([("from", begin)] if begin else []), *(("back", each) for each in back)])
