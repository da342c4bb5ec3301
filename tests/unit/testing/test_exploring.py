"""What the marker of explored tests refuses, each with a sentence that says what is expected."""

import pytest

from emulator.testing.exploring import Exploration, check


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"runs": 0}, "runs must be a number from 1, not 0"),
        ({"runs": -1}, "runs must be a number from 1, not -1"),
        ({"runs": "5"}, "runs must be a number from 1, not '5'"),
        ({"deviations": -1}, "deviations must be a number from 0, or None, not -1"),
        ({"budget": "soon"}, "budget must be a duration such as 90s or 1m30s, not 'soon'"),
        ({"patience": None}, "patience must be a duration such as 90s or 1m30s, not None"),
        ({"order": "push"}, r"order must be a list such as \['push'\], not 'push'"),
        ({"faults": "lost-after"}, r"faults must be a list such as \['lost-after'\], not 'lost-after'"),
    ],
)
def test_argument_that_an_exploration_cannot_have_is_refused(settings, message):
    """Before the first run; no schedule would be tried."""
    with pytest.raises(ValueError, match=message):
        check(settings)


@pytest.mark.parametrize("settings", [{}, {"runs": 1, "deviations": 0}, {"deviations": None, "budget": 2.5}])
def test_arguments_at_their_bounds_are_accepted(settings):
    """A budget is a text or seconds."""
    check(settings)

    assert Exploration(**settings).budget_s > 0
