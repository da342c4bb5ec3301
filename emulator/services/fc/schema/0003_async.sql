-- Asynchronous calls and what is configured for them. Configurations are kept per qualifier ('LATEST' when none is
-- named). service = '' marks a function of the 3.0 namespace.

CREATE TABLE fc_async_configs (
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  service TEXT NOT NULL,
  function TEXT NOT NULL,
  qualifier TEXT NOT NULL,
  config TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  PRIMARY KEY (account, region, service, function, qualifier)
) WITHOUT ROWID;

-- due_at is the instant of the next attempt, NULL while one runs and after the end; task_id is '' outside task mode;
-- call_key is the caller's own name for the call, by which a repeated hand-over is noticed, '' when it has none.
CREATE TABLE fc_async_calls (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  service TEXT NOT NULL,
  function TEXT NOT NULL,
  qualifier TEXT NOT NULL,
  request_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  call_key TEXT NOT NULL,
  event BLOB NOT NULL,
  tracing TEXT NOT NULL,
  accepted_at INTEGER NOT NULL,
  status TEXT NOT NULL,
  due_at INTEGER,
  function_failures INTEGER NOT NULL DEFAULT 0,
  platform_failures INTEGER NOT NULL DEFAULT 0,
  running_from INTEGER,
  ended_at INTEGER,
  http_status INTEGER NOT NULL DEFAULT 0,
  error TEXT NOT NULL DEFAULT '',
  result BLOB NOT NULL DEFAULT x'',
  instance_id TEXT NOT NULL DEFAULT '',
  destination TEXT NOT NULL DEFAULT ''
);

CREATE INDEX fc_async_calls_due ON fc_async_calls (account, region, service, function, qualifier, due_at, seq)
  WHERE due_at IS NOT NULL;
CREATE INDEX fc_async_calls_open ON fc_async_calls (status) WHERE ended_at IS NULL;
CREATE INDEX fc_async_calls_ended ON fc_async_calls (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX fc_async_calls_by_request ON fc_async_calls (request_id);
CREATE INDEX fc_async_calls_by_task ON fc_async_calls (account, region, service, function, task_id)
  WHERE task_id <> '';
CREATE INDEX fc_async_calls_tasks ON fc_async_calls (account, region, service, function, seq) WHERE task_id <> '';
CREATE UNIQUE INDEX fc_async_calls_by_key ON fc_async_calls (account, region, call_key) WHERE call_key <> '';

CREATE TABLE fc_task_events (
  seq INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  status TEXT NOT NULL,
  at INTEGER NOT NULL,
  detail TEXT NOT NULL,
  PRIMARY KEY (seq, event_id)
) WITHOUT ROWID;
