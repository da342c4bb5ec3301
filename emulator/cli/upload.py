"""Bringing an example's function into an emulator that was started without it."""

import json
from binascii import b2a_base64
from io import BytesIO
from pathlib import Path
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZipFile

from emulator.cli.client import FC_VERSION, Client
from emulator.cli.failures import CallRefused

RUNTIME = "python3.10"
HANDLER = "index.handler"


def ensure_function(client: Client, service: str, function: str, code: Path) -> bool:
    """Create the function from the folder *code* unless it exists, and return whether it was created.

    Raises: NoEmulator, CallRefused.
    """
    services = f"/{FC_VERSION}/services"
    functions = f"{services}/{quote(service, safe='')}/functions"
    try:
        client.functions("GET", f"{functions}/{quote(function, safe='')}", b"", {})
    except CallRefused as error:
        if error.status != 404:
            raise
    else:
        return False
    try:
        _create(client, services, {"serviceName": service})
    except CallRefused as error:
        if error.status != 409:  # there already, only the function is missing
            raise
    settings = {"runtime": RUNTIME, "handler": HANDLER, **configuration(code)}
    _create(client, functions, {**settings, "functionName": function, "code": {"zipFile": zipped(code)}})
    return True


def configuration(folder: Path) -> dict[str, object]:
    """Return what the folder's ``function.yml`` says, by the names of the API; nothing when there is no such file."""
    path = folder / "function.yml"
    if not path.is_file():
        return {}
    import yaml  # slow to import, and most examples have no file

    return dict(yaml.safe_load(path.read_bytes()) or {})


def zipped(folder: Path) -> str:
    """Return the files of *folder* as a zip archive in base64."""
    archive = BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as target:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                target.write(path, path.relative_to(folder).as_posix())
    return b2a_base64(archive.getvalue(), newline=False).decode("ascii")


def _create(client: Client, path: str, content: dict[str, object]) -> None:
    client.functions("POST", path, json.dumps(content).encode(), {"Content-Type": "application/json"})
