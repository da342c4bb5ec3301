"""The emulator's time: what comes next, jumping there, freezing."""

from math import log1p
from typing import Any

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.console.pages.shared import back, done, view
from emulator.kernel.clock import Millis
from emulator.lab.errors import LabError
from emulator.wire.dates import parse_duration

blueprint = Blueprint("clock", __name__, url_prefix="/clock")


def timed() -> dict[str, Any]:
    """Return the clock, each event with its place on the line of time, from 0 to 1000.

    The line is logarithmic: seconds, hours and days have room beside each other.
    """
    shown = view().clock()
    furthest = log1p(max((event["in_ms"] for event in shown["next"]), default=0)) or 1.0
    for event in shown["next"]:
        event["place"] = round(log1p(max(event["in_ms"], 0)) / furthest * 1000)
    return shown


@blueprint.get("")
def show() -> str:
    """Show the time and everything that comes."""
    return render_template("clock.html", clock=timed())


@blueprint.post("")
def change() -> Response:
    """Move, freeze or release the clock."""
    time = view().lab.time
    form = request.form
    if "to_ms" in form and form["to_ms"].isdigit():
        view().call(time.move_to, Millis(max(int(form["to_ms"][:15]), view().now())))
    elif "advance" in form:
        try:
            span_ms = parse_duration(form["advance"].strip())
        except ValueError:
            raise LabError("InvalidParameter", reason="a duration is written like 90s, 1h30m or 2d") from None
        view().call(time.advance, span_ms)
    elif "next" in form:
        view().call(time.next)
    elif "freeze" in form:
        view().call(time.set_frozen, frozen=form["freeze"] == "yes")
    return back(form.get("back", "")) or done("clock.show")
