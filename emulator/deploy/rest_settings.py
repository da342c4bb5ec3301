"""Configurations that are put on a function: instances kept ready, limits, asynchronous calls."""

from dataclasses import replace

from emulator.deploy.kind import Attributes, Content, Identity, Live, same
from emulator.deploy.model import Resource
from emulator.deploy.ports import Cloud
from emulator.deploy.rest_calls import get, path_of, remove

_SHOWN_ONLY = frozenset(
    {
        "resource", "current", "currentError", "functionArn", "defaultTarget", "targetInstances", "currentInstances",
        "createdTime", "lastModifiedTime", "service", "function", "qualifier",
    }
)  # fmt: skip
"""What answers tell and no PUT takes."""


class Setting:
    """A configuration that is put on a function: made and changed alike by PUT.

    Where the API has no DELETE, *off* is the body that undoes it.
    """

    def __init__(self, item: str, off: Content | None = None) -> None:
        self._item = item
        self._off = off

    def find(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> Live | None:
        """Return what GET shows; one that is off is none."""
        del attributes
        found = get(cloud, path_of(self._item, identity))
        if found is None or (self._off is not None and all(found.get(key) == off for key, off in self._off.items())):
            return None
        return Live(found)

    def create(self, cloud: Cloud, resource: Resource) -> Live:
        """PUT it."""
        return Live(cloud.functions("PUT", path_of(self._item, resource.identity), resource.properties))

    def update(self, cloud: Cloud, resource: Resource, live: Live) -> Live:
        """PUT it."""
        del live
        return self.create(cloud, resource)

    def delete(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> None:
        """DELETE it or switch it off."""
        del attributes
        path = path_of(self._item, identity)
        if self._off is None:
            remove(cloud, path)
        elif get(cloud, path) is not None:
            cloud.functions("PUT", path, self._off)

    def differs(self, resource: Resource, live: Live) -> bool:
        """Compare property by property; the default target is what the API calls it in one of two places."""
        shown = dict(live.content)
        if "defaultTarget" in shown:
            shown["target"] = shown["defaultTarget"]
        return not same(dict(resource.properties), shown)

    def is_fixed(self, resource: Resource, live: Live) -> bool:
        """Everything can be changed."""
        del resource, live
        return False

    def saved(self, cloud: Cloud, resource: Resource, live: Live) -> Resource:
        """Keep all that a PUT takes."""
        del cloud
        shown = {name: value for name, value in live.content.items() if value is not None and name not in _SHOWN_ONLY}
        if "defaultTarget" in live.content:
            shown["target"] = live.content["defaultTarget"]
        return replace(resource, properties=shown)

    def undo_update(self, cloud: Cloud, saved: Resource, live: Live) -> None:
        """PUT what was there."""
        self.update(cloud, saved, live)

    def attributes(self, live: Live) -> dict[str, str]:
        """There are none."""
        del live
        return {}
