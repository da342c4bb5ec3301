"""Strict XML, read into small elements and written with escapes: what MNS and OSS exchange.

Reading goes by local names, because clients send a namespace with or without a trailing slash, or none. The parser is
not asked for namespaces: it would write a document's namespace into every name, so that a body of a megabyte with one
long namespace and many short names takes gigabytes. Document type declarations are refused, and with them every entity
trick; depth and number of elements are bounded.
"""

import re
from collections.abc import Iterable
from xml.parsers import expat

MAX_DEPTH = 16
MAX_ELEMENTS = 20_000

_SPECIAL = re.compile("[&<>\r\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}


class MalformedXml(ValueError):
    """The text is not well-formed XML, or uses what is refused here: a document type, too deep or too many elements."""


class Element:
    """One element: its local name, its own text and its child elements in order."""

    __slots__ = ("children", "name", "text")

    def __init__(self, name: str, text: str = "", children: "Iterable[Element]" = ()) -> None:
        self.name = name
        self.text = text
        self.children: list[Element] = list(children)

    def find(self, name: str) -> "Element | None":
        """Return the first child of that name, or None."""
        for child in self.children:
            if child.name == name:
                return child
        return None

    def all(self, name: str) -> "list[Element]":
        """Return every child of that name, in order."""
        return [child for child in self.children if child.name == name]

    def text_of(self, name: str) -> str | None:
        """Return the text of the first child of that name, or None when there is no such child."""
        child = self.find(name)
        return None if child is None else child.text


class _Builder:
    """Receives the parser's events and grows the tree."""

    __slots__ = ("_count", "_open", "_texts", "root")

    def __init__(self) -> None:
        self.root: Element | None = None
        self._open: list[Element] = []
        self._texts: list[list[str]] = []
        self._count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if len(self._open) >= MAX_DEPTH or self._count > MAX_ELEMENTS:
            raise MalformedXml("too many or too deep elements")
        local = name.rpartition(":")[2]
        if not local:
            raise MalformedXml("a name ends with its prefix")
        element = Element(local)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)
        self._texts.append([])

    def data(self, text: str) -> None:
        self._texts[-1].append(text)

    def end(self, name: str) -> None:
        self._open.pop().text = "".join(self._texts.pop())

    def doctype(self, *parts: object) -> None:
        raise MalformedXml("document types are not accepted")


def parse(document: bytes) -> Element:
    """Read *document* and return its root.

    Raises: MalformedXml.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    builder = _Builder()
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = builder.doctype
    try:
        parser.Parse(document, True)
    except MalformedXml:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise MalformedXml(str(error)) from error
    assert builder.root is not None  # the parser itself refuses a document without an element
    return builder.root


def escape(text: str) -> str:
    """Return *text* fit for the content of an element.

    Carriage returns become references, so that they survive line-end normalisation; characters XML cannot carry become
    U+FFFD. Double quotes stay as they are.
    """
    return _SPECIAL.sub(_reference, text) if _SPECIAL.search(text) else text


def _reference(match: re.Match[str]) -> str:
    return _ESCAPES.get(match.group(), "\ufffd")


def render(element: Element, namespace: str = "", *, declaration: str = '<?xml version="1.0" ?>') -> bytes:
    """Write *element* as a document: declaration, then two blanks of indentation per level, no newline at the end.

    An element has children or text, never both; *namespace* becomes ``xmlns`` of the root.
    """
    lines = [declaration]
    _write(element, "", f' xmlns="{namespace}"' if namespace else "", lines)
    return "\n".join(lines).encode("utf-8")


def _write(element: Element, indent: str, attributes: str, lines: list[str]) -> None:
    if not element.children:
        lines.append(f"{indent}<{element.name}{attributes}>{escape(element.text)}</{element.name}>")
        return
    lines.append(f"{indent}<{element.name}{attributes}>")
    for child in element.children:
        _write(child, indent + "  ", "", lines)
    lines.append(f"{indent}</{element.name}>")
