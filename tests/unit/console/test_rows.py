"""What pages make of records, whatever these hold or lack."""

import json
import logging

import pytest

from emulator.console.app import body, tree
from emulator.console.executions import Fold, Folds, Look, compared, parts, rows
from emulator.console.pages.requests import CAUSES, line_of, request_row, requests_with
from emulator.gateway.journal import Journal
from emulator.kernel.clock import Millis, VirtualClock
from emulator.services.workflow.model import HistoryEvent, HistoryId


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"status": None, "ms": None, "request": None, "service": None, "operation": None, "time": None},
        {"status": "404", "ms": "fast", "request": 7, "service": [], "operation": {"a": 1}},
        {"message": "cancelled by the client"},
    ],
    ids=["empty", "none", "other types", "message only"],
)
def test_a_record_without_members_is_a_row_all_the_same(record):
    """A page shows what there is and is never an error."""
    row = request_row(record, ())

    assert row["status"] is None
    assert row["ms"] is None
    assert all(isinstance(row[name], str) for name in ("time", "service", "operation", "request", "resource"))
    assert all(isinstance(value, str) for value in line_of(record).values())


def test_a_function_is_linked_and_a_service_is_not():
    """A service has no page; the call that creates a function in it names nothing else."""
    calls = {"CreateFunction": "shop", "GetFunction": "shop/pack", "CreateService": "shop"}
    rows = [request_row({"service": "fc", "operation": name, "resource": of}, ()) for name, of in calls.items()]

    assert [row["kind"] for row in rows] == ["", "function", ""]


@pytest.mark.parametrize(
    "arguments", [("%s %s gone", ("r", "GET")), ("plain", ()), ("%d", ("x",)), ("%(x)s", ({"y": 1},))], ids=str
)
def test_any_line_of_the_access_log_can_be_listed(arguments):
    """Also one that somebody has logged without the members of a request."""
    journal = Journal(VirtualClock())
    text, values = arguments
    record = logging.LogRecord("emulator.access", logging.INFO, __file__, 1, text, values, None)
    journal.handle(record)

    assert len(list(requests_with(journal, ""))) == 1


def test_every_cause_of_a_refusal_has_a_sentence():
    """The page says something about whatever the diagnosis finds."""
    from typing import get_args

    from emulator.auth.diagnosis import Cause

    assert set(get_args(Cause)) == set(CAUSES)


def history(*details):
    return [HistoryEvent(at, at - 1, "s", "StepEntered", Millis(at), detail) for at, detail in enumerate(details, 1)]


def test_the_first_difference_of_two_histories_is_marked():
    """What both have before and after it is not."""
    found = compared(history('{"a":1}', '{"b":12}'), history('{"a":1}', '{"b":13}', "{}"))

    assert found["first"] == 2
    assert [(row["same"], row["is_first"]) for row in found["rows"]] == [(True, False), (False, True), (False, False)]
    assert found["rows"][1]["sides"][0]["detail"] == ('{"b":1', "2", "}")
    assert found["rows"][2]["sides"][0] is None


def test_equal_histories_have_no_difference():
    """Times and causes are not compared."""
    assert compared(history("{}"), history("{}"))["first"] is None
    assert compared([], [])["first"] is None


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [("", "", ("", "", "")), ("ab", "ab", ("ab", "", "")), ("aXb", "ab", ("a", "X", "b")), ("a", "", ("", "a", ""))],
)
def test_parts_are_cut_where_texts_differ(text, other, expected):
    """Together they are the text."""
    assert parts(text, other) == expected


def test_a_fold_goes_back_to_any_event_and_on_again():
    """The same events give the same rows, however they were reached."""
    events = [
        HistoryEvent(1, 0, "", "ExecutionStarted", Millis(0), '{"input":{}}'),
        HistoryEvent(2, 1, "a", "StepEntered", Millis(1), '{"input":{"x":1}}'),
        HistoryEvent(3, 2, "a", "StepStarted", Millis(1), '{"duration":5}'),
        HistoryEvent(4, 3, "a", "StepExited", Millis(9), '{"output":{}}'),
    ]
    folds, history = Folds(), HistoryId("0.1")

    def read(start):
        return events[start - 1 : start + 1]

    whole = folds.upto(history, read, None)
    assert (whole.upto, whole.by_id[2].waits_for, whole.by_id[2].input) == (4, "5 s", {"x": 1})
    before = folds.upto(history, read, 2)
    assert [row["state"] for row in rows(before, Look(), Millis(2))] == ["running"]
    assert [row["state"] for row in rows(folds.upto(history, read, 4), Look(), Millis(9))] == ["succeeded"]
    assert isinstance(Fold().execution.sequence.visits, list)


HOSTILE = ["<script>x</script>", '"><img onerror=x>', "{{7*7}}", "a\r\nb", "\u202eright\u2066", "\x00", "\ud800"]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_texts_of_users_are_escaped(text):
    """As a text, as a value and as a name."""
    shown = body(text) + tree({text: [text]}) + body(json.dumps({text: text}))

    assert "<script" not in shown
    assert "<img" not in shown


def test_a_megabyte_is_cut():
    """What is not shown is counted."""
    assert len(body("x" * 1_000_000)) < 25_000
    assert len(body(json.dumps({"a": "x" * 1_000_000}))) < 25_000
    assert len(tree(list(range(100_000)))) < 100_000
    assert "100000" in tree(list(range(100_000)))


def test_what_only_looks_like_json_stays_text():
    """An open bracket does not make a value; a deep one is not followed for ever."""
    assert '<pre class="body"' in body("{not json")
    assert "…" in tree(json.loads("[" * 90 + "]" * 90))
    assert '<pre class="body"' in body("[" * 100_000)
