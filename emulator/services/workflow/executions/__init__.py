"""Executions for callers: started, waited for, reported to, stopped, listed, removed, debugged and forked."""
