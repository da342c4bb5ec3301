"""Records of deployments, kept in the emulator's own state."""

import json
from typing import Any

from emulator.kernel.clock import Clock
from emulator.kernel.identity import Tenant
from emulator.storage.database import Database


class Deployments:
    """The records of one account and region, by the name of the deployment; their content is the client's."""

    def __init__(self, database: Database, tenant: Tenant, clock: Clock) -> None:
        self._database = database
        self._place = (tenant.account, tenant.region)
        self._clock = clock

    def all(self) -> list[dict[str, Any]]:
        """Return every record, by name."""
        rows = self._database.read(
            "SELECT content FROM deployments WHERE account = ? AND region = ? ORDER BY name", self._place
        )
        return [json.loads(content) for (content,) in rows]

    def get(self, name: str) -> dict[str, Any] | None:
        """Return a record, None when there is none of that name."""
        row = self._database.read(
            "SELECT content FROM deployments WHERE account = ? AND region = ? AND name = ?", (*self._place, name)
        ).fetchone()
        return None if row is None else dict(json.loads(row[0]))

    def put(self, name: str, content: dict[str, Any]) -> None:
        """Keep a record in place of the one of that name."""
        self._database.write(
            "INSERT OR REPLACE INTO deployments VALUES (?, ?, ?, ?, ?)",
            (*self._place, name, json.dumps(content), self._clock.now()),
        )

    def remove(self, name: str) -> bool:
        """Forget a record and return whether it existed."""
        gone = self._database.write(
            "DELETE FROM deployments WHERE account = ? AND region = ? AND name = ?", (*self._place, name)
        )
        return gone.rowcount > 0

    def clear(self) -> None:
        """Forget all records."""
        self._database.write("DELETE FROM deployments WHERE account = ? AND region = ?", self._place)
