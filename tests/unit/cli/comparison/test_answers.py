"""Two answers beside each other: what counts as a difference, and which values are taken to stand for each other."""

import json

import pytest

from emulator.cli.comparison.answers import Counterparts, differences
from emulator.cli.comparison.recordings import Message, NoRecording, read, write
from emulator.kernel.frozen import replace


def answer(body, *headers):
    return Message(headers=(("Content-Type", "application/json"), *headers), body=json.dumps(body).encode())


def told(theirs, ours, counterparts=None, statuses=(200, 200)):
    mapping = Counterparts() if counterparts is None else counterparts
    return [(each.kind, each.place) for each in differences((statuses[0], theirs), (statuses[1], ours), mapping)]


@pytest.mark.parametrize(
    ("theirs", "ours", "difference"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": "1"}, [("type", "a")]),
        ({"a": 1}, {"a": True}, [("type", "a")]),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": None}, {}, [("member", "a")]),
        ({}, {"a": ""}, [("member", "a")]),
        ({"a": None}, {"a": ""}, [("type", "a")]),
        ({"a": [1, 2]}, {"a": [2, 1]}, [("order", "a")]),
        ({"a": [1]}, {"a": []}, [("length", "a")]),
        ({"Code": "X"}, {"Code": "Y"}, [("code", "Code")]),
        ({"Message": "no"}, {"Message": "not at all"}, []),
        ({"RequestId": "abcdef"}, {"RequestId": "ghijkl"}, []),
        ({"createdTime": 1}, {"createdTime": 2}, []),
        ({"when": "2026-01-01T00:00:00Z"}, {"when": "2025-01-01T00:00:00Z"}, []),
        ({"size": 1}, {"size": 2}, [("value", "size")]),
        ({"deep": {"a": [{"b": 1}]}}, {"deep": {"a": [{"b": 2}]}}, [("value", "deep.a[0].b")]),
    ],
)
def test_a_difference_has_a_kind_and_a_place(theirs, ours, difference):
    """Absent, null and empty differ; ids, times and texts for people do not."""
    assert told(answer(theirs), answer(ours)) == difference


def test_status_and_the_headers_that_sdks_read_are_compared():
    """Others are the transport's."""
    theirs = answer({}, ("X-Fc-Error-Type", "Handled"), ("Date", "now"), ("x-mns-request-id", "1"))
    ours = answer({}, ("X-Fc-Error-Type", "Unhandled"), ("Server", "x"))

    assert told(theirs, ours, statuses=(200, 404)) == [
        ("status", "status"), ("header", "x-fc-error-type"), ("header", "x-mns-request-id"),
    ]  # fmt: skip


def test_values_of_an_installation_are_mapped_for_later_requests():
    """In texts, in URLs and in forms; the longest first."""
    mapping = Counterparts()
    told(
        answer({"ReceiptHandle": "theirs==", "Id": "theirs==1"}),
        answer({"ReceiptHandle": "ours/+", "Id": "mine"}),
        mapping,
    )

    assert mapping.applied("a theirs== b theirs==1") == "a ours/+ b mine"
    assert mapping.applied("/q?h=theirs%3D%3D", encoded=True) == "/q?h=ours/%2B"
    assert told(answer({"name": "of theirs=="}), answer({"name": "of ours/+"}), mapping) == []


def test_a_body_that_the_recording_lacks_is_not_compared():
    """Status and headers are: a streamed response was not recorded, a browser kept its size only."""
    lacking = Message(headers=(("Content-Type", "application/json"), ("X-Fc-Error-Type", "E")), body=b"", lacks=-1)

    assert told(lacking, answer({"a": 1})) == [("header", "x-fc-error-type")]
    assert told(replace(lacking, lacks=0), answer({"a": 1})) != [("header", "x-fc-error-type")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("{}", "log is missing"),
        ("[]", "it is JSON, but"),
        ('{"log": {"entries": [{}]}}', "request is missing"),
        ('{"log": {"entries": 1}}', "it is JSON, but"),
    ],
)
def test_other_files_are_no_recordings(text, reason):
    """A browser's other exports, say; the message gives the reason without names of Python's."""
    with pytest.raises(NoRecording, match=reason):
        read(text)


@pytest.mark.parametrize(
    ("request_size", "answer_size", "lacks"),
    [(0, 0, (0, 0)), (-1, 0, (0, 0)), (21, 0, (21, 0)), (0, 9, (0, 9)), (0, -1, (0, -1))],
)
def test_bodies_that_browsers_leave_out_are_known_by_their_sizes(request_size, answer_size, lacks):
    """Chromium writes a body that is no text as an empty one; what is written again stays so."""
    entry = {
        "request": {"method": "POST", "url": "https://h/", "bodySize": request_size, "postData": {"text": ""}},
        "response": {"status": 200, "content": {"size": answer_size}},
    }

    (exchange,) = read(json.dumps({"log": {"entries": [entry]}}))
    (again,) = read(write([exchange]))

    assert (exchange.request.lacks, exchange.answer.lacks) == lacks
    assert (again.request.lacks, again.answer.lacks) == lacks


def test_bodies_of_browsers_and_proxies_are_read():
    """Base64 where that is said, forms as parameters, lines of HTTP/2 left out; requests without an answer too."""
    form = {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a", "value": "b c"}]}
    request = {
        "method": "post",
        "url": "https://h/",
        "headers": [{"name": ":method", "value": "POST"}],
        "postData": form,
    }
    content = {"text": "AAE=", "encoding": "base64"}
    entries = [
        {"request": request, "response": {"status": 200, "headers": [], "content": content}},
        {"request": request, "response": {"status": 0}},
    ]

    (exchange,) = read(json.dumps({"log": {"entries": entries}}))

    assert (exchange.method, exchange.request.body, exchange.request.headers) == ("POST", b"a=b+c", ())
    assert exchange.answer.body == b"\x00\x01"
