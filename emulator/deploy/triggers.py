"""Triggers of functions, whatever file they come from."""

from typing import Any

from emulator.deploy import trigger_fields
from emulator.deploy.building import Build
from emulator.deploy.model import Resource
from emulator.deploy.part import Part, suggestion
from emulator.kernel.frozen import frozen

_ALIASES = {"cdn": "cdn_events", "mns": "mns_topic", "mnstopic": "mns_topic"}
_WITH_ROLE = frozenset({"oss", "mns_topic", "log", "tablestore", "cdn_events", "rds"})


@frozen
class Event:
    """A trigger as a file describes it; *config* is the part with its configuration."""

    kind: str
    config: Part
    role: str | None = None
    qualifier: str | None = None
    source: str | None = None
    description: str | None = None


def kind_of(part: Part) -> str:
    """Return the type of a trigger as the API has it; an unknown one is a problem."""
    name = part.text()
    kind = _ALIASES.get(name.lower(), name)
    if name and kind not in trigger_fields.TYPES:
        part.problem(f"the trigger type {name} is not known{suggestion(name, list(trigger_fields.TYPES))}")
    return kind


def add(build: Build, part: Part, function: Resource, event: Event, *, logical: str, type_name: str) -> Resource:
    """Add a trigger of *function*.

    Event sources of the cloud need a role to call with; where a file leaves that to the tool, the account's default
    role stands in.
    """
    role = event.role or ("AliyunFCDefaultRole" if event.kind in _WITH_ROLE else None)
    properties: dict[str, Any] = {
        "triggerType": event.kind,
        "triggerConfig": trigger_fields.config(event.config, event.kind),
        "invocationRole": build.role_arn(role) if role else None,
        "qualifier": event.qualifier,
        "sourceArn": event.source,
        "description": event.description,
    }
    kind = "fc.trigger" if function.kind == "fc.function" else "fc3.trigger"
    identity = (*function.identity, part.name)
    return build.add(part, kind, identity, properties, type_name=type_name, logical=logical)
