"""Requests as the application sees them."""

from urllib.parse import parse_qsl

from hypothesis import given
from hypothesis import strategies as st

from emulator.http.message import Headers, Request, decode_pairs

FORM = Headers([("Content-Type", "application/x-www-form-urlencoded")])


def test_a_form_is_read_from_the_body_that_came_after_the_head_was_judged():
    """Looking at the form too early does not hide it later."""
    request = Request("POST", "/?a=1", FORM)
    early = request.form_pairs

    request.body = b"Name=a%20b+c&Empty="

    assert early == []
    assert request.form_pairs == [("Name", "a b c"), ("Empty", "")]
    assert request.query_pairs == [("a", "1")]


def test_bytes_beyond_ascii_survive():
    """Signatures are computed over the very bytes."""
    request = Request("GET", b"/\xff?x=\xfe".decode("utf-8", "surrogateescape"), Headers())

    assert request.path.encode("utf-8", "surrogateescape") == b"/\xff"
    assert request.query_pairs[0][1].encode("utf-8", "surrogateescape") == b"\xfe"


@given(st.text(st.sampled_from("ab=&+%4é\udc80;# ")) | st.text())
def test_pairs_are_decoded_as_the_standard_library_does(text):
    """The way over the library's function is shorter and leads to the same place."""
    assert decode_pairs(text) == (parse_qsl(text, keep_blank_values=True, errors="surrogateescape") if text else [])
