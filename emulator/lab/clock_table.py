"""The table of the clock: by how much it was moved, and when it was frozen."""

from emulator.kernel.clock import AdjustableClock, Millis
from emulator.storage.database import Database


def load_clock(
    database: Database, clock: AdjustableClock, start_at: Millis | None = None, *, frozen: bool = False
) -> None:
    """Restore the time of an earlier run; a clock that was moved forward does not fall back.

    A new state begins at *start_at*, the real time without it; with *frozen* the clock stands still.
    """
    row = database.read("SELECT offset_ms, frozen_at FROM lab_clock").fetchone()
    if row is not None:
        clock.restore(row[0], row[1])
    elif start_at is not None:
        clock.restore(start_at - clock.system(), start_at if frozen else None)
        keep_clock(database, clock)
    if frozen and clock.frozen_at is None:
        clock.freeze()
        keep_clock(database, clock)


def keep_clock(database: Database, clock: AdjustableClock) -> None:
    """Store how far *clock* is from the system's; a clock that was never moved has no row."""
    if not clock.is_adjusted:
        database.write("DELETE FROM lab_clock")
        return
    database.write(
        "INSERT INTO lab_clock (id, offset_ms, frozen_at) VALUES (1, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET offset_ms = excluded.offset_ms, frozen_at = excluded.frozen_at",
        (clock.offset_ms, clock.frozen_at),
    )
