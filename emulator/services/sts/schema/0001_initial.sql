-- Temporary keys. They belong to an account and are good in every region, so there is no region column.
CREATE TABLE sts_keys (
    key_id TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    secret TEXT NOT NULL,
    token TEXT NOT NULL,
    arn TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX sts_keys_by_expiry ON sts_keys (expires_at);
