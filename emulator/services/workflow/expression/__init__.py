"""Paths and conditions of the flow definition language: compiled once, then pure functions on JSON values.

Nothing here does I/O or runs text as a program. JSON values are treated as immutable by the whole engine: a value found
by a path is handed out as it is, not copied, so no caller may change one in place. What this package builds itself
(arrays collected by ``[*]``) is new on every call.
"""
