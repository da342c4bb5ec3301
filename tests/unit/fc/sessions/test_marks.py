"""How calls and answers name sessions."""

import pytest

from emulator.http.message import Headers, Request
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.sessions import marks


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ([], ""),
        (["other=1"], ""),
        (["a=1; x-fc-cookie-session-id=abc; b=2"], "abc"),
        (['bad name="x; x-fc-cookie-session-id=abc'], "abc"),
        (["a=1", "x-fc-cookie-session-id=abc"], "abc"),
        (["x-fc-cookie-session-id="], ""),
        (["x-fc-cookie-session-id=a b"], ""),
        (["x-fc-cookie-session-ids=abc"], ""),
    ],
)
def test_only_the_session_cookie_is_looked_at(fields, found):
    """Whatever else a browser sends beside it, in one field or several."""
    request = Request("GET", "/", Headers([("Cookie", field) for field in fields]), b"")

    assert marks.cookie_of(request) == found


@pytest.mark.parametrize("text", ["", "-a", "a b", "a" * 65, "ü", "a/b"])
def test_ids_that_are_none_are_refused(text):
    """A letter, digit or underscore first, then hyphens too; 64 characters."""
    with pytest.raises(InvalidArgument):
        marks.checked_id(text)


@pytest.mark.parametrize(
    ("stream", "found"),
    [
        (b"event: endpoint\ndata: /messages/?session_id=abc\n\n", ["abc"]),
        (b"event: endpoint\r\ndata: /messages?sessionId=abc&x=1\r\n\r\n", ["abc"]),
        (b": hello\n\nevent:endpoint\ndata:http://a/b?x=1&sessionId=a%20b\n\n", ["a b"]),
        (b"event: message\ndata: ?session_id=abc\n\nevent: endpoint\ndata: ?session_id=def\n\n", ["def"]),
        (b"event: endpoint\ndata: /messages\n\n", []),
        (b"event: endpoint\ndata: /messages?session_id=abc\n", []),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_endpoint_is_found_however_the_stream_is_cut(stream, found, size):
    """The first that names a session counts, and none after it."""
    told: list[str] = []
    reader = marks.EndpointReader(told.append)

    for start in range(0, len(stream), size):
        reader(stream[start : start + size])
    reader(b"\nevent: endpoint\ndata: ?session_id=late\n\n" if found else b"")

    assert told == found


def test_endless_head_is_given_up():
    """A stream that is no event stream costs no memory."""
    told: list[str] = []
    reader = marks.EndpointReader(told.append)

    for _ in range(100):
        reader(b"x" * 1024)
    reader(b"\n\nevent: endpoint\ndata: ?session_id=late\n\n")

    assert told == []
