-- The request that a call comes from, for the log. This was a second 0005 once: a state that stopped between the two, or
-- was written before it came, went on without the column; most others have it, and then nothing is added.
ALTER TABLE fc_async_calls ADD COLUMN trace TEXT NOT NULL DEFAULT '';
