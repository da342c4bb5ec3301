-- The request that started an execution, for the log.
ALTER TABLE workflow_executions ADD COLUMN trace TEXT NOT NULL DEFAULT '';
