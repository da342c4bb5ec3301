"""The cases that cannot pass against an emulator on one machine, and why."""

CANNOT: dict[str, dict[str, str]] = {}
"""Suite -> name of the case -> reason."""
