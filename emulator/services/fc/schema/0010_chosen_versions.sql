-- The version that the alias of a queued call has chosen for all its attempts, empty where there was nothing to choose.
ALTER TABLE fc_async_calls ADD COLUMN version TEXT NOT NULL DEFAULT '';
