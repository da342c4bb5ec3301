"""Reads every stored row, to validate a database that this emulator has not written itself, such as a checkpoint."""

from emulator.services.fc.asynchronous.store import AsyncStore
from emulator.services.fc.capacity.store import CapacityStore
from emulator.services.fc.catalog.layers import LayerStore
from emulator.services.fc.catalog.store import CatalogStore
from emulator.services.fc.sessions.store import SessionStore
from emulator.services.fc.triggers.store import Domains, TriggerStore
from emulator.storage.database import Database


def read_through(database: Database) -> list[str]:
    """Parse every row; return the packages that the rows name, as paths below the emulator's folder.

    Raises: any exception, for a row that cannot be parsed.
    """
    catalog = CatalogStore(database)
    for store in (
        catalog, LayerStore(database), AsyncStore(database), TriggerStore(database), Domains(database, None),
        CapacityStore(database), SessionStore(database),
    ):  # fmt: skip
        store.read_through()
    return [f"code/{digest}.zip" for digest in catalog.digests()]
