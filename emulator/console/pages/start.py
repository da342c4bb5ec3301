"""The page "Start here": tutorials that start with one click, and programs to copy."""

from collections.abc import Sequence
from pathlib import Path

from flask import Blueprint, abort, current_app, render_template
from werkzeug.wrappers import Response

from emulator.console.pages.flows import executions_of
from emulator.console.tutorials import TutorialRuns
from emulator.console.view import done
from emulator.kernel.errors import ServiceError
from emulator.samples import TUTORIALS, Tutorial
from emulator.services.workflow.model import ExecutionRecord

blueprint = Blueprint("start", __name__, url_prefix="/start")

_SNIPPETS = Path(__file__).parents[1] / "snippets"

SNIPPETS = ("queue", "topic", "function", "flow", "schedule")
"""Programs with the official SDKs, each a file that runs unchanged under ``localyun exec``."""


def snippet(name: str) -> str:
    """Return a program to copy."""
    return (_SNIPPETS / f"{name}.txt").read_text(encoding="utf-8")


@blueprint.get("")
def index() -> str:
    """Offer the tutorials and the programs."""
    return render_template("start.html", tutorials=TUTORIALS, snippets=[(name, snippet(name)) for name in SNIPPETS])


@blueprint.get("/<name>")
def show(name: str) -> str:
    """Show the progress of a tutorial, with its flow and executions."""
    tutorial, run = _named(name), _runs().get(name)
    return render_template("start/tutorial.html", tutorial=tutorial, run=run, executions=_executions(tutorial))


@blueprint.post("/<name>")
def start(name: str) -> Response:
    """Start a tutorial, or start it again."""
    _runs().start(_named(name).name)
    return done("start.show", name=name)


def _named(name: str) -> Tutorial:
    found = next((each for each in TUTORIALS if each.name == name), None)
    return found if found is not None else abort(404)


def _runs() -> TutorialRuns:
    runs: TutorialRuns = current_app.extensions["tutorials"]
    return runs


def _executions(tutorial: Tutorial) -> Sequence[ExecutionRecord]:
    try:
        return executions_of(tutorial.flow, 10, "").items
    except ServiceError:  # the tutorial has not created its flow yet
        return ()
