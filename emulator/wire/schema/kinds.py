"""The vocabulary of attributes: kinds of values, fields, and shapes, which are what has fields.

A `Field` is the one row that describes an attribute of a resource, a property of a file, an argument of an operation or
a setting. Its kind is data: it says what is allowed and does nothing. A *form* is a way to write values, such as
``xml``; the `Notation` of a form (module `notation`) makes of each kind what reads it there, and refuses values in that
form's own words. Documentation, JSON Schemas, the command line and the columns of the tables are made from the same
rows.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

from emulator.kernel import frozen as frozen_data
from emulator.kernel.frozen import fields_of, frozen
from emulator.kernel.paging import Range

ABSENT: Any = object()
"""No value: an attribute without a default, a reader's result for an empty value, a member left out of an answer."""

Rule = Callable[[Any, str], Any]
"""(value, name) -> the value to keep; raises the service's own error."""


@frozen(kw_only=False)
class Text:
    """A string of *shortest* to *longest* characters, which fits the regular expression *form* where there is one.

    *expected* says in words what the form is. Where *holds_json*, files may give a list or map in place of its text.
    *digits* are texts that files may also give as a number.
    """

    longest: int | None = None
    shortest: int = 0
    form: str = ""
    expected: str = ""
    holds_json: bool = False
    digits: bool = False


@frozen(kw_only=False)
class Whole:
    """A whole number from *low* to *high* in *unit*. *words* are texts that stand for numbers, such as ``auto``.

    *digits* are numbers that definitions of flows may also give as the text of their digits.
    """

    low: int | None = None
    high: int | None = None
    unit: str = ""
    words: Mapping[str, int] = {}
    expected: str = ""
    digits: bool = False

    def allows(self, value: int) -> bool:
        """Whether *value* lies in the range."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


@frozen(kw_only=False)
class Duration(Whole):
    """A length of time, a whole number of its *unit*."""

    unit: str = "seconds"


def whole(allowed: Range, unit: str = "") -> Whole:
    """Return the kind of a whole number in a range of a service's limits."""
    return Whole(allowed.low, allowed.high, unit)


def duration(allowed: Range, unit: str = "seconds") -> Duration:
    """Return the kind of a length of time in a range of a service's limits."""
    return Duration(allowed.low, allowed.high, unit)


@frozen(kw_only=False)
class Number:
    """A number from *low* to *high*, fractions included; *low* itself is not allowed where it is *open*."""

    low: float | None = None
    high: float | None = None
    open: bool = False


@frozen(kw_only=False)
class Flag:
    """A boolean; *words* are its values where it is written as one of two words."""

    words: Mapping[str, bool] = {}


@frozen(kw_only=False)
class OneOf:
    """One of the strings *choices*; *fold*, such as ``str.upper``, makes the spelling that is compared and kept.

    With *members* the value inside is a member of that enumeration. With *label*, which says what the choices are, a
    refusal by Function Compute has the form that its clients look for.
    """

    choices: Collection[str]
    label: str = ""
    fold: Callable[[str], str] | None = None
    members: type[Enum] | None = None


def member_of(members: type[Enum]) -> OneOf:
    """Return the kind of an enumeration's values."""
    return OneOf(tuple(each.value for each in members), members=members)


@frozen(kw_only=False)
class Time:
    """An instant, inside in milliseconds; every form writes instants in its own way."""


@frozen(kw_only=False)
class Binary:
    """Bytes, which forms of text write in Base64."""


@frozen(kw_only=False)
class Items:
    """A list of *least* to *most* values of a kind.

    With *titled* a refusal has the form that clients of Function Compute look for.
    Source of that form: fc-java-sdk FunctionComputeClientTest.
    """

    kind: "Kind"
    most: int | None = None
    titled: bool = False
    least: int = 0


@frozen(kw_only=False)
class MapOf:
    """An object whose names are the user's own and whose values are of one kind."""

    kind: "Kind"


@frozen(kw_only=False)
class Json:
    """Any JSON value, or only an object or list (*only*), kept and shown as it is.

    With *as_written*, names in it are spelled in files as in the API.
    """

    only: Literal["", "object", "list"] = ""
    as_written: bool = False


@frozen(kw_only=False)
class JsonText:
    """A string that holds JSON; an object or a list given directly is written as text."""


@frozen(kw_only=False)
class Folder:
    """The path of a file or folder; a relative one starts at a folder given to the reader.

    With *existing* it has to be an existing folder, with *program* an executable file.
    """

    existing: bool = False
    program: bool = False


@frozen(kw_only=False)
class Ruled:
    """A value of *kind*, further checked by *rule*, which takes and returns the value that the kind has read.

    With *alone*, services apply the rule without the kind, which then only describes the value for files and schemas.
    """

    kind: "Kind"
    rule: Rule
    alone: bool = False


@frozen(kw_only=False)
class Noted:
    """A value that files may give and that has no effect here, for the reason *why*; kept if it has a *kind*.

    Where the word ``auto`` asks the cloud to create a resource, *or_auto* is the reason noted for it, and other values
    are read as *kind*. The value *unset*, which services return and exports write where nothing was set, is not noted.
    """

    why: str
    kind: "Kind | None" = None
    or_auto: str = ""
    unset: Any = None


@frozen(kw_only=False)
class Also:
    """A value of *kind* that files read with *read*, for example because they also allow the kind *other*.

    *read* takes the arguments of a reader of files, the place in the file first, and returns the value to keep.
    """

    kind: "Kind"
    read: Callable[..., Any]
    other: "Kind | None" = None


@frozen(kw_only=False)
class Tagged:
    """An object whose member *tag* names which of *shapes* it has, such as a step by its type."""

    title: str
    tag: str
    shapes: Mapping[str, "Shape"]


@frozen(kw_only=False)
class Held:
    """A value that tables hold in *columns*: *write* returns what goes into them, *read* takes that.

    With one column or none named, the column has the attribute's own name.
    """

    write: Callable[[Any], Any]
    read: Callable[..., Any]
    columns: tuple[str, ...] = ()


TEXT, FLAG, WHOLE, NUMBER, TIME, ANYTHING = Text(), Flag(), Whole(), Number(), Time(), Json()
AS_WRITTEN = Json(as_written=True)
TEXTS, TEXT_MAP, OBJECT, LIST, JSON_TEXT = Items(TEXT), MapOf(TEXT), Json("object"), Json("list"), JsonText()
BINARY, COUNT = Binary(), Whole(0, 100_000)


class Field(NamedTuple):
    """One attribute: its names, its kind, its default, its help.

    ``name`` is the vendor's, ``attribute`` the name here; without an attribute the field is only shown in answers.
    ``names`` are other names by form; the first is the one that the form writes, and all are read. ``only`` are the
    forms that have the field, all when empty. ``default`` is what holds where nothing is given. A *required* field has
    to be given; a *fixed* one cannot be changed after creation. The members of a *flat* one stand beside the other
    fields instead of inside it. ``shown`` computes what answers show from the view of the resource (of a member: from
    its value). ``unset`` is what answers show where the value is None: nothing when it is `ABSENT`, None for null; such
    a value is read as None too. ``members`` are the values shown for members that an object value lacks. ``since`` and
    ``until`` say from when to when the service has had the field. ``help`` is a line in English and in Chinese;
    ``source`` tells where this is known from. A *secret* value is never printed.
    """

    name: str
    attribute: str = ""
    kind: "Kind" = TEXT
    default: Any = ABSENT
    required: bool = False
    names: Mapping[str, tuple[str, ...]] = {}
    only: tuple[str, ...] = ()
    fixed: bool = False
    flat: bool = False
    shown: Callable[[Any], Any] | None = None
    unset: Any = ABSENT
    members: Mapping[str, Any] | None = None
    since: str = ""
    until: str = ""
    help: tuple[str, str] = ("", "")
    source: str = ""
    secret: bool = False

    def name_in(self, form: str) -> str:
        """Return what *form* calls the field."""
        names = self.names.get(form)
        return names[0] if names else self.name

    def is_in(self, form: str) -> bool:
        """Whether *form* has the field."""
        return not self.only or form in self.only

    @property
    def bare_kind(self) -> "Kind":
        """The kind inside its rules and notes (`bare`)."""
        return bare(self.kind)


class Either(NamedTuple):
    """Fields of which at most one may be given, by name; with *needed*, exactly one.

    *refusal* is a sentence for both mistakes, for forms that have none of their own.
    """

    names: tuple[str, ...]
    needed: bool = True
    refusal: str = ""


class Shape:
    """A kind of objects: its fields, and the frozen class *record* whose instances hold them, if there is one.

    Without a record a value is a mapping by the fields' names. ``title`` is the vendor's name of the resource.
    *either* are the fields that exclude one another.
    """

    def __init__(
        self,
        title: str,
        fields: Iterable[Field],
        record: Callable[..., Any] | None = None,
        either: tuple[Either, ...] = (),
    ) -> None:
        self.title = title
        self.fields = tuple(fields)
        self.record = record
        self.either = either

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def extended(self, *more: Field) -> "Shape":
        """Return a shape with further fields."""
        return Shape(self.title, (*self.fields, *more), self.record, self.either)

    def __getitem__(self, name: str) -> Field:
        """Return the field of that name.

        Raises: KeyError.
        """
        return self._by_name[name]

    def with_kinds(self, **kinds: "Kind") -> "Shape":
        """Return a shape some of whose fields have other kinds, by name."""
        fields = (each._replace(kind=kinds.get(each.name, each.kind)) for each in self.fields)
        return Shape(self.title, fields, self.record, self.either)

    def without(self, *names: str) -> "Shape":
        """Return a shape that lacks the fields of these names."""
        return Shape(self.title, (each for each in self.fields if each.name not in names), self.record, self.either)

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {each.name: each for each in self.fields}

    @cached_property
    def stored(self) -> tuple[Field, ...]:
        """The fields that are kept: those with an attribute."""
        return tuple(each for each in self.fields if each.attribute)

    def of_form(self, form: str, *, settable: bool = True) -> Iterator[Field]:
        """Yield the fields that *form* has; unless *settable*, also those that are only shown."""
        for each in self.fields:
            if each.is_in(form) and (each.attribute or not settable):
                yield each

    def defaults(self) -> dict[str, Any]:
        """Return the defaults of a new resource by attribute, for the fields that declare one."""
        return {each.attribute: each.default for each in self.stored if each.default is not ABSENT}

    def default_of(self, field: Field) -> Any:
        """Return the default of *field*, from its row or from the record's class; None where it has none."""
        if field.default is not ABSENT:
            return field.default
        inside = next((each for each in fields_of(self.record) if each.name == field.attribute), None)
        if inside is None:
            return None
        if inside.default_factory is not frozen_data.ABSENT:
            return inside.default_factory()
        return None if inside.default is frozen_data.ABSENT else inside.default


def record(*fields: Field, **kinds: "Kind") -> Shape:
    """Return the shape of an object with these members, whose attributes have the members' names."""
    return Shape("", (*fields, *(Field(name, name, kind) for name, kind in kinds.items())))


def argument(name: str, kind: "Kind" = TEXT, about: str = "", *, default: Any = ABSENT) -> Field:
    """Return an argument of an operation of the admin API; it is required when it has no *default*."""
    return Field(name, name, kind, default, required=default is ABSENT, help=(about, ""))


def member(name: str, kind: "Kind" = TEXT) -> Field:
    """Return a member whose attribute has the member's name."""
    return Field(name, name, kind)


def needed(name: str, kind: "Kind" = TEXT) -> Field:
    """Return a required member of files, whose attribute has the member's name."""
    return Field(name, name, kind, required=True)


def spelled(name: str, kind: "Kind", *others: str) -> Field:
    """Return a member that files may also spell as one of *others*; its attribute has the member's name."""
    return Field(name, name, kind, names={"file": (name, *others)})


def bare(kind: "Kind") -> "Kind":
    """Return the kind inside `Ruled`, `Also` and `Noted`."""
    while isinstance(kind, Ruled | Also) or (isinstance(kind, Noted) and kind.kind is not None):
        inner = kind.kind
        assert inner is not None
        kind = inner
    return kind


Kind: TypeAlias = (
    Text | Whole | Number | Flag | OneOf | Time | Binary | Items | MapOf | Json | JsonText | Folder | Ruled | Noted
    | Also | Held | Tagged | Shape
)  # fmt: skip
"""The kinds that a `Notation` may have readers for; a `Duration` is read as a `Whole`."""
