"""Durations as users write them, in commands, files and bodies of the admin API."""

import re

_DURATION_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = r"(?:[0-9]{1,12}(?:\.[0-9]{1,3})?(?:ms|s|m|h|d))+"
_DURATION_PART = r"([0-9.]+)(ms|s|m|h|d)"


def parse_duration(text: str) -> int:
    """Read ``500ms``, ``30s``, ``5m``, ``1h30m`` or ``2d`` as milliseconds.

    Raises: ValueError.
    """
    if not re.fullmatch(_DURATION, text):
        raise ValueError(text)
    return sum(round(float(number) * _DURATION_UNITS_MS[unit]) for number, unit in re.findall(_DURATION_PART, text))
