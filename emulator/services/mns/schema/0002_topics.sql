-- Topics, subscriptions, and messages on their way to subscribers. Instants are milliseconds since the epoch.
--
-- A message is kept while some delivery of it is pending; a delivery is a message, a subscription and the instant of
-- the next attempt.

-- AUTOINCREMENT here and below: the number of something deleted must not come back while its remains are removed.
CREATE TABLE mns_topics (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  name TEXT NOT NULL,
  maximum_message_size INTEGER NOT NULL,
  logging_enabled INTEGER NOT NULL,
  fifo INTEGER NOT NULL,
  encryption TEXT NOT NULL,
  tags TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  UNIQUE (account, region, name)
);

CREATE TABLE mns_subscriptions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  topic INTEGER NOT NULL,
  name TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  filter_tag TEXT,
  strategy TEXT NOT NULL,
  content_format TEXT NOT NULL,
  dead_letters TEXT,
  rate_limit TEXT,
  extras TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  UNIQUE (topic, name)
);

-- Deleted subscriptions whose deliveries are still being removed.
CREATE TABLE mns_deleted_subscriptions (
  id INTEGER PRIMARY KEY
);

CREATE TABLE mns_publications (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  topic INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  body TEXT NOT NULL,
  body_md5 TEXT NOT NULL,
  tag TEXT,
  attributes TEXT NOT NULL,
  group_id TEXT,
  user_properties TEXT,
  system_properties TEXT,
  published_at INTEGER NOT NULL
);

CREATE INDEX mns_publications_topic ON mns_publications (topic);

CREATE TABLE mns_deliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  subscription INTEGER NOT NULL,
  publication INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  last_result TEXT NOT NULL
);

CREATE INDEX mns_deliveries_due ON mns_deliveries (subscription, due_at, id);
CREATE INDEX mns_deliveries_publication ON mns_deliveries (publication);

-- Mails, short messages and mobile notifications, recorded instead of being sent.
CREATE TABLE mns_outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  kind TEXT NOT NULL,
  address TEXT NOT NULL,
  topic TEXT NOT NULL,
  subscription TEXT NOT NULL,
  message_id TEXT NOT NULL,
  body TEXT NOT NULL,
  details TEXT NOT NULL,
  recorded_at INTEGER NOT NULL
);

CREATE INDEX mns_outbox_world ON mns_outbox (account, region, id);

-- What only the management API knows: account-wide settings, access lists and event rules, as JSON.
CREATE TABLE mns_open_settings (
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  name TEXT NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (account, region, name)
) WITHOUT ROWID;
