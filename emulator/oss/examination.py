"""Reading every row of the object store, to check a state of unknown origin."""

from emulator.oss.store import ObjectStore
from emulator.storage.database import Database

_SLICE = 500


def read_through(database: Database) -> list[str]:
    """Read every row as its object; return the content files they name, as paths below the emulator's folder.

    Raises: any exception, for an invalid row.
    """
    store = ObjectStore(database)
    store.buckets()
    counted = store.contents()
    needed: set[str] = set()
    for slice_ in store.objects(_SLICE):
        needed.update(piece.content for _, stored in slice_ for piece in stored.pieces)
    for _, _, parts in store.uploads():
        needed.update(part.piece.content for part in parts)
    if not needed <= counted:
        raise LookupError("objects need content that is not counted")
    return [f"objects/{name[:2]}/{name}" for name in counted]
