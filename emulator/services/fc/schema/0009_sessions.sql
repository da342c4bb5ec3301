-- Sessions: calls that name one go to one instance. due_at is when the state changes next: a live session ends, the
-- record of an ended one goes; null for one that ends with its connection.
CREATE TABLE fc_sessions (
    seq INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    service TEXT NOT NULL,
    function TEXT NOT NULL,
    qualifier TEXT NOT NULL,
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    version TEXT NOT NULL,
    status TEXT NOT NULL,
    ttl_s INTEGER NOT NULL,
    idle_s INTEGER NOT NULL,
    reuse_disabled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    due_at INTEGER,
    settings TEXT NOT NULL
);
CREATE INDEX fc_sessions_by_id ON fc_sessions (account, region, service, function, qualifier, session_id);
CREATE INDEX fc_sessions_by_due ON fc_sessions (due_at);
