"""The description of a checkpoint: name, time and place of its making, and the schema versions of its tables."""

import json
import re
from typing import Any

from emulator.kernel.clock import FURTHEST, Millis
from emulator.kernel.frozen import fields_of, frozen
from emulator.lab.checkpoints.soundness import ACCOUNT, REGION
from emulator.lab.errors import LabError, invalid
from emulator.wire.dates import iso_millis

FORM = 1
"""The version of the form of checkpoints and archives; a higher one is of a newer program."""

LONGEST = 64 * 1024
"""The longest description in bytes; usual ones have some hundreds."""

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
_VERSION = re.compile(r"[0-9A-Za-z.+!-]{1,64}", re.ASCII)
_SERVICE = re.compile(r"[a-z]{1,32}", re.ASCII)


@frozen
class About:
    """A checkpoint: when it was made (the machine's time), the emulator's time then, the account and region.

    ``schema`` is the schema version of each service, ``size`` the bytes of the tables.
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
        content = {each.name: getattr(self, each.name) for each in fields_of(self)}
        return json.dumps({"form": FORM, **content}, indent=2)


def read_about(text: str, name: str) -> About:
    """Read a description from its form on disk; *name* is the checkpoint's name here.

    Raises: LabError (InvalidCheckpoint).
    """
    try:
        content = json.loads(text)
        if _number(content["form"], 1, 10**6) > FORM:
            version = _word(content["version"], _VERSION)
            raise LabError("InvalidCheckpoint", reason=f"it was made by localyun {version}, which is newer")
        return About(
            name=name,
            created_at=Millis(_number(content["created_at"], 0, FURTHEST)),
            now=Millis(_number(content["now"], 0, FURTHEST)),
            version=_word(content["version"], _VERSION),
            account=_word(content["account"], ACCOUNT),
            region=_word(content["region"], REGION),
            size=_number(content["size"], 0, 2**53),
            schema={_word(key, _SERVICE): _number(value, 0, 9999) for key, value in content["schema"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise LabError("InvalidCheckpoint", reason="its description cannot be read") from None


def _number(value: object, low: int, high: int) -> int:
    """Return *value*, which has to be a whole number: not 1e999, not true, not a text.

    Raises: ValueError.
    """
    if type(value) is not int or not low <= value <= high:
        raise ValueError(value)
    return value


def _word(value: object, pattern: "re.Pattern[str]") -> str:
    """Return *value*, which has to be a text that fits *pattern*.

    Raises: ValueError.
    """
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(value)
    return value


def check_name(name: str) -> str:
    """Check the name of a checkpoint and return it.

    Raises: LabError (InvalidParameter).
    """
    if not re.fullmatch(_NAME, name):
        raise invalid(
            "a checkpoint's name has letters, digits, '.', '_' and '-', up to 128, and begins with one of the first two"
        )
    return name
