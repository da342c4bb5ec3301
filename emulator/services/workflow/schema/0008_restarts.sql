-- When the service was started with executions under way: their pages show the gap. The latest thousand are kept.
CREATE TABLE workflow_restarts (
  at INTEGER PRIMARY KEY
);
