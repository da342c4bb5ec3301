"""Runs executions, event-sourced: state is the fold of the history, decisions are pure, only the driver has effects."""
