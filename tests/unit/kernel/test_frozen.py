"""Immutable data classes."""

import dataclasses
import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, dataclass, fields
from dataclasses import replace as standard_replace
from typing import ClassVar

import pytest

from emulator.kernel.frozen import field, frozen, replace


@frozen
class Point:
    """A record with a default, a factory and a field that does not count."""

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)
    note: str = field(default="", compare=False)


@frozen
class Named(Point):
    """A record with one field more than its parent."""

    name: str


@frozen(kw_only=False)
class Pair:
    """A record whose fields may be given by position."""

    left: int
    right: int = 2


@frozen
class Nothing:
    """A record without fields."""


def test_fields_are_given_by_name_and_defaults_fill_the_rest():
    """A factory runs once for every object that is made without a value."""
    one, other = Point(x=1), Point(x=1, tags=["a"])

    assert (one.x, one.y, one.tags, other.tags) == (1, 0, [], ["a"])
    assert Point(x=1).tags is not one.tags


def test_wrong_call_names_the_class():
    """Fields are not taken by position, and none without a default can be left out."""
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) takes 1 positional"):
        Point(1)
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required keyword-only argument: 'x'"):
        Point()


def test_fields_by_position_where_the_class_says_so():
    """Both ways are open then, and patterns match by position too."""
    match Pair(1, right=3):
        case Pair(left, right):
            found = (left, right)

    assert found == (1, 3)
    assert Pair(1) == Pair(left=1, right=2)


@pytest.mark.parametrize("name", ["x", "unknown"])
def test_nothing_can_be_changed_or_added(name):
    """Neither a field nor anything else is set or deleted."""
    point = Point(x=1)

    with pytest.raises(FrozenInstanceError, match=f"Point.{name}"):
        setattr(point, name, 2)
    with pytest.raises(FrozenInstanceError, match=f"Point.{name}"):
        delattr(point, name)
    assert not hasattr(point, "__dict__")


def test_equal_fields_of_the_same_class_make_equal_objects():
    """Fields that are not compared do not count; a subclass is another class."""
    assert Point(x=1, note="a") == Point(x=1, note="b")
    assert Point(x=1) != Point(x=2)
    assert Named(x=1, name="") != Point(x=1)
    assert Nothing() == Nothing()
    assert Point(x=1) != (1, 0, [])


def test_hash_follows_equality():
    """Objects can be keys as long as their fields can."""
    assert {Pair(1): "found"}[Pair(1, 2)] == "found"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(x=1))


def test_own_methods_of_the_class_stay():
    """A class can compare, hash and show itself in its own way."""

    @frozen
    class Loose:
        """A record that is equal to every number."""

        number: int

        def __eq__(self, other):
            return isinstance(other, int)

        def __repr__(self):
            return "loose"

    assert Loose(number=1) == 5
    assert repr(Loose(number=1)) == "loose"
    assert hash(Loose(number=1)) == hash(Loose(number=1))


def test_text_shows_the_call_that_makes_the_object():
    """For logs and failing tests."""
    assert repr(Named(x=1, name="n")) == "Named(x=1, y=0, tags=[], note='', name='n')"
    assert repr(Nothing()) == "Nothing()"


@pytest.mark.parametrize("copy", [replace, standard_replace], ids=["own", "standard"])
def test_changed_copy_keeps_the_other_fields(copy):
    """The original stays as it is, and a name that is no field is refused."""
    original = Named(x=1, name="a", note="n")

    changed = copy(original, name="b")

    assert (changed, changed.note, original.name) == (Named(x=1, name="b"), "n", "a")
    with pytest.raises(TypeError, match="unknown"):
        copy(original, unknown=1)


def test_class_variables_are_no_fields():
    """They belong to the class, whether or not a value is given there."""

    @frozen
    class Kind:
        """A record with a constant of its class."""

        number: int
        unit: ClassVar[str] = "s"
        scale: ClassVar = 10

    assert repr(Kind(number=1)).endswith("Kind(number=1)")
    assert (Kind.unit, Kind(number=1).scale) == ("s", 10)


def test_standard_library_takes_them_for_data_classes():
    """The list of fields, inherited ones first, and their defaults come from `dataclasses`."""
    assert [each.name for each in fields(Named)] == ["x", "y", "tags", "note", "name"]
    assert fields(Point(x=1))[1].default == 0
    assert fields(Point)[2].default_factory is list


def test_hash_and_equality_are_those_of_the_standard_library():
    """What was a frozen `dataclass` before can become this."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Standard:
        a: int
        b: str = "b"

    made = frozen(type("Standard", (), {"__annotations__": {"a": int, "b": str}, "b": "b", "__qualname__": "Standard"}))

    for kind in (Standard, made):
        assert kind(a=1) == kind(a=1, b="b")
        assert hash(kind(a=1)) == hash(kind(a=1, b="b"))
        assert repr(kind(a=1)).endswith("Standard(a=1, b='b')")
        assert kind.__slots__ == ("a", "b")


@pytest.mark.parametrize("copied", [deepcopy, lambda each: pickle.loads(pickle.dumps(each))], ids=["copy", "pickle"])
def test_copies_are_equal_and_as_immutable(copied):
    """Checkpoints keep deep copies of what tests have set up."""
    made = Named(x=1, name="a", tags=["b"])

    copy = copied(made)

    assert copy == made
    assert copy.tags is not made.tags
    with pytest.raises(FrozenInstanceError):
        copy.x = 2


def test_the_standard_description_is_made_once(monkeypatch):
    """`dataclasses.asdict` asks for it several times for each record; making it takes as long as making the class."""
    made = []
    monkeypatch.setattr("dataclasses.make_dataclass", _counted(dataclasses.make_dataclass, made))
    kind = frozen(type("Record", (), {"__annotations__": {"a": int}, "__qualname__": "Record"}))

    shown = [dataclasses.asdict(kind(a=number)) for number in range(10)]

    assert shown[9] == {"a": 9}
    assert len(made) == 1


def _counted(function, calls):
    def count(*given, **named):
        calls.append(given[0])
        return function(*given, **named)

    return count


def test_class_that_two_threads_use_for_the_first_time_is_completed_once():
    """The one that comes second may have looked the old initializer up already."""

    @frozen
    class Point:
        x: int
        y: int = 2

    initializer = Point.__init__
    first, second = Point(x=1), object.__new__(Point)
    initializer(second, x=1)

    assert second == first
    assert Point(x=1) == first
