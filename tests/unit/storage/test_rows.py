"""Objects in rows of tables."""

import json

from emulator.kernel.frozen import field, frozen
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.fc.kinds import TENANT
from emulator.storage.database import Database
from emulator.storage.rows import Rows
from emulator.wire.schema.kinds import ANYTHING


@frozen
class Note:
    """Something with a text, a number, a structure and an owner, none of which but the first two need be there."""

    name: str
    size: int
    more: dict = field(default_factory=dict)
    rest: dict | None = None
    owner: Tenant | None = None


ROWS = Rows(Note, "notes", ("place",), more=ANYTHING, rest=ANYTHING, owner=TENANT)


def kept(note):
    """Write *note* and return what the table and what its reader make of it."""
    database = Database(None)
    database.write(f"CREATE TABLE notes (place, {ROWS.text})")
    database.write(ROWS.put, ("here", *ROWS.values(note)))
    raw = database.read("SELECT * FROM notes").fetchone()
    read = ROWS.item(database.read(f"{ROWS.select} WHERE place = 'here'").fetchone())
    database.close()
    return raw, read


def test_attributes_are_columns_of_their_names_or_those_of_their_form():
    """A structure is JSON that keeps the order of its keys; an owner has two columns."""
    note = Note(name="n", size=1, more={"b": 1, "a": [2]}, rest={}, owner=Tenant(AccountId("1"), Region("r")))

    raw, read = kept(note)

    assert ROWS.text == "name, size, more, rest, account, region"
    assert raw == ("here", "n", 1, '{"b":1,"a":[2]}', "{}", "1", "r")
    assert read == note
    assert json.dumps(read.more) == json.dumps(note.more)


def test_what_is_not_there_is_null():
    """In each of its columns, and it comes back as None."""
    raw, read = kept(Note(name="n", size=0))

    assert raw == ("here", "n", 0, "{}", None, None, None)
    assert (read.rest, read.owner) == (None, None)
