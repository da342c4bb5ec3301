"""``checkpoint``: the whole state kept under a name, put back, carried from machine to machine."""

from argparse import Namespace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from emulator.cli.client import Client, connect
from emulator.cli.output import CommandFailed, _, progress, show_table, tell
from emulator.config import Settings

_COLUMNS = {"checkpoint": "name", "saved": "created_at", "emulator's time": "now", "bytes": "bytes"}

_PIECE_BYTES = 16 * 1024 * 1024

PRESENT = "exported"
"""The name of the checkpoint that an export of the present state is made of."""


def save(arguments: Namespace, settings: Settings) -> int:
    """Keep the whole state under a name."""
    done = connect(settings).admin("POST", _page(arguments.name))
    return tell(arguments, _("saved {name}", name=arguments.name), done)


def restore(arguments: Namespace, settings: Settings) -> int:
    """Put a state back."""
    done = connect(settings).admin("POST", _page(arguments.name) + "/restore")
    return tell(arguments, _("restored {name}", name=arguments.name), done)


def show_list(arguments: Namespace, settings: Settings) -> int:
    """List the checkpoints."""
    return show_table(arguments, _COLUMNS, connect(settings).admin("GET", "checkpoints")["checkpoints"])


def delete(arguments: Namespace, settings: Settings) -> int:
    """Forget a checkpoint."""
    done = connect(settings).admin("DELETE", _page(arguments.name))
    return tell(arguments, _("deleted {name}", name=arguments.name), done)


def export(arguments: Namespace, settings: Settings) -> int:
    """Write a checkpoint, or the present state, to a file."""
    client = connect(settings)
    name = arguments.name or PRESENT
    if not arguments.name:
        client.admin("POST", _page(name))
    path = Path(arguments.file)
    draft = path.with_name(path.name + ".part")
    try:
        with draft.open("wb") as file:
            while piece := client.admin_bytes(_page(name) + "/archive", offset=str(file.tell())):
                file.write(piece)
                progress(_("{bytes} bytes", bytes=file.tell()))
        draft.replace(path)
    except OSError as error:
        raise CommandFailed(_("{file} cannot be written: {error}", file=path, error=error)) from error
    finally:
        draft.unlink(missing_ok=True)
        if not arguments.name:
            client.admin("DELETE", _page(name))
    return tell(arguments, _("wrote {file}", file=path), {"file": str(path), "bytes": path.stat().st_size})


def take_in(arguments: Namespace, settings: Settings) -> int:
    """Make a checkpoint of a file; without a name for it, put its state in the place of the present one."""
    client = connect(settings)
    name = arguments.name or PRESENT
    try:
        done = _upload(client, Path(arguments.file), name)
    except OSError as error:
        raise CommandFailed(_("{file} cannot be read: {error}", file=arguments.file, error=error)) from error
    if arguments.name:
        return tell(arguments, _("{name} is a checkpoint now", name=name), done)
    client.admin("POST", _page(name) + "/restore")
    client.admin("DELETE", _page(name))
    return tell(arguments, _("restored {name}", name=arguments.file), done)


def _upload(client: Client, path: Path, name: str) -> dict[str, Any]:
    size = path.stat().st_size
    with path.open("rb") as file:
        while True:
            offset = file.tell()
            piece = file.read(_PIECE_BYTES)
            last = file.tell() >= size
            done = client.admin_put(
                _page(name) + "/archive", piece, offset=str(offset), last="true" if last else "false"
            )
            if last:
                return done


def _page(name: str) -> str:
    return f"checkpoints/{quote(name, safe='')}"
