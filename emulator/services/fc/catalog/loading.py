"""The functions folder is watched, and the store brought in line with it: what is new, what changed, what is gone.

Folder functions are rows like all others, marked with the folder they came from. What an API update laid over one
stays until the files themselves say something else about the same field: the last word counts.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.services.fc.catalog.folder import FileAlias, FileFunction, FileService, Snapshot
from emulator.services.fc.catalog.store import CatalogStore, Loaded
from emulator.services.fc.model import (
    LATEST,
    Alias,
    Code,
    Function,
    FunctionConfig,
    Scope,
    Service,
    ServiceConfig,
    Version,
    config_json,
    content_of,
    family,
    parse_values,
    scope_of,
)

_log = logging.getLogger(__name__)

C = TypeVar("C", ServiceConfig, FunctionConfig)


_Parts = dict[tuple[str, str], list[FileService | FileFunction]]
"""What belongs together, as it refers to one another: a service with its functions, or a function, all versions."""


class Applied(NamedTuple):
    """The functions of the folder that were applied, all versions, and the scopes they are from: None for all."""

    functions: list[Function]
    scopes: Collection[Scope] | None


class Loader:
    """Applies snapshots of one functions folder to one tenant; *retire* ends the warm instances of functions."""

    def __init__(self, store: CatalogStore, ids: Ids, retire: Callable[[Iterable[str]], None], tenant: Tenant) -> None:
        self._store = store
        self._ids = ids
        self._retire = retire
        self._tenant = tenant
        self.snapshot = Snapshot()
        """What was applied last."""
        self._logged: frozenset[str] = frozenset()
        self._parts: _Parts | None = None
        """What the store is known to hold."""

    def forget(self) -> None:
        """Apply the next snapshot as a whole: the store may hold anything."""
        self._parts = None

    @property
    def problems(self) -> list[str]:
        """What is wrong with the files, each with its place; an alias is right once its versions are published."""
        scopes: list[tuple[Scope, tuple[FileAlias, ...]]] = [
            *((Scope(service=service.name), service.aliases) for service in self.snapshot.services),
            *((Scope(function=each.name), each.aliases) for each in self.snapshot.functions if each.aliases),
        ]
        dangling = [
            f"{alias.place}: the alias '{alias.name}' names the version {version_id}, which does not exist"
            for scope, aliases in scopes
            for alias in aliases
            for version_id in (alias.version_id, *alias.weights)
            if version_id != LATEST and self._store.version(self._tenant, scope, int(version_id)) is None
        ]
        return [*self.snapshot.warnings, *dangling]

    def apply(self, snapshot: Snapshot, now: Millis, again: Iterable[Scope] = ()) -> Applied:
        """Change the store to what *snapshot* holds and return what was applied.

        That is what differs from the snapshot before, and the scopes to try *again*; after `forget`, all of it.
        Instances of changed functions retire after the commit.
        """
        known, parts = self._parts, _parts(snapshot)
        self.snapshot, self._parts = snapshot, None
        keys = None if known is None else _different(known, parts, again)
        scopes = None if keys is None else [Scope(*key) for key in keys]
        files = [file for key in (parts if keys is None else keys) for file in parts.get(key, ())]
        services = [file for file in files if isinstance(file, FileService)]
        functions = [file for file in files if isinstance(file, FileFunction)]
        step = _Step(self._store, self._ids, self._tenant, self._store.loaded(self._tenant, scopes), now)
        for service in services:
            step.service(service)
        names: dict[tuple[str, int], list[str]] = {}
        for function in functions:
            step.function(function)
            names.setdefault((function.service, function.version), []).append(function.name)
        for function in functions:
            step.aliases(Scope(function=function.name), function.aliases)
        for service in services:
            for number in service.versions:
                step.version(service, number, sorted(names.get((service.name, number), ())))
            step.aliases(Scope(service=service.name), service.aliases)
        step.remove_the_rest()
        if step.retired:
            self._retire(step.retired)
        problems = self.problems
        for problem in problems:
            if problem not in self._logged:
                _log.warning("functions folder: %s", problem)
        self._logged = frozenset(problems)
        self._parts = parts
        return Applied(step.taken, scopes)


def _parts(snapshot: Snapshot) -> _Parts:
    found: _Parts = {}
    for service in snapshot.services:
        found.setdefault((service.name, ""), []).append(service)
    for function in snapshot.functions:
        key = (function.service, "") if function.service else ("", function.name)
        found.setdefault(key, []).append(function)
    return found


def _different(before: _Parts, now: _Parts, again: Iterable[Scope]) -> list[tuple[str, str]]:
    """Return the keys of what differs, in the order of *before* and *now*, and those of *again*."""
    wanted = {(each.service, each.function) for each in again}
    return [key for key in {**before, **now} if before.get(key) != now.get(key) or key in wanted]


class _Step:
    """One application of a snapshot. What it has not come across at the end is gone from the folder."""

    def __init__(self, store: CatalogStore, ids: Ids, tenant: Tenant, loaded: Loaded, now: Millis) -> None:
        self._store = store
        self._ids = ids
        self._tenant = tenant
        self._now = now
        self._services = dict(loaded.services)
        self._functions = dict(loaded.functions)
        self._versions = dict(loaded.versions)
        self._aliases = dict(loaded.aliases)
        self.retired: set[str] = set()
        self.taken: list[Function] = []

    def service(self, file: FileService) -> None:
        old = self._services.pop(file.name, None) or self._store.service(self._tenant, file.name)
        changed: Mapping[str, Any] = {}
        if old is not None:
            changed = _still_laid_over(old.changed, old.base, file.config) if old.folder else _not_default(old.config)
        before = old or Service(
            name=file.name, id=self._ids.uuid(), config=file.config, created_at=self._now, modified_at=self._now
        )
        new = replace(
            before, config=replace(file.config, **changed), folder=file.folder, base=file.config, changed=changed,
            last_version=max([before.last_version, *file.versions]),
        )  # fmt: skip
        if new == old:
            return
        if old is not None:
            new = new.updated(self._now)
            heads = self._store.functions(self._tenant, file.name, 0)
            self.retired.update(family(self._tenant, file.name, function.name, 0) for function in heads)
        self._store.put_service(self._tenant, new)

    def function(self, file: FileFunction) -> None:
        key = (file.service, file.name, file.version)
        old = self._functions.pop(key, None)
        if old is None:
            old = self._store.function(self._tenant, *key)
            if old is not None and file.version:
                _log.warning("functions folder: %s is left out: the API has published that version", file.folder)
                return
            if old is not None:
                _log.warning("functions folder: %s takes the place of the function made by the API", file.folder)
        head = self._store.function(self._tenant, file.service, file.name) if file.version else None
        code = Code(checksum=file.checksum, size=file.size, folder=file.folder)
        changed = _still_laid_over(old.changed, old.base, file.config) if old and old.folder else {}
        before = old or Function(
            service=file.service, name=file.name, version=file.version, id=head.id if head else self._ids.uuid(),
            config=file.config, code=code, created_at=self._now, modified_at=self._now,
        )  # fmt: skip
        new = replace(
            before, config=replace(file.config, **changed), code=code, folder=file.folder, base=file.config,
            changed=changed, problem=file.problem, triggers=file.triggers,
        )  # fmt: skip
        if file.version and not file.service:
            self._write_version(new.scope, file.version, None, [new], file.folder)
            if head is not None and head.last_version < file.version:  # the head remembers the highest number
                self._store.put_function(self._tenant, replace(head, last_version=file.version))
        if new != old:
            if old is not None:
                new = new.updated(self._now)
                self.retired.add(family(self._tenant, *key))
            self._store.put_function(self._tenant, new)
        self.taken.append(new)

    def version(self, service: FileService, number: int, names: list[str]) -> None:
        """Write a version of a service, which froze the functions *names*."""
        frozen = [self._store.function(self._tenant, service.name, name, number) for name in names]
        rows = [row for row in frozen if row is not None]
        folder = f"{service.folder}/versions/{number}"
        self._write_version(Scope(service=service.name), number, service.config, rows, folder)

    def _write_version(
        self, scope: Scope, number: int, config: ServiceConfig | None, rows: list[Function], folder: str
    ) -> None:
        old = self._versions.pop((scope, number), None)
        if old is None and self._store.version(self._tenant, scope, number) is not None:
            return
        content = content_of(config, rows)
        before = old or Version(
            scope=scope, number=number, description="", config=config, content=content, created_at=self._now,
            modified_at=self._now,
        )  # fmt: skip
        new = replace(before, config=config, content=content, folder=folder)
        if new != old:
            self._store.put_version(self._tenant, replace(new, modified_at=self._now))

    def aliases(self, scope: Scope, entries: tuple[FileAlias, ...]) -> None:
        for entry in entries:
            old = self._aliases.pop((scope, entry.name), None) or self._store.alias(self._tenant, scope, entry.name)
            before = old or Alias(
                scope=scope, name=entry.name, id=self._ids.uuid(), version_id=entry.version_id, created_at=self._now,
                modified_at=self._now,
            )  # fmt: skip
            new = replace(
                before, version_id=entry.version_id, weights=entry.weights, description=entry.description,
                folder=entry.file,
            )  # fmt: skip
            if new != old:
                self._store.put_alias(self._tenant, new if old is None else new.updated(self._now))

    def remove_the_rest(self) -> None:
        for scope, name in self._aliases:
            self._store.delete_alias(self._tenant, scope, name)
        for scope, number in self._versions:
            self._store.delete_version(self._tenant, scope, number)
        for service, name, version in self._functions:
            self._store.delete_function(self._tenant, service, name, version)
            self.retired.add(family(self._tenant, service, name, version))
            if not service and not version:
                self._store.delete_scope(self._tenant, scope_of(service, name))
        for name, old in self._services.items():
            if self._store.remains(self._tenant, name):  # something made by the API lives on in it
                self._store.put_service(self._tenant, replace(old, folder="", base=None, changed={}))
            else:
                self._store.delete_service(self._tenant, name)


def _still_laid_over(changed: Mapping[str, Any], before: C | None, now: C) -> dict[str, Any]:
    """Return the API's changes without those on fields the files have since been edited in."""
    return {name: value for name, value in changed.items() if getattr(before, name, None) == getattr(now, name)}


def _not_default(config: ServiceConfig) -> dict[str, Any]:
    """Return what differs from the defaults, for a service of the API that a folder joins."""
    return parse_values(config_json(config))
