-- What limits or prepares the instances of a function. kind tells which configuration: on-demand, concurrency,
-- provision, scaling, or the switch that keeps a function from being called; qualifier is '' for those of the whole
-- function.

CREATE TABLE fc_capacity (
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  kind TEXT NOT NULL,
  service TEXT NOT NULL,
  function TEXT NOT NULL,
  qualifier TEXT NOT NULL,
  config TEXT NOT NULL,
  id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  PRIMARY KEY (account, region, kind, service, function, qualifier)
) WITHOUT ROWID;
