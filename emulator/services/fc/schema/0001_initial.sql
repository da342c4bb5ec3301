-- Services, functions, versions, aliases and tags of every account and region.
-- service = '' marks the functions of the 3.0 namespace; version = 0 is the changeable head.
-- folder is the directory a resource was loaded from, '' when it was made by the API; base is then the configuration
-- its files give and changed what API updates laid over it.

CREATE TABLE fc_services (
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  name TEXT NOT NULL,
  id TEXT NOT NULL,
  config TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  last_version INTEGER NOT NULL,
  folder TEXT NOT NULL,
  base TEXT,
  changed TEXT NOT NULL,
  PRIMARY KEY (account, region, name)
) WITHOUT ROWID;

CREATE TABLE fc_functions (
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  service TEXT NOT NULL,
  version INTEGER NOT NULL,
  name TEXT NOT NULL,
  id TEXT NOT NULL,
  config TEXT NOT NULL,
  code_digest TEXT,
  code_folder TEXT,
  code_checksum TEXT,
  code_size INTEGER,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  last_version INTEGER NOT NULL,
  folder TEXT NOT NULL,
  base TEXT,
  changed TEXT NOT NULL,
  problem TEXT NOT NULL,
  triggers TEXT NOT NULL,
  PRIMARY KEY (account, region, service, version, name)
) WITHOUT ROWID;

CREATE INDEX fc_functions_by_code ON fc_functions (code_digest) WHERE code_digest <> '';

-- scope_service or scope_function is '': versions and aliases belong to a 2.0 service or to a 3.0 function
CREATE TABLE fc_versions (
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  scope_service TEXT NOT NULL,
  scope_function TEXT NOT NULL,
  number INTEGER NOT NULL,
  description TEXT NOT NULL,
  config TEXT,
  content TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  folder TEXT NOT NULL,
  PRIMARY KEY (account, region, scope_service, scope_function, number)
) WITHOUT ROWID;

CREATE TABLE fc_aliases (
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  scope_service TEXT NOT NULL,
  scope_function TEXT NOT NULL,
  name TEXT NOT NULL,
  id TEXT NOT NULL,
  version_id TEXT NOT NULL,
  description TEXT NOT NULL,
  weights TEXT NOT NULL,
  resolve_policy TEXT,
  route_policy TEXT,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  folder TEXT NOT NULL,
  PRIMARY KEY (account, region, scope_service, scope_function, name)
) WITHOUT ROWID;

CREATE TABLE fc_tags (
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  resource TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (account, region, resource, key)
) WITHOUT ROWID;
