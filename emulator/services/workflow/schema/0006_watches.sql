-- What is watched of an execution that is being debugged, as engine.breakpoints writes it; NULL for all others.
ALTER TABLE workflow_executions ADD COLUMN watch TEXT;
