-- Settings of buckets beyond ACL and storage class, as clients sent them.
CREATE TABLE oss_settings (
    bucket TEXT NOT NULL REFERENCES oss_buckets (name) ON DELETE CASCADE,
    name TEXT NOT NULL,
    document BLOB NOT NULL,
    PRIMARY KEY (bucket, name)
) WITHOUT ROWID;
