"""What needs somebody, from lines of the log."""

import pytest

from emulator.console.needs import grouped, is_poll, loops, runs

_SIGNATURE = "the signature was refused"
FAILED = {"flow": "pay", "execution": "one", "status": "Failed"}


def test_failures_of_a_resource_are_one_row_with_the_latest_first():
    """The latest names the execution that the row leads to."""
    call = {"function": "hello", "result": "failed", "request": "r1"}

    rows = grouped([(1, FAILED), (2, call), (3, FAILED | {"execution": "two", "status": "TimedOut"})])

    assert [(each["what"], each["name"], each["count"], each["at"]) for each in rows] == [
        ("the execution failed", "pay", 2, 3),
        ("the function failed", "hello", 1, 2),
    ]
    assert rows[0]["execution"] == "pay/two"


def test_what_went_well_needs_nobody():
    """Nor does a step that failed: its execution may have caught that."""
    well = [
        {"flow": "pay", "execution": "one", "status": "Succeeded"},
        {"flow": "pay", "execution": "one", "step": "try", "result": "FC.Unknown"},
        {"function": "hello", "result": "succeeded"},
        {"topic": "news", "subscription": "inbox", "message_id": "m", "result": "delivered"},
        {"service": "mns", "operation": "SendMessage", "status": 201},
        {"service": "console", "operation": "POST /x", "status": 403},
    ]

    assert grouped(enumerate(well)) == []


def asked(operation, status=200, error=""):
    """A request as lists have it."""
    about = {"resource": "pay/one", "caller": "root", "error": error}
    return {"service": "fnf", "operation": operation, "status": status, **about}


def test_two_questions_asked_in_turns_are_one_row():
    """As of a client that polls; what it asks once stands by itself."""
    polls = [asked(name) for name in ("GetExecutionHistory", "DescribeExecution") * 20]

    rows, rest = runs([*polls, asked("StartExecution"), *polls[:2]])

    assert [(each["operation"], each["times"]) for each in rows] == [
        ("GetExecutionHistory, DescribeExecution", 20),
        ("StartExecution", 1),
        ("GetExecutionHistory", 1),
        ("DescribeExecution", 1),
    ]
    assert rest is None


def test_what_changes_something_is_no_poll():
    """Each message that was sent stands by itself; an empty queue that was asked again does not."""
    sent, empty = asked("SendMessage", 201), asked("ReceiveMessage", 404, "MessageNotExist")

    rows, _ = runs([sent, sent, empty, empty], folds=is_poll)

    assert [(each["operation"], each["times"]) for each in rows] == [
        ("SendMessage", 1), ("SendMessage", 1), ("ReceiveMessage", 2),
    ]  # fmt: skip


def test_a_page_of_requests_says_where_the_next_begins():
    """Folded ones are counted."""
    rows, rest = runs([asked("GetA"), asked("GetA"), asked("GetB"), asked("GetC")], most=2)

    assert [each["operation"] for each in rows] == ["GetA", "GetB"]
    assert rest == 3


def of_queue(operation, status=200, error=""):
    """A request about a queue, as lists have it."""
    about = {"resource": "orders", "kind": "queue", "caller": "root", "error": error, "function_failed": False}
    return {"service": "mns", "operation": operation, "status": status, **about}


def of_execution(operation, number):
    """A request about an execution of a flow, as lists have it."""
    about = {"resource": f"tick/run{number}", "kind": "execution", "caller": "root", "error": ""}
    return {"service": "fnf", "operation": operation, "status": 200, "function_failed": False, **about}


def test_a_loop_is_one_line_whatever_else_is_done_in_between():
    """A worker that receives, sends and deletes, and one who starts a flow again and again and looks at it."""
    turn = [of_queue("DeleteMessage", 204), of_queue("ReceiveMessage"), of_queue("SendMessage", 201)]
    rows = []
    for number in range(40):
        rows += [*turn, of_execution("DescribeExecution", number), of_execution("StartExecution", number)]
    refused = of_queue("SendMessage", 400, "InvalidArgument")
    rows[100:100] = [refused, refused, refused, refused]

    assert [(each["operation"], each["times"]) for each in loops(rows, 12)] == [
        ("DeleteMessage, ReceiveMessage, SendMessage", 40),
        ("DescribeExecution, StartExecution", 40),
        ("SendMessage", 4),
    ]


def test_what_is_done_once_or_twice_stands_by_itself():
    """The newest first, no more than there is room for."""
    rows = [of_queue("CreateQueue", 201), of_queue("SendMessage", 201), of_queue("SendMessage", 201)]

    assert [(each["operation"], each["times"]) for each in loops(rows, 12)] == [("CreateQueue", 1), ("SendMessage", 2)]
    assert [each["operation"] for each in loops(rows, 1)] == ["CreateQueue"]


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"service": "mns", "status": 403, "error": "AccessDenied", "refused": "MISSING_TOKEN"}, _SIGNATURE),
        (
            {"service": "fnf", "status": 400, "error": "SignatureDoesNotMatch", "refused": "SIGNATURE_DIFFERS"},
            _SIGNATURE,
        ),
        ({"service": "fnf", "status": 403, "error": "AccessDenied"}, "access was denied"),
        ({"service": "oss", "status": 503, "error": "InternalError"}, "the service failed"),
        ({"service": "fc", "status": 403}, ""),
        ({"service": "fnf", "status": 404, "error": "FlowNotExists"}, ""),
    ],
    ids=["no token", "another secret", "no right", "a fault", "answer of a function", "not there"],
)
def test_a_refused_signature_is_told_from_a_missing_right(fields, what):
    """By what authentication has found, not by the status: services differ in theirs."""
    rows = grouped([(1, {"operation": "StartExecution", **fields})])

    assert [each["what"] for each in rows] == ([what] if what else [])
