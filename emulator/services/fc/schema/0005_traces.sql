-- The request that a call comes from, for the log.
ALTER TABLE fc_async_calls ADD COLUMN trace TEXT NOT NULL DEFAULT '';
