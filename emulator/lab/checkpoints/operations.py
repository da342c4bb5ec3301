"""The admin operations of checkpoints."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from emulator.http.message import Response
from emulator.lab.checkpoints.service import Checkpoints
from emulator.lab.errors import LabError
from emulator.wire.operation import Parameter, operation
from emulator.wire.request import OperationRequest

_FURTHEST = 2**50


@operation("list-checkpoints", "GET /checkpoints")
def list_checkpoints(checkpoints: Checkpoints, call: OperationRequest) -> dict[str, Any]:
    """The checkpoints by name."""
    del call
    return {"checkpoints": [each.shown() for each in checkpoints.all()]}


@operation("save-checkpoint", "POST /checkpoints/{name}")
async def save_checkpoint(checkpoints: Checkpoints, call: OperationRequest) -> dict[str, Any]:
    """Keep the whole state under a name, in place of what the name stood for."""
    with _troubles():
        return (await checkpoints.save(call.path["name"])).shown()


@operation("restore-checkpoint", "POST /checkpoints/{name}/restore")
async def restore_checkpoint(checkpoints: Checkpoints, call: OperationRequest) -> dict[str, Any]:
    """Put a state back; what runs is ended, what waits goes on from there."""
    with _troubles():
        return (await checkpoints.restore(call.path["name"])).shown()


@operation("delete-checkpoint", "DELETE /checkpoints/{name}")
async def delete_checkpoint(checkpoints: Checkpoints, call: OperationRequest) -> dict[str, Any]:
    """Forget a checkpoint."""
    with _troubles():
        await checkpoints.remove(call.path["name"])
    return {"name": call.path["name"]}


@operation(
    "read-archive",
    "GET /checkpoints/{name}/archive",
    Parameter("offset", int, about="Where the piece begins; 0 makes the archive anew.", default=0, most=_FURTHEST),
)
async def read_archive(checkpoints: Checkpoints, call: OperationRequest) -> Response:
    """A piece of a checkpoint's archive, up to 16 MB; an empty one is the end."""
    with _troubles():
        piece = await checkpoints.pack(call.path["name"], call.arguments["offset"])
    return Response(200, piece, [("Content-Type", "application/x-tar")])


@operation(
    "write-archive",
    "PUT /checkpoints/{name}/archive",
    Parameter("offset", int, about="Where the piece, which is the body, begins.", default=0, most=_FURTHEST),
    Parameter("last", bool, about="Whether the archive is complete with it.", default=True),
)
async def write_archive(checkpoints: Checkpoints, call: OperationRequest) -> dict[str, Any]:
    """Take a piece of an archive; after the last one there is a checkpoint of the name."""
    arguments = call.arguments
    with _troubles():
        about = await checkpoints.unpack(call.path["name"], arguments["offset"], call.http.body, last=arguments["last"])
    return {"name": call.path["name"]} if about is None else about.shown()


@contextmanager
def _troubles() -> Iterator[None]:
    """Answer that there is no room, say, as an error of the lab.

    Raises: LabError.
    """
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise LabError("NotKept", reason=str(error)) from error
