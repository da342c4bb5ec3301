"""Histories pasted or uploaded by the user, of the cloud or another emulator, shown like those of own executions.

They are not stored, only held in memory for the next page, like the answers of posts.
"""

import json
from typing import Any

from flask import Blueprint, abort, g, render_template, request
from werkzeug.wrappers import Response

from emulator.console.executions import EVENTS_SHOWN, Fold, Look, graph, rows, with_restarts
from emulator.console.forms import FormRefused
from emulator.console.frames import frames
from emulator.console.language import catalogue
from emulator.console.view import Row, done, field, held, hold, number
from emulator.gateway.errors import GatewayError
from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.languages.references import standalone
from emulator.services.workflow.model import HistoryEvent
from emulator.services.workflow.rehearsal.replay import (
    Entered,
    NoHistory,
    account_in,
    definition_in,
    read_history,
    read_pages,
)

blueprint = Blueprint("histories", __name__, url_prefix="/histories")

MOST_EVENTS = 5_000
"""The most events of an execution in the cloud."""


@blueprint.get("")
def index() -> str:
    """Show the form for a history and its definition."""
    return render_template("histories.html")


@blueprint.post("")
def read() -> Response:
    """Read a history, and the definition if the history does not contain it."""
    try:
        document = read_pages(field("history"))
        events = read_history(document)
        definition = standalone(field("definition") or definition_in(document) or "", account=account_in(events))
        if definition.text:
            definition.program()
    except (NoHistory, DefinitionError) as error:
        raise GatewayError("InvalidArgument", str(error)) from error
    if len(events) > MOST_EVENTS:
        raise FormRefused("A history has at most {number} events.", number=MOST_EVENTS)
    return done(
        "histories.show", key=hold({"events": [event_of(each) for each in events], "definition": definition.text})
    )


@blueprint.get("/<key>")
def show(key: str) -> str:
    """Show a history: graph, steps and events, at any of its events."""
    look = Look(
        at=number("at") or None, visit=number("step") or 0, opened=number("open") or 0, offset=number("offset") or 0
    )
    return render_template("history.html", record=None, execution=_shown(_kept(key), look), look=look)


@blueprint.get("/<key>/frames")
def changes(key: str) -> Row:
    """Return the history as changes of the picture, for the slider."""
    return frames(_kept(key)["events"], _said)


def _kept(key: str) -> Row:
    kept = held(key)
    if kept is None or "events" not in kept:
        abort(404)
    return kept


def event_of(each: Entered) -> HistoryEvent:
    """Return an event in the form of those of own executions."""
    detail = json.dumps(each.detail, ensure_ascii=False)
    return HistoryEvent(id=each.id, cause=each.scheduled, step=each.step, type=each.type, at=each.at, detail=detail)


def _shown(kept: Row, look: Look) -> Row:
    events: list[HistoryEvent] = kept["events"]
    last = events[-1].id
    at = look.at if look.at is not None and 0 < look.at < last else None
    fold = Fold()
    for event in events[:at]:
        fold.add(event)
    shown = events[:at][-EVENTS_SHOWN:]
    execution = fold.execution
    return {
        "history": "",
        "status": execution.status,
        "input": json.dumps(execution.input, ensure_ascii=False),
        "output": "" if execution.output is None else json.dumps(execution.output, ensure_ascii=False),
        "error": execution.error,
        "cause": execution.cause,
        "at": at,
        "last": last,
        "has_earlier": (at or last) > EVENTS_SHOWN,
        "time": fold.at,
        "started": execution.started,
        "ended": execution.ended,
        "steps": rows(fold, look, fold.at),
        "chosen": fold.by_id.get(look.visit),
        "about": _entered_nowhere(request.args.get("about", "")),
        "whole_ms": max(1, events[-1].at - events[0].at),
        "is_undefined": not kept["definition"],
        "graph": graph(kept["definition"], fold, "history", _said) if kept["definition"] else "",
        "events": with_restarts(reversed(shown), ()),
    }


def _entered_nowhere(step: str) -> Row | None:
    return {"step": step} if step else None


def _said(text: str) -> str:
    """Return a word of a picture in the language of the page."""
    said: Any = catalogue(g.language).gettext(text)
    return str(said)
