-- since: what @every counts from. next_at: the next run; none while disabled. counted_at: the instant next_at was counted
-- from, which tells a clock that has been set back.
CREATE TABLE workflow_schedules (
  id INTEGER PRIMARY KEY,
  world INTEGER NOT NULL,
  flow INTEGER NOT NULL,
  name TEXT NOT NULL,
  uuid TEXT NOT NULL,
  description TEXT NOT NULL,
  expression TEXT NOT NULL,
  payload TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  since INTEGER NOT NULL,
  counted_at INTEGER NOT NULL,
  next_at INTEGER,
  UNIQUE (flow, name)
);
CREATE INDEX workflow_schedules_by_run ON workflow_schedules (next_at) WHERE next_at IS NOT NULL;
