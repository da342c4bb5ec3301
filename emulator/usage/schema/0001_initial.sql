-- How much of each item every resource has used since the counters were reset. Of the installation, not of an account.
CREATE TABLE usage_amounts (
  item TEXT NOT NULL,
  resource TEXT NOT NULL,
  kind TEXT NOT NULL,
  amount REAL NOT NULL,
  PRIMARY KEY (item, resource, kind)
) WITHOUT ROWID;
