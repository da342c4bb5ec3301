-- Accounts, queues and messages. Instants are milliseconds since the epoch.
--
-- A message belongs to a queue by number; the queue's row names account and region. visible_from is the instant a
-- message can be received; messages held behind another one of their FIFO group have 2^60 added to it.

CREATE TABLE mns_accounts (
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  logging_bucket TEXT NOT NULL,
  trace_enabled INTEGER NOT NULL,
  PRIMARY KEY (account, region)
) WITHOUT ROWID;

-- AUTOINCREMENT: the number of a deleted queue must not come back, old receipt handles name it.
CREATE TABLE mns_queues (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  name TEXT NOT NULL,
  delay_s INTEGER NOT NULL,
  maximum_message_size INTEGER NOT NULL,
  retention_s INTEGER NOT NULL,
  visibility_timeout_s INTEGER NOT NULL,
  polling_wait_s INTEGER NOT NULL,
  logging_enabled INTEGER NOT NULL,
  fifo INTEGER NOT NULL,
  dead_letter TEXT,
  rate_limit TEXT,
  encryption TEXT NOT NULL,
  tags TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  UNIQUE (account, region, name)
);

-- Deleted queues whose messages are still being removed.
CREATE TABLE mns_deleted_queues (
  id INTEGER PRIMARY KEY
);

CREATE TABLE mns_messages (
  seq INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  visible_from INTEGER NOT NULL,
  dequeue_count INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  enqueued_at INTEGER NOT NULL,
  first_dequeued_at INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  body_md5 TEXT NOT NULL,
  group_id TEXT,
  user_properties TEXT,
  system_properties TEXT,
  body TEXT NOT NULL,
  dying INTEGER NOT NULL DEFAULT 0
);

-- Delivery order: priority, then the instant of becoming visible, then (the row's own number) the order of sending.
CREATE INDEX mns_messages_delivery ON mns_messages (queue, priority, visible_from);
CREATE INDEX mns_messages_age ON mns_messages (queue, enqueued_at);
CREATE INDEX mns_messages_group ON mns_messages (queue, group_id, seq) WHERE group_id IS NOT NULL;
-- dying: received for the last time; goes to the dead-letter queue when it becomes visible again.
CREATE INDEX mns_messages_dying ON mns_messages (queue, visible_from) WHERE dying = 1;
