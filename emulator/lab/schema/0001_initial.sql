-- The emulator's time, where it is not the system's.
CREATE TABLE lab_clock (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  offset_ms INTEGER NOT NULL,
  frozen_at INTEGER
) STRICT;
