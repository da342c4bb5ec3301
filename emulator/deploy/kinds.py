"""Every kind of resource a deployment can hold, by name."""

from collections.abc import Mapping

from emulator.deploy.kind import Kind
from emulator.deploy.rest_kinds import REST_KINDS
from emulator.deploy.rpc_kinds import RPC_KINDS

KINDS: Mapping[str, Kind] = {**REST_KINDS, **RPC_KINDS}
