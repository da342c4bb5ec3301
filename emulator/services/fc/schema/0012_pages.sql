-- A page of a list, what keeps something from being deleted, and what is kept ready are found without reading everything
-- of their kind. Of what is written often, a session has one entry more, written once; calls only as tasks of 2.0.

CREATE INDEX fc_tags_by_value ON fc_tags (account, region, key, value, resource);

CREATE INDEX fc_aliases_by_version ON fc_aliases (account, region, scope_service, scope_function, version_id);
CREATE INDEX fc_aliases_by_weights ON fc_aliases (account, region, scope_service, scope_function, weights);

CREATE INDEX fc_functions_with_layers ON fc_functions (account, region, service, version, name)
  WHERE instr(config, ':layers/');

CREATE INDEX fc_capacity_ready ON fc_capacity (kind, account, region, service, function, qualifier)
  WHERE kind IN ('provision', 'scaling');
CREATE INDEX fc_capacity_by_path
  ON fc_capacity (account, region, 'services/' || service || '.' || qualifier || '/functions/' || function)
  WHERE kind = 'on-demand';

CREATE INDEX fc_async_configs_of_tasks ON fc_async_configs (account, region, service, function, qualifier)
  WHERE service <> '' AND json_extract(config, '$.task_mode');
CREATE INDEX fc_async_calls_of_tasks ON fc_async_calls (account, region, service, function, qualifier)
  WHERE service <> '' AND task_id <> '';

CREATE INDEX fc_sessions_by_function ON fc_sessions (account, region, service, function);

-- Attachments are found by their kinds, which come first in their key.
DROP TRIGGER fc_attachments_go_with_service;
CREATE TRIGGER fc_attachments_go_with_service AFTER DELETE ON fc_services BEGIN
  DELETE FROM fc_attachments
  WHERE account = OLD.account AND region = OLD.region AND kind IN ('vpc', 'event-source') AND service = OLD.name;
END;

DROP TRIGGER fc_attachments_go_with_function;
CREATE TRIGGER fc_attachments_go_with_function AFTER DELETE ON fc_functions WHEN OLD.version = 0 BEGIN
  DELETE FROM fc_attachments
  WHERE account = OLD.account AND region = OLD.region AND kind IN ('vpc', 'event-source') AND service = OLD.service
    AND function = OLD.name;
END;
