-- The uploads of a bucket in the order of their list; a bucket that goes looks for them too.
CREATE INDEX oss_uploads_by_key ON oss_uploads (bucket, key, id);
