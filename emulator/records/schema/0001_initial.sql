-- Resources of other products, kept as they were described. inside: the log project of a log store, else empty;
-- content and tags: JSON objects.
CREATE TABLE records (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    kind TEXT NOT NULL,
    inside TEXT NOT NULL,
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    tags TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account, region, kind, inside, name)
) WITHOUT ROWID;
