"""The first page, the search, and the clock: coming events, jumping to them, freezing."""

from contextlib import suppress
from itertools import islice
from math import log1p
from typing import Any

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.console.forms import FormRefused
from emulator.console.needs import QUIET, loops, needs
from emulator.console.pages.functions import failure
from emulator.console.pages.requests import requests_with
from emulator.console.searching import found
from emulator.console.view import Row, back, done, view
from emulator.kernel.clock import Millis
from emulator.kernel.digits import read_digits
from emulator.kernel.errors import ServiceError
from emulator.samples import TUTORIALS
from emulator.wire.durations import parse_duration

clock_pages = Blueprint("clock", __name__, url_prefix="/clock")


def timed() -> dict[str, Any]:
    """Return the clock, each event with its position on the time line, from 0 to 1000.

    The line is logarithmic: seconds, hours and days have room beside each other.
    """
    shown = view().clock()
    furthest = log1p(max((event["in_ms"] for event in shown["next"]), default=0)) or 1.0
    for event in shown["next"]:
        event["place"] = round(log1p(max(event["in_ms"], 0)) / furthest * 1000)
    return shown


@clock_pages.get("")
def show() -> str:
    """Show the clock and all coming events."""
    return render_template("clock.html", clock=timed)


@clock_pages.post("")
def change() -> Response:
    """Move, freeze or release the clock."""
    time = view().lab.time
    form = request.form
    if (moment := read_digits(form.get("to_ms", ""), 15)) is not None:
        view().call(time.move_to, Millis(max(moment, view().now())))
    elif "advance" in form:
        try:
            span_ms = parse_duration(form["advance"].strip())
        except ValueError:
            raise FormRefused("Write a duration like 90s, 1h30m or 2d.") from None
        view().call(time.advance, span_ms)
    elif "next" in form:
        view().call(time.next)
    elif "freeze" in form:
        view().call(time.set_frozen, frozen=form["freeze"] == "yes")
    return back(form.get("back", "")) or done("clock.show")


_NEEDS = 20
_LATEST = 500
_SHOWN = 12

overview_pages = Blueprint("overview", __name__)


@overview_pages.get("/")
def overview() -> str:
    """Show failures that need attention, recent requests and coming events; each part is loaded separately."""
    return render_template(
        "overview.html",
        tutorials=TUTORIALS,
        needs=_needs,
        problems=lambda: view().call(view().problems),
        tokens=lambda: view().call(_tokens),
        latest=_latest,
        clock=timed,
        counts=view().counts,
        about=view().about,
    )


def _needs() -> list[Row]:
    """Return the failures that need attention, of functions with the error of the latest call."""
    rows = view().call(needs, view().journal)[:_NEEDS]
    calls = {each.request_id: each for each in view().call(list, view().bench.calls) if each.error_type}
    for row in rows:
        if row["kind"] == "function" and row["request"] in calls:
            row["detail"] = failure(calls[row["request"]])
    return rows


def _tokens() -> list[tuple[str, str, str, str]]:
    """Return the steps that wait for a report: flow, execution, step, task token; none of another account."""
    workflow, tenant = view().workflow, view().tenant
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for flow, execution, step in workflow.waiting_for_reports(_NEEDS):
        found.setdefault((flow, execution), []).append((step, ""))
    for name in found:
        with suppress(ServiceError):
            found[name] = workflow.tokens(tenant, *name)
    return [(*name, *each) for name, steps in found.items() for each in steps]


def _latest() -> list[Row]:
    """Return the latest requests of programs, each loop as one row."""
    journal = view().journal
    return view().call(lambda: loops(islice(requests_with(journal, "", QUIET), _LATEST), _SHOWN))


@overview_pages.get("/search")
def search() -> str:
    """Show the resources whose names contain the text, and other occurrences of it."""
    text = request.args.get("q", "").strip()[:200]
    return render_template("search.html", text=text, results=found(view(), text) if text else [])
