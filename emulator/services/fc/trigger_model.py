"""Triggers: what calls a function besides InvokeFunction, and the names an HTTP trigger is reached by."""

import re
from hashlib import sha256
from typing import Literal

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.services.fc.model import LATEST, Struct, etag

TriggerKind = Literal[
    "http", "timer", "oss", "mns_topic", "log", "tablestore", "cdn_events", "eventbridge", "rds"
]  # fmt: skip
AuthKind = Literal["anonymous", "function", "jwt"]

_OUTSIDE_LABEL = r"[^a-z0-9-]+"


@frozen
class Trigger:
    """A trigger of a function. ``service`` is empty for a 3.0 function.

    ``config`` is checked and under the API's own names. ``qualifier`` is a version, an alias or ``LATEST``. ``label``
    is the first label of an HTTP trigger's own host names, empty for other kinds. ``folder`` is the file it was read
    from, empty when it was made by the API.
    """

    service: str
    function: str
    name: str
    trigger_id: str
    kind: TriggerKind
    config: Struct
    created_at: Millis
    modified_at: Millis
    source_arn: str = ""
    role: str = ""
    qualifier: str = LATEST
    description: str = ""
    label: str = ""
    revision: int = 1
    folder: str = ""

    @property
    def etag(self) -> str:
        """The opaque text that changes with every update."""
        return etag(self.trigger_id, self.revision)

    @property
    def auth(self) -> AuthKind:
        """Who may call an HTTP trigger."""
        kind: AuthKind = self.config.get("authType", "function")
        return kind

    @property
    def enabled(self) -> bool:
        """Whether a trigger that can be switched off is on; the others always are."""
        return bool(self.config.get("enable", self.config.get("triggerEnable", True)))


def host_label(service: str, function: str, trigger_id: str) -> str:
    """Return the first label of the trigger's host names: readable, a valid host label, different for every trigger."""
    readable = re.sub(_OUTSIDE_LABEL, "-", f"{function}-{service}".lower()).strip("-")[:48].strip("-") or "function"
    number = int.from_bytes(sha256(trigger_id.encode()).digest()[:8], "big")
    letters = ""
    for _ in range(10):
        number, letter = divmod(number, 26)
        letters += chr(ord("a") + letter)
    return f"{readable}-{letters}"


def trigger_path(trigger: Trigger) -> str:
    """Return the path an HTTP trigger is served under on every host name, without a final slash.

    Source: the form of 2.0 is the cloud's; the one of 3.0 is the emulator's own.
    """
    qualifier = "" if trigger.qualifier == LATEST else f".{trigger.qualifier}"
    if trigger.service:
        return f"/2016-08-15/proxy/{trigger.service}{qualifier}/{trigger.function}"
    return f"/2023-03-30/proxy/{trigger.function}{qualifier}"
