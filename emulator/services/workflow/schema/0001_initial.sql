-- An account in a region. The other tables carry its number: events are many, and two texts on each would double them.
CREATE TABLE workflow_worlds (
  id INTEGER PRIMARY KEY,
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  UNIQUE (account, region)
);

-- Signs task tokens; made at first start.
CREATE TABLE workflow_secret (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  secret BLOB NOT NULL
);

-- A deleted flow stays, nameless to the API, until the last of its executions has been cleared away.
CREATE TABLE workflow_flows (
  id INTEGER PRIMARY KEY,
  world INTEGER NOT NULL REFERENCES workflow_worlds (id),
  name TEXT NOT NULL,
  uuid TEXT NOT NULL,
  description TEXT NOT NULL,
  definition INTEGER NOT NULL,
  type TEXT NOT NULL,
  role_arn TEXT NOT NULL,
  storage_location TEXT NOT NULL,
  execution_mode TEXT NOT NULL,
  environment TEXT NOT NULL,
  resource_group TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  deleted INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX workflow_flow_names ON workflow_flows (world, name) WHERE deleted = 0;
CREATE INDEX workflow_deleted_flows ON workflow_flows (id) WHERE deleted = 1;

-- By content: a flow keeps each text once, however many executions remember it.
CREATE TABLE workflow_definitions (
  id INTEGER PRIMARY KEY,
  world INTEGER NOT NULL,
  flow INTEGER NOT NULL,
  digest BLOB NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (flow, digest)
);

-- ready = 1: has something to do at once; 0: waits for a timer, a call or a report, or has ended.
-- snapshot: the state after event last_event, so that going on does not need the history.
CREATE TABLE workflow_executions (
  id INTEGER PRIMARY KEY,
  world INTEGER NOT NULL,
  flow INTEGER NOT NULL,
  name TEXT NOT NULL,
  definition INTEGER NOT NULL,
  role_arn TEXT NOT NULL,
  environment TEXT NOT NULL,
  input TEXT NOT NULL,
  callback_token TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  status TEXT NOT NULL,
  ready INTEGER NOT NULL,
  halted INTEGER NOT NULL DEFAULT 0,
  last_event INTEGER NOT NULL DEFAULT 0,
  stopped_at INTEGER,
  output TEXT NOT NULL DEFAULT '',
  error TEXT NOT NULL DEFAULT '',
  cause TEXT NOT NULL DEFAULT '',
  snapshot TEXT,
  UNIQUE (flow, name)
);
CREATE INDEX workflow_executions_by_start ON workflow_executions (flow, started_at, id);
CREATE INDEX workflow_executions_by_status ON workflow_executions (flow, status, started_at, id);
CREATE INDEX workflow_open_executions ON workflow_executions (world, ready) WHERE stopped_at IS NULL;

-- mark: what the engine must remember of the event and the API does not show.
CREATE TABLE workflow_events (
  execution INTEGER NOT NULL,
  id INTEGER NOT NULL,
  world INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  strand INTEGER NOT NULL,
  cause INTEGER NOT NULL,
  step TEXT NOT NULL,
  detail TEXT NOT NULL,
  mark INTEGER,
  PRIMARY KEY (execution, id)
) WITHOUT ROWID;

CREATE TABLE workflow_wakeups (
  execution INTEGER NOT NULL,
  entry INTEGER NOT NULL,
  kind TEXT NOT NULL,
  world INTEGER NOT NULL,
  fire_at INTEGER NOT NULL,
  PRIMARY KEY (execution, entry, kind)
) WITHOUT ROWID;
CREATE INDEX workflow_wakeups_by_instant ON workflow_wakeups (fire_at);

-- Calls whose result is not recorded yet; made again after a crash.
CREATE TABLE workflow_calls (
  execution INTEGER NOT NULL,
  entry INTEGER NOT NULL,
  world INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  PRIMARY KEY (execution, entry)
) WITHOUT ROWID;

-- Ends of executions that a task token asked to hear of, and that have not been told yet.
CREATE TABLE workflow_callbacks (
  execution INTEGER PRIMARY KEY,
  world INTEGER NOT NULL
);
