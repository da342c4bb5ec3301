"""What has to be done: the difference between a file, the record of the last deployment and what is there."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum

from emulator.deploy.kind import Kind, Live
from emulator.deploy.model import Blueprint, Resource, digest, filled, has_token
from emulator.deploy.ports import Cloud
from emulator.deploy.record import Entry, Record
from emulator.kernel.frozen import frozen


class Action(StrEnum):
    """What is done with one resource."""

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    UNCHANGED = "unchanged"
    DELETE = "delete"
    LEAVE = "leave"
    """The file no longer has it, and it was there before the first deployment."""


@frozen
class Step:
    """One resource and what is done with it.

    ``entry`` is what the last deployment noted of it, ``live`` what is there now. ``resource`` is None for one that the
    file no longer has.
    """

    action: Action
    resource: Resource | None
    entry: Entry | None
    live: Live | None = None

    @property
    def logical(self) -> str:
        """Its name in the file."""
        return self._subject.logical

    @property
    def type(self) -> str:
        """Its type as the file has it."""
        return self._subject.type

    @property
    def kind(self) -> str:
        """How it is handled."""
        return self._subject.kind

    @property
    def physical(self) -> str:
        """Its name in the emulator."""
        return self._subject.physical

    @property
    def _subject(self) -> Resource | Entry:
        subject = self.resource or self.entry
        if subject is None:
            raise LookupError("a step is about something")
        return subject


@frozen(kw_only=False)
class Plan:
    """The steps of a deployment: first what the file has, in the order it can be made, then what it no longer has."""

    steps: tuple[Step, ...]

    @property
    def changes(self) -> bool:
        """Whether anything will be done to what is there."""
        return any(step.action not in {Action.UNCHANGED, Action.LEAVE} for step in self.steps)

    def count(self, action: Action) -> int:
        """Return how many resources that is done with."""
        return sum(step.action is action for step in self.steps)


def plan(cloud: Cloud, kinds: Mapping[str, Kind], blueprint: Blueprint, record: Record) -> Plan:
    """Look at what is there and return what has to be done.

    Raises: Refused.
    """
    noted = record.by_key()
    known: dict[str, Mapping[str, str]] = {}
    steps = [_step(cloud, kinds, resource, noted, known) for resource in blueprint.resources]
    wanted = {step.resource.key for step in steps if step.resource is not None}
    return Plan((*steps, *_dropped(record, wanted)))


def removal(record: Record) -> Plan:
    """Return what has to be done to take away what a deployment made."""
    return Plan(tuple(_dropped(record, set())))


def _dropped(record: Record, wanted: set[str]) -> Iterator[Step]:
    for entry in reversed(record.entries):
        if entry.key not in wanted:
            yield Step(action=Action.DELETE if entry.made else Action.LEAVE, resource=None, entry=entry)


def _step(
    cloud: Cloud,
    kinds: Mapping[str, Kind],
    resource: Resource,
    noted: Mapping[str, Entry],
    known: dict[str, Mapping[str, str]],
) -> Step:
    resource = with_attributes(resource, known)
    kind = kinds[resource.kind]
    entry = noted.get(resource.key)
    if has_token(resource.identity):
        return Step(action=Action.CREATE, resource=resource, entry=None)
    live = kind.find(cloud, resource.identity, entry.attributes if entry else {})
    if live is None:
        return Step(action=Action.CREATE, resource=resource, entry=entry)
    if kind.is_fixed(resource, live):
        return Step(action=Action.REPLACE, resource=resource, entry=entry, live=live)
    changed = has_token(resource.properties) or (entry is not None and entry.digest != digest(resource))
    action = Action.UPDATE if changed or kind.differs(resource, live) else Action.UNCHANGED
    if (not changed and action is Action.UNCHANGED) or resource.kind in {"fc.version", "fc3.version"}:
        known[resource.logical] = kind.attributes(live)
        action = Action.UNCHANGED
    elif resource.kind not in _NEW_EACH_TIME:
        known[resource.logical] = kind.attributes(live)  # ids and addresses stay when a resource changes
    return Step(action=action, resource=resource, entry=entry, live=live)


_NEW_EACH_TIME = frozenset({"fc.layer", "fc3.layer", "fc.invocation", "fc3.invocation"})


def with_attributes(resource: Resource, known: Mapping[str, Mapping[str, str]]) -> Resource:
    """Return a resource with the attributes of others that are known by now."""

    def attribute(logical: str, name: str) -> str | None:
        return known.get(logical, {}).get(name)

    return replace(
        resource, identity=filled(resource.identity, attribute), properties=filled(resource.properties, attribute)
    )
