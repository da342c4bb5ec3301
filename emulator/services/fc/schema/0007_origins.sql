-- Who has queued a call: client calls are 'async', the others flow, trigger or push.
ALTER TABLE fc_async_calls ADD COLUMN origin TEXT NOT NULL DEFAULT 'async';
