"""``logs``: the logs of functions, or all lines caused by a request; ``trace``: its causes and effects as a tree.

With ``--otlp`` a trace is sent as spans too (extra ``localyun[otel]``).
"""

import sys
from argparse import Namespace
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from emulator.cli.client import Client, connect, lines_of
from emulator.cli.extras import installing
from emulator.cli.output import (
    DONE,
    CallRefused,
    CommandFailed,
    WrongUsage,
    _,
    duration,
    note,
    say,
    say_json,
    say_json_line,
    translated_status,
    wants_json,
)
from emulator.config import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    """Print the last lines and, with ``--follow``, new ones until interrupted; with ``--json`` an object per line."""
    if arguments.lines < 0:
        raise WrongUsage(_("--lines must not be negative"))
    if arguments.request and (arguments.function or arguments.follow):
        raise WrongUsage(_("--request cannot be combined with a function or --follow"))
    client = connect(settings)
    if arguments.request:
        return _print_trace(arguments, _lines_of_request(client, arguments.request))
    follow = "true" if arguments.follow else "false"
    query = {"lines": str(arguments.lines), "follow": follow, "region": client.keys.region}
    if arguments.function:
        query["function"] = arguments.function
    if wants_json(arguments):
        for line in lines_of(client.admin_text("logs", **query)):
            say_json_line(_as_object(line.decode("utf-8", "replace"), arguments.function))
        return DONE
    for piece in client.admin_text("logs", **query):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    return DONE


def _lines_of_request(client: Client, id: str) -> list[dict[str, Any]]:
    """Return the recent lines caused by a request; any other *id* stands for the request that began its trace.

    Raises: CommandFailed when there are none.
    """

    def lines(request: str) -> list[dict[str, Any]]:
        return list(client.admin("GET", "trace", request=request)["lines"])

    found = lines(id)
    if not found:
        with suppress(CallRefused):
            found = lines(client.admin("GET", f"trace/{quote(id, safe='')}")["trace"])
    if not found:
        raise CommandFailed(_("the recent log has no lines for {id}; an execution is named FLOW/EXECUTION", id=id))
    return found


def _as_object(line: str, function: str) -> dict[str, str]:
    """Return a line with its function, which begins the line when those of all functions are shown."""
    if function:
        return {"function": function, "line": line}
    name, mark, rest = line.partition(": ")
    return {"function": name, "line": rest} if mark else {"function": "", "line": line}


def _print_trace(arguments: Namespace, lines: list[dict[str, Any]]) -> int:
    """Print the lines of a request: function output with the function's name, other lines as in the server's log."""
    for line in lines:
        if wants_json(arguments):
            say_json_line(line)
            continue
        lead = f"{line['function']}: " if line["logger"] == "function" else ""
        for text in line["message"].splitlines():
            say(f"{line['time']} {lead}{text}")
    return DONE


def trace(arguments: Namespace, settings: Settings) -> int:
    """Print the tree of causes and effects that an id belongs to."""
    answer = connect(settings).admin("GET", f"trace/{quote(arguments.id, safe='')}")
    if wants_json(arguments):
        say_json(answer)
    else:
        for node in answer["tree"]:
            _print(node, "", "", node["at_ms"])
    if arguments.otlp:
        count = export_spans(answer, arguments.otlp)
        note(_("spans sent to {url}: {count}", count=count, url=arguments.otlp))
    return 0


def _print(node: dict[str, Any], lead: str, indent: str, began: int) -> None:
    parts = [f"+{duration(node['at_ms'] - began)}", _(node["kind"]), node["name"]]
    if node.get("status"):
        parts.append(translated_status(node["status"]))
    if node.get("duration_ms") is not None:
        parts.append(f"({duration(node['duration_ms'])})")
    parts.append(node["id"])
    say(lead + "  ".join(part for part in parts if part))
    children = node["children"]
    for number, child in enumerate(children, 1):
        last = number == len(children)
        _print(child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  "), began)


_NANOS = 1_000_000


def export_spans(answer: dict[str, Any], url: str) -> int:
    """Send the tree of a trace as spans to *url* (``/v1/traces`` is added to a bare address); return how many.

    Ids are derived from those of the tree, so sending twice gives the same spans. Times are the emulator's.

    Raises: CommandFailed without the extra, or when the collector refuses the spans.
    """
    import hashlib  # only needed for spans

    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.trace.export import SpanExportResult
        from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags
    except ImportError as error:
        raise CommandFailed(_("sending spans needs the extra: {command}", command=installing("otel"))) from error
    trace_id = int.from_bytes(hashlib.sha256(str(answer["trace"]).encode()).digest()[:16], "big") or 1
    resource = Resource.create({"service.name": "localyun"})
    spans: list[Any] = []

    def context(node: dict[str, Any]) -> SpanContext:
        number = int.from_bytes(hashlib.sha256(f"{trace_id}/{node['key']}".encode()).digest()[:8], "big") or 1
        return SpanContext(trace_id, number, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))

    def add(node: dict[str, Any], parent: SpanContext | None) -> None:
        own = context(node)
        failed = bool(node.get("failed"))
        spans.append(
            ReadableSpan(
                name=f"{node['kind']} {node['name']}".strip(),
                context=own,
                parent=parent,
                resource=resource,
                attributes={
                    "localyun.id": node["id"],
                    "localyun.kind": node["kind"],
                    "localyun.status": node["status"],
                },
                status=Status(StatusCode.ERROR if failed else StatusCode.OK),
                start_time=node["at_ms"] * _NANOS,
                end_time=(node["at_ms"] + (node.get("duration_ms") or 0)) * _NANOS,
            )
        )
        for child in node["children"]:
            add(child, own)

    for node in answer["tree"]:
        add(node, None)
    exporter = OTLPSpanExporter(endpoint=_endpoint(url), timeout=10)
    try:
        result = exporter.export(spans)
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]  # the library does not annotate it
    if result is not SpanExportResult.SUCCESS:
        raise CommandFailed(_("the spans could not be sent to {url}: {error}", url=url, error=result.name))
    return len(spans)


def _endpoint(url: str) -> str:
    from urllib.parse import urlsplit

    return url.rstrip("/") + "/v1/traces" if urlsplit(url).path in {"", "/"} else url
