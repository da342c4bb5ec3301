"""Applies snapshots of the functions folder to the store: new, changed and removed services, functions and aliases.

Functions of the folder are rows like all others, marked with their folder. A field that was changed over the API keeps
that value until the files change the same field: the later change wins.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.services.fc.catalog.declared import FileAlias
from emulator.services.fc.catalog.folder import FileFunction, FileService, Part, Snapshot, differing
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


_AT_ONCE = 50
"""How many parts of the folder `Loader.apply_in_turns` applies in one turn of the loop."""


class Applied(NamedTuple):
    """The functions of the folder that were applied, all versions, and the scopes they are from: None for all.

    ``places`` are those of the triggers of current versions, by service and function.
    """

    functions: list[Function]
    scopes: Collection[Scope] | None
    places: Mapping[tuple[str, str], tuple[str, ...]]


class Loader:
    """Applies snapshots of one functions folder to one tenant; *retire* ends the warm instances of functions."""

    def __init__(self, store: CatalogStore, ids: Ids, retire: Callable[[Iterable[str]], None], tenant: Tenant) -> None:
        self._store = store
        self._ids = ids
        self._retire = retire
        self._tenant = tenant
        self.snapshot = Snapshot()
        """The snapshot that was applied last."""
        self._aliases: dict[str, list[tuple[Scope, FileAlias]]] = {}
        self._logged: frozenset[str] = frozenset()
        self._known: Snapshot | None = None
        """The snapshot that the store is known to hold; None when that is unknown."""
        self._forgotten = 0

    def forget(self) -> None:
        """Forget which snapshot was applied, as the store was replaced: the next one is applied as a whole."""
        self._known = None
        self._forgotten += 1

    @property
    def problems(self) -> list[str]:
        """What is wrong with the files, each with its place; an alias is a problem until its versions are published."""
        aliases = (each for part in self._aliases.values() for each in part)
        dangling = [
            f"{alias.place}: the alias '{alias.name}' names the version {version_id}, which does not exist"
            for scope, alias in sorted(aliases, key=lambda each: (not each[0].service, each[1].file))
            for version_id in (alias.version_id, *alias.weights)
            if version_id != LATEST and self._store.version(self._tenant, scope, int(version_id)) is None
        ]
        return [*self.snapshot.warnings, *dangling]

    def apply(self, snapshot: Snapshot, now: Millis, again: Iterable[Scope] = ()) -> Applied:
        """Bring the store in line with *snapshot* and return what was applied.

        Only parts that differ from the snapshot before are applied, and the scopes to try *again*; after `forget`, all
        parts are. Instances of changed functions retire after the commit.
        """
        *_, applied = self._applying(snapshot, now, again)
        assert applied is not None
        return applied

    async def apply_in_turns(self, snapshot: Snapshot, now: Millis) -> Applied:
        """Do as `apply` in several turns of the loop; calls must wait meanwhile, as functions are applied in part."""
        for applied in self._applying(snapshot, now, ()):
            if applied is None:
                await asyncio.sleep(0)
        assert applied is not None
        return applied

    def _applying(self, snapshot: Snapshot, now: Millis, again: Iterable[Scope]) -> Iterator[Applied | None]:
        """Apply *snapshot*; yield None after each portion of parts, and the result at the end."""
        known, parts, forgotten = self._known, snapshot.parts, self._forgotten
        self.snapshot, self._known = snapshot, None
        scopes: Collection[Scope] | None = None
        paths: Collection[str] = parts
        if known is None:
            self._aliases.clear()
        else:
            wanted = set(again)
            paths = _different(known.parts, parts, map(snapshot.path_of, wanted))
            found = (part for path in paths for part in (known.parts.get(path), parts.get(path)) if part is not None)
            scopes = dict.fromkeys([*(scope for part in found for scope in part.scopes), *wanted])
        step = _Step(self._store, self._ids, self._tenant, now)
        for loaded in self._store.loaded(self._tenant, scopes):
            step.add(loaded)
            yield None
        chosen = [parts[path] for path in paths if path in parts]
        for number, part in enumerate(chosen, 1):
            step.part(part)
            if number % _AT_ONCE == 0:
                yield None
        step.remove_the_rest()
        if step.retired:
            self._retire(step.retired)
        for path in paths:
            self._aliases.pop(path, None)
            if path in parts and (aliases := list(parts[path].aliases)):
                self._aliases[path] = aliases
        problems = self.problems
        for problem in problems:
            if problem not in self._logged:
                _log.warning("functions folder: %s", problem)
        self._logged = frozenset(problems)
        if forgotten == self._forgotten:
            self._known = snapshot
        yield Applied(step.taken, scopes, step.places)


def _different(before: Mapping[str, Part], now: Mapping[str, Part], again: Iterable[str]) -> list[str]:
    """Return the paths of what differs, in the order of *before* and *now*, and those of *again*."""
    different = (path for path in differing(before, now) if before.get(path) != now.get(path))
    return list(dict.fromkeys((*different, *again)))


class _Step:
    """One application of a snapshot. Rows recorded by `add` that no `part` contains are removed at the end."""

    def __init__(self, store: CatalogStore, ids: Ids, tenant: Tenant, now: Millis) -> None:
        self._store = store
        self._ids = ids
        self._tenant = tenant
        self._now = now
        self._services: dict[str, Service] = {}
        self._functions: dict[tuple[str, str, int], Function] = {}
        self._versions: dict[tuple[Scope, int], Version] = {}
        self._aliases: dict[tuple[Scope, str], Alias] = {}
        self.retired: set[str] = set()
        self.taken: list[Function] = []
        self.places: dict[tuple[str, str], tuple[str, ...]] = {}

    def add(self, loaded: Loaded) -> None:
        """Record rows that earlier snapshots have stored."""
        self._services |= {service.name: service for service in loaded.services}
        self._functions |= {(each.service, each.name, each.version): each for each in loaded.functions}
        self._versions |= {(version.scope, version.number): version for version in loaded.versions}
        self._aliases |= {(alias.scope, alias.name): alias for alias in loaded.aliases}

    def part(self, part: Part) -> None:
        """Write the services, functions, versions and aliases of *part*, each after what it refers to."""
        for service in part.services:
            self.service(service)
        names: dict[int, list[str]] = {}
        for function in part.functions:
            self.function(function)
            names.setdefault(function.version, []).append(function.name)
            if function.places and not function.version:
                self.places[function.service, function.name] = function.places
        for service in part.services:
            for number in service.versions:
                self.version(service, number, sorted(names.get(number, ())))
        aliases: dict[Scope, list[FileAlias]] = {}
        for scope, alias in part.aliases:
            aliases.setdefault(scope, []).append(alias)
        for scope, entries in aliases.items():
            self.aliases(scope, entries)

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

    def aliases(self, scope: Scope, entries: Iterable[FileAlias]) -> None:
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
    """Return the fields of *config* that differ from the defaults: a folder joins a service made by the API."""
    return parse_values(config_json(config))
