-- What an execution has recorded at one time, as engine.events writes it; first is the id of the first of these events.
-- A row for each event was more work than all else a flow does. Those of earlier programs become a row each.
CREATE TABLE workflow_turns (
  execution INTEGER NOT NULL,
  first INTEGER NOT NULL,
  world INTEGER NOT NULL,
  at INTEGER NOT NULL,
  events TEXT NOT NULL,
  PRIMARY KEY (execution, first)
);
INSERT INTO workflow_turns (execution, first, world, at, events)
  SELECT execution, id, world, at,
    type || char(9) || strand || char(9) || cause || char(9) || json_quote(step) || char(9) || ifnull(mark, '') || char(9)
    || detail
  FROM workflow_events ORDER BY execution, id;
DROP TABLE workflow_events;
