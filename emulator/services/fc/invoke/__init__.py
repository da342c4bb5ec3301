"""Calls of functions: InvokeFunction, HTTP triggers, terminals, and the logs calls leave."""
