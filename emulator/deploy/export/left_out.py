"""Resources that an export leaves out, with those that depend on them.

With an alias that cannot be created elsewhere, the triggers and settings for it are left out too, and the routes that
lead to it. A resource that only names it in a text, a definition or a destination is written, with a note.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import Resource, type_of
from emulator.deploy.provider import Reference
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.phrases import Phrase, phrase

_VERSION = "version"


def left_out(resource: Resource, why: str) -> str:
    """Return the note about a resource that is not written."""
    return Phrase("{resource}: {why}; left out", resource=called(resource), why=phrase(why))


def called(resource: Resource) -> str:
    """Return the resource's name in notes."""
    name = "/".join(resource.identity[:-1] if resource.identity[-1] == _VERSION else resource.identity)
    return f"{type_of(resource.kind)} {name}"


@frozen
class Remaining:
    """The resources to write, and the notes about those left out."""

    resources: tuple[Resource, ...]
    notes: tuple[str, ...]


def without_dependents(resources: Sequence[Resource], gone: Sequence[Resource]) -> Remaining:
    """Return *resources* without *gone*, and without those for an alias among them or for a numbered version."""
    aliases = {(each.kind, each.identity) for each in gone if PROVIDERS[each.kind].mention(each.identity) is not None}
    kept, notes = [], []
    keys = {each.key for each in gone}
    for each in (resource for resource in resources if resource.key not in keys):
        alias = PROVIDERS[each.kind].alias_of(each)
        if alias is not None and _is_gone(alias, aliases):
            notes.append(left_out(each, Phrase("it is for {alias}, which is not written", alias="/".join(alias[1]))))
            continue
        routed = _with_routes(each, aliases, notes)
        if routed is not None:
            kept.append(routed)
            notes.extend(_mentions(routed, aliases))
    return Remaining(resources=tuple(kept), notes=tuple(notes))


def _is_gone(alias: Reference, aliases: set[Reference]) -> bool:
    return alias[1][-1].isdigit() or alias in aliases


def _with_routes(resource: Resource, aliases: set[Reference], notes: list[str]) -> Resource | None:
    """Return a domain without the routes to aliases that are left out; None when no route remains."""
    config = resource.properties.get("routeConfig")
    if not isinstance(config, Mapping):
        return resource
    kept = []
    for route in PROVIDERS[resource.kind].routes(resource):
        if _is_gone(route.alias, aliases):
            text = "its route {path} leads to {alias}, which is not written"
            why = Phrase(text, path=route.content.get("path"), alias="/".join(route.alias[1]))
            notes.append(left_out(resource, why))
        else:
            kept.append(route.content)
    if not kept:
        return None
    return replace(resource, properties={**resource.properties, "routeConfig": {**config, "routes": kept}})


def _mentions(resource: Resource, aliases: set[Reference]) -> Iterator[str]:
    text = "\n".join(_texts(resource.properties))
    for kind, identity in sorted(aliases):
        mention = PROVIDERS[kind].mention(identity)
        if mention is not None and re.search(mention, text):
            text = "{resource}: it names {alias}, which is not written"
            yield Phrase(text, resource=called(resource), alias="/".join(identity))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
