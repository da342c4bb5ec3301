"""Bodies of messages on the command line."""

import io
import sys

import pytest

from emulator.cli.mns import read_body, shown_body
from emulator.cli.output import WrongUsage


@pytest.fixture
def typed(monkeypatch):
    """Set what comes on standard input."""

    def set_content(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return set_content


def test_body_is_sent_as_it_is_given():
    """Text stays text, with marks and line ends."""
    assert read_body(" <a>\r\n中 ", as_base64=False) == " <a>\r\n中 "


def test_hyphen_reads_standard_input(typed):
    """A pipe can hold any text."""
    typed("piped 中\n".encode())

    assert read_body("-", as_base64=False) == "piped 中\n"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\x01b"], ids=["not text", "control character"])
def test_content_that_xml_cannot_carry_needs_base64(typed, content):
    """Nothing is changed silently; encoded it goes through."""
    typed(content)
    with pytest.raises(WrongUsage, match="--base64"):
        read_body("-", as_base64=False)

    typed(content)
    assert shown_body(read_body("-", as_base64=True), from_base64=False).isascii()


def test_decoding_undoes_what_an_sdk_did():
    """Base64 of a text becomes the text."""
    assert shown_body(read_body("hello 中", as_base64=True), from_base64=True) == "hello 中"


@pytest.mark.parametrize("body", ["not base64!", "//79"], ids=["no base64", "no text inside"])
def test_body_that_is_no_encoded_text_is_shown_as_it_is(body):
    """A raw body among encoded ones is not hidden."""
    assert shown_body(body, from_base64=True) == body
