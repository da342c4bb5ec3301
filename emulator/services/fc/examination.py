"""Reading all that the service keeps as a start reads it: what is not of this program's making may hold anything."""

from emulator.services.fc.asynchronous.store import AsyncStore
from emulator.services.fc.capacity.store import CapacityStore
from emulator.services.fc.catalog.layers import LayerStore
from emulator.services.fc.catalog.store import CatalogStore
from emulator.services.fc.sessions.store import SessionStore
from emulator.services.fc.triggers.store import Domains, TriggerStore
from emulator.storage.database import Database


def read_through(database: Database) -> list[str]:
    """Read every row as what it stands for; return the packages they name, as paths below the emulator's folder.

    Raises: whatever a row leads to that stands for nothing.
    """
    catalog = CatalogStore(database)
    for store in (
        catalog, LayerStore(database), AsyncStore(database), TriggerStore(database), Domains(database, None),
        CapacityStore(database), SessionStore(database),
    ):  # fmt: skip
        store.read_through()
    return [f"code/{digest}.zip" for digest in catalog.digests()]
