"""Forms that create, change and delete resources; they are made from the rows of the attributes."""

from typing import Any
from urllib.parse import quote

from flask import Blueprint, abort, g, render_template, request
from werkzeug.wrappers import Response

from emulator.console import making
from emulator.console.apis import OwnApis
from emulator.console.forms import FormRefused, controls, read
from emulator.console.making import KINDS, Kind
from emulator.console.view import PAGE, Row, done, field, marker, view, whole

blueprint = Blueprint("making", __name__)

CODE = "def handler(event, context):\n    return event\n"
"""The code that the editor of a new function begins with."""

FIRST = {"runtime": "python3.10", "handler": "index.handler"}
"""The values that fit `CODE`."""


@blueprint.get("/new/<kind>")
def new(kind: str) -> str:
    """Show the form of a new resource; ``in`` is the resource it belongs to."""
    row = _kind(kind)
    owner = tuple(filter(None, request.args.get("in", "").split("/")))
    rows = [*controls(row.shape_of((*owner, "")), row.form, chinese=g.language == "zh")]
    return render_template(
        "making.html", kind=kind, owner=owner, names=row.names, controls=rows, first=FIRST, code=CODE
    )


@blueprint.post("/new/<kind>")
def make(kind: str) -> Response:
    """Make a resource."""
    row = _kind(kind)
    owner = tuple(filter(None, field("in").split("/")))
    named = tuple(field(f"name-{name}") for name in row.names[len(owner) :]) if len(owner) < len(row.names) else ()
    identity = (*owner, *(named or (field(f"name-{row.names[-1]}"),)))
    if not all(identity):
        raise FormRefused("The name is missing.")
    properties = read(row.shape_of(identity), row.form, request.form)
    making.make(row, identity, properties | _shares(kind), OwnApis(view()), _package(kind, properties))
    return _shown(kind, identity)


@blueprint.get("/edit/<kind>/<path:path>")
def edit(kind: str, path: str) -> str:
    """Show the form of an existing resource."""
    row, identity = _kind(kind), tuple(path.split("/"))
    values = making.present(row, identity, OwnApis(view()))
    rows = [*controls(row.shape_of(identity), row.form, values, chinese=g.language == "zh")]
    weights = next(iter((values.get("additionalVersionWeight") or {}).items()), ("", 0))
    return render_template("making.html", kind=kind, identity=identity, controls=rows, weights=weights, code="")


@blueprint.post("/edit/<kind>/<path:path>")
def change(kind: str, path: str) -> Response:
    """Change a resource."""
    row, identity = _kind(kind), tuple(path.split("/"))
    api = OwnApis(view())
    before = making.present(row, identity, api)
    properties = read(row.shape_of(identity), row.form, request.form, before)
    package = _package(kind, {**before, **properties})
    making.change(row, identity, properties | _shares(kind), api, package)
    return _shown(kind, identity)


@blueprint.post("/delete/<kind>/<path:path>")
def delete(kind: str, path: str) -> Response:
    """Delete a resource, and go to the page of the one it belonged to."""
    row, identity = _kind(kind), tuple(path.split("/"))
    making.remove(row, identity, OwnApis(view()))
    lists = {"queue": "queues", "topic": "topics", "bucket": "buckets", "function": "functions"}
    return done(f"{lists[kind]}.index") if kind in lists else _shown(kind, identity)


@blueprint.post("/publish/<path:path>")
def publish(path: str) -> Response:
    """Publish a version of a function or of a service."""
    service, slash, name = path.partition("/")
    owner = f"/2016-08-15/services/{service}" if slash else f"/2023-03-30/functions/{service}"
    OwnApis(view()).functions("POST", f"{owner}/versions", {"description": field("description")})
    return _shown("function", (service, name) if slash else (service,))


@blueprint.post("/objects/<bucket>")
def put_object(bucket: str) -> Response:
    """Store an uploaded file, or a text typed into the form, in a bucket."""
    chosen = request.files.get("file")
    content: bytes = chosen.read() if chosen is not None else b""
    name = field("key") or (chosen.filename or "" if chosen is not None else "")
    if not name:
        raise FormRefused("The name is missing.")
    content = content or request.form.get("text", "").encode("utf-8", "replace")
    OwnApis(view()).objects("PUT", f"/{bucket}/{quote(name)}", content)
    return done("buckets.show", name=bucket)


@blueprint.post("/objects/<bucket>/delete")
def delete_object(bucket: str) -> Response:
    """Delete an object."""
    OwnApis(view()).objects("DELETE", f"/{bucket}/{quote(field('key'))}")
    return done("buckets.show", name=bucket)


@blueprint.get("/roles")
def roles() -> str:
    """List the roles."""
    asked = {"MaxItems": str(PAGE), **({"Marker": marker()} if marker() else {})}
    answer = OwnApis(view()).rpc("2015-05-01", "ListRoles", asked)
    return render_template(
        "roles.html", roles=(answer.get("Roles") or {}).get("Role") or [], following=answer.get("Marker")
    )


def _kind(name: str) -> Kind:
    return KINDS[name] if name in KINDS else abort(404)


def _shares(kind: str) -> Row:
    """Return the weight of an alias's other version, given in the form in per cent."""
    if kind != "alias":
        return {}
    other, share = field("other"), whole("share", 0, 100) or 0
    return {"additionalVersionWeight": {other: share / 100} if other and share else {}}


def _package(kind: str, properties: Row) -> bytes | None:
    """Return the code of a function: the uploaded zip, else the text typed, None to leave it unchanged."""
    if kind != "function":
        return None
    chosen = request.files.get("zip")
    content: bytes = chosen.read() if chosen is not None else b""
    if content:
        return content
    text = request.form.get("code", "")
    if not text.strip():
        return None
    return making.package_of(text, str(properties.get("runtime") or ""), str(properties.get("handler") or ""))


def _shown(kind: str, identity: tuple[str, ...]) -> Response:
    """Go to the page that shows a resource."""
    match kind:
        case "queue" | "bucket":
            return done(f"{kind}s.show", name=identity[0])
        case "topic" | "subscription":
            return done("topics.show", name=identity[0])
        case "schedule":
            return done("triggers.schedules")
        case "role":
            return done("making.roles")
        case _:
            return done("functions.show", **_function(kind, identity))


def _function(kind: str, identity: tuple[str, ...]) -> dict[str, Any]:
    """Return the address of the function that a resource belongs to."""
    own = identity if kind == "function" else identity[:-1]
    return {"service": own[0], "name": own[1]} if len(own) > 1 else {"name": own[0]}
