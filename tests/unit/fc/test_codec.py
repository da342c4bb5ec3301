"""Queries, bodies and values of calls, as clients write them."""

import json

import pytest

from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.services.fc.catalog.code import large_body
from emulator.services.fc.codec import json_body, json_list, tag_filter, truth, value_at
from emulator.services.fc.errors import FcError
from emulator.wire import large_json
from emulator.wire.request import OperationRequest


def a_call(body):
    return OperationRequest(Request("POST", "/", Headers([]), body), Millis(0))


@pytest.mark.parametrize(
    ("text", "values"), [("", []), ("a", ["a"]), ('["a","b"]', ["a", "b"])], ids=["none", "bare", "list"]
)
def test_a_list_of_a_query_may_be_a_bare_value(text, values):
    """JSON text otherwise."""
    assert json_list(text, "tagKeys") == values


def test_a_list_that_is_cut_off_is_refused():
    """With the name of the parameter."""
    with pytest.raises(FcError, match="tagKeys is not a JSON list"):
        json_list('["a', "tagKeys")


@pytest.mark.parametrize(
    ("body", "content"), [(b"", {}), (b'\xef\xbb\xbf{"a":1}', {"a": 1})], ids=["empty", "with a byte order mark"]
)
def test_a_body_is_an_object(body, content):
    """An empty one has no members."""
    assert json_body(a_call(body)) == content


@pytest.mark.parametrize("body", [b"[]", b"{", b"1", b'{"a":"\\ud800"}', b"\xff"])
def test_other_bodies_are_refused(body):
    """Half of a surrogate pair is no text."""
    with pytest.raises(FcError) as caught:
        json_body(a_call(body))

    assert caught.value.code == "InvalidArgument"


def test_a_body_that_was_decoded_before_is_not_decoded_again():
    """Large ones are read in a thread, before the call is handled."""
    call = a_call(b"{")
    call.document = {"a": 1}

    assert json_body(call) == {"a": 1}


async def test_a_large_body_is_decoded_in_the_thread_of_code():
    """A small one is not worth the way there."""
    threads = []

    class Codes:
        async def in_thread(self, work):
            threads.append(work)
            return work()

    large = json.dumps({"zipFile": "x" * 2 * 1024 * 1024}).encode()

    assert await large_body(Codes(), a_call(b'{"a":1}')) == {"a": 1}
    assert threads == []
    assert len((await large_body(Codes(), a_call(large)))["zipFile"]) == 2 * 1024 * 1024
    assert len(threads) == 1


def test_a_large_body_is_one_long_text():
    """Millions of small values would take the memory of the machine."""
    body = json.dumps({"a": [0] * large_json.STRUCTURE_BYTES}).encode()

    with pytest.raises(FcError) as caught:
        json_body(a_call(body))

    assert caught.value.code == "EntityTooLarge"


@pytest.mark.parametrize(("value", "expected"), [(True, True), ("True", True), ("1", False), (1, False), (None, False)])
def test_truth_in_any_spelling(value, expected):
    """What is neither true nor false is false."""
    assert truth(value) is expected


def test_tags_to_look_for():
    """In upper or lower case; without a value any will do."""
    assert tag_filter([{"Key": "a", "Value": "1"}, {"key": "b"}], "tag") == {"a": "1", "b": None}
    with pytest.raises(FcError):
        tag_filter([{"Value": "1"}], "tag")


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        ("header", "X-Key", "h"),
        ("header", "X-None", None),
        ("query", "a", "2"),
        ("query", "none", None),
        ("form", "f", "1"),
        ("cookie", "c", "v"),
        ("cookie", "none", None),
    ],
)
def test_values_of_a_request_by_their_place(place, name, value):
    """Of several parameters of a name the last counts."""
    headers = Headers([("x-key", "h"), ("Cookie", "c=v; d=w"), ("Content-Type", "application/x-www-form-urlencoded")])

    assert value_at(Request("POST", "/?a=1&a=2", headers, b"f=1"), place, name) == value


def test_a_broken_cookie_is_none():
    """A name that no cookie may have spoils the field."""
    assert value_at(Request("GET", "/", Headers([("Cookie", "a@b=1; c=v")])), "cookie", "c") is None


def test_there_are_four_places():
    """A fifth is a bug of the emulator."""
    with pytest.raises(ValueError, match="not a place in a request"):
        value_at(Request("GET", "/", Headers([])), "body", "a")
