"""Failures that need attention, from the latest lines of the log: one row per kind and resource, with its count."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from emulator.gateway.journal import LINES, Journal

Row = dict[str, Any]

OWN = frozenset({"console", "admin"})
"""Services whose requests are not those of a user's clients."""

QUIET = OWN | {"sink", "deployments"}
"""`OWN`, and requests of the emulator itself: pushes to sinks are shown with their topic."""

_UNHAPPY = frozenset({"Failed", "TimedOut"})

WHATS = (
    "the execution failed",
    "the function failed",
    "the push failed",
    "the signature was refused",
    "access was denied",
    "the service failed",
)
"""The kinds of failures, in the words of the page."""


def needs(journal: Journal) -> list[Row]:
    """Return ``what``, ``kind`` and ``name`` of the resource, ``detail``, ``count``, and ``at``, newest first.

    ``request`` is an id whose trace contains the latest failure.
    """
    return grouped((at, fields) for at, _, _, fields in journal.effects(LINES))


def grouped(lines: Iterable[tuple[int, Mapping[str, Any]]]) -> list[Row]:
    """Return rows for failures in lines of the log (time, values by name), given oldest first."""
    found: dict[tuple[str, str], Row] = {}
    for at, fields in lines:
        row = _need(fields)
        if row is None:
            continue
        key = (row["what"], row["name"])
        before = found.pop(key, None)  # the latest occurrence moves to the end
        found[key] = {**row, "at": at, "count": 1 + (before["count"] if before is not None else 0)}
    return list(reversed(found.values()))


def _need(fields: Mapping[str, Any]) -> Row | None:
    """Return the row of a line about a failure, None for other lines."""
    if "operation" in fields:
        return _refusal(fields)
    if "subscription" in fields:
        if fields.get("result") == "delivered":
            return None
        name = f"{fields.get('topic')}/{fields['subscription']}"
        result, detail = fields.get("result"), str(fields.get("detail"))
        detail = detail if result == "failed" else f"{result}: {detail}"
        return _row("the push failed", "push", name, detail, _said(fields, "message_id"))
    if "step" not in fields and fields.get("status") in _UNHAPPY and fields.get("execution"):
        flow, execution = _said(fields, "flow"), _said(fields, "execution")
        id = f"{flow}/{execution}"
        return _row("the execution failed", "flow", flow, execution, id) | {"execution": id}
    if fields.get("result") == "failed" and fields.get("function"):
        function = _said(fields, "function")
        return _row("the function failed", "function", function, "", _said(fields, "request"))
    return None


def _said(fields: Mapping[str, Any], name: str) -> str:
    return str(fields.get(name) or "")


def _refusal(fields: Mapping[str, Any]) -> Row | None:
    status = fields.get("status")
    if not isinstance(status, int) or status < 400 or fields.get("service") in QUIET:
        return None
    name = f"{fields.get('service')} {fields['operation']}"
    request, error = _said(fields, "request"), _said(fields, "error")
    if fields.get("refused"):
        return _row("the signature was refused", "request", name, error, request)
    if status == 403 and error:  # an answer of a function has no error code
        return _row("access was denied", "request", name, error, request)
    return _row("the service failed", "request", name, error or str(status), request) if status >= 500 else None


def _row(what: str, kind: str, name: str, detail: str, request: str) -> Row:
    return {"what": what, "kind": kind, "name": name, "detail": detail, "request": request, "execution": ""}


_ASKS = ("Describe", "Get", "List", "Head", "Peek", "BatchPeek")
"""First words of operations that change nothing."""

_NOTHING_THERE = "MessageNotExist"

_OFTEN = 3
"""Two operations alternating at least this often are shown as one poll."""


def is_poll(row: Row) -> bool:
    """Whether a request may be part of a client's polling."""
    return str(row["operation"]).startswith(_ASKS) or row["error"] == _NOTHING_THERE


def runs(
    rows: Iterable[Row], most: int | None = None, folds: Callable[[Row], bool] = lambda row: True
) -> tuple[list[Row], int | None]:
    """Return requests, newest first, with polling merged into one row, and the index in *rows* of the next page.

    Polling repeats one or two requests that differ in time and id only; ``times`` says how often. *most* bounds the
    rows returned, *folds* returns whether a request may be merged.
    """
    shown: list[Row] = []
    for seen, row in enumerate(rows):
        same = next((each for each in shown[-2:] if folds(row) and _alike(each, row)), None)
        if same is not None:
            same["times"] += 1
        elif len(shown) == most:
            return _paired(shown), seen
        else:
            shown.append({**row, "times": 1})
    return _paired(shown), None


def loops(rows: Iterable[Row], most: int) -> list[Row]:
    """Return the *most* latest kinds of requests, newest first, each with how often it was made in ``times``.

    Requests that a program repeats are one row, whatever happens in between: operations of one caller on one resource
    that were made equally often are joined. The executions of a flow count as one resource.
    """
    kinds: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        kind = (*_about(row), row["operation"], row["status"], row["error"], row["function_failed"])
        kinds.setdefault(kind, {**row, "times": 0})["times"] += 1
    shown: list[Row] = []
    for row in kinds.values():
        loop = next((each for each in shown if _is_loop(each, row)), None)
        if loop is not None:
            loop["operation"] = f"{loop['operation']}, {row['operation']}"
        elif len(shown) < most:
            shown.append(row)
    return shown


def _about(row: Row) -> tuple[Any, ...]:
    resource = str(row["resource"])
    name = resource.partition("/")[0] if row["kind"] == "execution" else resource
    return (row["service"], name, row["caller"])


def _is_loop(one: Row, other: Row) -> bool:
    often = min(one["times"], other["times"]) >= _OFTEN and abs(one["times"] - other["times"]) <= 1
    return often and _about(one) == _about(other) and not (_has_failed(one) or _has_failed(other))


def _has_failed(row: Row) -> bool:
    return bool(row["function_failed"] or (row["error"] and row["error"] != _NOTHING_THERE))


def _paired(rows: Iterable[Row]) -> list[Row]:
    """Return the rows, with two that alternate merged into one."""
    shown: list[Row] = []
    for row in rows:
        last = shown[-1] if shown else None
        if last is not None and min(last["times"], row["times"]) >= _OFTEN and _in_turns(last, row):
            last["operation"] = f"{last['operation']}, {row['operation']}"
        else:
            shown.append(row)
    return shown


def _in_turns(one: Row, other: Row) -> bool:
    same = all(one[name] == other[name] for name in ("service", "resource", "caller", "status"))
    return same and is_poll(one) and is_poll(other) and abs(one["times"] - other["times"]) <= 1


def _alike(one: Row, other: Row) -> bool:
    return all(one[name] == other[name] for name in ("service", "operation", "resource", "caller", "status"))
