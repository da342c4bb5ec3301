"""Pages of objects and buckets, read from the rows: order, folding, and that a page costs what is on it."""

import random

import pytest

from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.oss import store as rows_of
from emulator.oss.model import Attributes, Bucket, Part, Piece, StoredObject, Upload
from emulator.oss.service import SCHEMA
from emulator.oss.store import ObjectStore
from emulator.storage.database import Database
from emulator.storage.migration import migrate
from tests.sqlite_steps import counted_steps

NOW = Millis(1_700_000_000_000)


@pytest.fixture
def store():
    database = Database(None)
    migrate(database, [SCHEMA])
    yield ObjectStore(database)
    database.close()


def put_bucket(store, name, account="1", region="r"):
    store.put_bucket(
        Bucket(
            name=name, account=AccountId(account), region=Region(region), created_at=NOW, acl="private",
            storage_class="Standard",
        )
    )  # fmt: skip


def put(store, *keys):
    put_bucket(store, "box")
    plain = Attributes(headers={}, metadata={}, tags={})
    for key in keys:
        made = StoredObject(key=key, kind="Normal", pieces=(), etag="E", crc=0, modified_at=NOW, attributes=plain)
        store.put_object("box", made, None)


def names(found):
    return [each if isinstance(each, str) else each.key for each in found]


def expected(keys, prefix, delimiter, after, limit):
    """Return what a list has, the plain way."""
    there = set()
    for key in keys:
        if key.startswith(prefix):
            rest = key[len(prefix) :]
            folded = delimiter and delimiter in rest
            there.add((prefix + rest.partition(delimiter)[0] + delimiter, True) if folded else (key, False))
    return [name for name, _ in sorted(there) if name > after][:limit]


def test_a_list_has_what_a_look_at_every_object_would_find(store):
    """Whatever prefix, delimiter, beginning and length; a folder is told once, and not again beyond its own name."""
    chance = random.Random(32)

    def word(longest):
        return "".join(chance.choices("ab/é\U0001f600", k=chance.randint(0, longest)))

    keys = sorted({word(6) or "a" for _ in range(150)})
    put(store, *keys)

    for _ in range(1500):
        asked = word(2), chance.choice(["", "/", "a", "b/"]), word(4), chance.choice([1, 3, 1000])
        assert names(store.entries("box", *asked)) == expected(keys, *asked), asked


@pytest.mark.parametrize("text", ["\udcff", "a\udcff"])
def test_nothing_is_listed_for_what_is_no_text(store, text):
    """No name of an object is anything but UTF-8."""
    put(store, "a", "ab")

    assert store.entries("box", text, "", "", 9) == []
    assert store.entries("box", "", "", text, 9) == []
    assert names(store.entries("box", "", text, "", 9)) == ["a", "ab"]


@pytest.mark.parametrize("number", [30, 300])
@pytest.mark.parametrize(("delimiter", "most"), [("", 5), ("/", 0)])
def test_a_page_reads_as_many_objects_as_are_on_it(store, monkeypatch, number, delimiter, most):
    """However many there are, and none of those in a folder; a folder takes one statement."""
    put(store, *(f"d{each % 10}/{each:04}" for each in range(number)))
    made, real, asked = [], rows_of._object, []
    monkeypatch.setattr(rows_of, "_object", lambda row: (made.append(row), real(row))[1])
    store._database._connection.set_trace_callback(asked.append)

    found = store.entries("box", "", delimiter, "", 5)

    store._database._connection.set_trace_callback(None)
    assert len(found) == 5
    assert len(made) == most
    assert len(asked) <= 5


def start_uploads(store, *places, bucket="box"):
    plain = Attributes(headers={}, metadata={}, tags={})
    for key, number in places:
        store.put_upload(bucket, Upload(id=number, key=key, started_at=NOW, attributes=plain))


def expected_uploads(places, prefix, delimiter, after, upload, limit):
    """Return what a list of uploads has, the plain way."""
    rows = []
    for key, number in sorted(places):
        if not key.startswith(prefix) or key < after or (key == after and (not upload or number <= upload)):
            continue
        head, mark, _ = key[len(prefix) :].partition(delimiter or "\0")
        common = prefix + head + mark
        if not mark:
            rows.append((key, number))
        elif common not in rows and common > after:
            rows.append(common)
    return rows[:limit]


def test_a_list_of_uploads_has_what_a_look_at_each_would_find(store):
    """Whatever prefix, delimiter, beginning and length; several uploads of a key come by their ids."""
    chance = random.Random(33)

    def word(longest):
        return "".join(chance.choices("ab/é", k=chance.randint(0, longest)))

    places = sorted({(word(4) or "a", f"{chance.randrange(1 << 32):08x}") for _ in range(150)})
    put_bucket(store, "box")
    put_bucket(store, "other")
    start_uploads(store, *places)
    start_uploads(store, ("a", "other"), bucket="other")

    for _ in range(1500):
        after, upload = chance.choice([("", ""), (word(4), ""), (word(3), "8"), chance.choice(places)])
        asked = word(2), chance.choice(["", "/", "a"]), after, upload if after else "", chance.choice([1, 3, 1000])
        found = store.upload_entries("box", *asked)
        shown = [each if isinstance(each, str) else (each.key, each.id) for each in found]
        assert shown == expected_uploads(places, *asked), asked


@pytest.mark.parametrize("text", ["\udcff", "a\udcff"])
def test_no_upload_is_listed_for_what_is_no_text(store, text):
    """As for objects."""
    put_bucket(store, "box")
    start_uploads(store, ("a", "1"))

    assert store.upload_entries("box", text, "", "", "", 9) == []
    assert store.upload_entries("box", "", "", text, "", 9) == []
    assert store.upload_entries("box", "", "", "a", text, 9) == []


@pytest.mark.parametrize("after", ["", "d5/0015"])
@pytest.mark.parametrize("delimiter", ["", "/"])
def test_a_page_costs_no_more_beside_ten_times_as_many(store, delimiter, after):
    """Of objects, of uploads; and so does a bucket that goes."""
    spent = []
    for number in (30, 300):
        keys = [f"d{each % 10}/{each:04}" for each in range(number)]
        put(store, *keys)
        store._database.write("DELETE FROM oss_uploads")
        start_uploads(store, *((key, f"u{each}") for each, key in enumerate(keys)))
        put_bucket(store, "spare")
        with counted_steps(store._database) as steps:
            store.entries("box", "", delimiter, after, 3)
            store.upload_entries("box", "", delimiter, after, "", 3)
            store.remove_bucket("spare")
        spent += steps

    assert spent[1] <= spent[0] * 1.1, spent


def test_buckets_are_those_of_an_account_in_a_region(store):
    """By name, from one on, with a part of the name; no other owner's bucket is there."""
    for name in ("a-box", "b-box", "c", "d-box"):
        put_bucket(store, name)
    put_bucket(store, "b-other", account="2")
    put_bucket(store, "b-far", region="q")
    own = Tenant(AccountId("1"), Region("r"))

    assert [each.name for each in store.some_buckets(own, "", 9)] == ["a-box", "b-box", "c", "d-box"]
    assert [each.name for each in store.some_buckets(own, "b-box", 2)] == ["b-box", "c"]
    assert [each.name for each in store.some_buckets(own, "", 9, "box")] == ["a-box", "b-box", "d-box"]
    assert [store.has_bucket(own, name) for name in ("c", "b-other", "b-far", "none")] == [True, False, False, False]


def test_parts_are_read_upload_by_upload(store):
    """So that whoever takes all of them can let others have a turn."""
    put_bucket(store, "box")
    plain = Attributes(headers={}, metadata={}, tags={})
    for name in ("one", "two"):
        store.put_upload("box", Upload(id=name, key=f"key {name}", started_at=NOW, attributes=plain))
        for number in (2, 1):
            piece = Piece(content=f"{name}{number}", size=number)
            store.put_part(name, Part(number=number, piece=piece, etag="E", crc=7, modified_at=NOW), None)
    asked = []
    store._database._connection.set_trace_callback(asked.append)

    uploads = store.uploads()
    bucket, first, parts = next(uploads)
    before = sum("oss_parts" in sql for sql in asked)
    found = [(part.number, part.piece.content) for part in parts]
    after = sum("oss_parts" in sql for sql in asked)
    rest = {upload.id: [part.number for part in others] for _, upload, others in uploads}

    store._database._connection.set_trace_callback(None)
    assert (bucket, first.key, before, after) == ("box", f"key {first.id}", 0, 1)
    assert found == [(1, f"{first.id}1"), (2, f"{first.id}2")]
    assert list(rest.values()) == [[1, 2]]
