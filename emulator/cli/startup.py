"""What a start prints, in the foreground and in the background: what is served, or why the state folder is unusable."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emulator.cli.messages import _
from emulator.config import Config, Settings
from emulator.keyfile import FILE_NAME as KEY_FILE

CONSOLE = "/_localyun/console/"

NAMES_SHOWN = 6
"""More functions than this are counted, not named."""


def lines(config: Config, status: Mapping[str, Any]) -> list[str]:
    """Return addresses, account, region, keys and functions of the emulator with this *status*."""
    keys = _("given at the start, {key}", key=config.access_key_id) if config.access_key_id else config.state / KEY_FILE
    rows = {
        "http": status["http"],
        "https": status["https"],
        "account": _("{account}, region {region}", account=status["account"], region=status["region"]),
        "keys": _("{keys}; {command} env prints them for a shell", keys=keys, command=command()),
        "functions": _functions(config, status),
    }
    if config.console:
        rows["console"] = _(
            "{address}; {command} console opens it", address=f"{status['http']}{CONSOLE}", command=command()
        )
    if config.auth == "lenient":
        rows["auth"] = _("lenient: any key is accepted and no signature is checked")
    if config.ephemeral:
        rows["ephemeral"] = _("nothing but the keys is kept when it stops")
    title = _("localyun {version} is serving (process {pid})", version=status["version"], pid=status["pid"])
    return [title, *(f"  {name:<10} {text}" for name, text in rows.items())]


def _functions(config: Config, status: Mapping[str, Any]) -> str:
    names = [name_of(each) for each in status.get("functions", [])]
    source = " " + _("(folder {folder})", folder=config.functions) if config.functions is not None else ""
    if not names:
        return _("none yet") + source
    more = " " + _("and {number} more", number=len(names) - NAMES_SHOWN) if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more + source


def name_of(function: Any) -> str:
    """Return ``SERVICE/FUNCTION`` of an entry of the status's list."""
    return str(function["name"]) if isinstance(function, dict) else str(function)


def command() -> str:
    """Return how this user calls the command: by name, by the path of an environment, or through Python."""
    import shutil  # loads every compression module; this is asked after calls are served

    if shutil.which("localyun"):
        return "localyun"
    script = Path(sys.executable).with_name("localyun")
    if script.exists():
        here = Path.cwd()
        return str(script.relative_to(here)) if script.is_relative_to(here) else str(script)
    return f"{sys.executable} -m emulator"


def state_unusable(error: OSError, settings: Settings) -> str:
    """Return what is wrong with the state folder."""
    state = settings.config.state
    where = error.filename if error.filename is not None else state
    text = _(
        "{where}: {reason}. The state folder {state} must be a folder this user can write; "
        "choose another one with --state DIR."
    )
    return text.format(where=where, reason=os_reason(error), state=state)


def os_reason(error: OSError) -> str:
    """Return the system's reason, in the middle of a sentence."""
    return (error.strerror or str(error)).lower()
