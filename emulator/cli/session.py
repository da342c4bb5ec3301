"""What every client command starts from: the settings, the emulator's address and a client for it."""

import os
from argparse import Namespace
from collections.abc import Mapping

from emulator import keyfile
from emulator.cli import endpoint
from emulator.cli.client import Client
from emulator.cli.failures import CommandFailed
from emulator.config import Settings


def connect(settings: Settings, environ: Mapping[str, str] = os.environ) -> Client:
    """Return a client for the emulator these settings and *environ* lead to; it may turn out that none answers.

    Raises: WrongUsage, CommandFailed.
    """
    config = settings.config
    try:
        keys = keyfile.load(config)
    except keyfile.KeyFileDamaged as error:
        raise CommandFailed(str(error)) from error
    except OSError as error:
        raise CommandFailed(f"the keys in {config.state} cannot be read: {error.strerror}") from error
    if keys is None and config.access_key_id and config.access_key_secret and config.account_id:
        # An emulator elsewhere, told by the environment alone: enough to sign, not enough for the admin API.
        keys = keyfile.InstallationKeys(
            access_key_id=config.access_key_id,
            access_key_secret=config.access_key_secret,
            account_id=config.account_id,
            region=config.region or "cn-hangzhou",
            admin_token="",
        )
    return Client(endpoint.find(config, environ), keys, config.state)


def wants_json(arguments: Namespace) -> bool:
    """Tell whether ``--json`` was given."""
    return bool(getattr(arguments, "json", False))
