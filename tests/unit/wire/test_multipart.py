"""Forms with files are read whole, or refused; nothing else happens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.http.message import Headers, Request
from emulator.wire.multipart import MalformedForm, form_of, is_form, read_form

TYPE = "multipart/form-data; boundary=xyz"


def form(*fields):
    """Write fields, (name, filename or None, content), as clients do."""
    lines = []
    for name, filename, content in fields:
        more = f'; filename="{filename}"' if filename is not None else ""
        lines.append(f'--xyz\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode() + content)
    return b"\r\n".join([*lines, b"--xyz--\r\n"])


def test_fields_and_files_come_out_as_they_were():
    """Bytes that look like line ends or boundaries of others stay."""
    content = b"\r\n--abc\r\n\x00\xff\r\n"

    fields = read_form(TYPE, form(("key", None, "é".encode()), ("file", 'a\\"b.txt', content), ("empty", None, b"")))

    assert [(field.name, field.filename, field.content) for field in fields] == [
        ("key", "", "é".encode()),
        ("file", 'a"b.txt', content),
        ("empty", "", b""),
    ]
    assert fields[0].text == "é"


def test_boundary_may_be_quoted_and_a_preamble_come_first():
    """As some clients send them."""
    body = b"preamble\r\n" + form(("a", None, b"1"))

    assert [field.name for field in read_form('Multipart/Form-Data; charset=x; boundary="xyz"', body)] == ["a"]
    assert is_form("Multipart/Form-Data; boundary=x")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data", form(("a", None, b"1"))),
        ("text/plain; boundary=xyz", form(("a", None, b"1"))),
        (TYPE, b""),
        (TYPE, b"--xyz"),
        (TYPE, b"--xyz\r\n"),
        (TYPE, b"--xyz\r\n\r\n1\r\n--xyz--"),
        (TYPE, b'--xyz\r\nContent-Disposition: form-data; name="a"\r\n\r\n1'),
        (TYPE, b"--xyz\r\nContent-Disposition: form-data\r\n\r\n1\r\n--xyz--"),
        (TYPE, b"--xyz\r\nX: " + b"y" * 9000 + b"\r\n\r\n1\r\n--xyz--"),
        (TYPE, form(*[("a", None, b"1")] * 201)),
        ("multipart/form-data; boundary=é", b"--\r\n"),
    ],
)
def test_what_is_no_form_is_refused(content_type, body):
    """One kind of error, whatever is wrong."""
    with pytest.raises(MalformedForm):
        read_form(content_type, body)


@given(st.lists(st.tuples(st.sampled_from(["a", "file"]), st.binary(max_size=40)), min_size=1, max_size=5))
def test_any_content_without_the_boundary_survives(fields):
    """What is written comes back."""
    kept = [(name, None, content.replace(b"--xyz", b"")) for name, content in fields]

    assert [field.content for field in read_form(TYPE, form(*kept))] == [content for _, _, content in kept]


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(body):
    """No other error, and nothing in the fields that was not in the body."""
    try:
        fields = read_form(TYPE, b"--xyz" + body)
    except MalformedForm:
        fields = []

    assert all(field.content in body for field in fields)


def test_a_form_is_read_once():
    """Authentication, routing and the operation share the fields, or the refusal."""
    whole, broken = (
        Request("POST", "/", Headers([("Content-Type", TYPE)]), body) for body in (form(("a", None, b"1")), b"")
    )

    assert form_of(whole) is form_of(whole)
    for _ in range(2):
        with pytest.raises(MalformedForm) as caught:
            form_of(broken)
        assert caught.value is broken.fields
