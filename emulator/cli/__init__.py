"""The `localyun` command."""
