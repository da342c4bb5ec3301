-- Tags of roles and policies; resource_type is role or policy.
CREATE TABLE ram_tags (
    account TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (account, resource_type, name, key)
) WITHOUT ROWID;
