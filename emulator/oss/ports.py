"""What the object store needs from outside; `emulator.joints` fills it."""

from collections.abc import Mapping
from typing import Protocol

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant


@frozen
class Change:
    """Something that happened to an object.

    ``event`` is like ``ObjectCreated:PutObject``, ``etag`` has no quotes, ``principal`` is the id of who did it,
    ``size_before`` the length of what was replaced or removed.
    """

    event: str
    bucket: str
    key: str
    size: int
    size_before: int
    etag: str
    at: Millis
    request_id: str
    source_ip: str
    principal: str
    content_type: str
    metadata: Mapping[str, str]


class Watcher(Protocol):
    """Wants to know what happens to objects."""

    def changed(self, tenant: Tenant, change: Change) -> None:
        """Take note, in the transaction of the change; *tenant* is the bucket's."""
        ...
