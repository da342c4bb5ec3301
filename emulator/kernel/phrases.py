"""Translatable sentences: a text with ``{fields}``, and the values of the fields.

Code that finds a mistake says it in English, as logs and answers do, and does not know who will read it. A `Phrase` is
that English text and remembers its template and fields, so that a command or a page can look it up in its catalogue.
"""

from collections.abc import Callable, Sequence

COMMA = ", "
"""The separator of names in a list."""

LISTS = frozenset({"names", "choices", "others"})
"""The names of fields whose values are lists of names, separated by `COMMA`."""


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

    def __str__(self) -> str:  # returns the phrase: str(error) keeps its template
        return self


def phrase(text: str) -> Phrase:
    """Return *text* as a `Phrase`; one that is a phrase already is returned as it is."""
    return text if isinstance(text, Phrase) else Phrase(text)


def said(text: str, look_up: Callable[[str], str]) -> str:
    """Return *text* translated by *look_up*; a phrase by its template, with fields that are phrases translated too."""
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
    """Return *names*, separated by `COMMA`, with the translation of the comma."""
    return names.replace(COMMA, look_up(COMMA))


def alternatives(names: Sequence[str]) -> str:
    """Return *names* as ``a, b or c``."""
    *others, last = names
    return Phrase("{others} or {last}", others=", ".join(others), last=last) if others else last


def together(names: Sequence[str]) -> str:
    """Return *names* as ``a, b and c``."""
    *others, last = names
    return Phrase("{others} and {last}", others=", ".join(others), last=last) if others else last
