"""The management API of the message service, version 2022-01-19, spoken RPC."""
