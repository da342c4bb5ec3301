"""Attribute tables: what each attribute of a resource is called, its type and range, written down once.

A service declares one `Resource` beside the data class of the settings. Every form reads it: XML and RPC requests and
answers, ``localyun.yaml``, deployed templates, the command line and the columns of the tables. A *form* is a name the
service chooses, such as ``xml``; a `Notation` knows how a form writes numbers and booleans and what it answers to a
value it cannot read.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from emulator.kernel import frozen
from emulator.kernel.frozen import fields_of, replace
from emulator.kernel.paging import Range

S = TypeVar("S")


class Attribute(NamedTuple):
    """One attribute.

    ``name`` is the vendor's, ``names`` are other names by form, ``only`` the forms that have the attribute (all when
    empty). ``field`` is the field of the settings it sets; without one the attribute is only shown. ``kind`` is
    ``int``, ``bool``, ``str``, an enumeration, a data class with ``members`` (or ``tuple`` and ``dict``, which only
    columns read). ``words`` are the values of a boolean that is written as one of two words. The members of a *flat*
    attribute stand beside the others instead of inside it. A *fixed* attribute cannot be changed after creation.
    ``shown`` computes what answers show from the view of the resource (of a member: from its value). ``absent`` is
    written where the settings have None, and read as None.
    """

    name: str
    field: str = ""
    kind: type = str
    range: Range | None = None
    unit: str = ""
    only: tuple[str, ...] = ()
    names: Mapping[str, str] = {}
    words: Mapping[str, bool] = {}
    members: tuple["Attribute", ...] = ()
    flat: bool = False
    fixed: bool = False
    shown: Callable[[Any], Any] | None = None
    absent: Any = None
    source: str = ""

    def name_in(self, form: str) -> str:
        """Return what *form* calls the attribute."""
        return self.names.get(form, self.name)


class Notation(NamedTuple):
    """How one form writes values.

    ``number`` and ``switch`` read a value, given the attribute's name, or raise. ``invalid`` makes the error for an
    object that is none, ``unknown`` that for a word that is none of an enumeration. Where *blank_is_absent*, an empty
    text names no value.
    """

    form: str
    number: Callable[[Any, str], int]
    switch: Callable[[Any, str], bool]
    invalid: Callable[[str], Exception]
    unknown: Callable[[str], Exception]
    blank_is_absent: bool = True


class Resource(Generic[S]):
    """The attributes of one kind of resource, whose settings are the data class *settings*."""

    def __init__(self, name: str, settings: type[S], attributes: tuple[Attribute, ...]) -> None:
        self.name = name
        self.settings = settings
        self.attributes = attributes
        self.stored = tuple(each for each in attributes if each.field)
        self.columns = ", ".join(each.field for each in self.stored)

    def of_form(self, form: str, *, settable: bool = True) -> Iterator[Attribute]:
        """Yield the attributes that *form* has; the *settable* ones or all that are shown."""
        for each in self.attributes:
            if (not each.only or form in each.only) and (each.field or not settable):
                yield each

    def default_of(self, attribute: Attribute) -> Any:
        """Return what a new resource has where a request does not name *attribute*, None for a required one."""
        default = next(each for each in fields_of(self.settings) if each.name == attribute.field).default
        return None if default is frozen.ABSENT else default

    def read(
        self,
        notation: Notation,
        value_of: Callable[[str], Any],
        *,
        before: S | None = None,
        changing: bool = False,
    ) -> dict[str, Any]:
        """Return the settings a request names, by field; *value_of* returns the value of a name, None without one.

        A flat attribute is changed from what it is in *before*. While *changing*, fixed attributes are ignored.

        Raises: what *notation* says.
        """
        change: dict[str, Any] = {}
        for each in self.of_form(notation.form):
            if changing and each.fixed:
                continue
            if not each.flat:
                change |= _read((each,), notation, value_of)
            elif members := _read(each.members, notation, value_of):
                change[each.field] = replace(getattr(before or self.settings(), each.field), **members)
        return change

    def out_of_range(self, change: Mapping[str, Any]) -> Iterator[tuple[str, Range, str]]:
        """Yield name, range and unit of each number of *change* that is too small or too large."""
        yield from _out_of_range(self.stored, change)

    def show(self, form: str, settings: S, view: Any) -> Iterator[tuple[str, Any]]:
        """Yield name and value of each attribute that answers in *form* show, in the table's order."""
        for each in self.of_form(form, settable=False):
            value = each.shown(view) if each.shown is not None else getattr(settings, each.field)
            if each.flat:
                for member in each.members:
                    yield member.name, getattr(value, member.field)
                continue
            yield each.name_in(form), each.absent if value is None else shown(each, value)

    def to_row(self, settings: S) -> tuple[Any, ...]:
        """Return the values of the settings for `columns`."""
        return tuple(_to_column(getattr(settings, each.field)) for each in self.stored)

    def from_row(self, row: list[Any]) -> S:
        """Return the settings that `columns` hold."""
        return self.settings(
            **{each.field: _from_column(each.kind, value) for each, value in zip(self.stored, row, strict=True)}
        )


ABSENT: Any = object()
"""What `read_value` returns for a value that names nothing."""


def read_value(attribute: Attribute, notation: Notation, value: Any, name: str = "") -> Any:
    """Return the value of an attribute as its settings hold it, `ABSENT` when there is none; *name* is for errors.

    Raises: what *notation* says.
    """
    kind, name = attribute.kind, name or attribute.name_in(notation.form)
    is_choice = issubclass(kind, Enum)
    if value is None:
        return ABSENT
    if kind is str:
        if not isinstance(value, str):
            raise notation.invalid(name)
        return None if value == attribute.absent else value
    if (notation.blank_is_absent or is_choice) and isinstance(value, str) and not value.strip():
        return ABSENT
    if attribute.words:
        if str(value).lower() not in attribute.words:
            raise notation.invalid(name)
        return attribute.words[str(value).lower()]
    if kind is int:
        return notation.number(value, name)
    if kind is bool:
        return notation.switch(value, name)
    if is_choice:
        try:
            return kind(str(value).strip())
        except ValueError:
            raise notation.unknown(name) from None
    content = _object(value)
    if content is None:
        raise notation.invalid(name)
    # an error inside an object names the object
    inside = {each.field: read_value(each, notation, content.get(each.name), name) for each in attribute.members}
    return kind(**{field: member for field, member in inside.items() if member is not ABSENT})


def shown(attribute: Attribute, value: Any) -> Any:
    """Return a value as answers show it: words and names of enumerations as text, objects by member."""
    if attribute.words:
        return next(word for word, meaning in attribute.words.items() if meaning is value)
    if isinstance(value, Enum):
        return value.value
    if attribute.members and fields_of(value):
        inside = ((each, getattr(value, each.field)) for each in attribute.members)
        return {
            each.name: each.shown(member) if each.shown is not None else member
            for each, member in inside
            if member is not None
        }
    return value


def _read(attributes: Iterable[Attribute], notation: Notation, value_of: Callable[[str], Any]) -> dict[str, Any]:
    read = {each.field: read_value(each, notation, value_of(each.name_in(notation.form))) for each in attributes}
    return {field: value for field, value in read.items() if value is not ABSENT}


def _out_of_range(attributes: tuple[Attribute, ...], change: Mapping[str, Any]) -> Iterator[tuple[str, Range, str]]:
    for each in attributes:
        value = change.get(each.field)
        if each.range is not None and value is not None and not each.range.contains(value):
            yield each.name, each.range, each.unit
        if each.members and fields_of(value):
            yield from _out_of_range(each.members, {inner.field: getattr(value, inner.field) for inner in each.members})


def _object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _to_column(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | dict):
        return json.dumps(value)
    if fields := fields_of(value):
        return json.dumps({each.name: getattr(value, each.name) for each in fields})
    return value


def _from_column(kind: type, value: Any) -> Any:
    if value is None or kind is int or kind is str:
        return value
    if kind is bool or issubclass(kind, Enum):
        return kind(value)
    content = json.loads(value)
    if kind is tuple:
        return tuple(tuple(item) for item in content)
    return content if kind is dict else kind(**content)
