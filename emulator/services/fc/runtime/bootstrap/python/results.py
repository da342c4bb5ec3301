"""Return values and failures of user code as the bytes a caller gets.

Source: Function Compute's published Python runtime, observed.
"""

from __future__ import annotations

import datetime
import decimal
import json
import traceback
from types import TracebackType
from typing import Any


def _serialise(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if hasattr(value, "to_json"):
        return value.to_json()
    raise TypeError(repr(value) + " is not JSON serializable")


def to_json(value: Any) -> str:
    """Return *value* as the platform writes JSON: indented by four, keys sorted, ASCII only.

    Raises: TypeError, ValueError for what JSON cannot say.
    """
    return json.dumps(value, default=_serialise, indent=4, sort_keys=True)


def to_body(value: Any) -> bytes:
    """Return what a handler returned as bytes: text and bytes as they are, anything else as JSON."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8")
    return to_json(value).encode("utf-8")


def describe(error: BaseException, trace: TracebackType | None, *, skip: int = 0) -> dict[str, Any]:
    """Return the error object of an exception; *skip* is the number of outermost frames to leave out."""
    frames = [
        [f'File "{frame.filename}"', f"line {frame.lineno}", f"in {frame.name}", (frame.line or "").strip()]
        for frame in traceback.extract_tb(trace)[skip:]
    ]
    return _error(_text_of(error), type(error).__name__, frames)


def describe_load_failure(kind: str, message: str, cause: BaseException) -> dict[str, Any]:
    """Return the error object for a handler that cannot be loaded, with the lines that name *cause* as its trace.

    The first entry is split at commas and carets are dropped, as the platform does.
    """
    lines: list[str] = []
    for index, entry in enumerate(traceback.format_exception_only(type(cause), cause)):
        for line in entry.split("\n"):
            text = line.replace("^", "").strip()
            parts = text.split(",") if index == 0 else [text]
            lines += [part.strip() for part in parts if part.strip()]
    return _error(message, kind, lines)


def _error(message: str, kind: str, trace: list[Any]) -> dict[str, Any]:
    result: dict[str, Any] = {"errorMessage": message, "errorType": kind}
    if trace:
        result["stackTrace"] = trace
    return result


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # the exception's own __str__ is user code
        return f"<{type(error).__name__} whose text raised {type(broken).__name__}>"
