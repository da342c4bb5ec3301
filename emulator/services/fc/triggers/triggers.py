"""Triggers as resources: create, get, update, delete, and those the functions folder names.

A ``function.yml`` describes them in the form of the API, in that of ``s.yaml``, or in a short one. The short form is
for queues, ``{name: new, type: mns_queue, queue: orders}``: it stands for a trigger of the event bus whose source is
that queue, which the cloud has and nobody writes by heart.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.spelling import suggestion
from emulator.services.fc import limits
from emulator.services.fc.catalog.resolving import Resolver
from emulator.services.fc.codec import BODY, check_name
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import Function, Scope, Slice, Struct, check_if_match, scope_of
from emulator.services.fc.triggers.model import (
    KINDS,
    Trigger,
    bucket_of,
    can_name_queue,
    check_source,
    config_of,
    host_label,
    is_kind,
    kind_of,
    rule_arn,
    trigger_type_of,
)
from emulator.services.fc.triggers.store import TriggerStore
from emulator.storage.database import CommitFailed, Database
from emulator.wire.schema.json_bodies import unknown_names
from emulator.wire.schema.kinds import Field, Shape, Text

_log = logging.getLogger(__name__)


Places = Mapping[tuple[str, str], Sequence[str]]
"""By service and function, where each trigger of its file stands."""


class TriggerWatcher:
    """Acts on triggers: arms timers, subscribes to topics. Subclasses override the methods they need."""

    async def start(self) -> None:
        """Act on the triggers of an earlier run."""

    async def close(self) -> None:
        """Stop acting on triggers."""

    def joining(self, tenant: Tenant, trigger: Trigger) -> None:
        """Called within the transaction that creates or changes *trigger*.

        Raises: FcError when it cannot be.
        """

    def leaving(self, tenant: Tenant, trigger: Trigger) -> None:
        """Called within the transaction that removes *trigger*."""

    def changed(self, tenant: Tenant, trigger: Trigger) -> None:
        """React to a trigger that is new or has changed; called after the commit."""

    def removed(self, tenant: Tenant, trigger: Trigger) -> None:
        """React to a trigger that has been removed; called after the commit."""

    def waits_for(self, tenant: Tenant, trigger: Trigger) -> str:
        """Return a sentence about what *trigger* waits for, empty when it works."""
        return ""


class Triggers:
    """The triggers of every account; ``service`` is empty for those of 3.0 functions."""

    def __init__(self, store: TriggerStore, database: Database, resolver: Resolver, ids: Ids) -> None:
        self._store = store
        self._database = database
        self._resolver = resolver
        self._ids = ids
        self._said: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
        """For functions of the folder, the problems of their triggers, and what their triggers wait for."""
        self.watchers: list[TriggerWatcher] = []

    @property
    def problems(self) -> list[str]:
        """What is wrong with triggers of the functions folder, each with its place."""
        return [problem for problems, _ in self._said.values() for problem in problems]

    @property
    def unsettled(self) -> set[Scope]:
        """The scopes in the functions folder whose triggers have problems, to try again: what they lack may come."""
        return {scope_of(*function) for function, (problems, _) in self._said.items() if problems}

    def create(self, tenant: Tenant, service: str, function: str, body: Mapping[str, Any], now: Millis) -> Trigger:
        """Create a trigger from a request body.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument,
        TriggerAlreadyExists, LimitExceeded for a bucket that has enough triggers.
        """
        self._resolver.function(tenant, service, function)
        trigger = self._read(tenant, service, function, body, now)
        if self._store.get(tenant, service, function, trigger.name) is not None:
            raise FcError("TriggerAlreadyExists", trigger=trigger.name, function=function)
        check_source(trigger.kind, trigger.source_arn, trigger.role)
        self._check_place(tenant, trigger)
        if trigger.kind == "oss":
            self._check_bucket(tenant, bucket_of(trigger.source_arn))
        self._put(tenant, trigger)
        return trigger

    def get(self, tenant: Tenant, service: str, function: str, name: str) -> Trigger:
        """Return a trigger.

        Raises: ServiceNotFound, FunctionNotFound, TriggerNotFound.
        """
        trigger = self._store.get(tenant, service, function, name)
        if trigger is None:
            self._resolver.function(tenant, service, function)
            raise FcError("TriggerNotFound", trigger=name, function=function)
        return trigger

    def update(
        self,
        tenant: Tenant,
        service: str,
        function: str,
        name: str,
        body: Mapping[str, Any],
        if_match: str,
        now: Millis,
    ) -> Trigger:
        """Change what *body* says; a configuration is replaced as a whole, one that is only passed on member by member.

        Raises: as `get`; PreconditionFailed, InvalidArgument, VersionNotFound, AliasNotFound, TriggerAlreadyExists.
        Source: fc-java-sdk FunctionComputeClientTest for log triggers, fc-go-sdk client_test.go for EventBridge.
        """
        old = self.get(tenant, service, function, name)
        check_if_match(if_match, old.etag)
        _check_own(old)
        values = _lower_case(body)
        changes: dict[str, Any] = {}
        if "triggerconfig" in values:
            kept = old.config if trigger_type_of(old.kind).passed_on else {}
            changes["config"] = {**kept, **config_of(old.kind, values["triggerconfig"])}
        changes |= BODY.read(_CHANGEABLE, body)
        changes["qualifier"] = changes.get("qualifier") or old.qualifier
        trigger = old.updated(now, **changes)
        self._check_place(tenant, trigger)
        self._put(tenant, trigger)
        return trigger

    def delete(self, tenant: Tenant, service: str, function: str, name: str, if_match: str) -> None:
        """Remove a trigger.

        Raises: as `get`; PreconditionFailed, InvalidArgument for one named in a file.
        """
        trigger = self.get(tenant, service, function, name)
        check_if_match(if_match, trigger.etag)
        _check_own(trigger)
        self._delete(tenant, trigger)

    def check_none(self, tenant: Tenant, service: str, function: str) -> None:
        """Keep a function with triggers from being deleted.

        Raises: FunctionNotEmpty.
        """
        if self._store.some(tenant, service, function, Slice(limit=1)):
            raise FcError("FunctionNotEmpty", function=function)

    def clear(self) -> None:
        """Forget every trigger."""
        for tenant, trigger in self._store.all():
            self._delete(tenant, trigger)

    def waits_for(self, tenant: Tenant, trigger: Trigger) -> str:
        """Return why *trigger* does not work yet, empty when it does."""
        return next((reason for watcher in self.watchers if (reason := watcher.waits_for(tenant, trigger))), "")

    def follow_folder(
        self,
        tenant: Tenant,
        functions: Iterable[Function],
        scopes: Collection[Scope] | None,
        places: Places,
        now: Millis,
    ) -> None:
        """Bring the triggers of the folder's functions in line with their files.

        *functions* are those of the folder, current versions only: all of them, or those in *scopes*. Invalid triggers
        are left out and added to the `problems`; those that wait for something are kept. Either is logged once.
        Triggers of functions that were removed are removed too, also those made by the API.
        """
        loose = self._store.loose(tenant, scopes)
        gone = {(trigger.service, trigger.function, trigger.name): trigger for trigger in loose}
        told = self._said
        self._said = {key: each for key, each in told.items() if scopes is not None and scope_of(*key) not in scopes}
        for function in functions:
            where = dict(enumerate(places.get((function.service, function.name), ())))
            problems: list[str] = []
            waits: list[str] = []
            for number, described in enumerate(function.triggers):
                place = where.get(number, function.folder)
                named = f"the trigger '{name}'" if (name := _name_of(described)) else "a trigger"
                problems += [f"{place}: {named}: {mistake}" for mistake in _mistakes(described)]
                try:
                    trigger = self._read(tenant, function.service, function.name, _as_api(described), now)
                    check_source(trigger.kind, trigger.source_arn, trigger.role, role_needed=False)
                    trigger = self._follow(tenant, replace(trigger, folder=function.folder), now)
                except FcError as error:
                    problems.append(f"{place}: {named} is left out: {error.message}")
                else:
                    gone.pop((function.service, function.name, trigger.name), None)
                    if reason := self.waits_for(tenant, trigger):
                        waits.append(f"{place}: {named} waits: {reason}")
            if problems or waits:
                self._said[function.service, function.name] = problems, waits
        for trigger in gone.values():
            self._delete(tenant, trigger)
        known = {text for texts in told.values() for part in texts for text in part}
        for text in (text for texts in self._said.values() for part in texts for text in part):
            if text not in known:
                _log.warning("%s", text)

    def _follow(self, tenant: Tenant, described: Trigger, now: Millis) -> Trigger:
        old = self._store.get(tenant, described.service, described.function, described.name)
        if old is None:
            self._check_place(tenant, described)
            self._put(tenant, described)
            return described
        new = replace(
            described,
            label=old.label if described.label else "",
            created_at=old.created_at,
            modified_at=old.modified_at,
            revision=old.revision,
        )
        if new != old:
            new = new.updated(now)
            self._check_place(tenant, new)
            self._put(tenant, new)
        return new

    def _read(self, tenant: Tenant, service: str, function: str, body: Mapping[str, Any], now: Millis) -> Trigger:
        values = _lower_case(body)
        kind = kind_of(values.get("triggertype"))
        name = check_name(values.get("triggername"), "triggerName", limits.TRIGGER_NAME_LENGTH)
        config = config_of(kind, values.get("triggerconfig"))
        known = self._store.get(tenant, service, function, name)
        trigger_id = known.id if known is not None else self._ids.uuid()  # edits of a folder draw no new ones
        texts = {attribute: text for attribute, text in BODY.read(_NEW, body).items() if text}
        if kind == "eventbridge":
            texts["source_arn"] = rule_arn(tenant, service, function, name, config)
        return Trigger(
            service=service,
            function=function,
            name=name,
            id=trigger_id,
            kind=kind,
            config=config,
            label=host_label(service, function, trigger_id) if kind == "http" else "",
            created_at=now,
            modified_at=now,
            **texts,
        )

    def _check_place(self, tenant: Tenant, trigger: Trigger) -> None:
        """Check that the qualifier exists and has no other HTTP trigger; call `joining` of the watchers."""
        self._resolver.function(tenant, trigger.service, trigger.function, trigger.qualifier)
        if trigger.kind == "http":
            for other in self._store.some(tenant, trigger.service, trigger.function):
                if other.kind == "http" and other.name != trigger.name and other.qualifier == trigger.qualifier:
                    raise FcError(
                        "TriggerAlreadyExists",
                        f"function '{trigger.function}' already has an http trigger for the version or alias "
                        f"'{trigger.qualifier}'",
                    )
        for watcher in self.watchers:
            watcher.joining(tenant, trigger)

    def _check_bucket(self, tenant: Tenant, bucket: str) -> None:
        others = sum(bucket_of(other.source_arn) == bucket for other in self._store.of_source(tenant, "oss", bucket))
        if others >= limits.TRIGGERS_PER_BUCKET:
            raise FcError("LimitExceeded", f"the bucket '{bucket}' has {others} triggers already, and cannot have more")

    def _put(self, tenant: Tenant, trigger: Trigger) -> None:
        self._store.put(tenant, trigger)
        self._after_commit(lambda watcher: watcher.changed(tenant, trigger))

    def _delete(self, tenant: Tenant, trigger: Trigger) -> None:
        for watcher in self.watchers:
            watcher.leaving(tenant, trigger)
        self._store.delete(tenant, trigger)
        self._after_commit(lambda watcher: watcher.removed(tenant, trigger))

    def _after_commit(self, notify: Callable[[TriggerWatcher], None]) -> None:
        def committed(failure: CommitFailed | None) -> None:
            if failure is None:
                for watcher in self.watchers:
                    notify(watcher)

        self._database.after_commit(committed)


def _lower_case(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of *body* under lower-case names; null counts as absent."""
    return {key.lower(): value for key, value in body.items() if value is not None}


_CHANGEABLE = Shape("Trigger", (
    Field("invocationRole", "role", Text(limits.ROLE_LENGTH)),
    Field("qualifier", "qualifier", Text(limits.ALIAS_NAME_LENGTH)),
    Field("description", "description", Text(limits.DESCRIPTION_LENGTH)),
))  # fmt: skip
_NEW = _CHANGEABLE.extended(Field("sourceArn", "source_arn"))


def _check_own(trigger: Trigger) -> None:
    if trigger.folder:
        raise InvalidArgument(f"trigger '{trigger.name}' is set in {trigger.folder}; change the files there instead")


_QUEUE_KIND = "mns_queue"

_NAMES = {"name": "triggerName", "type": "triggerType", "config": "triggerConfig", "role": "invocationRole"}
"""The shorter names of ``s.yaml``."""

_KNOWN = (*_NAMES, *_NAMES.values(), "sourceArn", "qualifier", "description")
_LONG = {name.lower(): _NAMES.get(name, name) for name in (*_KNOWN, "queue")}


def _name_of(described: Struct) -> str:
    """Return the name of a trigger, empty when it has none."""
    return str(_under_long_names(described).get("triggerName") or "")


def _as_api(described: Struct) -> dict[str, Any]:
    """Return a trigger under the API's names.

    Raises: InvalidArgument for a type that there is not.
    """
    named = _under_long_names(described)
    kind = str(named.get("triggerType") or "")
    if kind == _QUEUE_KIND:
        named |= {"triggerType": "eventbridge", "triggerConfig": _queue_config(named.pop("queue", None))}
    elif kind not in KINDS:
        types = sorted({*KINDS, _QUEUE_KIND})
        said = f"there is no type '{kind}'" if kind else "it has no type"
        near = suggestion(kind, types)
        raise InvalidArgument(f"{said}{near or '; the types are ' + ', '.join(types)}")
    config = named.get("triggerConfig")
    if isinstance(config, dict):
        named["triggerConfig"] = {str(key): value for key, value in config.items()}
    if "qualifier" in named:
        named["qualifier"] = str(named["qualifier"])
    return named


def _mistakes(described: Struct) -> list[str]:
    """Return a sentence about each unknown member of *described*, which is ignored."""
    named = _under_long_names(described)
    kind, config = str(named.get("triggerType")), named.get("triggerConfig")
    known = (*_KNOWN, "queue") if kind == _QUEUE_KIND else _KNOWN
    found = unknown_names(map(str, described), known)
    shape = trigger_type_of(kind).config if is_kind(kind) else None
    if isinstance(shape, Shape) and isinstance(config, dict):
        found += unknown_names(map(str, config), [each.name for each in shape])
    return [problem for problem, _ in found]


def _under_long_names(described: Struct) -> dict[str, Any]:
    """Return *described* under the API's names, which match in any case; null counts as absent."""
    return {_LONG.get(str(key).lower(), str(key)): value for key, value in described.items() if value is not None}


def _queue_config(queue: object) -> Struct:
    if not isinstance(queue, str) or not queue:
        raise InvalidArgument(f"queue is required for a trigger of type {_QUEUE_KIND}: the name of the queue")
    if not can_name_queue(queue):
        raise InvalidArgument(f"queue '{queue[:200]}' is invalid: a queue is named in letters, digits and '-'")
    parameters = {"QueueName": queue, "IsBase64Decode": True}
    source = {"eventSourceType": "MNS", "eventSourceParameters": {"sourceMNSParameters": parameters}}
    return {"triggerEnable": True, "eventRuleFilterPattern": "{}", "eventSourceConfig": source}
