"""Counters against the obvious model, and what they keep in memory."""

from hypothesis import given
from hypothesis import strategies as st

from emulator.services.mns.queues.live_queues import PendingCounts, Tally
from emulator.services.mns.queues.model import Counters


def test_instants_that_have_passed_drop_out():
    """Taking back afterwards changes nothing."""
    counts = PendingCounts()
    counts.add(10, 0)
    counts.add(10, 0)
    counts.add(20, 0, 3)
    assert [counts.after(now) for now in (9, 10, 19, 20)] == [5, 3, 3, 0]

    counts.discard(10)

    assert counts.after(0) == 0


def test_what_is_due_already_is_not_counted():
    """It is visible."""
    counts = PendingCounts()
    counts.add(5, 5)

    assert counts.after(0) == 0


def test_taking_back_leaves_no_litter():
    """A queue whose messages are received and deleted at once keeps its counters small."""
    counts = PendingCounts()
    for instant in range(1_000, 11_000):
        counts.add(instant, 0)
        counts.discard(instant)

    assert len(counts._heap) <= 130
    assert counts.after(0) == 0


messages = st.lists(
    st.tuples(st.integers(1, 16), st.integers(0, 50), st.booleans(), st.integers(0, 50)), min_size=1, max_size=40
)


@given(messages, st.integers(0, 60))
def test_counters_equal_a_recount(rows, now):
    """For any mixture of priorities, instants, states and removals, asked at any time."""
    tally = Tally()
    for priority, visible_from, received, _ in rows:
        tally.added(priority)
        tally.hidden(visible_from, 0, received=received)
    moment = 0
    left = list(rows)
    for row in sorted(rows, key=lambda row: row[3]):
        if row[3] > now:
            break
        moment = max(moment, row[3])
        tally.counters(moment)
        tally.removed(row[0], row[1], received=row[2])
        left.remove(row)

    counted = tally.counters(now)

    hidden = [row for row in left if row[1] > now]
    inactive = sum(1 for row in hidden if row[2])
    assert counted == Counters(active=len(left) - len(hidden), inactive=inactive, delayed=len(hidden) - inactive)
    assert tally.priorities() == sorted({row[0] for row in left})
