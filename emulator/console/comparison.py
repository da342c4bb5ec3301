"""Two histories side by side, from the first event in which they differ."""

from itertools import zip_longest

from emulator.console.view import Row
from emulator.services.workflow.model import HistoryEvent

BEFORE = 10
AFTER = 30
_SHOWN = 2_000


def compared(one: list[HistoryEvent], other: list[HistoryEvent]) -> Row:
    """Return rows of both around the first difference: ``first`` is its number, None when they are the same.

    Two events are the same when type, step and detail are; times differ always.
    """
    pairs = list(zip_longest(one, other))
    first = next((at for at, pair in enumerate(pairs) if not _same(*pair)), None)
    begin = max(0, (first if first is not None else len(pairs)) - BEFORE)
    return {
        "first": None if first is None else first + 1,
        "begin": begin,
        "total": len(pairs),
        "rows": [
            {
                "number": at + 1,
                "same": _same(left, right),
                "is_first": at == first,
                "sides": (_side(left, right), _side(right, left)),
            }
            for at, (left, right) in enumerate(pairs[begin : begin + BEFORE + AFTER], begin)
        ],
    }


def _same(left: HistoryEvent | None, right: HistoryEvent | None) -> bool:
    if left is None or right is None:
        return False
    return (left.type, left.step, left.detail) == (right.type, right.step, right.detail)


def _side(event: HistoryEvent | None, other: HistoryEvent | None) -> Row | None:
    """Return an event, its detail in three parts: what both have before, what differs, what both have after."""
    if event is None:
        return None
    text, against = event.detail[:_SHOWN], other.detail[:_SHOWN] if other is not None else event.detail[:_SHOWN]
    return {"type": event.type, "step": event.step, "detail": parts(text, against)}


def parts(text: str, other: str) -> tuple[str, str, str]:
    """Return *text* in three parts: the beginning and the end that *other* has as well, and what is between them."""
    least = min(len(text), len(other))
    begin = next((at for at in range(least) if text[at] != other[at]), least)
    end = next((at for at in range(least - begin) if text[-1 - at] != other[-1 - at]), least - begin)
    return text[:begin], text[begin : len(text) - end], text[len(text) - end :]
