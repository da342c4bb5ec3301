-- A user keeps its id under another name. Users of before have none here: theirs comes from the name they have.
ALTER TABLE ram_users ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
