"""What is made by POST and changed by PUT: services, functions, triggers, aliases, domains."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from emulator.deploy.kind import Attributes, Content, Identity, Live, same
from emulator.deploy.model import Resource
from emulator.deploy.ports import Cloud
from emulator.deploy.rest_calls import get, path_of, remove, with_code
from emulator.kernel.crc64 import checksum

_EXACT = frozenset({"environmentVariables", "additionalVersionWeight"})
"""Maps whose keys are the user's: one that is there too many counts as a difference."""


class Plain:
    """What is made by POST to a collection and changed by PUT to itself.

    *fixed* are the properties that cannot be changed, *as_text* those that travel as JSON text.
    """

    def __init__(
        self,
        collection: str,
        item: str,
        name: str,
        keeps: tuple[str, ...],
        *,
        fixed: tuple[str, ...] = (),
        as_text: tuple[str, ...] = (),
        tells: Mapping[str, str] | None = None,
    ) -> None:
        self._collection = collection
        self._item = item
        self._name = name
        self._keeps = keeps
        self._fixed = fixed
        self._as_text = as_text
        self._tells = tells or {}

    def find(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> Live | None:
        """Return what GET shows."""
        del attributes
        found = get(cloud, path_of(self._item, identity))
        return None if found is None else Live(self._opened(found))

    def create(self, cloud: Cloud, resource: Resource) -> Live:
        """POST it."""
        body = {self._name: resource.identity[-1], **self._body(resource)}
        return Live(self._opened(cloud.functions("POST", path_of(self._collection, resource.identity), body)))

    def update(self, cloud: Cloud, resource: Resource, live: Live) -> Live:
        """PUT what may change."""
        del live
        body = {name: value for name, value in self._body(resource).items() if name not in self._fixed}
        return Live(self._opened(cloud.functions("PUT", path_of(self._item, resource.identity), body)))

    def delete(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> None:
        """DELETE it."""
        del attributes
        remove(cloud, path_of(self._item, identity))

    def differs(self, resource: Resource, live: Live) -> bool:
        """Compare property by property."""
        return any(
            not same(wanted, live.content.get(name), exact=name in _EXACT)
            for name, wanted in resource.properties.items()
            if name != "code"
        )

    def is_fixed(self, resource: Resource, live: Live) -> bool:
        """Compare what cannot be changed."""
        return any(not same(resource.properties.get(name), live.content.get(name)) for name in self._fixed)

    def saved(self, cloud: Cloud, resource: Resource, live: Live) -> Resource:
        """Keep what can be written."""
        del cloud
        kept = {name: live.content[name] for name in self._keeps if live.content.get(name) is not None}
        return replace(resource, properties=kept, package=None)

    def undo_update(self, cloud: Cloud, saved: Resource, live: Live) -> None:
        """PUT back; what had no value before gets an empty one where the update gave it one."""
        emptied = {name: _empty(live.content[name]) for name in self._keeps if live.content.get(name) is not None}
        self.update(cloud, replace(saved, properties={**emptied, **saved.properties}), live)

    def attributes(self, live: Live) -> dict[str, str]:
        """Return ids and addresses."""
        flat = {**live.content, **(live.content.get("httpTrigger") or {})}
        return {name: str(flat[member]) for name, member in self._tells.items() if flat.get(member) is not None}

    def _body(self, resource: Resource) -> dict[str, Any]:
        return {
            name: json.dumps(value, ensure_ascii=False) if name in self._as_text else value
            for name, value in resource.properties.items()
        }

    def _opened(self, found: Content) -> Content:
        """Return an answer with its JSON texts as what they stand for."""
        opened = dict(found)
        for name in self._as_text:
            if isinstance(found.get(name), str) and found[name]:
                opened[name] = json.loads(found[name])
        return opened


def _empty(value: Any) -> Any:
    if isinstance(value, (str, list, dict)):
        return type(value)()
    return value


class Function(Plain):
    """A function: its code goes along when it is another than the one that is there."""

    def create(self, cloud: Cloud, resource: Resource) -> Live:
        """POST settings and code."""
        return super().create(cloud, with_code(resource))

    def update(self, cloud: Cloud, resource: Resource, live: Live) -> Live:
        """PUT settings, and the code when it has changed."""
        changed = resource.package is None or checksum(resource.package) != str(live.content.get("codeChecksum"))
        return super().update(cloud, with_code(resource) if changed else resource, live)

    def differs(self, resource: Resource, live: Live) -> bool:
        """Compare settings, and code by its checksum."""
        if resource.package is not None and checksum(resource.package) != str(live.content.get("codeChecksum")):
            return True
        return super().differs(resource, live)

    def saved(self, cloud: Cloud, resource: Resource, live: Live) -> Resource:
        """Keep the settings and the code."""
        location = cloud.functions("GET", path_of(self._item, resource.identity) + "/code")
        package = cloud.download(str(location["url"])) if location.get("url") else None
        return replace(super().saved(cloud, resource, live), package=package)
