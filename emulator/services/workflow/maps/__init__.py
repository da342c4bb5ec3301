"""Runs of distributed maps: each element becomes an execution of its own."""
