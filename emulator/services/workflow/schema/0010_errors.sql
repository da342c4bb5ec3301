-- Executions that ended with an error, of all flows, for the search in their errors.
CREATE INDEX workflow_executions_with_errors ON workflow_executions (world) WHERE error <> '';
