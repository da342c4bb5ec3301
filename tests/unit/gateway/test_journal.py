"""All that came of one request, told together."""

import logging

import pytest

from emulator.gateway.journal import Journal
from emulator.kernel.clock import VirtualClock
from emulator.kernel.tracing import begin, shared_context

LOG = logging.getLogger("tests.journal")


@pytest.fixture
def journal():
    made = Journal(VirtualClock(), lines=50)
    made.open()
    LOG.setLevel(logging.INFO)
    yield made
    made.close()


def on_account_of(trace, text, /, **fields):
    def log():
        begin(trace)
        LOG.info(text, fields)

    shared_context().run(log)


def told(journal, request):
    return [line["message"] for line in journal.find(request)]


def test_lines_of_a_request_and_of_what_it_set_off_are_told_in_order(journal):
    """Others are not."""
    on_account_of("r1", "start of %(execution)s", execution="e", request="r1")
    on_account_of("r2", "something else of %(request)s", request="r2")
    on_account_of("r1", "call %(request)s", request="call-7")

    assert told(journal, "r1") == ["start of e", "call call-7"]


def test_who_received_what_a_request_sent_is_told_too(journal):
    """One message names its cause, several name theirs."""
    on_account_of("r8", "received %(message_id)s", message_id="m", cause="r1", request="r8")
    on_account_of("r9", "received %(message_ids)s", message_ids=["m", "n"], causes=["r1", "r5"], request="r9")
    on_account_of("r10", "received %(message_id)s", message_id="o", cause="r5", request="r10")

    assert told(journal, "r1") == ["received m", "received ['m', 'n']"]


def test_what_functions_wrote_is_found_by_the_ids_of_their_calls(journal):
    """Output carries the id of the call only; the call's line carries the trace."""
    on_account_of("r1", "call %(request)s of f", request="call-7")
    journal.output("svc/f", "call-7", b"hello\n")
    journal.output("svc/f", "call-8", b"not this\n")

    assert told(journal, "r1") == ["call call-7 of f", "hello"]
    assert journal.find("r1")[1]["function"] == "svc/f"


def test_only_the_last_lines_are_kept(journal):
    """A day of load does not fill the memory."""
    for number in range(80):
        on_account_of("r1", "line %(number)d", number=number)

    assert told(journal, "r1") == [f"line {number}" for number in range(30, 80)]


def effects(journal):
    return [fields["number"] for _, _, _, fields in journal.effects(100)]


def test_effects_of_a_state_that_was_undone_are_left_out(journal):
    """A checkpoint that is restored twice, then an earlier one, then the first again."""

    def log(*numbers):
        for number in numbers:
            on_account_of("r1", "line %(number)d", number=number)

    log(1)
    early = journal.kept()
    log(2)
    late = journal.kept()
    log(3)
    journal.put_back(late)
    log(4)
    journal.put_back(late)
    assert effects(journal) == [1, 2]
    log(5)
    journal.put_back(early)
    log(6)
    assert effects(journal) == [1, 6]
    journal.put_back(late)
    log(7)
    assert effects(journal) == [1, 2, 7]
    journal.put_back(None)
    assert effects(journal) == []
    assert len(journal.find("r1")) == 7


@pytest.mark.parametrize("request_id", ["", "nobody"])
def test_an_unknown_request_has_no_lines(journal, request_id):
    """Nor has the empty one, which would be everybody's."""
    LOG.info("without a request")
    journal.output("f", "", b"between calls\n")

    assert journal.find(request_id) == []
