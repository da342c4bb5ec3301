"""The editor of flows: the definition is checked while it is typed, with its graph beside it."""

import json

from flask import Blueprint, g, render_template, request
from werkzeug.wrappers import Response

from emulator.console.apis import OwnApis
from emulator.console.executions import graph
from emulator.console.forms import controls, read
from emulator.console.language import catalogue
from emulator.console.making import RPC
from emulator.console.view import Row, done, field, view
from emulator.deploy.kinds import PROVIDERS
from emulator.kernel.phrases import said
from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.model import FLOW

blueprint = Blueprint("designing", __name__, url_prefix="/design")

_FLOW = PROVIDERS["fnf.flow"]
_LONGEST = 100_000
"""The longest definition, in characters, that is drawn while it is typed."""

BEGINNING = """version: v1
type: flow
steps:
- type: pass
  name: hello
"""
"""The definition that the editor of a new flow begins with."""


@blueprint.get("")
def new() -> str:
    """Show the editor of a new flow."""
    rows = [*controls(FLOW, RPC, chinese=g.language == "zh")]
    return render_template(
        "flow_form.html", name="", definition=BEGINNING, controls=rows, first={"Type": "FDL"}, **_checked(BEGINNING)
    )


@blueprint.post("")
def make() -> Response:
    """Make a flow."""
    name = field("name")
    _call("CreateFlow", name, {"Description": "", **read(FLOW, RPC, request.form)})  # the API requires a description
    return done("flows.show", name=name)


@blueprint.get("/<name>")
def edit(name: str) -> str:
    """Show the editor of an existing flow."""
    shown = dict(_FLOW.show(OwnApis(view()), (name,), {}) or {})
    definition = str(shown.get("Definition") or "")
    rows = [*controls(FLOW, RPC, shown, chinese=g.language == "zh")]
    return render_template("flow_form.html", name=name, definition=definition, controls=rows, **_checked(definition))


@blueprint.post("/<name>")
def change(name: str) -> Response:
    """Change a flow; running executions keep the earlier definition."""
    before = dict(_FLOW.show(OwnApis(view()), (name,), {}) or {})
    _call("UpdateFlow", name, read(FLOW, RPC, request.form, before))
    return done("flows.show", name=name)


@blueprint.post("/<name>/delete")
def delete(name: str) -> Response:
    """Delete a flow."""
    OwnApis(view()).rpc("2019-03-15", "DeleteFlow", {"Name": name})
    return done("flows.index")


@blueprint.post("/check")
def check() -> str:
    """Return the problems of a definition, or its graph."""
    return render_template("flow_checked.html", **_checked(request.form.get("Definition", "")))


def _call(action: str, name: str, settings: Row) -> None:
    definition = request.form.get("Definition", "").replace("\r\n", "\n")
    texts = {each: value if isinstance(value, str) else json.dumps(value) for each, value in settings.items()}
    OwnApis(view()).rpc("2019-03-15", action, {**texts, "Name": name, "Definition": definition})


def _checked(definition: str) -> Row:
    """Return the ``problems`` of a definition with their places, or its ``graph`` when there are none."""
    text, say = definition.replace("\r\n", "\n"), catalogue(g.language).gettext
    try:
        read_program(text)
    except DefinitionError as error:
        return {"problems": [said(str(each), say) for each in error.every()], "graph": ""}
    drawn = graph(text, None, say("Graph"), say) if len(text) <= _LONGEST else ""
    return {"problems": [], "graph": drawn}
