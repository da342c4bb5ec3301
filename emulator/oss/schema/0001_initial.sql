-- What the object store holds, row by row; the bytes are files beside this database.
CREATE TABLE oss_buckets (
    name TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    acl TEXT NOT NULL,
    storage_class TEXT NOT NULL
) WITHOUT ROWID;

-- pieces: JSON list of [content id, bytes]; attributes: JSON object
CREATE TABLE oss_objects (
    bucket TEXT NOT NULL REFERENCES oss_buckets (name),
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    pieces TEXT NOT NULL,
    etag TEXT NOT NULL,
    crc TEXT NOT NULL,
    modified_at INTEGER NOT NULL,
    acl TEXT NOT NULL,
    attributes TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (bucket, key)
) WITHOUT ROWID;

CREATE TABLE oss_uploads (
    id TEXT PRIMARY KEY,
    bucket TEXT NOT NULL REFERENCES oss_buckets (name),
    key TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    attributes TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE oss_parts (
    upload TEXT NOT NULL REFERENCES oss_uploads (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    content TEXT NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    crc TEXT NOT NULL,
    modified_at INTEGER NOT NULL,
    PRIMARY KEY (upload, number)
) WITHOUT ROWID;

-- How many objects and parts need a content file; copies share one.
CREATE TABLE oss_contents (
    id TEXT PRIMARY KEY,
    uses INTEGER NOT NULL
) WITHOUT ROWID;
