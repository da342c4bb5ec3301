"""Executions as callers see them: started, waited for, reported to, stopped, listed, and removed."""
