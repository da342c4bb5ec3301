"""Triggers as a ``function.yml`` describes them: in the form of the API, in that of ``s.yaml``, or in a short one.

The short form is the one of queues, ``{name: new, type: mns_queue, queue: orders}``: it stands for a trigger of the
event bus whose source is that queue, which the cloud has and nobody writes by heart.
"""

from typing import Any

from emulator.kernel.spelling import suggestion
from emulator.services.fc.attributes import Shape, unknown_names
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import Struct
from emulator.services.fc.triggers.model import KINDS, TRIGGER_CONFIGS

QUEUE_KIND = "mns_queue"

_NAMES = {"name": "triggerName", "type": "triggerType", "config": "triggerConfig", "role": "invocationRole"}
"""The shorter names of ``s.yaml``."""

_KNOWN = (*_NAMES, *_NAMES.values(), "sourceArn", "qualifier", "description")
_LONG = {name.lower(): _NAMES.get(name, name) for name in (*_KNOWN, "queue")}


def name_of(described: Struct) -> str:
    """Return the name of a trigger, as far as it has one."""
    return str(_under_long_names(described).get("triggerName") or "")


def as_api(described: Struct) -> dict[str, Any]:
    """Return a trigger under the API's names.

    Raises: InvalidArgument for a type that there is not.
    """
    named = _under_long_names(described)
    kind = str(named.get("triggerType") or "")
    if kind == QUEUE_KIND:
        named |= {"triggerType": "eventbridge", "triggerConfig": _queue_config(named.pop("queue", None))}
    elif kind not in KINDS:
        types = sorted({*KINDS, QUEUE_KIND})
        said = f"there is no type '{kind}'" if kind else "it has no type"
        near = suggestion(kind, types)
        raise InvalidArgument(f"{said}{near or '; the types are ' + ', '.join(types)}")
    config = named.get("triggerConfig")
    if isinstance(config, dict):
        named["triggerConfig"] = {str(key): value for key, value in config.items()}
    if "qualifier" in named:
        named["qualifier"] = str(named["qualifier"])
    return named


def mistakes(described: Struct) -> list[str]:
    """Return a sentence about each name of *described* that means nothing and is passed over."""
    named = _under_long_names(described)
    kind, config = str(named.get("triggerType")), named.get("triggerConfig")
    known = (*_KNOWN, "queue") if kind == QUEUE_KIND else _KNOWN
    found = unknown_names(map(str, described), known)
    shape = next((each for known_kind, each in TRIGGER_CONFIGS.items() if known_kind == kind), None)
    if isinstance(shape, Shape) and isinstance(config, dict):
        found += unknown_names(map(str, config), shape.fields)
    return [problem for problem, _ in found]


def _under_long_names(described: Struct) -> dict[str, Any]:
    """Return *described* under the API's names, which match in any case; null counts as absent."""
    return {_LONG.get(str(key).lower(), str(key)): value for key, value in described.items() if value is not None}


def _queue_config(queue: object) -> Struct:
    if not isinstance(queue, str) or not queue:
        raise InvalidArgument(f"queue is required for a trigger of type {QUEUE_KIND}: the name of the queue")
    parameters = {"QueueName": queue, "IsBase64Decode": True}
    source = {"eventSourceType": "MNS", "eventSourceParameters": {"sourceMNSParameters": parameters}}
    return {"triggerEnable": True, "eventRuleFilterPattern": "{}", "eventSourceConfig": source}
