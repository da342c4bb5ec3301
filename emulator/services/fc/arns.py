"""Resource names: what they name, and whether it can be reached from here."""

from typing import Literal, NamedTuple

from emulator.services.fc.model import LATEST


class FunctionName(NamedTuple):
    """A function by name. ``service`` is empty for a 3.0 function; no qualifier means ``LATEST``."""

    service: str
    function: str
    qualifier: str | None


class MessageTarget(NamedTuple):
    """A queue or a topic of the message service by name."""

    kind: Literal["queue", "topic"]
    name: str


def parse_function_arn(arn: str) -> FunctionName | None:
    """Read the name of a function of 2.0 or 3.0, with or without a qualifier; None when it is something else.

    Region and account are not looked at: they may be empty, and everything here is in one account and region.
    """
    parts = _resource(arn, "fc").split("/")
    match parts:
        case ["services", place, "functions", function] if place and function:
            service, _, qualifier = place.partition(".")
            return FunctionName(service, function, _named(qualifier))
        case ["functions", function, *rest] if function and len(rest) < 2:
            return FunctionName("", function, _named(rest[0] if rest else ""))
    return None


def parse_message_arn(arn: str) -> MessageTarget | None:
    """Read the name of a queue or topic; None when it is something else."""
    match _resource(arn, "mns").strip("/").split("/"):
        case ["queues", name] | ["queues", name, "messages"] if name:
            return MessageTarget("queue", name)
        case ["topics", name] | ["topics", name, "messages"] if name:
            return MessageTarget("topic", name)
    return None


def _resource(arn: str, service: str) -> str:
    """Return what follows region and account in a name of *service*."""
    parts = arn.split(":", 4)
    return parts[4] if len(parts) == 5 and parts[0] == "acs" and parts[1] == service else ""


def _named(qualifier: str) -> str | None:
    return qualifier if qualifier and qualifier != LATEST else None
