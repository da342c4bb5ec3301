"""Why an emulator could not start, in words that tell what to do."""

import errno
import sqlite3

from emulator.config import Settings
from emulator.gateway.server import PortInUse
from emulator.keyfile import KeyFileDamaged
from emulator.storage.database import StorageDamaged
from emulator.storage.folder import FolderInUse
from emulator.storage.migrations import StateTooNew

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors of a write, which do not name the file; other errors without a file are about addresses."""


def explain(error: BaseException, settings: Settings) -> str | None:
    """Return what is wrong and what to do about it; None for an error that is a bug of ours."""
    state = settings.config.state
    match error:
        case PortInUse():
            return (
                f"port {error.port} is in use. If it is another emulator, localyun stop ends it; "
                "otherwise choose other ports with --port and --https-port (0 takes any free one)."
            )
        case FolderInUse():
            return f"{error}. Stop it with localyun stop, or use another folder with --state DIR."
        case StorageDamaged():
            return (
                f"{state / 'state.db'} is damaged: {error}. Restore it from a copy, or move it away to start with "
                "nothing in it; keys and code stay."
            )
        case StateTooNew():
            return f"{state / 'state.db'}: {error}. Update localyun, or use another folder with --state DIR."
        case KeyFileDamaged():
            return str(error)
        case sqlite3.Error():
            return f"{state / 'state.db'} cannot be used: {error}. Is the disk full, or the folder not writable?"
        case OSError() if error.filename is None and error.errno not in _FULL:
            return f"cannot listen on {_hosts(settings)}: {_reason(error)}. Check --host, --port and --https-port."
        case OSError():
            return state_unusable(error, settings)
    return None


def state_unusable(error: OSError, settings: Settings) -> str:
    """Return what is wrong with the state folder."""
    state = settings.config.state
    where = error.filename if error.filename is not None else state
    return (
        f"{where}: {_reason(error)}. The state folder {state} must be a folder this user can write; choose another one "
        "with --state DIR."
    )


def _hosts(settings: Settings) -> str:
    config = settings.config
    return f"{', '.join(config.host or ('127.0.0.1', '::1'))} with ports {config.port} and {config.https_port}"


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
