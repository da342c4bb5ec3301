"""``version``, ``config`` and ``env``: what this installation is and how to point programs at it."""

import os
from argparse import Namespace
from pathlib import PurePath
from typing import Any

from emulator import __version__
from emulator.cli.client import connect
from emulator.cli.output import NoEmulator, _, complain, say, say_json, say_table, wants_json
from emulator.config import DEFAULT_REGION, OPTIONS, Settings
from emulator.keyfile import InstallationKeys


def version(arguments: Namespace, settings: Settings) -> int:
    """Print the version."""
    del settings
    if wants_json(arguments):
        say_json({"version": __version__})
    else:
        say(_("localyun {version}", version=__version__))
    return 0


def config(arguments: Namespace, settings: Settings) -> int:
    """Print every setting, its value and the value's source."""
    rows = shown_settings(settings)
    if wants_json(arguments):
        say_json({name: {"value": value, "source": source} for name, value, source in rows})
    else:
        say_table(("setting", "value", "source"), [(name, _shown(name, value), source) for name, value, source in rows])
    return 0


def shown_settings(settings: Settings) -> list[tuple[str, Any, str]]:
    """Return the name, value and source of every setting, in JSON's terms and without secrets."""
    rows = []
    for option in OPTIONS:
        value = _plain(getattr(settings.config, option.name))
        if option.secret and value is not None:
            value = "********"
        rows.append((option.name, value, settings.origins[option.name]))
    return rows


def _plain(value: Any) -> Any:
    """Return *value* in JSON's terms."""
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
    if value is None and name in {"access_key_id", "access_key_secret", "account_id", "region"}:
        return _("(generated, in keys.json)")
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
        complain(_("no emulator answers at the moment; these are the address and the keys of the next start"))
    account = str(health.get("account") or keys.account_id)
    region = str(health.get("region") or keys.region or DEFAULT_REGION)
    pairs = variables(client.endpoint.http, keys, account, region)
    if keys.admin_token:  # the keys of a state folder: commands that need its admin token work from anywhere
        pairs["LOCALYUN_STATE"] = str(settings.config.state.absolute())
    if health and (proxy := client.proxy("served")) is not None:
        pairs["LOCALYUN_PROXY_URL"] = proxy
    if wants_json(arguments):
        say_json(pairs)
        return 0
    shell = arguments.shell or ("fish" if os.environ.get("SHELL", "").endswith("/fish") else "sh")
    for name, value in pairs.items():
        say(_assignment(shell, name, value))
    return 0


def variables(address: str, keys: InstallationKeys, account: str, region: str) -> dict[str, str]:
    """Return what points this command and the official SDKs' credentials at the emulator at *address*."""
    return {
        "LOCALYUN_ENDPOINT": address,
        "LOCALYUN_ACCESS_KEY_ID": keys.access_key_id,
        "LOCALYUN_ACCESS_KEY_SECRET": keys.access_key_secret,
        "LOCALYUN_ACCOUNT_ID": account,
        "LOCALYUN_REGION": region,
        "ALIBABA_CLOUD_ACCESS_KEY_ID": keys.access_key_id,
        "ALIBABA_CLOUD_ACCESS_KEY_SECRET": keys.access_key_secret,
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
