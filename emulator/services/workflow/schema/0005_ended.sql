-- Executions by their end, for those that are kept no longer.
CREATE INDEX workflow_ended_executions ON workflow_executions (stopped_at) WHERE stopped_at IS NOT NULL;
