"""``tutorial``: the sample applications, run against an emulator that is started when none answers."""

import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from emulator.cli import background
from emulator.cli.client import Client, connect
from emulator.cli.commands import graph as recorded
from emulator.cli.commands.graph import STANDARD_OUTPUT
from emulator.cli.endpoint import VARIABLE as ENDPOINT_VARIABLE
from emulator.cli.endpoint import is_taken
from emulator.cli.failures import CommandFailed, NoEmulator, WrongUsage
from emulator.cli.output import note, say, say_json, say_table, wants_json
from emulator.cli.startup import command
from emulator.cli.tutorials import TUTORIALS, Tutorial, locate, named
from emulator.cli.upload import ensure_function
from emulator.config import Settings
from emulator.keyfile import FILE_NAME as KEY_FILE

SDK_PACKAGES = {
    "core": ("aliyunsdkcore", "aliyunsdkfnf"),
    "tea": ("alibabacloud_fnf20190315", "alibabacloud_tea_openapi"),
}
"""What each generation of the workflow SDK installs; a tutorial may name more."""

PICTURES = "graphs"
"""The folder in the state folder that the pictures of executions go to."""

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def show_list(arguments: Namespace, settings: Settings) -> int:
    """List the tutorials."""
    del settings
    if wants_json(arguments):
        say_json([{"name": each.name, "shortName": each.short_name, "title": each.title} for each in TUTORIALS])
    else:
        say_table(
            ("name", "short name", "what it does"), [(each.name, each.short_name, each.title) for each in TUTORIALS]
        )
    return 0


def run(arguments: Namespace, settings: Settings) -> int:
    """Run one tutorial to its end; the exit code is 0 when it went as its README promises.

    With ``--json`` progress goes to the error stream, and the executions are printed at the end.
    """
    tutorial = named(arguments.name)
    given = arguments.input if arguments.input is not None else tutorial.default_input
    _check_input(given)
    picture = _place_of_picture(arguments.graph, settings, tutorial)
    _check_sdk((*SDK_PACKAGES[arguments.sdk], *tutorial.packages))
    tell = note if wants_json(arguments) else say
    client = _emulator(settings, tell)
    _bring_functions(tutorial, client, tell)
    tell(f"running {tutorial.name} through the {arguments.sdk} SDK, {tutorial.duration}")
    tell("")
    with recorded.record_file() as record:
        options = ["--sdk", arguments.sdk, "--language", arguments.language, "--input", given]
        succeeded = _run_client(tutorial, client, options, record, sys.stderr if wants_json(arguments) else None)
        executions = recorded.read_record(record)
    drawn = recorded.draw_last(executions, picture)
    if wants_json(arguments):
        graph = str(picture) if drawn else None
        shown = [recorded.with_mermaid(each) for each in executions]
        say_json({"name": tutorial.name, "asPromised": succeeded, "graph": graph, "executions": shown})
    else:
        say()
        if drawn:
            say(f"graph of the {'last ' if len(executions) > 1 else ''}execution: {picture}")
        _tell_what_next(tutorial, client, settings)
    return 0 if succeeded else 1


def _place_of_picture(given: str | None, settings: Settings, tutorial: Tutorial) -> Path:
    """Return the file to draw to: that of ``--graph``, or one in the state folder, away from the user's files."""
    if given is None:
        return settings.config.state / PICTURES / f"{tutorial.name}.svg"
    if given == STANDARD_OUTPUT:
        raise WrongUsage("--graph takes the name of a file; --json prints the graph as Mermaid text")
    return Path(given)


def _bring_functions(tutorial: Tutorial, client: Client, tell: Callable[[str], None]) -> None:
    folder = locate().functions / tutorial.service
    for function in tutorial.functions:
        if ensure_function(client, tutorial.service, function, folder / function):
            tell(f"function {tutorial.service}/{function} created")


def _run_client(
    tutorial: Tutorial, client: Client, options: Sequence[str], record: Path | None, output: TextIO | None
) -> bool:
    """Run the tutorial's program, which prints to *output* or else where we do; tell whether all went as promised."""
    command = [sys.executable, str(locate().apps / tutorial.name / "client.py"), *options]
    command += ["--endpoint", client.endpoint.http]
    if record is not None:
        command += ["--record", str(record)]
    done = subprocess.run(command, env=_environment(client), stdout=output, check=False)  # noqa: S603 - our own program
    return done.returncode == 0


def _check_input(text: str) -> None:
    try:
        json.loads(text)
    except ValueError as error:
        raise WrongUsage(f"--input is not JSON: {error}") from error


def _check_sdk(packages: tuple[str, ...]) -> None:
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise CommandFailed(f"the official SDK is not installed ({', '.join(missing)}): pip install 'localyun[sdk]'")


def _emulator(settings: Settings, tell: Callable[[str], None]) -> Client:
    """Return a client for the emulator that answers, or for one started now."""
    client = connect(settings)
    try:
        client.health()
    except NoEmulator:
        if os.environ.get(ENDPOINT_VARIABLE):
            raise
    else:
        tell(f"using the emulator at {client.endpoint.http}")
        return client
    client = background.launch(_with_samples(settings))
    tell(f"started an emulator at {client.endpoint.http}")
    return client


def _with_samples(settings: Settings) -> Settings:
    """Return *settings* with the examples' functions, and free ports where other programs have taken the usual ones."""
    changes: dict[str, object] = {"functions": locate().functions}
    for name in ("port", "https_port"):
        if settings.origins[name] == "default" and is_taken(getattr(settings.config, name)):
            changes[name] = 0
    origins = {**settings.origins, **{name: "--" + name.replace("_", "-") for name in changes}}
    return Settings(config=replace(settings.config, **changes), origins=origins)  # type: ignore[arg-type]  # by name


def _environment(client: Client) -> Mapping[str, str]:
    """Return what the program finds in its environment: the key, and no proxy between it and this machine."""
    inherited = {name: value for name, value in os.environ.items() if name.upper() not in PROXY_VARIABLES}
    keys = client.keys
    return inherited | {
        "ALIBABA_CLOUD_ACCESS_KEY_ID": keys.access_key_id,
        "ALIBABA_CLOUD_ACCESS_KEY_SECRET": keys.access_key_secret,
        "LOCALYUN_ACCOUNT_ID": keys.account_id,
        "LOCALYUN_REGION": keys.region,
        "PYTHONUNBUFFERED": "1",
    }


def _tell_what_next(tutorial: Tutorial, client: Client, settings: Settings) -> None:
    name = command()
    say(f"The emulator goes on serving at {client.endpoint.http}.")
    say(f"  keys     {settings.config.state / KEY_FILE}")
    say(f'           eval "$({name} env)" sets them, and the address, in this shell')
    if tutorial.functions:
        say(f"  logs     {name} logs {tutorial.service}/{tutorial.functions[-1]}")
    if tutorial.keeps_flow:
        say(f"  history  {name} flow history {tutorial.flow}")
    say(f"  again    {name} tutorial run {tutorial.short_name} --sdk tea")
    say(f"  stop     {name} stop")
