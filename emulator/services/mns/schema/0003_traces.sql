-- The request that a message comes from, for the log.
ALTER TABLE mns_messages ADD COLUMN trace TEXT NOT NULL DEFAULT '';
ALTER TABLE mns_publications ADD COLUMN trace TEXT NOT NULL DEFAULT '';
