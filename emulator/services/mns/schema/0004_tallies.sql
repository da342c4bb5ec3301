-- Numbers of messages of large queues, by priority, as they were at the end of a run; taken away by the queue's next use.
CREATE TABLE mns_tallies (
  queue INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (queue, priority)
) WITHOUT ROWID;
