"""What an export leaves out, and what goes with it: nothing that is written names what is not there.

An alias that cannot be made again takes along the triggers and settings that are for it, and the routes that lead to
it. What only names it in a text, a definition or a destination, can be made; that it does not lead anywhere is noted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emulator.deploy.model import Resource, type_of
from emulator.kernel.frozen import frozen, replace

_LATEST = "LATEST"
_VERSION = "version"

Qualified = tuple[str, str, str]
"""What a qualifier belongs to: ``fc`` or ``fc3``, the service or the function, the qualifier."""


def left_out(resource: Resource, why: str) -> str:
    """Return the note on a resource that is not written."""
    return f"{called(resource)}: {why}; left out"


def called(resource: Resource) -> str:
    """Return what notes call a resource."""
    name = "/".join(resource.identity[:-1] if resource.identity[-1] == _VERSION else resource.identity)
    return f"{type_of(resource.kind)} {name}"


@frozen
class Remaining:
    """What is written without that which was left out, and what is noted of it."""

    resources: tuple[Resource, ...]
    notes: tuple[str, ...]


def without_dependents(resources: Sequence[Resource], gone: Sequence[Resource]) -> Remaining:
    """Return *resources* without the aliases that are *gone* and all that is for them, or for a version's number."""
    aliases = {(each.kind.partition(".")[0], *each.identity) for each in gone if each.kind.endswith(".alias")}
    kept, notes = [], []
    keys = {each.key for each in gone}
    for each in (resource for resource in resources if resource.key not in keys):
        qualifier = _qualifier(each)
        if qualifier is not None and _is_gone(qualifier, aliases):
            notes.append(left_out(each, f"it is for {qualifier[1]}/{qualifier[2]}, which is not written"))
            continue
        routed = _with_routes(each, aliases, notes)
        if routed is not None:
            kept.append(routed)
            notes.extend(_mentions(routed, aliases))
    return Remaining(resources=tuple(kept), notes=tuple(notes))


def _is_gone(qualifier: Qualified, aliases: set[Any]) -> bool:
    return qualifier[2].isdigit() or qualifier in aliases


def _qualifier(resource: Resource) -> Qualified | None:
    prefix, _, what = resource.kind.partition(".")
    identity = resource.identity
    match what:
        case "trigger":
            return prefix, identity[0], str(resource.properties.get("qualifier") or _LATEST)
        case "async" | "scaling":
            return prefix, identity[0], identity[-1]
        case "provision":
            return prefix, identity[0], identity[1]
        case _:
            return None


def _with_routes(resource: Resource, aliases: set[Any], notes: list[str]) -> Resource | None:
    """Return a domain without the routes that lead to what is gone, None when no other has remained."""
    config = resource.properties.get("routeConfig")
    if not isinstance(config, Mapping):
        return resource
    prefix = resource.kind.partition(".")[0]
    kept = []
    for route in config.get("routes") or []:
        owner = str(route.get("serviceName") or route.get("functionName"))
        qualifier = (prefix, owner, str(route.get("qualifier") or _LATEST))
        if _is_gone(qualifier, aliases):
            why = f"its route {route.get('path')} leads to {owner}/{qualifier[2]}, which is not written"
            notes.append(left_out(resource, why))
        else:
            kept.append(route)
    if not kept:
        return None
    return replace(resource, properties={**resource.properties, "routeConfig": {**config, "routes": kept}})


def _mentions(resource: Resource, aliases: set[Any]) -> Iterator[str]:
    text = "\n".join(_texts(resource.properties))
    for prefix, owner, alias in sorted(aliases):
        form = rf"functions/{re.escape(owner)}[/.]" if prefix == "fc3" else rf"services/{re.escape(owner)}\."
        if re.search(rf"{form}{re.escape(alias)}(?![A-Za-z0-9_-])", text):
            yield f"{called(resource)}: it names {owner}/{alias}, which is not written"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
