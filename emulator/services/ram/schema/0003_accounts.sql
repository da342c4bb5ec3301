-- Accounts beside the installation's own, each with the one key of the account itself.
CREATE TABLE ram_accounts (
    account TEXT PRIMARY KEY,
    key_id TEXT NOT NULL UNIQUE,
    secret TEXT NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;
