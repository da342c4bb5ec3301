"""Accounts in regions by number: the tables carry the number, everything else the `World`."""

from emulator.kernel.identity import AccountId, Region, World
from emulator.services.workflow.model import WorldId
from emulator.storage.database import Database


class Worlds:
    """Translates between worlds and their numbers; a world gets one when it first needs it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ids: dict[World, WorldId] = {}
        self._worlds: dict[int, World] = {}
        database.on_rollback(self._forget)

    def id_of(self, world: World) -> WorldId:
        """Return the number of *world*."""
        known = self._ids.get(world)
        if known is not None:
            return known
        read = self._database.read
        where = (world.account, world.region)
        row = read("SELECT id FROM workflow_worlds WHERE account = ? AND region = ?", where).fetchone()
        if row is None:
            row = self._database.write(
                "INSERT INTO workflow_worlds (account, region) VALUES (?, ?) RETURNING id", where
            ).fetchone()
        self._ids[world] = WorldId(row[0])
        self._worlds[row[0]] = world
        return self._ids[world]

    def by_id(self, world_id: int) -> World:
        """Return the world of a number that a table has."""
        known = self._worlds.get(world_id)
        if known is None:
            row = self._database.read(
                "SELECT account, region FROM workflow_worlds WHERE id = ?", (world_id,)
            ).fetchone()
            known = self._worlds[world_id] = World(AccountId(row[0]), Region(row[1]))
        return known

    def _forget(self) -> None:
        self._ids.clear()
        self._worlds.clear()
