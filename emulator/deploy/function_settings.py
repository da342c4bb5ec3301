"""Settings of a function that the API keeps separately: provisioned instances, scaling, asynchronous calls."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from emulator.deploy.model import Resource
from emulator.deploy.provider import (
    ActualState,
    ApiClient,
    Attributes,
    Content,
    Identity,
    Reference,
    ResourceProvider,
    path_of,
)
from emulator.kernel.frozen import replace

ALLOCATED: Content = {"alwaysAllocateCPU": False, "alwaysAllocateGPU": False}
"""The defaults of provisioned instances."""

_SCHEDULED = ("scheduledActions", "targetTrackingPolicies")

_SHOWN_ONLY = frozenset(
    {
        "resource", "current", "currentError", "functionArn", "defaultTarget", "targetInstances", "currentInstances",
        "createdTime", "lastModifiedTime", "service", "function", "qualifier",
    }
)  # fmt: skip
"""Members of answers that PUT does not take."""


@dataclass(eq=False)
class Setting(ResourceProvider):
    """A setting of a function, created and changed by PUT.

    *alias* is the kind of aliases that have settings of their own, and the position of the alias in the identity. Where
    the API has no DELETE, *off* is the body that switches the setting off, and one that is off does not exist. *unset*
    has the values of members that an answer leaves out because they are not set.
    """

    item: str
    off: Content | None = None
    unset: Content = field(default_factory=dict)
    alias: tuple[str, int] | None = None

    def alias_of(self, resource: Resource) -> Reference | None:
        """Return the alias in its identity."""
        if self.alias is None:
            return None
        kind, position = self.alias
        return kind, (resource.identity[0], resource.identity[position])

    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content | None:
        """Return the setting, None where it is off."""
        shown = api.functions("GET", path_of(self.item, identity))
        is_off = self.off is not None and all(shown.get(key) == off for key, off in self.off.items())
        is_off = is_off and not any(shown.get(name) for name in _SCHEDULED)  # a schedule may switch it on later
        return None if is_off else {name: value for name, value in shown.items() if value is not None}

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """Write the setting."""
        return ActualState(api.functions("PUT", path_of(self.item, resource.identity), resource.properties))

    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """Delete the setting, or switch it off."""
        path = path_of(self.item, identity)
        if self.off is None:
            api.functions("DELETE", path)
        else:
            api.functions("GET", path)  # raises Refused when the setting does not exist
            api.functions("PUT", path, self.off)

    def value(self, name: str, actual: ActualState) -> Any:
        """Return the value of a property, also when it is not set."""
        return _with_target({**self.unset, **actual.content}).get(name)

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """Return the setting with all properties that a request may have."""
        shown = _with_target(actual.content)
        kept = {name: value for name, value in shown.items() if value is not None and name not in _SHOWN_ONLY}
        return replace(resource, properties=kept)


class Destinations(Setting):
    """The settings of asynchronous calls, with the destinations of their results."""

    def receivers(self, resource: Resource) -> Iterator[str]:
        """Yield the queues, topics and functions that get the results."""
        sides = resource.properties.get("destinationConfig") or {}
        for name in ("onSuccess", "onFailure"):
            destination = (sides.get(name) or {}).get("destination")
            if isinstance(destination, str):
                yield destination


def _with_target(shown: Content) -> Content:
    """Return a setting with its ``target``, called ``defaultTarget`` in one of the API's answers."""
    return shown | {"target": shown["defaultTarget"]} if "defaultTarget" in shown else shown
