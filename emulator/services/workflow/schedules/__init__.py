"""Schedules: executions started by the clock."""
