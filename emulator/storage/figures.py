"""Figures of the state file for those who watch."""

from collections.abc import Iterator

from emulator.kernel.metrics import Family, counter, gauge
from emulator.storage.database import Database


def storage_figures(database: Database) -> Iterator[Family]:
    """Yield commits and the sizes of the file and of its write-ahead log."""
    sizes = database.sizes()
    yield counter("localyun_commits_total", "Transactions committed.", database.commits)
    yield gauge("localyun_state_bytes", "Size of the state, with what is free.", sizes.pages * sizes.page_bytes)
    free = sizes.free_pages * sizes.page_bytes
    yield gauge("localyun_state_free_bytes", "Part of the state that nothing uses.", free)
    yield gauge("localyun_wal_bytes", "Size of the write-ahead log.", sizes.log_bytes)
