"""Receivers and topics that a file names and that nobody has.

The services take the name of such a receiver and deliver to nobody; a trigger they refuse without its topic.
"""

from collections.abc import Iterator, Mapping

from emulator.deploy.model import Resource, has_token, key_of, type_of
from emulator.deploy.planner import Action, Plan
from emulator.deploy.provider import ApiClient, Identity, ResourceProvider
from emulator.kernel.frozen import frozen
from emulator.services.fc.model import parse_function_arn, parse_message_arn


@frozen
class Missing:
    """A receiver or topic that is not there: the *resource* that names it, its type and name."""

    resource: Resource
    type: str
    name: str

    @property
    def is_refused(self) -> bool:
        """Whether the resource cannot be made without it."""
        return _is_trigger(self.resource)


def missing_receivers(api: ApiClient, providers: Mapping[str, ResourceProvider], plan: Plan) -> Iterator[Missing]:
    """Yield the queues, topics and functions that *plan* gives to others and that will not be there after it.

    Raises: Refused.
    """
    after = {step.subject.key: step.action is not Action.DELETE for step in plan.steps}
    for resource in (step.resource for step in plan.steps if step.resource is not None):
        for arn in _named_by(resource):
            receiver = _receiver(arn)
            if receiver is None:
                continue
            kind, identity = receiver
            is_there = after.get(key_of(kind, identity))
            if is_there is None:
                is_there = providers[kind].find(api, identity, {}) is not None
            if not is_there:
                yield Missing(resource=resource, type=type_of(kind), name="/".join(identity))


def _is_trigger(resource: Resource) -> bool:
    return resource.properties.get("triggerType") == "mns_topic"


def _named_by(resource: Resource) -> list[str]:
    if _is_trigger(resource):
        source = resource.properties.get("sourceArn")
        return [source] if isinstance(source, str) and not has_token(source) else []
    match resource.kind.rpartition(".")[2]:
        case "async":
            sides = resource.properties.get("destinationConfig") or {}
            arns = [(sides.get(name) or {}).get("destination") for name in ("onSuccess", "onFailure")]
        case "subscription":
            arns = [resource.properties.get("Endpoint")]
        case _:
            arns = []
    return [arn for arn in dict.fromkeys(arns) if isinstance(arn, str) and not has_token(arn)]


def _receiver(arn: str) -> tuple[str, Identity] | None:
    if (function := parse_function_arn(arn)) is not None:
        return ("fc.function", function[:2]) if function.service else ("fc3.function", (function.function,))
    if (target := parse_message_arn(arn)) is not None:
        return f"mns.{target.kind}", (target.name,)
    return None
