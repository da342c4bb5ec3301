ALTER TABLE workflow_flows ADD COLUMN versions_made INTEGER NOT NULL DEFAULT 0;

-- version: which one ran, '' for the flow itself; qualifier: what the caller asked for.
ALTER TABLE workflow_executions ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE workflow_executions ADD COLUMN qualifier TEXT NOT NULL DEFAULT '';

-- A flow as it was when the version was published; note is the version's own description.
CREATE TABLE workflow_versions (
  flow INTEGER NOT NULL,
  number INTEGER NOT NULL,
  world INTEGER NOT NULL,
  note TEXT NOT NULL,
  published_at INTEGER NOT NULL,
  definition INTEGER NOT NULL,
  description TEXT NOT NULL,
  type TEXT NOT NULL,
  role_arn TEXT NOT NULL,
  environment TEXT NOT NULL,
  modified_at INTEGER NOT NULL,
  PRIMARY KEY (flow, number)
) WITHOUT ROWID;

CREATE TABLE workflow_aliases (
  flow INTEGER NOT NULL,
  name TEXT NOT NULL,
  world INTEGER NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  weight INTEGER NOT NULL,
  other_version INTEGER,
  other_weight INTEGER,
  PRIMARY KEY (flow, name)
) WITHOUT ROWID;
