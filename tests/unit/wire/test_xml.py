"""Reading and writing XML."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.wire.xml import MAX_DEPTH, MAX_ELEMENTS, Element, MalformedXml, escape, parse, render


@pytest.mark.parametrize(
    "document",
    [
        b'<?xml version="1.0" encoding="utf-8"?><M xmlns="http://x/doc/v1/"><Body>a</Body></M>',
        b'<M xmlns="http://x/doc/v1"><Body>a</Body></M>',
        b"<M><Body>a</Body></M>",
        b'<x:M xmlns:x="http://x"><x:Body>a</x:Body></x:M>',
        b"<M>\n <Other/>\n <Body><![CDATA[a]]></Body></M>",
        '<?xml version="1.0" encoding="utf-16"?><M><Body>a</Body></M>'.encode("utf-16"),
    ],
)
def test_elements_are_found_by_local_name(document):
    """With any namespace or none, in any order and encoding, the element is found."""
    root = parse(document)

    assert root.name == "M"
    assert root.text_of("Body") == "a"


def test_absent_and_repeated_elements():
    """An absent element is None, repeated ones come in order."""
    root = parse(b"<R><A>1</A><B/><A>2</A></R>")

    assert root.text_of("C") is None
    assert root.find("C") is None
    assert root.text_of("B") == ""
    assert [element.text for element in root.all("A")] == ["1", "2"]


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"   ",
        b"text",
        b"<a>",
        b"<a></b>",
        b"<a/><b/>",
        b"<a>&nothing;</a>",
        b"<a>\x00</a>",
        b"<a>\xff</a>",
        b'<?xml version="1.0" encoding="nonsense"?><a/>',
        b"<!DOCTYPE a><a/>",
        b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        b"<a>" * (MAX_DEPTH + 1) + b"</a>" * (MAX_DEPTH + 1),
        b"<a>" + b"<b/>" * MAX_ELEMENTS + b"</a>",
    ],
)
def test_what_is_not_plain_xml_is_refused(document):
    """Broken documents, document types and floods of elements raise the one error."""
    with pytest.raises(MalformedXml):
        parse(document)


@pytest.mark.parametrize("document", [b"<a:/>", b"<a><:/></a>", b"<a:b:/>"])
def test_a_prefix_alone_is_no_name(document):
    """Every element has a local name."""
    with pytest.raises(MalformedXml):
        parse(document)


def test_a_long_namespace_is_not_written_into_every_name():
    """A body takes memory by its size, not by the number of its names times the length of their namespace."""
    namespace = b"u" * 50_000
    names = b" ".join(b'x:a%d=""' % number for number in range(2_000))
    document = b'<a xmlns:x="' + namespace + b'"><b ' + names + b"/>" + b"<x:c/>" * 2_000 + b"</a>"

    tracemalloc.start()
    try:
        root = parse(document)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(root.children) == 2_001
    assert root.children[1].name == "c"
    assert peak < 50 * len(document)


@given(st.binary(max_size=60))
def test_any_bytes_give_an_element_or_the_one_error(document):
    """Nothing else is ever raised."""
    try:
        name = parse(b"<a>" + document).name
    except MalformedXml as error:
        name = str(error)

    assert name


@given(st.text())
def test_written_text_reads_back(text):
    """Whatever a text holds survives, but for characters XML has no way to write."""
    lost = {*range(0x20)} - {9, 10, 13} | {0xFFFE, 0xFFFF}
    expected = "".join("\ufffd" if ord(c) in lost or 0xD800 <= ord(c) < 0xE000 else c for c in text)

    assert parse(render(Element("R", children=[Element("T", text)]))).text_of("T") == expected


def test_layout_is_that_of_the_message_service():
    """Two blanks per level, quotes as they are, no newline at the end."""
    document = Element("E", children=[Element("Code", 'a "<&>" b'), Element("L", children=[Element("I", "1")])])

    text = render(document, "http://ns")

    assert text == (
        b'<?xml version="1.0" ?>\n<E xmlns="http://ns">\n  <Code>a "&lt;&amp;&gt;" b</Code>\n'
        b"  <L>\n    <I>1</I>\n  </L>\n</E>"
    )


def test_plain_text_is_not_copied():
    """A text without special characters is returned as it is."""
    text = "plain"

    assert escape(text) is text
