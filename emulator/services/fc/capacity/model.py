"""What can be configured about the instances of a function."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.services.fc.model import LATEST, etag


class Kind(StrEnum):
    """The configurations: each has its own operations."""

    ON_DEMAND = "on-demand"
    CONCURRENCY = "concurrency"
    PROVISION = "provision"
    SCALING = "scaling"
    SWITCH = "switch"


PER_QUALIFIER = frozenset({Kind.ON_DEMAND, Kind.PROVISION, Kind.SCALING})


class Place(NamedTuple):
    """What a configuration is for: a function through a qualifier, or a whole function when that is empty.

    ``service`` is empty for a 3.0 function.
    """

    tenant: Tenant
    service: str
    function: str
    qualifier: str = ""


def place_of(kind: Kind, tenant: Tenant, service: str, function: str, qualifier: str | None) -> Place:
    """Return the place of a configuration; no qualifier means ``LATEST`` where they are kept per qualifier."""
    return Place(tenant, service, function, (qualifier or LATEST) if kind in PER_QUALIFIER else "")


@frozen
class Setting:
    """A configuration: a checked JSON object under the API's own field names."""

    kind: Kind
    place: Place
    config: Mapping[str, Any]
    setting_id: str
    created_at: Millis
    modified_at: Millis
    revision: int = 1

    @property
    def etag(self) -> str:
        """The opaque text that changes with every update."""
        return etag(self.setting_id, self.revision)


def resource_of(place: Place) -> str:
    """Return ``services/{service}.{qualifier}/functions/{function}``, or ``functions/{function}`` in 3.0."""
    if not place.service:
        return f"functions/{place.function}" + (f"/{place.qualifier}" if place.qualifier else "")
    return f"services/{place.service}.{place.qualifier}/functions/{place.function}"


def default_target(setting: Setting) -> int:
    """Return how many instances a provision or scaling configuration keeps when no schedule says otherwise."""
    name = "target" if setting.kind is Kind.PROVISION else "minInstances"
    return int(setting.config.get(name) or 0)
