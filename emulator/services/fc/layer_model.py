"""Layers: packages that several functions share, in numbered versions that never change."""

import re
from typing import NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import AccountId, Tenant
from emulator.services.fc.model import Code

OFFICIAL = "official"
"""The account segment of layers that the cloud itself provides."""

_ARN = r"acs:fc:([^:]*):([^:]*):layers/([A-Za-z_][A-Za-z0-9_-]*)(?:#[0-9a-zA-Z]+)?/versions/([0-9]{1,10})"


@frozen
class LayerVersion:
    """A version of a layer. ``deleted`` ones are kept for the functions that use them; ``public`` is the layer's."""

    name: str
    number: int
    description: str
    license: str
    runtimes: tuple[str, ...]
    code: Code
    created_at: Millis
    public: bool = False
    deleted: bool = False


class LayerName(NamedTuple):
    """What a layer's resource name names; an empty account is the caller's own."""

    account: AccountId
    name: str
    number: int


def layer_arn(tenant: Tenant, name: str, number: int) -> str:
    """Return the resource name of a layer's version."""
    return f"acs:fc:{tenant.region}:{tenant.account}:layers/{name}/versions/{number}"


def parse_layer_arn(arn: str) -> LayerName | None:
    """Read a resource name, in the older form with a digest too; None when it names no layer."""
    found = re.fullmatch(_ARN, arn)
    return LayerName(AccountId(found[2]), found[3], int(found[4])) if found else None
