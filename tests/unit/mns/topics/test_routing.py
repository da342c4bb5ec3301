"""Who gets a message, and when a failed delivery is tried again."""

import pytest

from emulator.kernel.clock import Millis
from emulator.services.mns.topics.model import NotifyStrategy
from emulator.services.mns.topics.publishing import next_attempt, retries, wants

START = Millis(1_700_000_000_000)


@pytest.mark.parametrize(
    ("filter_tag", "tag", "expected"),
    [
        (None, None, True),
        (None, "red", True),
        ("red", "red", True),
        ("red", "blue", False),
        ("red", None, False),
        ("red", "Red", False),
    ],
    ids=["no filter, no tag", "no filter", "equal", "other", "untagged", "other case"],
)
def test_a_filter_lets_equal_tags_through(filter_tag, tag, expected):
    """Without a filter everything; with one only the equal tag."""
    assert wants(filter_tag, tag) is expected


@pytest.mark.parametrize(("draw", "gap_s"), [(0.0, 10), (0.5, 15), (0.999, 19.99)])
def test_back_off_waits_ten_to_twenty_seconds(draw, gap_s):
    """Each gap is drawn anew, three times."""
    instants = [next_attempt(NotifyStrategy.BACKOFF, failures, START, START, draw) for failures in (1, 2, 3, 4)]

    assert instants == [START + gap_s * 1000] * 3 + [None]


def test_decay_doubles_up_to_512_seconds():
    """176 retries, a little under a day in all."""
    at, gaps = START, []
    while (following := next_attempt(NotifyStrategy.DECAY, len(gaps) + 1, at, START, 0.0)) is not None:
        gaps.append((following - at) // 1000)
        at = following

    assert gaps == [1, 2, 4, 8, 16, 32, 64, 128, 256] + [512] * 167
    assert len(gaps) == retries(NotifyStrategy.DECAY) == 176
    assert sum(gaps) == 86_015


def test_no_message_is_tried_again_after_a_day():
    """A topic keeps its messages for a day, whatever the strategy says."""
    late = Millis(START + 86_400_000 - 512_000)

    assert next_attempt(NotifyStrategy.DECAY, 20, Millis(late - 1), START, 0.0) == START + 86_400_000 - 1
    assert next_attempt(NotifyStrategy.DECAY, 20, late, START, 0.0) is None


def test_gaps_can_be_scaled():
    """For tests of the user's own."""
    assert next_attempt(NotifyStrategy.DECAY, 10, START, START, 0.0, scale=0.01) == START + 5_120
