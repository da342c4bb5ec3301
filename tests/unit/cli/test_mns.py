"""Bodies of messages on the command line."""

import io
import sys

import pytest

from emulator.cli.main import parse
from emulator.cli.mns import chosen, read_body, resources, shown_body
from emulator.cli.output import WrongUsage
from emulator.wire.schema.command_line import option_of
from emulator.wire.schema.kinds import Flag


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


@pytest.mark.parametrize("body", ["not base64!", "你好", "//79"], ids=["no base64", "no ASCII", "no text inside"])
def test_body_that_is_no_encoded_text_is_shown_as_it_is(body):
    """A raw body among encoded ones is not hidden."""
    assert shown_body(body, from_base64=True) == body


@pytest.mark.parametrize(("resource", "command"), [("Queue", "queue create q"), ("Topic", "topic create t")])
def test_each_attribute_of_a_table_is_an_option(resource, command):
    """What an attribute is called stands in its table only; a new one is an option without a change here."""
    settable = list(resources()[resource].of_form("xml"))
    words = [
        word
        for each in settable
        for word in ([f"--{option_of(each).replace('_', '-')}"] + ([] if isinstance(each.kind, Flag) else ["7"]))
    ]

    arguments = parse([*command.split(), *words])

    assert chosen(resource, arguments) == {each.name: isinstance(each.kind, Flag) or 7 for each in settable}


def test_short_options_of_subscriptions_set_the_attributes_of_the_table():
    """A subscription's options have shorter names, which the table gives."""
    words = ["topic", "subscribe", "t", "s", "queue:q", "--tag", "a", "--strategy", "BACKOFF_RETRY", "--format", "JSON"]

    arguments = parse(words)

    assert chosen("Subscription", arguments) == {
        "Endpoint": "queue:q",
        "FilterTag": "a",
        "NotifyStrategy": "BACKOFF_RETRY",
        "NotifyContentFormat": "JSON",
    }
