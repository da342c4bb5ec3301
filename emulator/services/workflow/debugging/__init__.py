"""Flows under the glass: executions that stop at breakpoints, forks of executions, and steps that run alone."""
