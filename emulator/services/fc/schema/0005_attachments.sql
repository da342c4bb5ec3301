-- What is attached to a service or a function and needs nothing but a name: VPCs whose bindings are kept (kind 'vpc')
-- and event sources (kind 'event-source'). function = '' marks what belongs to a whole service, service = '' a function
-- of the 3.0 namespace; qualifier is '' for what has none.

CREATE TABLE fc_attachments (
  account TEXT NOT NULL,
  region TEXT NOT NULL,
  kind TEXT NOT NULL,
  service TEXT NOT NULL,
  function TEXT NOT NULL,
  qualifier TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account, region, kind, service, function, qualifier, name)
) WITHOUT ROWID;

CREATE TRIGGER fc_attachments_go_with_service AFTER DELETE ON fc_services BEGIN
  DELETE FROM fc_attachments WHERE account = OLD.account AND region = OLD.region AND service = OLD.name;
END;

CREATE TRIGGER fc_attachments_go_with_function AFTER DELETE ON fc_functions WHEN OLD.version = 0 BEGIN
  DELETE FROM fc_attachments
  WHERE account = OLD.account AND region = OLD.region AND service = OLD.service AND function = OLD.name;
END;
