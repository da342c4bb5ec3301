-- The document that narrows what a session may do beyond its role's policies; empty when there is none.
ALTER TABLE sts_keys ADD COLUMN policy TEXT NOT NULL DEFAULT '';
