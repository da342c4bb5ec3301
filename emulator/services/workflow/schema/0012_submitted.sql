-- ready = 2: waits, and a task may wait for a report; 0: waits for timers or calls alone. Of those that waited before
-- this was told apart, any may.
UPDATE workflow_executions SET ready = 2 WHERE stopped_at IS NULL AND ready = 0;
