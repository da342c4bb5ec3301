"""Doing what a plan says, one resource after the other; when one fails, undoing what was done before it."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from emulator.deploy.failures import Refused, StepFailed
from emulator.deploy.kind import Kind, Live
from emulator.deploy.model import Resource, digest
from emulator.deploy.plan import Action, Plan, Step, with_attributes
from emulator.deploy.ports import Cloud
from emulator.deploy.record import CREATED, UNDER_WAY, UPDATED, Entry

Tell = Callable[[Step], None]

_EARLY = frozenset({"fc.trigger", "fc3.trigger"})
"""Kinds that are taken away before others are made: a function has one HTTP trigger, under whatever name."""


def apply(cloud: Cloud, kinds: Mapping[str, Kind], plan: Plan, tell: Tell) -> tuple[Entry, ...]:
    """Do every step and return what is there then; *tell* hears of each step before it is done.

    Raises: StepFailed when an answer was an error; everything done before it is undone then, as far as that can be.
    What else may be raised (the emulator is gone, somebody interrupts) comes after the same attempt.
    """
    work = _Work(cloud, kinds)
    early = [step for step in plan.steps if step.action is Action.DELETE and step.kind in _EARLY]
    others = [step for step in plan.steps if step not in early]
    for step in [*early, *others]:
        try:
            if step.action not in {Action.UNCHANGED, Action.LEAVE}:
                tell(step)
            work.do(step)
        except Refused as error:
            raise StepFailed(described(step), str(error), work.undo()) from error
        except BaseException:
            work.undo()
            raise
    return tuple(work.entries)


def described(step: Step) -> str:
    """Return what a message calls a step."""
    what = f"{step.action.value} {step.type} {step.logical}"
    if step.physical != step.logical and "\ue000" not in step.physical:
        what += f" ({step.physical})"
    return what if step.resource is None else f"line {step.resource.line}: {what}"


class _Work:
    """The steps done so far: what is there because of them, and how to undo each."""

    def __init__(self, cloud: Cloud, kinds: Mapping[str, Kind]) -> None:
        self.entries: list[Entry] = []
        self._cloud = cloud
        self._kinds = kinds
        self._known: dict[str, Mapping[str, str]] = {}
        self._undo: list[tuple[str, Callable[[], object]]] = []

    def do(self, step: Step) -> None:
        """Do one step.

        Raises: Refused.
        """
        if step.resource is None:
            if step.action is Action.DELETE and step.entry is not None:
                self._delete(step, step.entry)
            return
        resource = with_attributes(step.resource, self._known)
        kind = self._kinds[resource.kind]
        match step.action:
            case Action.CREATE:
                live = self._create(step, kind, resource)
            case Action.UPDATE:
                live = self._update(step, kind, resource, _there(step))
            case Action.REPLACE:
                live = self._replace(step, kind, resource, _there(step))
            case _:
                live = _there(step)
        self._note(step, kind, resource, live)

    def undo(self) -> tuple[str, ...]:
        """Undo what was done, last first, and return what could not be."""
        left = []
        while self._undo:
            what, back = self._undo.pop()
            try:
                back()
            except Refused as error:
                left.append(f"{what}: {error}")
        return tuple(left)

    def _create(self, step: Step, kind: Kind, resource: Resource) -> Live:
        live = kind.create(self._cloud, resource)
        if live.made:
            attributes = kind.attributes(live)
            self._remember(step, lambda: kind.delete(self._cloud, resource.identity, attributes))
        return live

    def _update(self, step: Step, kind: Kind, resource: Resource, live: Live) -> Live:
        saved = kind.saved(self._cloud, resource, live)
        updated = kind.update(self._cloud, resource, live)
        self._remember(step, lambda: kind.undo_update(self._cloud, saved, updated))
        return updated

    def _replace(self, step: Step, kind: Kind, resource: Resource, live: Live) -> Live:
        saved = kind.saved(self._cloud, resource, live)
        kind.delete(self._cloud, resource.identity, kind.attributes(live))
        self._remember(step, lambda: kind.create(self._cloud, saved))
        made = kind.create(self._cloud, resource)
        self._remember(step, lambda: kind.delete(self._cloud, resource.identity, kind.attributes(made)))
        return made

    def _delete(self, step: Step, entry: Entry) -> None:
        kind = self._kinds.get(entry.kind)
        if kind is None:
            return
        live = kind.find(self._cloud, entry.identity, entry.attributes)
        if live is not None:
            saved = kind.saved(self._cloud, _as_resource(entry), live)
            kind.delete(self._cloud, entry.identity, entry.attributes)
            self._remember(step, lambda: kind.create(self._cloud, saved))

    def _remember(self, step: Step, back: Callable[[], object]) -> None:
        self._undo.append((described(step), back))

    def _note(self, step: Step, kind: Kind, resource: Resource, live: Live) -> None:
        attributes = kind.attributes(live)
        self._known[resource.logical] = attributes
        entry = step.entry
        status = CREATED if step.action is Action.CREATE else UPDATED
        if step.action is Action.UNCHANGED:
            status = entry.status if entry is not None else CREATED
        made = live.made if step.action is Action.CREATE else (entry.made if entry is not None else False)
        self.entries.append(
            Entry(
                logical=resource.logical,
                type=resource.type,
                kind=resource.kind,
                identity=resource.identity,
                digest=digest(resource),
                status=status,
                made=made,
                attributes=attributes,
            )
        )


def _there(step: Step) -> Live:
    if step.live is None:
        raise LookupError("a step that changes a resource has found it")
    return step.live


def _as_resource(entry: Entry) -> Resource:
    return Resource(
        logical=entry.logical, type=entry.type, kind=entry.kind, identity=entry.identity, properties={}, line=0
    )


def entry_under_way(step: Step) -> Entry | None:
    """Return what is noted of a resource before it is made, so that an interrupted deployment still knows it."""
    if step.action is not Action.CREATE or step.resource is None:
        return step.entry
    if step.entry is not None:
        return replace(step.entry, digest="")
    resource = step.resource
    return Entry(
        logical=resource.logical,
        type=resource.type,
        kind=resource.kind,
        identity=resource.identity,
        digest="",
        status=UNDER_WAY,
        made=True,
        attributes={},
    )
