-- Triggers, custom domains and layers. An empty qualifier means LATEST; label is the first label of an HTTP trigger's
-- own host names, '' for other kinds. folder is the file a trigger was read from, '' when it was made by the API.

CREATE TABLE fc_triggers (
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  service TEXT NOT NULL,
  function TEXT NOT NULL,
  name TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  config TEXT NOT NULL,
  source_arn TEXT NOT NULL,
  role TEXT NOT NULL,
  qualifier TEXT NOT NULL,
  description TEXT NOT NULL,
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  folder TEXT NOT NULL,
  PRIMARY KEY (account, region, service, function, name)
) WITHOUT ROWID;

CREATE INDEX fc_triggers_by_kind ON fc_triggers (kind);

-- a name belongs to one account only: the host name of a request is all there is to find it by
CREATE TABLE fc_domains (
  name TEXT NOT NULL PRIMARY KEY,
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  id TEXT NOT NULL,
  api TEXT NOT NULL,
  config TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  revision INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE fc_layers (
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  name TEXT NOT NULL,
  last_version INTEGER NOT NULL,
  public INTEGER NOT NULL,
  PRIMARY KEY (account, region, name)
) WITHOUT ROWID;

-- a deleted version stays as long as functions use it
CREATE TABLE fc_layer_versions (
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  description TEXT NOT NULL,
  license TEXT NOT NULL,
  runtimes TEXT NOT NULL,
  code_digest TEXT NOT NULL,
  code_checksum TEXT NOT NULL,
  code_size INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  deleted INTEGER NOT NULL,
  PRIMARY KEY (account, region, name, version)
) WITHOUT ROWID;
