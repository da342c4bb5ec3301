"""The admin operations of causes and effects."""

from typing import Any

from emulator.lab.effects import EffectLog
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


@operation("cause-tree", "GET /trace/{flow}/{execution}")
@operation("cause-tree", "GET /trace/{id}")
def get_tree(effects: EffectLog, call: OperationRequest) -> dict[str, Any]:
    """What caused a request, message, call or execution (``flow/execution``), and all that came of it, with times."""
    return effects.trace("/".join(call.path.values()))
