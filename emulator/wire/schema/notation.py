"""What every form has in common: of each kind it makes a reader, once, the first time that the kind is read."""

from typing import Generic, NoReturn, TypeVar, assert_never

from emulator.wire.schema.kinds import (
    Also,
    Binary,
    Flag,
    Folder,
    Held,
    Items,
    Json,
    JsonText,
    Kind,
    MapOf,
    Noted,
    Number,
    OneOf,
    Ruled,
    Shape,
    Tagged,
    Text,
    Time,
    Whole,
)

R = TypeVar("R")


class Notation(Generic[R]):
    """How a form writes values. A subclass has a method for each kind that the form knows; *R* is what they return.

    The reader of a kind is made when it is asked for first and kept with the kind. A kind that a form cannot write is a
    mistake in a table: asking for its reader raises TypeError.
    """

    def __init__(self, form: str) -> None:
        self.form = form
        self._readers: dict[int, tuple[Kind, R]] = {}

    def reader(self, kind: Kind) -> R:
        """Return what reads values of *kind*."""
        known = self._readers.get(id(kind))
        if known is None:
            known = self._readers[id(kind)] = (kind, self._made(kind))  # the kind is kept, so its id stays its own
        return known[1]

    def _made(self, kind: Kind) -> R:  # noqa: C901 - one line for each kind
        match kind:
            case Text():
                return self.text(kind)
            case Whole():
                return self.whole(kind)
            case Number():
                return self.number(kind)
            case Flag():
                return self.flag(kind)
            case OneOf():
                return self.one_of(kind)
            case Time():
                return self.time(kind)
            case Binary():
                return self.binary(kind)
            case Items():
                return self.items(kind)
            case MapOf():
                return self.map_of(kind)
            case Json():
                return self.json(kind)
            case JsonText():
                return self.json_text(kind)
            case Folder():
                return self.folder(kind)
            case Ruled():
                return self.ruled(kind)
            case Noted():
                return self.noted(kind)
            case Also():
                return self.also(kind)
            case Held():
                return self.held(kind)
            case Tagged():
                return self.tagged(kind)
            case Shape():
                return self.shape(kind)
            case _:
                assert_never(kind)

    def _unknown(self, kind: Kind) -> NoReturn:
        raise TypeError(f"the form {self.form} has no way to write {kind!r}")

    def text(self, kind: Text) -> R:
        """Make the reader of a text."""
        self._unknown(kind)

    def whole(self, kind: Whole) -> R:
        """Make the reader of a whole number."""
        self._unknown(kind)

    def number(self, kind: Number) -> R:
        """Make the reader of a number."""
        self._unknown(kind)

    def flag(self, kind: Flag) -> R:
        """Make the reader of a boolean."""
        self._unknown(kind)

    def one_of(self, kind: OneOf) -> R:
        """Make the reader of one of several words."""
        self._unknown(kind)

    def time(self, kind: Time) -> R:
        """Make the reader of an instant."""
        self._unknown(kind)

    def binary(self, kind: Binary) -> R:
        """Make the reader of bytes."""
        self._unknown(kind)

    def items(self, kind: Items) -> R:
        """Make the reader of a list."""
        self._unknown(kind)

    def map_of(self, kind: MapOf) -> R:
        """Make the reader of a mapping with the user's own names."""
        self._unknown(kind)

    def json(self, kind: Json) -> R:
        """Make the reader of any value."""
        self._unknown(kind)

    def json_text(self, kind: JsonText) -> R:
        """Make the reader of JSON in a text."""
        self._unknown(kind)

    def folder(self, kind: Folder) -> R:
        """Make the reader of a path."""
        self._unknown(kind)

    def ruled(self, kind: Ruled) -> R:
        """Make the reader of a kind with a rule; unless overridden, the reader of the kind, without the rule."""
        return self.reader(kind.kind)

    def noted(self, kind: Noted) -> R:
        """Make the reader of a value without effect; unless overridden, that of the kind that is kept."""
        return self.reader(kind.kind) if kind.kind is not None else self._unknown(kind)

    def also(self, kind: Also) -> R:
        """Make the reader of a kind that files read differently; unless overridden, that of the kind."""
        return self.reader(kind.kind)

    def held(self, kind: Held) -> R:
        """Make the reader of a value that only tables have."""
        self._unknown(kind)

    def tagged(self, kind: Tagged) -> R:
        """Make the reader of an object that names its shape."""
        self._unknown(kind)

    def shape(self, kind: Shape) -> R:
        """Make the reader of an object."""
        self._unknown(kind)
