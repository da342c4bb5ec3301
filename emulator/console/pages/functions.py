"""Functions: configuration, code, versions, instances, calls and their results, logs."""

import re
from collections.abc import Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from emulator.console.activity import NONE, Activity
from emulator.console.life import failure_of
from emulator.console.lists import chosen, wanted
from emulator.console.view import PAGE, Row, done, field, held, hold, view
from emulator.kernel.errors import ServiceError
from emulator.kernel.paging import Page
from emulator.lab.mocks import Recorded, shown_call
from emulator.services.fc.model import Function, FunctionName, Slice, display_name
from emulator.wire.dates import iso_millis

FILES = 50
"""The most files listed."""

_SHOWN = frozenset(
    (".py", ".js", ".mjs", ".ts", ".go", ".php", ".sh", ".json", ".yml", ".yaml", ".toml", ".txt", ".md")
)
_NAMES = frozenset({"bootstrap", "Dockerfile"})
_LARGEST = 100_000
_DEPTH = 4
_SESSIONS = 50


def files_of(folder: Path | None) -> list[dict[str, Any]]:
    """Return the files: ``name``, ``size``, and ``text`` and ``lines`` of those that are text and not large."""
    if folder is None or not folder.is_dir():
        return []
    return [_file(path, folder) for path in islice(_walk(folder, _DEPTH), FILES)]


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir(), key=lambda each: (each.is_dir(), each.name))
    except OSError:
        return
    for each in entries:
        if each.is_symlink() or each.name.startswith(".") or each.name in {"__pycache__", "node_modules"}:
            continue
        if each.is_file():
            yield each
        elif depth and each.is_dir():
            yield from _walk(each, depth - 1)


def _file(path: Path, folder: Path) -> dict[str, Any]:
    details: dict[str, Any] = {"name": str(path.relative_to(folder)), "size": 0, "text": None}
    try:
        details["size"] = path.stat().st_size
        if (path.suffix in _SHOWN or path.name in _NAMES) and details["size"] <= _LARGEST:
            details["text"] = path.read_bytes().decode("utf-8", "replace")
            details["lines"] = len(details["text"].splitlines())
    except OSError:
        pass
    return details


blueprint = Blueprint("functions", __name__, url_prefix="/functions")

_NO_LIMIT = 1 << 20

_CALLS = 100
"""The most calls drawn and listed."""


@blueprint.get("")
def index() -> str:
    """List the functions."""
    limits, known = wanted(), view().activities()

    def keep(row: tuple[str, Activity]) -> bool:
        return limits.state in {"", row[1].state}

    def read(start: str) -> Page[tuple[str, Activity]]:
        page = view().call(view().function_admin.page, start, PAGE, limits.text)
        names = [display_name(*each) for each in page.items]
        return Page([(each, known.get(("function", each), NONE)) for each in names], page.next_marker)

    rows, following = chosen(read, keep, lambda row: row[0])
    return render_template(
        "functions.html", functions=rows, following=following, states=("succeeded", "failed"), limited=limits.is_limited
    )


@blueprint.get("/<name>", defaults={"service": ""})
@blueprint.get("/<service>/<name>")
def show(service: str, name: str) -> str:
    """Show a function, its latest calls and its log; its configuration and its activity are two parts."""
    function = view().call(view().functions.resolver.function, view().tenant, service, name)
    return render_template(
        "function.html",
        function=function,
        name=display_name(service, name),
        description=cache(partial(view().call, _described, function)),
        activity=lambda: view().call(_active, function),
        files=lambda: files_of(view().call(_place, function)),
        result=held(request.args.get("call", "")),
    )


@blueprint.post("/<name>/call", defaults={"service": ""})
@blueprint.post("/<service>/<name>/call")
def call(service: str, name: str) -> Response:
    """Call a function and show the result."""
    event = request.form.get("event", "").encode("utf-8", "replace")
    called = FunctionName(service, name, field("qualifier") or None)
    invoked = view().call(view().functions.invoke, view().tenant, called, event)
    result = invoked.result
    shown = {
        "event": event.decode("utf-8", "replace"),
        "error": result.error_type or "",
        "used_mb": used_too_much(result.body.decode("utf-8", "replace"), memory_of(service, name)),
        "body": result.body.decode("utf-8", "replace"),
        "log": result.log.decode("utf-8", "replace"),
        "ms": round(result.duration_ms, 1),
        "start": "cold" if result.cold else "provisioned" if result.provisioned else "warm",
    }
    return done("functions.show", **({"service": service} if service else {}), name=name, call=hold(shown))


_EXITED = re.compile(r"Process exited unexpectedly .*maxMemoryUsage: ([\d.]+)MB")


def used_too_much(error: str, memory_mb: int) -> str:
    """Return the megabytes used by a call that exceeded *memory_mb*, "" for any other *error*.

    Source: the service has no message of its own for this; a process that exits says the same.
    """
    exited = _EXITED.search(error)
    return exited[1] if exited is not None and float(exited[1]) > memory_mb else ""


def memory_of(service: str, name: str) -> int:
    """Return the memory of a function in megabytes; a number that no call exceeds for one that only a mock answers."""
    try:
        found = view().call(view().functions.resolver.function, view().tenant, service, name)
    except ServiceError:
        return _NO_LIMIT
    return found.config.memory_mb


def failure(call: Recorded) -> str:
    """Return why a call has failed, see `failure_of`."""
    limit_mb = memory_of(call.service, call.function)
    return failure_of(call, used_too_much(call.answer.decode("utf-8", "replace"), limit_mb), limit_mb)


def _described(function: Function) -> Row:
    """Return the first page of triggers, an event of each, versions and aliases."""
    admin, store, tenant = view().function_admin, view().functions.store, view().tenant
    made = view().functions.sources.store.some(tenant, function.service, function.name)
    triggers = admin.triggers_of(function.service, function.name, PAGE + 1)
    return {
        "triggers": [row for row, _ in triggers[:PAGE]],
        "more_triggers": len(triggers) > PAGE,
        "of_file": {each.name for each in made if each.folder},
        "templates": [
            {"name": f"{row['trigger']} ({row['type']})", "event": event.decode("utf-8", "replace")}
            for row, event in triggers[:PAGE]
        ],
        "versions": store.versions(tenant, function.scope, limit=PAGE)[:PAGE],
        "aliases": _aliases(function),
    }


def _active(function: Function) -> Row:
    """Return the function's mocks, instances, sessions and latest calls."""
    full = display_name(function.service, function.name)
    calls = list(islice(reversed(view().bench.calls.of(full)), _CALLS))
    instances = view().functions.instance_list
    return {
        "mocks": [each.shown() for each in view().bench.mocks.by_id.values() if each.target.name == full],
        "instances": instances.of_function(view().tenant, function.service, function.name),
        "sessions": view().function_admin.sessions(full, _SESSIONS),
        "calls": len(calls),
        "plot": _plot(calls),
        "errors": _errors(calls, function.config.memory_mb),
    }


def _place(function: Function) -> Path | None:
    return view().functions.codes.path(function.code) if function.code is not None else None


def _aliases(function: Function) -> list[Row]:
    """Return the aliases with the share of each version in per cent; the first version has the rest."""
    aliases = view().functions.store.aliases(view().tenant, function.scope, Slice(limit=PAGE))
    return [
        {
            "alias": each.name,
            "shares": [
                (each.version_id, _percent(1 - sum(each.weights.values()))),
                *((version, _percent(weight)) for version, weight in each.weights.items()),
            ],
        }
        for each in aliases[:PAGE]
    ]


def _percent(share: float) -> str:
    return f"{round(100 * share, 1):g}"


def _plot(calls: list[Recorded]) -> Row:
    """Return a bar for each call, oldest first, with its height from 0 to 100, relative to the longest call."""
    longest = max((each.ended_at - each.at for each in calls), default=0) or 1
    width = 1000 / max(len(calls), 20)
    return {
        "longest": longest,
        "bars": [
            {
                "left": round(place * width, 1),
                "width": round(width * 0.8, 1),
                "height": max(2, round((each.ended_at - each.at) / longest * 100)),
                "state": "failed" if each.error_type else "succeeded",
                "ms": each.ended_at - each.at,
                "at": iso_millis(each.at),
            }
            for place, each in enumerate(reversed(calls))
        ],
    }


def _errors(calls: list[Recorded], memory_mb: int) -> list[Row]:
    """Return the errors of calls, newest first, equal ones as one: how often, the latest call, and its error."""
    groups: dict[tuple[str, str], Row] = {}
    for each in calls:
        if each.error_type:
            error = shown_call(each)["error"]
            message, kind = str(error.get("errorMessage", "")), str(error.get("errorType") or each.error_type)
            group = groups.setdefault(
                (kind, message[:200]), {"type": kind, "message": message, "count": 0, "at": each.at}
            )
            group["count"] += 1
            group["used_mb"] = used_too_much(message, memory_mb)
            group.setdefault("request", each.request_id)
            group.setdefault("trace", error.get("stackTrace"))
    return list(groups.values())
