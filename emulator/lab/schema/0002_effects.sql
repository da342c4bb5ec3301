-- What requests have set off, for traces over restarts. ids: blank-separated, a blank at either end.
CREATE TABLE lab_effects (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  trace TEXT NOT NULL,
  cause TEXT NOT NULL,
  ids TEXT NOT NULL,
  fields TEXT NOT NULL
) STRICT;
CREATE INDEX lab_effects_by_trace ON lab_effects (trace);
