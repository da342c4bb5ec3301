"""What a caller is told when a call ended without an answer. Bodies made by the platform are compact and untyped.

Source: Function Compute, error handling; observed.
"""

import json

from emulator.services.fc.runtime.logs import megabytes


def timed_out(timeout_s: int, max_memory_mb: float) -> str:
    """Return the message for a call that took too long."""
    return f"Function timed out after {timeout_s} seconds (maxMemoryUsage: {megabytes(max_memory_mb)}MB)"


def process_exited(duration_ms: float, max_memory_mb: float) -> str:
    """Return the message for a process that ended, crashed, or was killed for its memory."""
    return f"Process exited unexpectedly before completing request ({_figures(duration_ms, max_memory_mb)})"


def canceled(duration_ms: float, max_memory_mb: float) -> str:
    """Return what the log says when the caller did not wait for the answer."""
    return f"Invocation canceled by client ({_figures(duration_ms, max_memory_mb)})"


def body(message: str) -> bytes:
    """Return the error JSON for a message."""
    return json.dumps({"errorMessage": message}, separators=(",", ":")).encode("utf-8")


def _figures(duration_ms: float, max_memory_mb: float) -> str:
    return f"duration: {round(duration_ms)}ms, maxMemoryUsage: {megabytes(max_memory_mb)}MB"
