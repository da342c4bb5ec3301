-- What each deployment made, as JSON, for `localyun deploy` to go on from and to remove.
CREATE TABLE deployments (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    modified_at INTEGER NOT NULL,
    PRIMARY KEY (account, region, name)
) WITHOUT ROWID;
