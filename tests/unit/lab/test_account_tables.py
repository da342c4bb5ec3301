"""Every table says whose its rows are, or belongs to the installation; those of an account are removed in turns."""

import asyncio
from itertools import pairwise

from emulator.app import _SCHEMAS
from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Region
from emulator.lab.service import OBJECTS, OF_INSTALLATION, PARTS, remove_rows
from emulator.oss.model import Attributes, Bucket, Part, Piece, StoredObject, Upload
from emulator.oss.store import ObjectStore
from emulator.storage.database import Database
from emulator.storage.migration import migrate

NOW = Millis(1_700_000_000_000)


def test_no_table_is_forgotten_when_an_account_is_removed():
    """A table names the account, the number of a world, or is listed."""
    database = Database(None)
    migrate(database, _SCHEMAS)
    names = {row[0] for row in database.read("SELECT name FROM sqlite_master WHERE type = 'table'")}
    columns = {name: {row[1] for row in database.read(f'PRAGMA table_info("{name}")')} for name in names}

    owned = {name for name in names if columns[name] & {"account", "world"}}

    assert names - {"sqlite_sequence"} == owned | set(PARTS) | set(OBJECTS) | OF_INSTALLATION
    assert not owned & (set(PARTS) | OF_INSTALLATION)


def fill(database, account):
    """Give an account a queue, and a bucket with objects and an upload."""
    store, plain = ObjectStore(database), Attributes(headers={}, metadata={}, tags={})
    bucket = f"of-{account}"
    store.put_bucket(
        Bucket(
            name=bucket, account=AccountId(account), region=Region("r"), created_at=NOW, acl="private",
            storage_class="Standard",
        )
    )  # fmt: skip
    for number in range(250):
        pieces = (Piece(content=f"{account} {number // 2}", size=1),)
        store.put_object(
            bucket,
            StoredObject(
                key=f"{number:03}", kind="Normal", pieces=pieces, etag="E", crc=0, modified_at=NOW, attributes=plain
            ),
            None,
        )
    store.put_upload(bucket, Upload(id=account, key="k", started_at=NOW, attributes=plain))
    piece = Piece(content=f"part of {account}", size=1)
    store.put_part(account, Part(number=1, piece=piece, etag="E", crc=0, modified_at=NOW), None)
    database.write(
        "INSERT INTO mns_queues (account, region, name, delay_s, maximum_message_size, retention_s,"
        " visibility_timeout_s, polling_wait_s, logging_enabled, fifo, encryption, tags, created_at, modified_at)"
        " VALUES (?, 'r', 'q', 0, 1, 1, 1, 0, 0, 0, '', '[]', 0, 0)",
        (account,),
    )
    database.write(
        "INSERT INTO ram_accounts (account, key_id, secret, created_at) VALUES (?, ?, 's', 0)", (account,) * 2
    )


async def test_an_account_is_removed_in_turns_and_its_own_row_last():
    """Nothing of others goes; each turn of the loop leaves what can be removed again."""
    database = Database(None)
    migrate(database, _SCHEMAS)
    fill(database, "1")
    fill(database, "2")
    database.commit()
    left = []

    async def others():
        while True:
            counts = [
                database.read(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in ("oss_objects", "oss_contents", "mns_queues", "ram_accounts")
            ]
            left.append(counts)
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    await asyncio.sleep(0)
    await remove_rows(database, AccountId("2"))
    beside.cancel()

    assert left[0] == [500, 252, 2, 2]
    assert max(before[0] - after[0] for before, after in pairwise(left)) <= 100
    assert all(counts[3] == 2 for counts in left[:-1])
    for table in (
        "oss_objects",
        "oss_contents",
        "oss_parts",
        "oss_uploads",
        "oss_buckets",
        "mns_queues",
        "ram_accounts",
    ):
        rows = {"oss_objects": 250, "oss_contents": 126}.get(table, 1)
        assert database.read(f"SELECT count(*) FROM {table}").fetchone()[0] == rows, table
    assert database.read("SELECT account FROM ram_accounts").fetchall() == [("1",)]
    database.close()
