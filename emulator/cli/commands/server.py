"""One emulator (``stop``, ``status``, ``reset``), all emulators of this user (``list``), and this installation.

The last are ``version``, ``config``, ``env`` (how to point programs at it) and ``account``: each further account has
keys and resources of its own. ``console`` opens the emulator's pages in a browser.
"""

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from emulator import __version__, keyfile
from emulator.cli.background import clock_told
from emulator.cli.client import Client, connect, connected, until
from emulator.cli.endpoint import Endpoint, Running, is_alive, read, running
from emulator.cli.output import (
    CallRefused,
    CommandFailed,
    NoEmulator,
    OtherEmulator,
    _,
    complain,
    enumerated,
    say,
    say_json,
    say_pairs,
    sentences,
    show,
    show_rows,
    show_table,
    spoken,
    tell,
    wants_json,
)
from emulator.config import AUTO_PORT, DEFAULT_REGION, OPTIONS, Settings
from emulator.kernel.system import ask_to_end
from emulator.keyfile import InstallationKeys

STOP_TIMEOUT_S = 30.0
STATUS = (
    *("status", "version", "services", "account", "region", "installation", "pid", "uptime_s", "auth", "functions"),
    *("waiting", "problems", "counts", "regions", "places", "ok", "available", "clock", "queues", "topics"),
    *("triggers", "flows", "records", "hooks"),
)
"""Words in the status, for the catalogues."""

_LISTED = ("http", "https", "pid", "account", "state", "version", "installation")


def stop(arguments: Namespace, settings: Settings) -> int:
    """End the emulator and wait until it has ended, also when its state folder was deleted meanwhile.

    Raises: CommandFailed when another folder's emulator answers, which keeps running; NoEmulator.
    """
    if (orphan := _without_files(settings)) is not None:
        ask_to_end(orphan.pid)
        _wait_for_end(orphan.http, lambda: not is_alive(orphan.pid))
        return _say_stopped(arguments, settings, orphan.http)
    try:
        client = connected(settings)
    except OtherEmulator as other:
        text = _("Nothing was stopped.")
        if other.owner:
            text = _("Nothing was stopped; {command} ends it.", command=_stopping(other.owner))
        raise CommandFailed(sentences(other.what, text)) from other
    except NoEmulator as none:
        raise NoEmulator(none.what, _nothing_stopped()) from none
    end(client)
    return _say_stopped(arguments, settings, client.endpoint.http)


def _say_stopped(arguments: Namespace, settings: Settings, address: str) -> int:
    said = _("stopped {address}", address=address)
    if (origin := settings.origins["state"]) != "default":  # perhaps not the emulator of this folder
        said = _("{stopped} of {state} ({origin})", stopped=said, state=settings.config.state.resolve(), origin=origin)
    return tell(arguments, said, {"stopped": address})


def _without_files(settings: Settings) -> Running | None:
    """Return the running emulator of the state folder if the file of keys, needed to call it, was deleted."""
    state = settings.config.state
    if (state / keyfile.FILE_NAME).exists():
        return None
    return next((each for each in running() if each.state == str(state.absolute()) and _answers(each)), None)


def _stopping(state: str) -> str:
    """Return the command that stops the emulator of a state folder."""
    return f"localyun stop --state {shlex.quote(state)}"


def _nothing_stopped() -> str:
    """Return the message that no emulator was stopped, and how to stop a running one."""
    match running():
        case []:
            return _("Nothing was stopped: you have no running emulator.")
        case [other]:
            return _("Nothing was stopped; {command} ends your only running emulator.", command=_stopping(other.state))
        case _:
            return _("Nothing was stopped; {command} lists your running emulators.", command="localyun list")


def end(client: Client) -> None:
    """End the emulator of *client* and wait until it has ended.

    Raises: NoEmulator, CallRefused; CommandFailed when it keeps running.
    """
    client.admin("POST", "stop")
    _wait_for_end(client.endpoint.http, lambda: _has_ended(client))


def _wait_for_end(address: str, has_ended: Callable[[], bool]) -> None:
    if not until(has_ended, STOP_TIMEOUT_S):
        fields = {"address": address, "seconds": round(STOP_TIMEOUT_S)}
        raise CommandFailed(_("the emulator at {address} is still running after {seconds} s", **fields))


def _has_ended(client: Client) -> bool:
    pid = client.endpoint.pid
    if pid is not None:
        return not is_alive(pid)
    try:
        client.ping()
    except NoEmulator:
        return True
    return False


def show_list(arguments: Namespace, settings: Settings) -> int:
    """List the emulators of this user that answer; the one of this folder's settings is marked."""
    rows = [each for each in running() if _answers(each)]
    own = str(settings.config.state.absolute())
    return show_rows(
        arguments,
        ("", "http", "https", "process", "account", "state folder"),
        [
            ("*" if each.state == own else "", each.http, each.https, each.pid, each.account, each.state)
            for each in rows
        ],
        [{name: getattr(each, name) for name in _LISTED} for each in rows],
    )


def _answers(entry: Running) -> bool:
    """Whether the emulator of an entry is running; its process id may belong to another program by now."""
    try:
        health = Client(Endpoint(http=entry.http, source=entry.state), None, entry.state).ping()
    except CommandFailed:
        return False
    return health.get("installation") == entry.installation


def status(arguments: Namespace, settings: Settings) -> int:
    """Print the state and the content of the emulator."""
    client = connected(settings)
    answer = client.admin("GET", "status")
    if wants_json(arguments):
        say_json(answer)
        return 0
    pairs = {}
    shown = {"status": _(answer["status"]), "clock": clock_told(answer["clock"]) or answer["clock"]["now"]}
    for name, value in (answer | shown).items():
        if name == "hooks" and not value:
            continue
        lines: str | list[str] = _readable(value)
        if value and name in {"waiting", "problems", "places"}:
            lines = [_readable(each) if name == "places" else spoken(each) for each in value]
        pairs[_("state folder" if name == "state" else name)] = lines
    say_pairs(pairs)
    return 0


def _readable(value: Any) -> str:
    if isinstance(value, dict):
        named = ((_(name), _(part) if isinstance(part, str) else _readable(part)) for name, part in value.items())
        return enumerated(f"{name} {part}" for name, part in named)
    if isinstance(value, list):
        return enumerated(_readable(part) for part in value) or _("none")
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def reset(arguments: Namespace, settings: Settings) -> int:
    """Delete the state of all services, or of the resource given by an option."""
    client = connected(settings)
    names = ("service", "queue", "topic", "flow", "function")
    scope = {name: value for name in names if (value := getattr(arguments, name))}
    if not arguments.yes and not scope and sys.stdin.isatty():
        question = _("Delete everything in {address}, except the functions of the folder? [y/N]")
        if input(question.format(address=client.endpoint.http) + " ").strip().lower() not in {"y", "yes"}:
            raise CommandFailed(_("nothing has been deleted"))
    done = client.admin("POST", "reset", scope)
    name = " ".join(scope.values())
    return tell(arguments, _("reset {name}", name=name) if scope else _("reset"), done)


_COLUMNS = {"account": "accountId", "access key": "accessKeyId", "secret": "accessKeySecret"}


def add_account(arguments: Namespace, settings: Settings) -> int:
    """Add an account and print its key."""
    content = {"accountId": arguments.account} if arguments.account else {}
    made = connect(settings).admin("POST", "accounts", content)
    shown = made if wants_json(arguments) else {_(heading): made[name] for heading, name in _COLUMNS.items()}
    return show(arguments, [shown], as_list=False)


def list_accounts(arguments: Namespace, settings: Settings) -> int:
    """List the accounts with their keys."""
    return show_table(arguments, _COLUMNS, connect(settings).admin("GET", "accounts")["accounts"])


def remove_account(arguments: Namespace, settings: Settings) -> int:
    """Delete an account, its key and its resources."""
    done = connect(settings).admin("DELETE", f"accounts/{quote(arguments.account, safe='')}")
    return tell(arguments, _("removed {name}", name=arguments.account), done)


def version(arguments: Namespace, settings: Settings) -> int:
    """Print the version."""
    return tell(arguments, _("localyun {version}", version=__version__), {"version": __version__})


def config(arguments: Namespace, settings: Settings) -> int:
    """Print every setting, its value and the value's source."""
    rows = shown_settings(settings)
    settings_by_name = {name: {"value": value, "source": source} for name, value, source in rows}
    shown = [
        (name, _shown(name, value), _("default") if source == "default" else source) for name, value, source in rows
    ]
    code = show_rows(arguments, ("setting", "value", "source"), shown, settings_by_name)
    there = read(settings.config.state)
    if there is not None and there.pid is not None and is_alive(there.pid):
        text = _(
            "the emulator of this folder runs at {address}; these are the settings of its next start",
            address=there.http,
        )
        complain(text)
    return code


def shown_settings(settings: Settings) -> list[tuple[str, Any, str]]:
    """Return name, value and source of every setting, as JSON values and without secrets."""
    rows = []
    for option in OPTIONS:
        value = _plain(getattr(settings.config, option.name))
        if option.secret and value is not None:
            value = "********"
        rows.append((option.name, value, settings.origins[option.name]))
    return rows


def _plain(value: Any) -> Any:
    """Return *value* as a JSON value."""
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, dict):
        return {name: str(path) for name, path in value.items()}
    return value


def _shown(name: str, value: Any) -> str:
    if value is None and name == "host":
        return "127.0.0.1, ::1"
    if value is None and name == "region":
        return DEFAULT_REGION
    if value is None and name in {"access_key_id", "access_key_secret", "account_id"}:
        return _("(generated, in keys.json)")
    if value == AUTO_PORT and name in {"port", "https_port"}:
        return "auto"
    if value is None or value == [] or value == {}:
        return _("(none)")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={path}" for key, path in value.items())
    return str(value)


def env(arguments: Namespace, settings: Settings) -> int:
    """Print the variables that point SDKs, samples and this command at the emulator."""
    client = connect(settings)
    keys = client.keys
    try:
        health = client.health()
        client.use_working_keys()
        keys = client.keys
    except NoEmulator:
        if not settings.config.state.is_dir():
            raise
        health = {}
        complain(_("no emulator is running; the next start will use this address and these keys"))
    account = client.account_of(health)
    region = str(health.get("region") or keys.region or DEFAULT_REGION)
    pairs = variables(client.endpoint.http, keys, account, region)
    if keys.admin_token:  # these keys come from a state folder: its admin token lets commands work from any folder
        pairs["LOCALYUN_STATE"] = str(settings.config.state.absolute())
        pairs["LOCALYUN_TOKEN"] = keys.admin_token
    if health and (proxy := client.admin_address("proxy", "served")) is not None:
        pairs["LOCALYUN_PROXY_URL"] = proxy
    if wants_json(arguments):
        say_json(pairs)
        return 0
    shell = arguments.shell or ("fish" if os.environ.get("SHELL", "").endswith("/fish") else "sh")
    for name, value in pairs.items():
        say(_assignment(shell, name, value))
    return 0


def variables(address: str, keys: InstallationKeys, account: str, region: str) -> dict[str, str]:
    """Return the variables that lead this command and the official SDKs' credentials to the emulator at *address*."""
    return {
        "LOCALYUN_ENDPOINT": address,
        "LOCALYUN_ACCESS_KEY_ID": keys.access_key_id,
        "LOCALYUN_ACCESS_KEY_SECRET": keys.access_key_secret,
        "LOCALYUN_ACCOUNT_ID": account,
        "LOCALYUN_REGION": region,
        "ALIBABA_CLOUD_ACCESS_KEY_ID": keys.access_key_id,
        "ALIBABA_CLOUD_ACCESS_KEY_SECRET": keys.access_key_secret,
        "ALIBABA_CLOUD_ACCOUNT_ID": account,
        "ALIBABA_CLOUD_REGION_ID": region,
        "ALIBABA_CLOUD_ECS_METADATA_DISABLED": "true",
    }


def _assignment(shell: str, name: str, value: str) -> str:
    """Return a line that sets *name* in *shell*, quoted so that nothing in *value* is expanded."""
    if shell == "fish":
        return "set -gx {} '{}'".format(name, value.replace("\\", "\\\\").replace("'", "\\'"))
    if shell == "powershell":
        return "$env:{} = '{}'".format(name, value.replace("'", "''"))
    if shell == "dotenv":
        return f"{name}={value}"
    return "export {}='{}'".format(name, value.replace("'", "'\\''"))


def console(arguments: Namespace, settings: Settings) -> int:
    """Open the console, or print a link that opens it once within a minute."""
    address, seconds = link(connect(settings), arguments.page, check=True)
    if arguments.print_only:
        say(address)
        return 0
    open_address(address)
    text = _(
        "opened {page}; the link works once, within {seconds} s", page=address.partition("/login")[0], seconds=seconds
    )
    return tell(arguments, text, {"opened": address.partition("/login")[0]})


def open_address(address: str) -> None:
    """Open an address in the user's browser.

    Raises: CommandFailed when there is none.
    """
    import webbrowser  # slow: it searches for all browsers

    if not webbrowser.open(address):
        raise CommandFailed(_("there is no browser; localyun console --print prints a link to open elsewhere"))


def link(client: Client, page: str = "", *, check: bool = False) -> tuple[str, int]:
    """Return an address that opens a page of the console once, and the seconds for which it is valid.

    Raises: NoEmulator; CommandFailed for an emulator without a console; with *check* CallRefused when the page does not
    exist.
    """
    client.compare()
    try:
        answer = client.admin("POST", "console-link", {"page": page, "check": check})
    except CallRefused as refusal:
        if "console-link" not in refusal.said:
            raise
        raise CommandFailed(_("this emulator runs without the console; start it without --no-console")) from refusal
    return f"{client.endpoint.http}{answer['path']}", int(answer["seconds"])
