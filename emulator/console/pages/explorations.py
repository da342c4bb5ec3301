"""Explorations: the distinct outcomes of a flow, each with a schedule that produces it, and two of them compared."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from flask import Blueprint, abort, g, render_template

from emulator.console.executions import Fold, compared, graph
from emulator.console.language import translated
from emulator.console.pages.histories import event_of
from emulator.console.view import Row, number, paged, view
from emulator.kernel.clock import Millis
from emulator.lab.exploration import in_words
from emulator.services.workflow.model import HistoryEvent
from emulator.services.workflow.rehearsal.replay import NoHistory, read_history

blueprint = Blueprint("explorations", __name__, url_prefix="/explorations")


@blueprint.get("")
def index() -> str:
    """List the latest explorations."""
    return render_template("explorations.html", explorations=view().admin("GET", "/explorations")["explorations"])


@blueprint.get("/<id>")
def show(id: str) -> str:
    """Show an exploration with its outcomes."""
    exploration = view().admin("GET", f"/explorations/{id}")
    outcomes, following = paged(
        [
            (at, {**_readable(each), "calls": _counted(each["calls"]), "messages": _counted(each["messages"])})
            for at, each in enumerate(exploration["outcomes"])
        ]
    )
    return render_template("exploration.html", exploration=exploration, outcomes=outcomes, following=following)


@blueprint.get("/<id>/compare")
def compare(id: str) -> str:
    """Show the executions of two outcomes side by side, from the first event in which they differ.

    Where their histories are the same, or are not kept, it is the first effect in which they differ.
    """
    exploration = view().admin("GET", f"/explorations/{id}")
    outcomes = exploration["outcomes"]
    chosen = (number("one") or 0, number("other") or 0)
    if max(chosen) >= len(outcomes):
        abort(404)
    one, other = (_Told(outcomes[each], exploration) for each in chosen)
    pairs = compared(one.events, other.events) if one.events and other.events else None
    if pairs is None or pairs["first"] is None:
        pairs = compared(one.effects, other.effects)
    return render_template(
        "outcomes.html", exploration=exploration, chosen=chosen, sides=[one.side, other.side], pairs=pairs
    )


class _Told:
    """An outcome, parsed: the events of its history, its effects in the form of events, and the row of its side."""

    def __init__(self, outcome: Row, exploration: Row) -> None:
        self.events = _history(outcome["events"])
        self.effects = [
            HistoryEvent(id=at, cause=0, step=effect, type="", at=Millis(0), detail="")
            for at, effect in enumerate(outcome["steps"], 1)
        ]
        fold = Fold()
        for event in self.events:
            fold.add(event)
        definition = exploration["definition"]
        drawn = graph(definition, fold, exploration["flow"], _said) if self.events and definition else ""
        self.side = ({**_readable(outcome), "name": outcome["schedule"]}, drawn)


def _readable(outcome: Row) -> Row:
    """Return an outcome with its deviations in the words of the page."""
    return {**outcome, "deviations": [in_words(each, _said) for each in outcome["deviations"]]}


def _counted(names: Iterable[str]) -> list[str]:
    """Return each distinct effect (a name and its result) with its number of occurrences."""
    said = ((_ended(name), count) for name, count in Counter(names).items())
    return [name if count == 1 else f"{count} x {name}" for name, count in said]


def _ended(effect: str) -> str:
    name, blank, state = effect.rpartition(" ")
    return f"{name}{blank}{_said(state)}" if state in ("succeeded", "failed") else effect


def _history(told: list[Any]) -> list[HistoryEvent]:
    """Return the events of a history, an empty list for one that cannot be parsed."""
    try:
        return [event_of(each) for each in read_history(told)]
    except NoHistory:
        return []


def _said(text: str) -> str:
    """Return a word of a picture in the language of the page."""
    return translated(g.language, text)
