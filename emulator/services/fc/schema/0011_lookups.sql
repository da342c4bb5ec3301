-- The HTTP triggers that a host name leads to: by a trigger's own label, or by the name of its function.
CREATE INDEX fc_triggers_by_label ON fc_triggers (label) WHERE label <> '';
CREATE INDEX fc_http_triggers_by_function ON fc_triggers (lower(function)) WHERE kind = 'http';

-- Functions are counted and listed by name without reading what they are.
CREATE INDEX fc_functions_by_name ON fc_functions (account, region, service, name) WHERE version = 0;
