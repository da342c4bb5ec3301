"""Flows of the old language as state machines."""
