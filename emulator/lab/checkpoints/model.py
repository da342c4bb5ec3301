"""What is known about a checkpoint."""

import json
import re
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.lab.errors import LabError
from emulator.wire.dates import iso_millis

FORM = 1
"""The number of the form that checkpoints and archives have; a higher one is of a newer program."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)


@frozen
class About:
    """A checkpoint: when it was made (the machine's time), the emulator's time then, whose state it is.

    ``schema`` is how far each service's tables had come, ``size`` the bytes of its tables.
    """

    name: str
    created_at: Millis
    now: Millis
    version: str
    account: str
    region: str
    size: int
    schema: dict[str, int]

    def shown(self) -> dict[str, Any]:
        """Return the admin API's form."""
        return {
            "name": self.name,
            "created_at": iso_millis(self.created_at),
            "now": iso_millis(self.now),
            "bytes": self.size,
            "version": self.version,
        }

    def text(self) -> str:
        """Return the form on disk."""
        return json.dumps(
            {
                "form": FORM,
                "name": self.name,
                "created_at": self.created_at,
                "now": self.now,
                "version": self.version,
                "account": self.account,
                "region": self.region,
                "size": self.size,
                "schema": self.schema,
            },
            indent=2,
        )


def read_about(text: str, name: str) -> About:
    """Read the form on disk; *name* is the checkpoint's name here.

    Raises: LabError (InvalidCheckpoint).
    """
    try:
        found = json.loads(text)
        if found["form"] > FORM:
            raise LabError("InvalidCheckpoint", reason=f"it was made by localyun {found['version']}, which is newer")
        return About(
            name=name,
            created_at=Millis(int(found["created_at"])),
            now=Millis(int(found["now"])),
            version=str(found["version"]),
            account=str(found["account"]),
            region=str(found["region"]),
            size=int(found["size"]),
            schema={str(service): int(number) for service, number in found["schema"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise LabError("InvalidCheckpoint", reason="its description cannot be read") from None


def check_name(name: str) -> str:
    """Check the name of a checkpoint and return it.

    Raises: LabError (InvalidParameter).
    """
    if not _NAME.fullmatch(name):
        raise LabError(
            "InvalidParameter",
            reason="a checkpoint's name has letters, digits, '.', '_' and '-', up to 128, and begins with one of the "
            "first two",
        )
    return name
