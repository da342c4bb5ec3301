"""``trace``: what caused a request, and what came of it; with ``--otlp`` sent as spans (extra ``localyun[otel]``)."""

import hashlib
from argparse import Namespace
from typing import Any
from urllib.parse import quote

from emulator.cli.client import connect
from emulator.cli.commands.clock import duration
from emulator.cli.output import CommandFailed, _, note, say, say_json, wants_json
from emulator.config import Settings


def run(arguments: Namespace, settings: Settings) -> int:
    """Print the tree of causes and effects that an id belongs to."""
    answer = connect(settings).admin("GET", f"trace/{quote(arguments.id, safe='')}")
    if wants_json(arguments):
        say_json(answer)
    else:
        for node in answer["tree"]:
            _print(node, "", "", node["at_ms"])
    if arguments.otlp:
        count = export(answer, arguments.otlp)
        note(_("sent {count} spans to {url}", count=count, url=arguments.otlp))
    return 0


def _print(node: dict[str, Any], lead: str, indent: str, began: int) -> None:
    parts = [f"+{duration(node['at_ms'] - began)}", node["kind"], node["name"]]
    if node.get("status"):
        parts.append(node["status"])
    if node.get("duration_ms") is not None:
        parts.append(f"({duration(node['duration_ms'])})")
    parts.append(node["id"])
    say(lead + "  ".join(part for part in parts if part))
    children = node["children"]
    for number, child in enumerate(children, 1):
        last = number == len(children)
        _print(child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  "), began)


_NANOS = 1_000_000


def export(answer: dict[str, Any], url: str) -> int:
    """Send the tree of a trace as spans to *url* (``/v1/traces`` is added to a bare address); return how many.

    Ids follow from those of the tree, so sending twice gives the same spans. Times are the emulator's.

    Raises: CommandFailed without the extra, or when the collector does not take the spans.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.trace.export import SpanExportResult
        from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags
    except ImportError as error:
        raise CommandFailed(_("sending spans needs the extra: pip install 'localyun[otel]'")) from error
    trace = int.from_bytes(hashlib.sha256(str(answer["trace"]).encode()).digest()[:16], "big") or 1
    resource = Resource.create({"service.name": "localyun"})
    spans: list[Any] = []

    def context(node: dict[str, Any]) -> SpanContext:
        number = int.from_bytes(hashlib.sha256(f"{trace}/{node['key']}".encode()).digest()[:8], "big") or 1
        return SpanContext(trace, number, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))

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
        exporter.shutdown()  # type: ignore[no-untyped-call]  # the library leaves it out
    if result is not SpanExportResult.SUCCESS:
        raise CommandFailed(_("the spans could not be sent to {url}: {error}", url=url, error=result.name))
    return len(spans)


def _endpoint(url: str) -> str:
    from urllib.parse import urlsplit

    return url.rstrip("/") + "/v1/traces" if urlsplit(url).path in {"", "/"} else url
