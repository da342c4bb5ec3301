-- A run of a distributed map: its elements, and the execution whose task waits for it with a token. Each element becomes
-- an execution of the same flow; step is the position of the map among the states of the definition.
CREATE TABLE workflow_map_runs (
  id INTEGER PRIMARY KEY,
  world INTEGER NOT NULL,
  name TEXT NOT NULL,
  execution INTEGER NOT NULL,
  token TEXT NOT NULL,
  definition INTEGER NOT NULL,
  step INTEGER NOT NULL,
  is_express INTEGER NOT NULL,
  items TEXT NOT NULL,
  at_once INTEGER NOT NULL,
  tolerated_count INTEGER NOT NULL,
  tolerated_percentage REAL NOT NULL,
  status TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  stopped_at INTEGER,
  UNIQUE (execution, name)
);
CREATE INDEX workflow_open_map_runs ON workflow_map_runs (id) WHERE stopped_at IS NULL;

ALTER TABLE workflow_executions ADD COLUMN map_run INTEGER;
ALTER TABLE workflow_executions ADD COLUMN map_index INTEGER;
CREATE UNIQUE INDEX workflow_map_executions ON workflow_executions (map_run, map_index) WHERE map_run IS NOT NULL;
