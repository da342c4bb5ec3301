"""``invoke``: call a function as an SDK would; ``trigger``: list the triggers of functions and fire them manually."""

import json
import sys
from argparse import Namespace
from base64 import b64encode
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from emulator.cli.client import FC3_VERSION, FC_VERSION, connect, say_what_is_elsewhere
from emulator.cli.output import (
    DONE,
    FAILED,
    CallRefused,
    CommandFailed,
    WrongUsage,
    _,
    complain,
    note,
    say_json,
    short,
    show_rows,
    spoken,
    translated_status,
    unreadable,
    wants_json,
)
from emulator.config import Settings
from emulator.kernel.function_names import read_function


class Called(NamedTuple):
    """The end of a function call; ``error`` is the type of the function's failure, "" for none."""

    request_id: str
    error: str
    body: bytes
    log: str


def run(arguments: Namespace, settings: Settings) -> int:
    """Call the function and print what it returns; the exit code is 1 when the function failed."""
    event = _event(arguments)
    if arguments.later:
        return _call_later(arguments, settings, event)
    called = call_debugged(arguments, settings, event) if arguments.debug else _call(arguments, settings, event)
    if wants_json(arguments):
        say_json(
            {
                "requestId": called.request_id,
                "result": _content(called.body),
                "error": called.error or None,
                **({"log": called.log} if arguments.log else {}),
            }
        )
        return FAILED if called.error else DONE
    return show_called(called, with_log=arguments.log, raw=arguments.raw)


def _call_later(arguments: Namespace, settings: Settings, event: bytes) -> int:
    """Queue the call, wait for its end and print it; the exit code is 1 when it did not succeed.

    Raises: WrongUsage, NoEmulator, CallRefused, CommandFailed.
    """
    if arguments.debug:
        raise WrongUsage(_("--async and --debug cannot be combined"))
    client = connect(settings)
    encoded = b64encode(event).decode("ascii")
    content = {"function": arguments.function, "event": encoded, "region": client.keys.region}
    request_id = ""
    for step in client.admin_steps("call-later", content):
        if "Code" in step:
            raise CallRefused(404 if "NotFound" in step["Code"] else 400, str(step["Code"]), str(step["Message"]))
        if "requestId" not in step:
            return _show_end(arguments, request_id, step)
        request_id = str(step["requestId"])
        if not wants_json(arguments):
            note(_("queued: {id}; Ctrl-C stops waiting, not the call", id=request_id))
    raise CommandFailed(_("the emulator stopped before the function returned"))


def _show_end(arguments: Namespace, request_id: str, end: Mapping[str, Any]) -> int:
    """Print the end of an asynchronous call: the result on standard output, the rest on standard error."""
    body = a2b_base64(end["body"])
    succeeded = end["status"] == "Succeeded"
    if wants_json(arguments):
        told = {name: end[name] for name in ("status", "attempts", "error", "destination")}
        say_json({"requestId": request_id, "result": _content(body), **told})
        return DONE if succeeded else FAILED
    status = translated_status(end["status"])
    if end["destination"] is None:
        note(_("no destination is configured for a call that ends as {status}", status=status))
    else:
        words = (
            _("destination {resource}: delivered")
            if end["destination"]["delivered"]
            else _("destination {resource}: refused; for the reason see `localyun logs` and the emulator's log")
        )
        note(words.format(resource=end["destination"]["resource"]))
    count = end["attempts"]
    attempts = _("1 attempt") if count == 1 else _("{count} attempts", count=count)
    note(_("{status} after {attempts}", status=status, attempts=attempts))
    error = "" if succeeded else str(end["error"] or end["status"])
    return show_called(Called(request_id, error, body, ""), with_log=False, raw=arguments.raw)


def show_called(called: Called, *, with_log: bool, raw: bool = False) -> int:
    """Print the function's result, and its log on standard error; the exit code is 1 when the function failed.

    A text is ended with a newline, so that what follows in a pipe or a build log begins on its own line; binary
    results, and with *raw* all, are written unchanged.
    """
    if with_log and called.log:
        sys.stderr.write(called.log.rstrip("\n") + "\n")
    sys.stdout.buffer.write(called.body)
    if not raw and called.body and not called.body.endswith(b"\n") and _is_text(called.body):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
    if called.error:
        complain(_("the function failed ({error})", error=called.error))
        return FAILED
    return DONE


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in body


def _call(arguments: Namespace, settings: Settings, event: bytes) -> Called:
    headers = {"Content-Type": "application/octet-stream", "X-Fc-Log-Type": "Tail" if arguments.log else "None"}
    reply = connect(settings).functions("POST", path_of(arguments.function), event, headers, timeout_s=None)
    return Called(
        request_id=reply.headers.get("x-fc-request-id", ""),
        error=reply.headers.get("x-fc-error-type", ""),
        body=reply.body,
        log=a2b_base64(reply.headers.get("x-fc-log-result", "")).decode("utf-8", "replace"),
    )


def path_of(function: str) -> str:
    """Return the path for invoking ``[SERVICE/]FUNCTION[.QUALIFIER]`` or ``SERVICE.QUALIFIER/FUNCTION``.

    Raises: WrongUsage.
    """
    try:
        named = read_function(function)
    except ValueError:
        text = _("write the function as [SERVICE/]FUNCTION[.QUALIFIER], not {name!r}", name=function)
        raise WrongUsage(text) from None
    service, name, qualifier = (quote(part, safe="") for part in named)
    if service:
        place = f"{service}.{qualifier}" if qualifier else service
        return f"/{FC_VERSION}/services/{place}/functions/{name}/invocations"
    query = f"?qualifier={qualifier}" if qualifier else ""
    return f"/{FC3_VERSION}/functions/{name}/invocations{query}"


def _event(arguments: Namespace) -> bytes:
    if arguments.event is not None:
        return str(arguments.event).encode("utf-8", "surrogateescape")
    return b"" if arguments.event_file is None else read_event(arguments.event_file)


def read_event(name: str) -> bytes:
    """Return the content of the file *name*, or of standard input for ``-``.

    Raises: CommandFailed.
    """
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandFailed(unreadable(name, error)) from error


def _content(body: bytes) -> Any:
    """Return the body as JSON when it is JSON, else as text."""
    text = body.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except ValueError:
        return text


def call_debugged(arguments: Namespace, settings: Settings, event: bytes) -> Called:
    """Call the function under a debugger, and print the launch configuration on standard error.

    Raises: NoEmulator, CallRefused, CommandFailed.
    """
    content = {
        "function": arguments.function,
        "event": b64encode(event).decode("ascii"),
        "wait": arguments.wait,
        "port": arguments.debug_port,
    }
    client = connect(settings)
    for step in client.admin_steps("debug", content | {"region": client.keys.region}):
        if "debugger" in step:
            _introduce(arguments.function, step["debugger"], waits=arguments.wait)
        elif "Code" in step:
            raise CallRefused(400, str(step["Code"]), str(step["Message"]))
        else:
            return Called(
                request_id=str(step["requestId"]),
                error=str(step["error"] or ""),
                body=a2b_base64(step["body"]),
                log=str(step["log"]),
            )
    raise CommandFailed(_("the emulator stopped before the function returned"))


def _introduce(function: str, debugger: Mapping[str, Any], *, waits: bool) -> None:
    port = debugger["port"]
    note(_("A debugger can attach to 127.0.0.1:{port}; a launch configuration for VS Code:", port=port))
    sys.stderr.write(json.dumps(launch_configuration(function, debugger), indent=2, ensure_ascii=False) + "\n")
    if waits:
        note(_("The function runs once a debugger has attached. Ctrl-C ends the call."))


def launch_configuration(function: str, debugger: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of ``launch.json`` that attaches to *debugger*, a step of the admin page's answer.

    Code of the functions folder is mapped to itself. An uploaded package is mapped to the folder opened in the editor.

    Source: VS Code, Python debugging (attach by ``connect``) and Node.js debugging (``localRoot``, ``remoteRoot``).
    """
    folder = debugger["codeFolder"]
    local = folder if debugger["inPlace"] else "${workspaceFolder}"
    common = {"name": f"localyun {function}", "request": "attach"}
    if str(debugger["runtime"]).startswith("nodejs"):
        return {
            **common,
            "type": "node",
            "address": debugger["host"],
            "port": debugger["port"],
            "localRoot": local,
            "remoteRoot": folder,
            "skipFiles": ["<node_internals>/**"],
        }
    return {
        **common,
        "type": "debugpy",
        "connect": {"host": debugger["host"], "port": debugger["port"]},
        "pathMappings": [{"localRoot": local, "remoteRoot": folder}],
    }


def list_triggers(arguments: Namespace, settings: Settings) -> int:
    """List the triggers of all functions."""
    client = connect(settings)
    answer = client.admin("GET", "triggers", region=client.keys.region)
    names = ("function", "trigger", "type", "qualifier")
    rows = [(*(row[name] for name in names), _state(row), _about(row)) for row in answer["triggers"]]
    headings = ("function", "trigger", "type", "qualifier", "state", "event source")
    show_rows(arguments, headings, rows, answer["triggers"])
    for problem in answer.get("problems", []):
        complain(spoken(problem))
    say_what_is_elsewhere(arguments, client, "triggers")
    return DONE


def _state(row: dict[str, Any]) -> str:
    if not row["enabled"]:
        return _("off")
    return _("waits") if row["waitsFor"] else _("on")


def fire(arguments: Namespace, settings: Settings) -> int:
    """Call the trigger's function and print what it returns; the exit code is 1 when the function failed."""
    client = connect(settings)
    content = {"function": arguments.function, "trigger": arguments.trigger, "region": client.keys.region}
    if arguments.payload is not None:
        content["payload"] = arguments.payload
    if arguments.event_file is not None:
        content["event"] = b2a_base64(read_event(arguments.event_file), newline=False).decode("ascii")
    fired = client.admin("POST", "fire-trigger", content)
    body = a2b_base64(fired["body"])
    if wants_json(arguments):
        say_json({**fired, "body": body.decode("utf-8", "replace")})
        return FAILED if fired["error"] else DONE
    called = Called(request_id=str(fired["requestId"]), error=fired["error"] or "", body=body, log=fired["log"] or "")
    return show_called(called, with_log=arguments.log)


def _queue_of(config: dict[str, Any]) -> str:
    """Return the queue that an EventBridge trigger reads, such as ``queue orders``; "" for other triggers."""
    parameters = (config.get("eventSourceConfig") or {}).get("eventSourceParameters") or {}
    name = (parameters.get("sourceMNSParameters") or {}).get("QueueName")
    return _("queue {name}", name=name) if name else ""


def _about(row: dict[str, Any]) -> str:
    """Return the source of a trigger: its address, its times, or its event source with what it waits for."""
    config = row["config"]
    if row["urls"]:
        return f"{row['urls'][0]} ({config.get('authType')}: {' '.join(config.get('methods', ()))})"
    if "cronExpression" in config:
        return str(config["cronExpression"])
    source = _queue_of(config) or short(row["sourceArn"] or json.dumps(config, ensure_ascii=False), 60)
    waits = row["waitsFor"]
    return _("{field}: {message}", field=source, message=spoken(waits)) if waits else source
