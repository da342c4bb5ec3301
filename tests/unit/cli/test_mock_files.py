"""Files of mocks, in either form."""

import pytest

from emulator.cli.mock_files import by_task, requests

AS_REQUESTS = [
    {"step": "order/pay", "answers": [{"return": 1}], "then": "fail"},
    {"function": "shop/f", "answers": [{"error": "Full"}]},
    {"action": "MNS:SendMessage", "answers": [{"return": {}}]},
]
AS_TASKS = {
    "pay": {"answers": [{"return": 1}], "then": "fail"},
    "shop/f": {"answers": [{"error": "Full"}]},
    "MNS:SendMessage": {"answers": [{"return": {}}]},
}


def test_either_form_becomes_the_other():
    """What is for a step, a function or an action is told apart by its name."""
    assert by_task(AS_REQUESTS) == AS_TASKS
    assert by_task(AS_REQUESTS[0]) == {"pay": AS_TASKS["pay"]}
    assert requests(AS_TASKS, "order") == AS_REQUESTS


def test_a_form_that_fits_stays_as_it_is():
    """No answer is changed on the way."""
    assert by_task(AS_TASKS) is AS_TASKS
    assert requests(AS_REQUESTS, "order") is AS_REQUESTS
    assert requests(AS_REQUESTS[0], "order") == AS_REQUESTS[:1]


@pytest.mark.parametrize("written", [{"return": 1}, [{"return": 1}]], ids=["an answer", "answers"])
def test_answers_alone_are_a_mock_of_a_task(written):
    """As in a file of test cases; a task may be called as a member is."""
    assert requests({"step": written}, "f") == [{"step": "f/step", "answers": [{"return": 1}]}]
    assert by_task({"step": written}) == {"step": written}


@pytest.mark.parametrize("written", [[1], [{"answers": []}], 5, "text", [{"step": 1}]])
def test_what_is_neither_is_left_to_the_reader(written):
    """Whoever reads the form says what is wrong."""
    assert by_task(written) is written
