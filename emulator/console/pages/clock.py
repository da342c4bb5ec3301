"""The emulator's time: what comes next, jumping there, freezing."""

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.console.pages.shared import back, done, view
from emulator.kernel.clock import Millis
from emulator.lab.errors import LabError
from emulator.wire.dates import parse_duration

blueprint = Blueprint("clock", __name__, url_prefix="/clock")


@blueprint.get("")
def show() -> str:
    """Show the time and everything that comes."""
    return render_template("clock.html", clock=view().clock())


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
