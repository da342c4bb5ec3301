"""Faults at work: errors in the words of each service, drops, calls inside the emulator."""

import pytest

from emulator.kernel.instrumentation import Dialect, Subject
from emulator.lab.faults import read_rule
from emulator.lab.interference import Faults, made_error
from emulator.oss.errors import OssError
from emulator.services.fc.errors import FcError
from emulator.services.mns.errors import MnsError
from emulator.services.ram.errors import RamError
from emulator.services.workflow.errors import WorkflowError

SUBJECT = Subject("mns", "SendMessage", ("orders",), ("flow",))
MNS = Dialect(MnsError, "QpsLimitExceeded")
DIALECTS = [
    MNS,
    Dialect(FcError, "ResourceThrottled"),
    Dialect(WorkflowError, "ResourceThrottled"),
    Dialect(OssError, "TotalQpsLimitExceeded"),
    Dialect(RamError, "Throttling"),
]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: each.errors.__name__)
def test_every_error_of_a_service_can_be_asked_for(dialect):
    """Code and status are the table's, the text has no fields left open."""
    for kind in dialect.errors.__mro__:
        for name, row in getattr(kind, "table", {}).items():
            error = made_error(dialect, name, 0, SUBJECT)
            assert isinstance(error, dialect.errors)
            assert error.code
            assert error.http_status >= 300
            assert row.text == "" or error.message


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: each.errors.__name__)
def test_throttling_is_an_error_of_the_services_own(dialect):
    """It stands in the service's tables."""
    error = made_error(dialect, dialect.throttling, 0, SUBJECT)

    assert (error.code, error.http_status) in {
        ("QpsLimitExceeded", 400), ("ResourceThrottled", 503), ("ResourceThrottled", 429),
        ("TotalQpsLimitExceeded", 503), ("Throttling", 400),
    }  # fmt: skip


def test_the_message_service_s_throttling_reads_as_documented():
    """Its text has no full stop, unlike the others of the table."""
    assert made_error(MNS, MNS.throttling, 0, SUBJECT).message == "The qps limit of the queue is exceeded"


def test_an_error_no_table_has_is_answered_all_the_same():
    """With the status that was asked for."""
    error = made_error(MNS, "NeverHeardOf", 418, SUBJECT)

    assert (error.code, error.http_status) == ("NeverHeardOf", 418)


def test_a_given_status_takes_the_place_of_the_tables():
    """The code stays."""
    error = made_error(MNS, "QueueNotExist", 503, SUBJECT)

    assert (error.code, error.http_status) == ("QueueNotExist", 503)


async def test_a_call_inside_the_emulator_fails_before_its_work():
    """Errors and dropped connections alike."""

    faults, made = Faults(), []
    faults.add(read_rule({"do": {"error": "QueueNotExist"}, "times": 1}))
    faults.add(read_rule({"do": {"drop": "before"}}))

    for code in ("QueueNotExist", "InternalError"):
        with pytest.raises(MnsError, match=rf"^{code}:"):
            async with faults.around(SUBJECT, MNS):
                made.append(code)

    assert made == []


async def test_a_call_dropped_after_its_work_has_been_made():
    """This is how duplicates come about."""

    faults, made = Faults(), []
    faults.add(read_rule({"do": {"drop": "after"}}))

    with pytest.raises(MnsError, match=r"^InternalError:"):
        async with faults.around(SUBJECT, MNS):
            made.append("message")

    assert made == ["message"]


@pytest.mark.parametrize(("drop", "made"), [("before", []), ("after", ["message"])])
def test_a_call_within_a_transaction_is_dropped_before_or_after_its_work(drop, made):
    """The work stays where its answer is lost, and the fault counts as struck in either case."""
    faults, done = Faults(), []
    faults.add(read_rule({"do": {"drop": drop}}))

    with pytest.raises(MnsError, match=r"^InternalError:"), faults.within(SUBJECT, MNS):
        done.append("message")

    assert done == made
    assert [entry.struck for entry in faults.book] == [1]


def test_a_fault_that_only_delays_does_not_count_a_call_that_cannot_wait():
    """What says that it has struck has done something."""
    faults = Faults()
    faults.add(read_rule({"do": {"delay": "1s"}}))
    faults.add(read_rule({"do": {"delay": "1s", "error": "QueueNotExist"}}))

    with pytest.raises(MnsError, match=r"^QueueNotExist:"), faults.within(SUBJECT, MNS):
        pass

    assert [(entry.matched, entry.struck) for entry in faults.book] == [(0, 0), (1, 1)]


async def test_nothing_happens_without_faults():
    """Nor after they are removed."""

    faults = Faults()
    faults.add(read_rule({"do": {"throttle": True}}))
    faults.clear()

    async with faults.around(SUBJECT, MNS):
        pass
    with faults.within(SUBJECT, MNS):
        pass

    assert not faults.active
    assert faults.function_fault(SUBJECT) == ""


def test_an_injected_fault_is_logged(caplog):
    """With the operation, the resource and what it does."""
    faults = Faults()
    faults.add(read_rule({"do": {"function": "crash"}}))

    with caplog.at_level("INFO"):
        assert faults.function_fault(SUBJECT) == "crash"

    assert "a fault is injected into SendMessage of orders: function crash" in caplog.messages
