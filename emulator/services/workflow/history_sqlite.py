"""Histories over SQLite, made whole: what the events of iterations share is kept once, and shown with each."""

import json

from emulator.services.workflow.engine.events import ITERATION_ENTERED, member_texts, whole_iteration
from emulator.services.workflow.model import ExecutionId, HistoryEvent
from emulator.storage.database import Database


def read_history(database: Database, execution: ExecutionId, start: int, limit: int) -> list[HistoryEvent]:
    """Return up to *limit* events of *execution* from id *start* on, as the API shows them."""
    rows = database.read(
        "SELECT id, cause, step, type, at, detail, mark FROM workflow_events WHERE execution = ? AND id >= ?"
        " ORDER BY id LIMIT ?",
        (execution, start, limit),
    )
    shared: dict[int, dict[str, str]] = {}
    events = []
    for event, cause, step, kind, at, detail, mark in rows.fetchall():
        whole = detail
        if mark is not None and kind == ITERATION_ENTERED:
            if mark not in shared:
                shared[mark] = _input_members(database, execution, mark)
            whole = whole_iteration(detail, shared[mark])
        events.append(HistoryEvent(event, cause, step, kind, at, whole))
    return events


def _input_members(database: Database, execution: ExecutionId, entered: int) -> dict[str, str]:
    """Return the members of the input that the StepEntered event *entered* tells."""
    row = database.read(
        "SELECT detail FROM workflow_events WHERE execution = ? AND id = ?", (execution, entered)
    ).fetchone()
    return member_texts(json.loads(row[0])["input"])
