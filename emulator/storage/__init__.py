"""SQLite behind everything that must survive: one connection, one commit per loop tick, numbered schema files."""
