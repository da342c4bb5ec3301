"""Locating the examples of the tutorials, and uploading their functions.

The examples are in the wheel, or in the source tree. Functions are uploaded to an emulator started without them.
"""

import json
from binascii import b2a_base64
from io import BytesIO
from pathlib import Path
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZipFile

import emulator
from emulator.cli.client import FC_VERSION, Client
from emulator.cli.output import CallRefused, CommandFailed, WrongUsage, _, enumerated
from emulator.cli.parser import nearest
from emulator.kernel.frozen import frozen
from emulator.samples import TUTORIALS, Tutorial


def named(name: str) -> Tutorial:
    """Return the tutorial with this name or short name.

    Raises: WrongUsage when none has.
    """
    for tutorial in TUTORIALS:
        if name in {tutorial.name, tutorial.short_name}:
            return tutorial
    near = nearest(name, [known for each in TUTORIALS for known in (each.name, each.short_name)])
    if near:
        raise WrongUsage(_("there is no tutorial {name!r}{suggestion}", name=name, suggestion=near))
    raise WrongUsage(
        _(
            "there is no tutorial {name!r}; there are: {names}",
            name=name,
            names=enumerated(each.name for each in TUTORIALS),
        )
    )


@frozen
class Samples:
    """The folders ``functions`` and ``sample-apps``."""

    functions: Path
    apps: Path


def locate() -> Samples:
    """Return the folders of the examples.

    Raises: CommandFailed when the installation does not contain them.
    """
    package = Path(emulator.__file__).parent
    for root in (package / "_samples", package.parent):
        samples = Samples(functions=root / "functions", apps=root / "sample-apps")
        if samples.functions.is_dir() and samples.apps.is_dir():
            return samples
    raise CommandFailed(_("the example applications are missing from the installation in {folder}", folder=package))


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
        if error.status != 409:  # the service exists already; only the function is missing
            raise
    settings = {"runtime": RUNTIME, "handler": HANDLER, **configuration(code)}
    _create(client, functions, {**settings, "functionName": function, "code": {"zipFile": zipped(code)}})
    return True


def configuration(folder: Path) -> dict[str, object]:
    """Return the content of the folder's ``function.yml``, by the names of the API; empty without the file."""
    path = folder / "function.yml"
    if not path.is_file():
        return {}
    import yaml  # slow to import, and few examples have a file

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
