"""``tutorial``: the sample applications, run against an emulator that is started when none answers."""

import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec

from emulator.cli import background
from emulator.cli.client import Client
from emulator.cli.endpoint import VARIABLE as ENDPOINT_VARIABLE
from emulator.cli.failures import CommandFailed, NoEmulator, WrongUsage
from emulator.cli.output import say, say_json, say_table
from emulator.cli.ports import is_taken
from emulator.cli.samples import locate
from emulator.cli.session import connect, wants_json
from emulator.cli.upload import ensure_function
from emulator.cli.welcome import command
from emulator.config import Settings
from emulator.kernel.frozen import frozen
from emulator.keyfile import FILE_NAME as KEY_FILE

SDK_PACKAGES = {
    "core": ("aliyunsdkcore", "aliyunsdkfnf"),
    "tea": ("alibabacloud_fnf20190315", "alibabacloud_tea_openapi"),
}
"""What each generation of the workflow SDK installs; a tutorial may name more."""

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@frozen
class Tutorial:
    """A sample application with a ``client.py`` that needs some functions."""

    name: str
    short_name: str
    title: str
    flow: str
    service: str
    functions: tuple[str, ...]
    default_input: str
    duration: str
    keeps_flow: bool = False
    """Whether the flow is there afterwards, so that its history can be looked at."""
    packages: tuple[str, ...] = ()
    """Packages of further SDKs."""


TUTORIALS = (
    Tutorial(
        name="poll-for-task-status",
        short_name="polling",
        title="start a job and ask for its status until it is done",
        flow="fnf-demo-poll-for-task-status",
        service="fnf-demo",
        functions=("StartJob", "GetJobStatus"),
        default_input='{"delay": 20}',
        duration="about 40 seconds",
        keeps_flow=True,
    ),
    Tutorial(
        name="multi-step-transaction",
        short_name="transaction",
        title="book a journey in three steps and undo them when one fails",
        flow="fnf-demo-multi-step-transaction",
        service="fnf-demo",
        functions=("Operation",),
        default_input='{"buy_train_ticket_result": "success", "reserve_flight_result": "success", '
        '"reserve_hotel_result": false}',
        duration="about 8 seconds",
    ),
    Tutorial(
        name="mns-topic-callback",
        short_name="topic",
        title="publish a task to a topic; a subscribed function reports its result",
        flow="fnf-demo-mns-topic-callback",
        service="fnf-demo",
        functions=("topicCallback",),
        default_input='{"messageBody": "hello"}',
        duration="about 2 seconds",
        packages=("mns", "fc2", "aliyunsdkcore", "aliyunsdkfnf"),
    ),
    Tutorial(
        name="mns-queue-callback",
        short_name="queue",
        title="give a task to a worker through a queue and wait for its report",
        flow="fnf-demo-mns-queue-callback",
        service="fnf-demo",
        functions=(),
        default_input="{}",
        duration="about 3 seconds",
        packages=("mns",),
    ),
    Tutorial(
        name="callback",
        short_name="callback",
        title="wait until another program reports a task's result",
        flow="fnf-demo-callback",
        service="fnf-demo",
        functions=("echo",),
        default_input="{}",
        duration="about 2 seconds",
    ),
    Tutorial(
        name="versions-and-aliases",
        short_name="versions",
        title="call a published version through an alias, with an instance kept ready",
        flow="fnf-demo-versions-and-aliases",
        service="fnf-demo",
        functions=("provision",),
        default_input="{}",
        duration="about 2 seconds",
        packages=("fc2",),
    ),
    Tutorial(
        name="timed-schedule",
        short_name="schedule",
        title="run a flow each minute by a schedule",
        flow="fnf-demo-timed-schedule",
        service="fnf-demo",
        functions=("hello",),
        default_input="null",
        duration="about a second",
    ),
    Tutorial(
        name="troubleshooting",
        short_name="errors",
        title="retry one error and redirect another",
        flow="fnf-demo-troubleshooting",
        service="fnf-demo",
        functions=("Unstable",),
        default_input='{"failures": 2}',
        duration="about 4 seconds",
    ),
)


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
    """Run one tutorial to its end; the exit code is 0 when it went as its README promises."""
    tutorial = _named(arguments.name)
    given = arguments.input if arguments.input is not None else tutorial.default_input
    _check_input(given)
    _check_sdk((*SDK_PACKAGES[arguments.sdk], *tutorial.packages))
    samples = locate()
    client = _emulator(settings)
    for function in tutorial.functions:
        if ensure_function(client, tutorial.service, function, samples.functions / tutorial.service / function):
            say(f"function {tutorial.service}/{function} created")
    say(f"running {tutorial.name} through the {arguments.sdk} SDK, {tutorial.duration}")
    say()
    program = samples.apps / tutorial.name / "client.py"
    arguments_of_program = ["--sdk", arguments.sdk, "--input", given, "--endpoint", client.endpoint.http]
    code = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, str(program), *arguments_of_program], env=_environment(client), check=False
    ).returncode
    say()
    _tell_what_next(tutorial, client, settings)
    return 0 if code == 0 else 1


def _named(name: str) -> Tutorial:
    for tutorial in TUTORIALS:
        if name in {tutorial.name, tutorial.short_name}:
            return tutorial
    raise WrongUsage(f"there is no tutorial {name!r}; there are: {', '.join(each.name for each in TUTORIALS)}")


def _check_input(text: str) -> None:
    try:
        json.loads(text)
    except ValueError as error:
        raise WrongUsage(f"--input is not JSON: {error}") from error


def _check_sdk(packages: tuple[str, ...]) -> None:
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise CommandFailed(f"the official SDK is not installed ({', '.join(missing)}): pip install 'localyun[sdk]'")


def _emulator(settings: Settings) -> Client:
    """Return a client for the emulator that answers, or for one started now."""
    client = connect(settings)
    try:
        client.health()
    except NoEmulator:
        if os.environ.get(ENDPOINT_VARIABLE):
            raise
    else:
        say(f"using the emulator at {client.endpoint.http}")
        return client
    client = background.launch(_with_samples(settings))
    say(f"started an emulator at {client.endpoint.http}")
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
