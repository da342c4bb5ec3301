"""Kinds are data; a notation makes readers of them, once, and refuses values in its own words."""

import pytest

from emulator.kernel.frozen import frozen
from emulator.services.fc.codec import BODY
from emulator.services.fc.errors import InvalidArgument
from emulator.storage.rows import COLUMNS, row_of
from emulator.wire.schema.kinds import (
    FLAG,
    TEXT,
    TEXTS,
    Duration,
    Field,
    Held,
    Items,
    Noted,
    Ruled,
    Shape,
    Whole,
    bare,
    record,
)
from emulator.wire.schema.notation import Notation


@frozen
class Settings:
    """What the shape of these tests is kept as."""

    name: str = ""
    wait_s: int = 5
    urgent: bool = False
    tags: tuple[str, ...] = ()


SHAPE = Shape(
    "Thing",
    (
        Field("Name", "name"),
        Field("Wait", "wait_s", Duration(0, 9)),
        Field("Urgent", "urgent", FLAG, only=("xml",)),
        Field("Tags", "tags", TEXTS),
        Field("Size", kind=Whole(), shown=lambda view: view),
    ),
    Settings,
)


def test_a_reader_is_made_once_for_a_kind():
    """Reading costs no more for being described by data."""
    kind = Whole(1, 2)

    assert BODY.reader(kind) is BODY.reader(kind)
    assert BODY.reader(Whole(1, 2)) is not BODY.reader(kind)


def test_a_kind_that_a_form_cannot_write_is_a_mistake_of_the_table():
    """It shows when the table is first read, not as a wrong value."""
    with pytest.raises(TypeError, match="nowhere"):
        Notation("nowhere").reader(TEXT)
    with pytest.raises(TypeError, match="json"):
        BODY.reader(Held(str, int))


def test_an_error_names_the_place_inside_a_structure():
    """Lists have positions, objects the names of their members."""
    kind = record(rows=Items(record(size=Whole(1, 3))))

    with pytest.raises(InvalidArgument, match=r"body\.rows\[1\]\.size 4 is out of range: it must be from 1 to 3"):
        BODY.reader(kind)({"rows": [{"size": 1}, {"SIZE": 4}]}, "body")


def test_a_rule_has_the_last_word_unless_it_stands_alone():
    """A rule gets what the kind has kept; alone, it gets the value as it came."""
    after = Ruled(Whole(1, 9), lambda value, _: value * 10)
    instead = Ruled(Whole(1, 9), lambda value, _: value, alone=True)

    assert BODY.reader(after)(3, "n") == 30
    assert BODY.reader(instead)("any", "n") == "any"
    assert bare(Noted("why", after)) == Whole(1, 9)


def test_a_form_has_the_fields_that_name_it_or_no_form():
    """What is only shown is no field to be set."""
    assert [each.name for each in SHAPE.of_form("xml")] == ["Name", "Wait", "Urgent", "Tags"]
    assert [each.name for each in SHAPE.of_form("rpc", settable=False)] == ["Name", "Wait", "Tags", "Size"]
    assert SHAPE.default_of(SHAPE["Wait"]) == 5


def test_a_row_holds_what_the_kinds_say():
    """Lists are JSON and come back as tuples, booleans as booleans, in the shape's order."""
    row = row_of(SHAPE)
    settings = Settings(name="n", urgent=True, tags=("a", "b"))

    values = row.values(settings)

    assert row.text == "name, wait_s, urgent, tags"
    assert values == ["n", 5, True, '["a", "b"]']
    assert row.item(["n", 5, 1, '["a", "b"]']) == settings
    assert COLUMNS.reader(Held(str, int)).names == ()


@pytest.mark.parametrize(("value", "inside"), [(0, False), (1, True), (9, True), (10, False)])
def test_a_range_includes_its_ends(value, inside):
    """Without ends there is none."""
    assert Whole(1, 9).allows(value) is inside
    assert Whole().allows(value)


def test_a_shape_can_be_changed_for_a_form():
    """The row stays where it is; a form has a shape of its own made of it."""
    shape = SHAPE.without("Tags").with_kinds(Name=Whole()).extended(Field("More", "more"))

    assert [each.name for each in shape] == ["Name", "Wait", "Urgent", "Size", "More"]
    assert shape["Name"].kind == Whole()
    assert SHAPE["Name"].kind == TEXT
