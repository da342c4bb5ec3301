"""Deploy a file: `read` it, `plan` the difference to the last record and the emulator's state, `apply` it or remove it.

When a step fails, everything done before it is undone.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import assert_never

from emulator.deploy.files import Files
from emulator.deploy.model import (
    CREATED,
    UNDER_WAY,
    UPDATED,
    Blueprint,
    Entry,
    FileProblems,
    Problem,
    Record,
    Refused,
    Resource,
    StepFailed,
    Target,
    digest,
    entry_of,
    filled,
    has_token,
    key_of,
    type_of,
)
from emulator.deploy.places import LocatedValue
from emulator.deploy.provider import ActualState, ApiClient, Identity, ResourceProvider
from emulator.deploy.s_yaml import ActionCommand, ActionsRun, commands_before, extended, read_project
from emulator.deploy.template import read_template
from emulator.deploy.value_functions import Misuse
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.phrases import Phrase
from emulator.services.fc.model import parse_function_arn, parse_message_arn


def read(
    root: LocatedValue,
    target: Target,
    folder: Path,
    parameters: Mapping[str, str],
    environ: Mapping[str, str] = os.environ,
    *,
    actions_run: ActionsRun = "not",
) -> Blueprint:
    """Return the blueprint of a file in *folder*; notes are in the findings of *root*.

    Each of the `actions` that does not run now is noted.

    Raises: FileProblems.
    """
    files = Files(folder)
    if not isinstance(root.value, dict):
        raise FileProblems([Problem(1, 1, "the file must be a template with Resources, or an s.yaml")])
    if is_project(root):
        root = extended(root, files)
        if parameters:
            raise FileProblems([Problem(1, 1, "an s.yaml has no parameters; it has vars and ${env('NAME')}")])
        return read_project(root, target, files, environ, actions_run=actions_run)
    if "Resources" in root.value or "ROSTemplateFormatVersion" in root.value:
        return read_template(root, target, files, parameters)
    raise FileProblems(
        [Problem(1, 1, "neither a template (ROSTemplateFormatVersion, Resources) nor an s.yaml (edition, name)")]
    )


def is_project(root: LocatedValue) -> bool:
    """Whether a file is an ``s.yaml``."""
    return isinstance(root.value, dict) and not root.value.keys().isdisjoint({"edition", "services", "extend"})


def actions(
    root: LocatedValue, target: Target, folder: Path, environ: Mapping[str, str] = os.environ
) -> list[ActionCommand]:
    """Return the commands that an ``s.yaml`` has for before the deployment; a template has none."""
    if not is_project(root):
        return []
    files = Files(folder)
    return commands_before(extended(root.unreported(), files), target, files, environ)


def project_name(root: LocatedValue, folder: Path) -> str:
    """Return the name that an ``s.yaml`` has for the project, "" for none or an unusable one."""
    name = extended(root.unreported(), Files(folder)).member("name").value if is_project(root) else None
    return name if isinstance(name, str) and "${" not in name else ""


class Action(StrEnum):
    """What a step does with a resource."""

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    UNCHANGED = "unchanged"
    DELETE = "delete"
    LEAVE = "leave"
    """Keep a resource that is no longer in the file, because it existed before the first deployment."""


@frozen
class Step:
    """A resource and the action on it.

    ``entry`` is what the last deployment recorded of it, ``actual`` its state in the emulator. ``resource`` is None for
    one that the file no longer has.
    """

    action: Action
    resource: Resource | None
    entry: Entry | None
    actual: ActualState | None = None

    @property
    def subject(self) -> Resource | Entry:
        """The resource, or its entry when it is no longer in the file."""
        subject = self.resource or self.entry
        assert subject is not None  # a step has a resource, an entry, or both
        return subject


@frozen(kw_only=False)
class Plan:
    """The steps of a deployment: resources of the file in the order of their creation, then those no longer in it."""

    steps: tuple[Step, ...]

    @property
    def changes(self) -> bool:
        """Whether the plan changes anything."""
        return any(step.action not in {Action.UNCHANGED, Action.LEAVE} for step in self.steps)

    def count(self, action: Action) -> int:
        """Return how many resources have that action."""
        return sum(step.action is action for step in self.steps)


def plan(api: ApiClient, providers: Mapping[str, ResourceProvider], blueprint: Blueprint, record: Record) -> Plan:
    """Compare a blueprint with the emulator's state and the record.

    Raises: StepFailed when a resource cannot be read, or the file requires something impossible.
    """
    noted = record.by_key()
    known: dict[str, Mapping[str, str]] = {}
    steps = []
    for resource in blueprint.resources:
        try:
            steps.append(_step(api, providers, resource, noted, known))
        except Refused as error:
            what = f"{resource.type} {resource.logical}"
            raise StepFailed(Phrase("line {line}: {what}", line=resource.line, what=what), str(error)) from error
    wanted = {step.resource.key for step in steps if step.resource is not None}
    return Plan((*steps, *_dropped(record, wanted)))


def removal(record: Record) -> Plan:
    """Return the plan that removes the resources created by a deployment."""
    return Plan(tuple(_dropped(record, set())))


def _dropped(record: Record, wanted: set[str]) -> Iterator[Step]:
    for entry in reversed(record.entries):
        if entry.key not in wanted:
            yield Step(action=Action.DELETE if entry.made else Action.LEAVE, resource=None, entry=entry)


def _step(
    api: ApiClient,
    providers: Mapping[str, ResourceProvider],
    resource: Resource,
    noted: Mapping[str, Entry],
    known: dict[str, Mapping[str, str]],
) -> Step:
    resource = with_attributes(resource, known)
    provider = providers[resource.kind]
    entry = noted.get(resource.key)
    if has_token(resource.identity):
        return Step(action=Action.CREATE, resource=resource, entry=None)
    actual = provider.find(api, resource.identity, entry.attributes if entry else {})
    if actual is None:
        return Step(action=Action.CREATE, resource=resource, entry=entry)
    if provider.is_fixed(resource, actual):
        return Step(action=Action.REPLACE, resource=resource, entry=entry, actual=actual)
    changed = has_token(resource.properties) or (entry is not None and entry.digest != digest(resource))
    action = Action.UPDATE if changed or provider.differs(api, resource, actual) else Action.UNCHANGED
    if provider.stays(resource, actual):
        action = Action.UNCHANGED
    if action is Action.UNCHANGED or not provider.renews:  # an update keeps ids and addresses
        known[resource.logical] = provider.attributes(actual)
    return Step(action=action, resource=resource, entry=entry, actual=actual)


def with_attributes(resource: Resource, known: Mapping[str, Mapping[str, str]]) -> Resource:
    """Return a resource with tokens replaced by the attributes in *known*.

    Raises: Refused when an attribute has no value that a function of the file can use.
    """

    def attribute(logical: str, name: str) -> str | None:
        return known.get(logical, {}).get(name)

    try:
        identity, properties = filled(resource.identity, attribute), filled(resource.properties, attribute)
    except Misuse as error:
        raise Refused(0, "", str(error)) from error
    return replace(resource, identity=identity, properties=properties)


@frozen
class Missing:
    """A receiver or topic that a file names but that does not exist: the *resource* that names it, its type and name.

    The services accept a missing receiver and deliver nothing; a trigger without its topic is refused.
    """

    resource: Resource
    type: str
    name: str
    is_refused: bool
    """Whether the resource cannot be created without it."""


def missing_receivers(api: ApiClient, providers: Mapping[str, ResourceProvider], plan: Plan) -> Iterator[Missing]:
    """Yield the queues, topics and functions that resources of *plan* name and that will not exist afterwards.

    Raises: Refused.
    """
    after = {step.subject.key: step.action is not Action.DELETE for step in plan.steps}
    for resource in (step.resource for step in plan.steps if step.resource is not None):
        provider = providers[resource.kind]
        for arn in dict.fromkeys(provider.receivers(resource)):
            receiver = None if has_token(arn) else _receiver(arn)
            if receiver is None:
                continue
            kind, identity = receiver
            is_there = after.get(key_of(kind, identity))
            if is_there is None:
                is_there = providers[kind].find(api, identity, {}) is not None
            if not is_there:
                needed = provider.needs_receivers(resource)
                yield Missing(resource=resource, type=type_of(kind), name="/".join(identity), is_refused=needed)


def _receiver(arn: str) -> tuple[str, Identity] | None:
    if (function := parse_function_arn(arn)) is not None:
        return ("fc.function", function[:2]) if function.service else ("fc3.function", (function.function,))
    if (target := parse_message_arn(arn)) is not None:
        return f"mns.{target.kind}", (target.name,)
    return None


class Interrupted(KeyboardInterrupt):
    """An interrupt at *step*; everything done before it was undone, except *left*."""

    def __init__(self, step: str, left: Iterable[str]) -> None:
        super().__init__(step)
        self.step = step
        self.left = tuple(left)


ProgressCallback = Callable[[Step], None]


def apply(
    api: ApiClient, providers: Mapping[str, ResourceProvider], plan: Plan, progress: ProgressCallback
) -> tuple[Entry, ...]:
    """Apply every step and return the entries of the deployment; *progress* is called before each change.

    Raises: StepFailed when an answer was an error, and Interrupted, after undoing everything done before as far as
    possible; other exceptions (the emulator is gone) after the same attempt.
    """
    work = _Work(api, providers)
    for step in sorted(plan.steps, key=lambda step: not _goes_first(providers, step)):
        try:
            if step.action not in {Action.UNCHANGED, Action.LEAVE}:
                progress(step)
            work.do(step)
        except Refused as error:
            raise StepFailed(described(step), str(error), work.undo()) from error
        except KeyboardInterrupt as error:
            raise Interrupted(described(step), work.undo()) from error
        except BaseException:
            work.undo()
            raise
    return tuple(work.entries)


def _goes_first(providers: Mapping[str, ResourceProvider], step: Step) -> bool:
    """Whether a step removes a resource that has to be removed before others are created."""
    provider = providers.get(step.subject.kind)
    return step.action is Action.DELETE and provider is not None and provider.goes_first


def described(step: Step) -> str:
    """Return the words for a step in messages."""
    subject = step.subject
    named = f"{subject.type} {subject.logical}"
    if subject.physical != subject.logical and not has_token(subject.physical):
        named += f" ({subject.physical})"
    what = Phrase("{action} {resource}", action=Phrase(step.action.value), resource=named)
    return what if step.resource is None else Phrase("line {line}: {what}", line=step.resource.line, what=what)


class _Work:
    """The steps applied so far: their resources, and how to undo each."""

    def __init__(self, api: ApiClient, providers: Mapping[str, ResourceProvider]) -> None:
        self.entries: list[Entry] = []
        self._api = api
        self._providers = providers
        self._known: dict[str, Mapping[str, str]] = {}
        self._undo: list[tuple[str, Callable[[], object]]] = []

    def do(self, step: Step) -> None:
        """Apply one step. Raises: Refused.

        Raises: Refused.
        """
        if step.resource is None:
            if step.action is Action.DELETE and step.entry is not None:
                self._delete(step, step.entry)
            return
        resource = with_attributes(step.resource, self._known)
        provider = self._providers[resource.kind]
        actual = step.actual
        if step.action is Action.CREATE:
            actual = self._create(step, provider, resource)
        assert actual is not None  # in any other step the resource exists
        match step.action:
            case Action.UPDATE:
                actual = self._update(step, provider, resource, actual)
            case Action.REPLACE:
                actual = self._replace(step, provider, resource, actual)
            case Action.CREATE | Action.UNCHANGED | Action.DELETE | Action.LEAVE:
                pass
            case _:
                assert_never(step.action)
        self._note(step, provider, resource, actual)

    def undo(self) -> tuple[str, ...]:
        """Undo the steps applied, last first; return those that were not undone, by an error or another interrupt."""
        left = []
        while self._undo:
            what, back = self._undo[-1]
            try:
                back()
            except Refused as error:
                left.append(Phrase("{what}: {reason}", what=what, reason=error))
            except KeyboardInterrupt:
                return (*left, *(what for what, _ in reversed(self._undo)))
            self._undo.pop()
        return tuple(left)

    def _create(self, step: Step, provider: ResourceProvider, resource: Resource) -> ActualState:
        with self._under_way(step, provider, resource):
            actual = provider.create(self._api, resource)
        if actual.made:
            attributes = provider.attributes(actual)
            self._remember(step, lambda: provider.delete(self._api, resource.identity, attributes))
        return actual

    def _update(self, step: Step, provider: ResourceProvider, resource: Resource, actual: ActualState) -> ActualState:
        saved = provider.saved(self._api, resource, actual)
        with self._under_way(step, provider, resource, saved, provider.attributes(actual)):
            updated = provider.update(self._api, resource, actual)
        self._remember(step, lambda: provider.undo_update(self._api, saved, updated))
        return updated

    def _replace(self, step: Step, provider: ResourceProvider, resource: Resource, actual: ActualState) -> ActualState:
        saved = provider.saved(self._api, resource, actual)
        attributes = provider.attributes(actual)
        with self._under_way(step, provider, resource, saved, attributes):
            provider.delete(self._api, resource.identity, attributes)
        self._remember(step, lambda: provider.create(self._api, saved))
        with self._under_way(step, provider, resource):
            made = provider.create(self._api, resource)
        self._remember(step, lambda: provider.delete(self._api, resource.identity, provider.attributes(made)))
        return made

    def _delete(self, step: Step, entry: Entry) -> None:
        provider = self._providers.get(entry.kind)
        if provider is None:
            return
        actual = provider.find(self._api, entry.identity, entry.attributes)
        if actual is not None:
            saved = provider.saved(self._api, _as_resource(entry), actual)
            with self._under_way(step, provider, saved, saved, entry.attributes):
                provider.delete(self._api, entry.identity, entry.attributes)
            self._remember(step, lambda: provider.create(self._api, saved))

    @contextmanager
    def _under_way(
        self,
        step: Step,
        provider: ResourceProvider,
        resource: Resource,
        saved: Resource | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> Iterator[None]:
        """Handle interrupts of a call: find out whether it took effect, and undo it to *saved*, or to nothing."""

        def back() -> None:
            there = provider.find(self._api, resource.identity, attributes or {})
            if saved is None:
                if there is not None:
                    provider.delete(self._api, resource.identity, provider.attributes(there))
            elif there is None:
                provider.create(self._api, saved)
            else:
                provider.undo_update(self._api, saved, there)

        try:
            yield
        except Refused:
            raise
        except BaseException:
            self._remember(step, back)
            raise

    def _remember(self, step: Step, back: Callable[[], object]) -> None:
        self._undo.append((described(step), back))

    def _note(self, step: Step, provider: ResourceProvider, resource: Resource, actual: ActualState) -> None:
        attributes = provider.attributes(actual)
        self._known[resource.logical] = attributes
        entry = step.entry
        status = CREATED if step.action is Action.CREATE else UPDATED
        if step.action is Action.UNCHANGED:
            status = entry.status if entry is not None else CREATED
        made = actual.made if step.action is Action.CREATE else (entry.made if entry is not None else False)
        self.entries.append(entry_of(resource, digest(resource), status, made=made, attributes=attributes))


def _as_resource(entry: Entry) -> Resource:
    return Resource(logical=entry.logical, type=entry.type, kind=entry.kind, identity=entry.identity, properties={})


def entry_under_way(step: Step) -> Entry | None:
    """Return the entry recorded before a resource is created, so that an interrupted deployment still knows it."""
    if step.action is not Action.CREATE or step.resource is None:
        return step.entry
    if step.entry is not None:
        return replace(step.entry, digest="")
    return entry_of(step.resource, "", UNDER_WAY, made=True, attributes={})
