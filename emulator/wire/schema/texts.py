"""The notation of forms that write every value as a text: XML elements, parameters of RPC, what files pass on to them.

Booleans and numbers are words, objects are JSON. How strictly a form looks at them, and with which error it refuses,
differs; a service says so when it makes its `Texts`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from emulator.kernel.frozen import fields_of, replace
from emulator.wire.schema.kinds import (
    ABSENT,
    Field,
    Flag,
    JsonText,
    OneOf,
    Shape,
    Text,
    Time,
    Whole,
)
from emulator.wire.schema.notation import Notation

Reader = Callable[[Any, str], Any]
"""(value, name) -> what the kind keeps, `ABSENT` for a value that names nothing; the name is for errors."""


class Texts(Notation[Reader]):
    """A form of texts.

    *number* and *switch* read a number and a boolean, given the field's name, or raise. *invalid* makes the error for a
    value of another kind, *unknown* that for a word that is none of an enumeration. Where *blank_is_absent*, an empty
    text names no value. *out_of_range* and *too_long* are the errors of a service that checks numbers and texts as it
    reads them; without them the rules of the service do that.
    """

    def __init__(
        self,
        form: str,
        number: Reader,
        switch: Reader,
        invalid: Callable[[str], Exception],
        unknown: Callable[[str, OneOf], Exception],
        *,
        blank_is_absent: bool = True,
        out_of_range: Callable[[str, Whole], Exception] | None = None,
        too_long: Callable[[str], Exception] | None = None,
    ) -> None:
        super().__init__(form)
        self._out_of_range = out_of_range
        self._too_long = too_long
        self._number = number
        self._switch = switch
        self._invalid = invalid
        self._unknown_word = unknown
        self._blank_is_absent = blank_is_absent

    def of_form(self, form: str) -> "Texts":
        """Return the same notation for another form."""
        return Texts(
            form, self._number, self._switch, self._invalid, self._unknown_word, blank_is_absent=self._blank_is_absent,
            out_of_range=self._out_of_range, too_long=self._too_long,
        )  # fmt: skip

    def read(
        self, shape: Shape, value_of: Callable[[str], Any], *, before: Any = None, changing: bool = False
    ) -> dict[str, Any]:
        """Return the settings a request names, by attribute; *value_of* returns the value of a name, or None.

        A record whose members stand beside each other in the form keeps those of *before* that the request does not
        name. With *changing*, fields that can be set at creation only are ignored.

        Raises: the form's error.
        """
        change: dict[str, Any] = {}
        for each in shape.of_form(self.form):
            if changing and each.fixed:
                continue
            if not each.flat:
                change |= self._read((each,), value_of)
            elif isinstance(each.kind, Shape) and (members := self._read(each.kind.fields, value_of)):
                present = getattr(before, each.attribute) if before is not None else shape.default_of(each)
                change[each.attribute] = replace(present, **members)
        return change

    def value(self, field: Field, value: Any, name: str = "") -> Any:
        """Return the value of a field as it is kept, `ABSENT` when there is none; *name* is for errors.

        Raises: the form's error.
        """
        if value is None:
            return ABSENT
        read = self.reader(field.kind)(value, name or field.name_in(self.form))
        return None if field.unset is not ABSENT and read == field.unset else read

    def _read(self, fields: Iterable[Field], value_of: Callable[[str], Any]) -> dict[str, Any]:
        read = {each.attribute: self.value(each, value_of(each.name_in(self.form))) for each in fields}
        return {attribute: value for attribute, value in read.items() if value is not ABSENT}

    def text(self, kind: Text) -> Reader:
        """Take a text as it is."""

        def read(value: Any, name: str) -> Any:
            if not isinstance(value, str):
                raise self._invalid(name)
            if self._too_long is not None and kind.longest is not None and len(value) > kind.longest:
                raise self._too_long(name)
            return value

        return read

    def json_text(self, kind: JsonText) -> Reader:
        """Take a text that holds JSON as it is."""
        return self.text(Text())

    def whole(self, kind: Whole) -> Reader:
        """Read digits."""
        error = self._out_of_range
        if error is None:
            return self._unless_blank(self._number)

        def read(value: Any, name: str) -> Any:
            number = self._number(value, name)
            if not kind.allows(number):
                raise error(name, kind)
            return number

        return self._unless_blank(read)

    def flag(self, kind: Flag) -> Reader:
        """Read one of two words."""
        if not kind.words:
            return self._unless_blank(self._switch)

        def read(value: Any, name: str) -> Any:
            word = str(value).lower()
            if word not in kind.words:
                raise self._invalid(name)
            return kind.words[word]

        return self._unless_blank(read)

    def one_of(self, kind: OneOf) -> Reader:
        """Read a word; a blank one names nothing."""

        def read(value: Any, name: str) -> Any:
            word = str(value).strip()
            if not word:
                return ABSENT
            if word not in kind.choices:
                raise self._unknown_word(name, kind)
            return word if kind.members is None else kind.members(word)

        return read

    def shape(self, kind: Shape) -> Reader:
        """Read an object, or JSON of one; an error inside it names the object."""
        make = kind.record or dict

        def read(value: Any, name: str) -> Any:
            content = _object(value)
            if content is None:
                raise self._invalid(name)
            inside = {each.attribute: self.value(each, content.get(each.name), name) for each in kind.fields}
            return make(**{attribute: member for attribute, member in inside.items() if member is not ABSENT})

        return self._unless_blank(read)

    def _unless_blank(self, read: Reader) -> Reader:
        if not self._blank_is_absent:
            return read
        return lambda value, name: ABSENT if isinstance(value, str) and not value.strip() else read(value, name)


def show(shape: Shape, form: str, settings: object, view: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and value of each field that answers in *form* show, in the shape's order."""
    for each in shape.of_form(form, settable=False):
        value = each.shown(view) if each.shown is not None else getattr(settings, each.attribute)
        if each.flat and isinstance(each.kind, Shape):
            for member in each.kind:
                yield member.name, getattr(value, member.attribute)
        elif value is None:
            yield each.name_in(form), None if each.unset is ABSENT else each.unset
        else:
            yield each.name_in(form), shown(each, value)


def shown(field: Field, value: Any) -> Any:
    """Return a value as answers show it: words and members of enumerations as text, objects by member, times in s."""
    match field.kind:
        case Flag(words=words) if words:
            return next(word for word, meaning in words.items() if meaning is value)
        case OneOf() if isinstance(value, Enum):
            return value.value
        case Time():
            return value // 1000
        case Shape() as shape if fields_of(value):
            inside = ((each, getattr(value, each.attribute)) for each in shape)
            return {
                each.name: each.shown(member) if each.shown is not None else member
                for each, member in inside
                if member is not None
            }
        case _:
            return value


def out_of_range(fields: Iterable[Field], change: Mapping[str, Any]) -> Iterator[tuple[str, Whole]]:
    """Yield name and kind of each number of *change*, by attribute, that is too small or too large."""
    for each in fields:
        value = change.get(each.attribute)
        if isinstance(each.kind, Whole) and value is not None and not each.kind.allows(value):
            yield each.name, each.kind
        if isinstance(each.kind, Shape) and fields_of(value):
            inner = {member.attribute: getattr(value, member.attribute) for member in each.kind}
            yield from out_of_range(each.kind, inner)


def _object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None
