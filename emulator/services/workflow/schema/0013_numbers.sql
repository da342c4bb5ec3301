-- The highest number of the executions so far when some were removed: keys of their calls are kept elsewhere, so that it
-- must not come back.
CREATE TABLE workflow_numbers (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  execution INTEGER NOT NULL
);
