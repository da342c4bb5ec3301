"""``tutorial``: run the sample applications; an emulator is started when none answers."""

import json
import os
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TextIO

from emulator.cli import background
from emulator.cli.background import command
from emulator.cli.client import Client, connected
from emulator.cli.commands import graph as recorded
from emulator.cli.commands.execution import check_input
from emulator.cli.commands.graph import STANDARD_OUTPUT, open_picture
from emulator.cli.commands.server import link, open_address
from emulator.cli.endpoint import VARIABLE as ENDPOINT_VARIABLE
from emulator.cli.endpoint import is_taken, running
from emulator.cli.extras import installing
from emulator.cli.output import (
    CallRefused,
    CommandFailed,
    NoEmulator,
    OtherEmulator,
    WrongUsage,
    _,
    complain,
    enumerated,
    is_chinese,
    note,
    say,
    say_beside,
    say_json,
    say_pairs,
    show_rows,
    wants_json,
)
from emulator.cli.tree_view import Follower, Style
from emulator.cli.tutorials import ensure_function, locate, named
from emulator.config import AUTO_PORT, Settings
from emulator.keyfile import FILE_NAME as KEY_FILE
from emulator.samples import TUTORIALS, Tutorial

SDK_PACKAGES = {
    "core": ("aliyunsdkcore", "aliyunsdkfnf"),
    "tea": ("alibabacloud_fnf20190315", "alibabacloud_tea_openapi"),
}
"""The packages of each generation of the workflow SDK; a tutorial may need more."""

PICTURES = "graphs"
"""The folder for pictures of executions, in the state folder."""

_EVENT = '{"event": '
"""The beginning of an output line of the tutorial's program that contains an event."""

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def show_list(arguments: Namespace, settings: Settings) -> int:
    """List the tutorials."""
    value = [{"name": each.name, "shortName": each.short_name, "title": each.title} for each in TUTORIALS]
    rows = [(each.name, each.short_name, _(each.title)) for each in TUTORIALS]
    return show_rows(arguments, ("name", "short name", "what it does"), rows, value)


def run(arguments: Namespace, settings: Settings) -> int:
    """Run one tutorial to its end; the exit code is 0 when the result is that of its README.

    With ``--json`` progress goes to the error stream, without links, and the executions are printed at the end.
    """
    tutorial = named(arguments.name)
    kept = arguments.keep or arguments.open
    chosen = arguments.input if arguments.input is not None else tutorial.default_input
    check_input(chosen)
    picture = _place_of_picture(arguments.graph, settings, tutorial)
    _check_sdk((*SDK_PACKAGES[arguments.sdk], *tutorial.packages))
    tell = note if wants_json(arguments) else say
    client = _emulator(settings, tell)
    existed = _has_flow(client, tutorial.flow)
    _bring_functions(tutorial, client, tell)
    fields = {"name": tutorial.name, "sdk": arguments.sdk, "duration": _(tutorial.duration)}
    tell(_("running {name} through the {sdk} SDK, {duration}", **fields))
    keeps = kept or tutorial.keeps_flow or existed
    if keeps and not wants_json(arguments):
        _say_link(tell, _("watch it in a browser:"), client, f"flows/{tutorial.flow}")
    tell("")
    steps = sys.stdout.isatty() if arguments.steps is None else arguments.steps
    with recorded.record_file() as record, TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints:
        options = ["--sdk", arguments.sdk, "--language", arguments.language, "--input", chosen]
        options += ["--keep"] if kept else []
        program = _program(tutorial, client, [*options, *(("--events", "json") if steps else ())], record)
        if steps:
            code = _show_steps(program, client, complaints, tell)
        else:
            code = _run_client(program, client, sys.stderr if wants_json(arguments) else None, complaints)
        succeeded = code == 0
        executions = recorded.read_record(record)
        if not succeeded:
            client.health()  # reports that the emulator has ended and how to start it again; the SDK's error does not
        complaints.seek(0)
        words = complaints.read().strip()
        if words:
            note(words)
        _note_signal(code)
        if code == 1 and not words:
            complain(_("the execution did not end as the tutorial describes; the exit code is 1"))
    drawn = picture if recorded.draw_last(executions, picture) else None
    if wants_json(arguments):
        graph = str(drawn) if drawn else None
        shown = [recorded.with_mermaid(each) for each in executions]
        say_json({"name": tutorial.name, "asPromised": succeeded, "graph": graph, "executions": shown})
    else:
        _say_result(client, executions, drawn, keeps=keeps)
        _say_what_next(tutorial, arguments, client, settings, keeps=keeps)
    if arguments.open and executions:
        _open(client, executions[-1], drawn)
    return 0 if succeeded else 1


def _page(execution: Mapping[str, Any]) -> str:
    return f"flows/{execution['FlowName']}/executions/{execution['Name']}"


def _open(client: Client, execution: Mapping[str, Any], picture: Path | None) -> None:
    """Open the page of an execution in the browser; its picture if the emulator has no console."""
    try:
        address = link(client, _page(execution))[0]
    except CommandFailed:
        if picture is not None:
            open_picture(picture)
        return
    try:
        open_address(address)
    except CommandFailed as error:
        complain(str(error))


def _say_link(tell: Callable[[str], None], text: str, client: Client, page: str) -> None:
    """Print a link to a page of the console on its own line, if the emulator has one."""
    with suppress(CommandFailed):
        tell(f"{text}\n  {link(client, page)[0]}")


def _place_of_picture(name: str | None, settings: Settings, tutorial: Tutorial) -> Path:
    """Return the file for the picture: that of ``--graph``, or one in the state folder."""
    if name is None:
        return settings.config.state / PICTURES / f"{tutorial.name}.svg"
    if name == STANDARD_OUTPUT:
        raise WrongUsage(_("--graph takes the name of a file; --json prints the graph as Mermaid text"))
    return Path(name)


def _bring_functions(tutorial: Tutorial, client: Client, tell: Callable[[str], None]) -> None:
    folder = locate().functions / tutorial.service
    for function in tutorial.functions:
        if ensure_function(client, tutorial.service, function, folder / function):
            tell(_("function {name} created", name=f"{tutorial.service}/{function}"))


def _program(tutorial: Tutorial, client: Client, options: Sequence[str], record: Path | None) -> list[str]:
    """Return the command that runs the tutorial's program."""
    place = ["--endpoint", client.endpoint.http, *(() if record is None else ("--record", str(record)))]
    return [sys.executable, str(locate().apps / tutorial.name / "client.py"), *options, *place]


def _run_client(program: Sequence[str], client: Client, output: TextIO | None, complaints: TextIO) -> int:
    """Run a tutorial's program with its output to *output*, or else to ours; return its exit code, 0 for success."""
    environ = _environment(client)
    done = subprocess.run(program, env=environ, stdout=output, stderr=complaints, check=False)  # noqa: S603 - our own program
    return done.returncode


def _note_signal(code: int) -> None:
    """Print which signal has ended a program."""
    if code < 0:
        complain(_("the tutorial's program was ended by {signal}", signal=signal.Signals(-code).name))


def _show_steps(
    program: Sequence[str], client: Client, complaints: TextIO | None = None, tell: Callable[[str], None] = say
) -> int:
    """Run a tutorial's program and print its events as steps; return its exit code, 0 for success."""
    style = Style.of_terminal()
    follower = Follower(style)
    environ = _environment(client)
    with subprocess.Popen(program, env=environ, stdout=subprocess.PIPE, stderr=complaints, text=True) as process:  # noqa: S603 - the program of the tutorial
        for line in process.stdout or ():
            if not line.startswith(_EVENT):
                for shown in style.fold(line.rstrip("\n")):
                    tell(shown)
                continue
            event = json.loads(line)["event"]
            if event["Type"] == "ExecutionStarted":
                follower = Follower(style)
            for shown in follower.lines([event]):
                tell(shown)
    return process.returncode


def _check_sdk(packages: tuple[str, ...]) -> None:
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        text = _("the official SDK is not installed ({packages}): {command}")
        raise CommandFailed(text.format(packages=enumerated(missing), command=installing("sdk")))


def _emulator(settings: Settings, tell: Callable[[str], None]) -> Client:
    """Return a client for the emulator that answers, or for one that is started."""
    try:
        client = connected(settings)
    except (NoEmulator, OtherEmulator):
        if os.environ.get(ENDPOINT_VARIABLE):
            raise
    else:
        tell(_using(client, settings))
        return client
    client = background.launch(_on_free_ports(settings))
    tell(_("started an emulator at {address}", address=client.endpoint.http))
    return client


def _using(client: Client, settings: Settings) -> str:
    """Return which emulator is used, and why if it is not that of the state folder."""
    address = client.endpoint.http
    owner = next((each.state for each in running() if each.http == address), "")
    if not owner or (settings.config.state / KEY_FILE).exists():
        return _("using the emulator at {address}", address=address)
    key = client.keys.access_key_id
    text = _("using the emulator at {address}, that of {owner}: it accepts the key {key} of this shell's variables")
    return text.format(address=address, owner=owner, key=key)


def _has_flow(client: Client, name: str) -> bool:
    """Whether there is a flow of this name, which a run then leaves in place."""
    try:
        client.workflow("DescribeFlow", Name=name)
    except CallRefused:
        return False
    return True


def _on_free_ports(settings: Settings) -> Settings:
    """Return *settings* with free ports where the default ones are taken."""
    changes: dict[str, object] = {}
    for name in ("port", "https_port"):
        port = getattr(settings.config, name)
        if settings.origins[name] == "default" and port != AUTO_PORT and is_taken(port):
            changes[name] = AUTO_PORT
    return background.with_flags(settings, changes)


def _environment(client: Client) -> Mapping[str, str]:
    """Return the program's environment: with the key, and without a proxy for this machine."""
    inherited = {name: value for name, value in os.environ.items() if name.upper() not in PROXY_VARIABLES}
    keys = client.keys
    return inherited | {
        "ALIBABA_CLOUD_ACCESS_KEY_ID": keys.access_key_id,
        "ALIBABA_CLOUD_ACCESS_KEY_SECRET": keys.access_key_secret,
        "LOCALYUN_ACCOUNT_ID": client.account,
        "LOCALYUN_REGION": keys.region,
        "PYTHONUNBUFFERED": "1",
        **({} if is_chinese() else {"LANGUAGE": "C"}),  # the program cannot know that this terminal has no Chinese
    }


def _say_result(client: Client, executions: Sequence[Mapping[str, Any]], drawn: Path | None, *, keeps: bool) -> None:
    say()
    if drawn:
        many = len(executions) > 1
        say_beside(_("graph of the last execution:") if many else _("graph of the execution:"), drawn)
    if keeps and executions:
        _say_link(say, _("its page (the link works once, for a minute):"), client, _page(executions[-1]))


def _say_what_next(
    tutorial: Tutorial, arguments: Namespace, client: Client, settings: Settings, *, keeps: bool
) -> None:
    name = command()
    written = "" if arguments.language == "fdl" else f" --language {arguments.language}"
    again = f"{name} tutorial run {tutorial.short_name}{written}"
    other = next(each for each in SDK_PACKAGES if each != arguments.sdk)
    say(_("The emulator keeps running at {address}.", address=client.endpoint.http))
    path = settings.config.state / KEY_FILE
    key = client.keys.access_key_id
    rows = {_("keys"): str(path) if path.exists() else _("{key}, from this shell's variables", key=key)}
    rows[""] = _('eval "$({command} env)" sets them, and the address, in this shell', command=name)
    if tutorial.functions:
        rows[_("logs")] = f"{name} logs {tutorial.service}/{tutorial.functions[-1]}"
    if keeps:
        rows[_("history")] = f"{name} flow history {tutorial.flow}"
    else:
        rows[_("keep")] = _("{command} keeps the flow and its page", command=f"{again} --keep")
    rows |= {_("again"): f"{again} --sdk {other}", _("stop"): f"{name} stop"}
    say_pairs({f"  {label}": text for label, text in rows.items()})
