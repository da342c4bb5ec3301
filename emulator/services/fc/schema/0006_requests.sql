-- The HTTP request that a call serves, as JSON without its body; '' for a call with an event.
ALTER TABLE fc_async_calls ADD COLUMN http TEXT NOT NULL DEFAULT '';
