"""Sentences that can be said in another language: a text with ``{fields}``, and what goes into them.

What finds a mistake says it in English, as logs and answers do, and does not know who will read it. A `Phrase` is that
English text and remembers what it was made of, so that a command or a page can look it up in its catalogue.
"""

from collections.abc import Callable, Sequence

COMMA = ", "
"""What stands between the names of a list."""

LISTS = frozenset({"names", "choices", "others"})
"""The fields that hold such a list."""


class Phrase(str):
    """The text of *template* with *fields* in it; without fields the template is the text, braces and all."""

    __slots__ = ("fields", "template")

    fields: dict[str, object]
    template: str

    def __new__(cls, template: str, /, **fields: object) -> "Phrase":
        """Fill *fields* into *template*."""
        phrase = super().__new__(cls, template.format(**fields) if fields else template)
        phrase.template = template
        phrase.fields = fields
        return phrase

    def __str__(self) -> str:  # so that the text of an error whose argument it is remembers too
        return self


def phrase(text: str) -> Phrase:
    """Return *text* as a phrase, which may be one already."""
    return text if isinstance(text, Phrase) else Phrase(text)


def said(text: str, look_up: Callable[[str], str]) -> str:
    """Return *text* as *look_up* has it, a phrase with its fields, which may be phrases themselves."""
    if not isinstance(text, Phrase):
        return look_up(text) if text else text
    fields = {name: _field(name, each, look_up) for name, each in text.fields.items()}
    shown = look_up(text.template)
    return shown.format(**fields) if fields else shown


def _field(name: str, value: object, look_up: Callable[[str], str]) -> object:
    if isinstance(value, Phrase):
        return said(value, look_up)
    return enumerated(value, look_up) if isinstance(value, str) and name in LISTS else value


def enumerated(names: str, look_up: Callable[[str], str]) -> str:
    """Return a list of *names* with what *look_up* has for the comma between them."""
    return names.replace(COMMA, look_up(COMMA))


def alternatives(names: Sequence[str]) -> str:
    """Return *names* as ``a, b or c``."""
    *others, last = names
    return Phrase("{others} or {last}", others=", ".join(others), last=last) if others else last


def together(names: Sequence[str]) -> str:
    """Return *names* as ``a, b and c``."""
    *others, last = names
    return Phrase("{others} and {last}", others=", ".join(others), last=last) if others else last
