"""The functions folder: which services, functions, versions and aliases its files describe.

::

    functions/
      shop/                    a service: it has functions in it, or a service.yml
        service.yml            fields of the API, and aliases
        Order/                 a function: code files directly in it, or a function.yml
          index.py, function.yml
        versions/1/Order/      version 1 of the service
      hello/                   a function without a service (3.0): code directly in it
        index.py
        versions/1/            version 1 of the function

An invalid file is a ``problem`` of its function, or a warning when it belongs to none. A snapshot is a plain value, so
changes are found by comparison.
"""

import os
from collections.abc import Iterator, Mapping
from itertools import chain, compress
from operator import attrgetter, is_not
from pathlib import Path
from typing import NamedTuple

from emulator.kernel.digits import read_digits
from emulator.kernel.frozen import field, frozen, replace
from emulator.services.fc import limits
from emulator.services.fc.catalog import fields
from emulator.services.fc.catalog.declared import (
    FileAlias,
    aliases_of,
    config_of,
    default_config,
    every_problem,
    service_of,
    triggers_of,
)
from emulator.services.fc.catalog.files import (
    SKIPPED,
    YamlFile,
    YamlFiles,
    entries,
    fingerprint,
    folders,
    is_function,
    lone_handler,
)
from emulator.services.fc.catalog.watching import EVERYTHING, Edits, Unwatched
from emulator.services.fc.codec import check_name
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import FunctionConfig, Scope, ServiceConfig, Struct, scope_of
from emulator.wire.schema.json_bodies import unknown_names
from emulator.wire.schema.kinds import Shape


@frozen
class FileFunction:
    """A function in the folder, as LATEST (``version`` 0) or in a version; ``service`` is empty for 3.0.

    ``places`` has the ``file:line`` of each of the ``triggers``.
    """

    service: str
    name: str
    version: int
    folder: str
    config: FunctionConfig
    checksum: str
    size: int
    problem: str = ""
    triggers: tuple[Struct, ...] = ()
    places: tuple[str, ...] = ()
    aliases: tuple[FileAlias, ...] = ()


@frozen
class FileService:
    """A service in the folder, and the numbers of its versions."""

    name: str
    folder: str
    config: ServiceConfig
    versions: tuple[int, ...] = ()
    aliases: tuple[FileAlias, ...] = ()


@frozen
class Part:
    """The content of one folder directly below the functions folder: a service with its functions, or a function.

    ``unusable`` maps (service, function) of bad folders to the reason.
    """

    services: tuple[FileService, ...]
    functions: tuple[FileFunction, ...]
    unusable: Mapping[tuple[str, str], str]
    warnings: tuple[str, ...]

    @property
    def scopes(self) -> Iterator[Scope]:
        """The scopes of its versions and aliases: services, then functions without one."""
        yield from (Scope(service=service.name) for service in self.services)
        yield from (scope_of(each.service, each.name) for each in self.functions)

    @property
    def aliases(self) -> Iterator[tuple[Scope, FileAlias]]:
        """The aliases in its files, each with its scope."""
        for service in self.services:
            yield from ((Scope(service=service.name), alias) for alias in service.aliases)
        for function in self.functions:
            yield from ((Scope(function=function.name), alias) for alias in function.aliases)


@frozen
class Snapshot:
    """The content of a functions folder: its parts by path. An unchanged part is the same object in the next snapshot.

    ``left_out`` are warnings about entries that belong to no part.
    """

    root: str = ""
    parts: Mapping[str, Part] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def path_of(self, scope: Scope) -> str:
        """Return the path that the part of a service or function has, or would have."""
        return os.path.join(self.root, scope.service or scope.function)  # noqa: PTH118 - a text, as the parts have them

    @property
    def services(self) -> tuple[FileService, ...]:
        """The services of all parts."""
        return tuple(service for part in self.parts.values() for service in part.services)

    @property
    def functions(self) -> tuple[FileFunction, ...]:
        """The functions of all parts."""
        return tuple(function for part in self.parts.values() for function in part.functions)

    def why_unusable(self, service: str, function: str) -> str | None:
        """Return why the folder of a function cannot be used, None for one that can, or is not there."""
        part = self.parts.get(self.path_of(scope_of(service, function)))
        return None if part is None else part.unusable.get((service, function))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the files, each with its place."""
        warnings = chain.from_iterable(map(attrgetter("warnings"), self.parts.values()))
        return tuple(dict.fromkeys((*self.left_out, *warnings)))


def differing(before: Mapping[str, Part], now: Mapping[str, Part]) -> list[str]:
    """Return the paths of removed parts, then of new and changed ones; parts are compared by identity, not content."""
    if list(before) == list(now):
        return list(compress(now, map(is_not, before.values(), now.values())))
    gone = (path for path in before if path not in now)
    return [*gone, *(path for path, part in now.items() if before.get(path) is not part)]


class _Shared(NamedTuple):
    """What a function takes over from the ``service.yml`` of its service: its problem, and environment variables."""

    problem: str = ""
    variables: Mapping[str, str] = {}


_ALONE = _Shared()
"""The value for a function without a service."""


class _Known(NamedTuple):
    """A function as it was read last, with the inputs of that reading, by which it is decided to read it again."""

    result: FileFunction
    warnings: tuple[str, ...]
    head: FileFunction | None
    shared: _Shared
    checksum: str
    rewritten: int


class FolderReader:
    """Reads a functions folder repeatedly, as far as `Edits` name it; unchanged files are not parsed twice.

    Used by one thread at a time.
    """

    def __init__(self, root: Path, watches: Unwatched | None = None) -> None:
        self.root = root.absolute()
        self._real_root = ""
        self._watches = watches or Unwatched()
        self._yaml = YamlFiles()
        self._edits: Edits = EVERYTHING
        self._parts: dict[str, Part] = {}
        self._left_out: list[str] = []
        self._known: dict[str, _Known] = {}
        self._services: list[FileService] = []
        self._functions: list[FileFunction] = []
        self._unusable: dict[tuple[str, str], str] = {}
        self._warnings: list[str] = []

    def read(self, edits: Edits = EVERYTHING) -> Snapshot:
        """Return the folder's content; an absent folder is empty. Parts outside *edits* are taken from the last read.

        Raises: OSError when nothing can be read at present, for want of file descriptors or memory; Unwatchable. The
        next call must then be for `EVERYTHING`.
        """
        self._edits = edits
        self._warnings = []
        self._watches.begin(self.root)
        self._real_root = os.path.realpath(self.root)
        edited = edits.folders(self.root)
        parts = self._read_all() if edited is None or not edited <= self._parts.keys() else self._read_some(edited)
        self._watches.end()
        for path in differing(self._parts, parts):
            if (before := self._parts.get(path)) is not None:
                left = {function.folder for function in parts[path].functions} if path in parts else frozenset()
                for function in before.functions:
                    if function.folder not in left:
                        self._known.pop(function.folder, None)
        self._parts = parts
        return Snapshot(root=str(self.root), parts=parts, left_out=tuple(dict.fromkeys(self._left_out)))

    def _read_all(self) -> dict[str, Part]:
        parts: dict[str, Part] = {}
        for entry in folders(self.root, self._follows):
            if entry.name == "versions":
                self._warnings.append(f"{entry.path} is left out: folders of this name hold versions")
            else:
                parts[entry.path] = self._part(entry.name, entry.path)
        self._warnings += [
            f"{entry.path} is left out: a function is a folder; move the file to {Path(entry.name).stem}/{index}"
            for entry in entries(self.root)
            if (index := lone_handler(entry)) and self._follows(entry)
        ]
        self._left_out = self._warnings
        return parts

    def _read_some(self, edited: set[str]) -> dict[str, Part]:
        """Read folders that are there already; nothing has come beside them, and nothing has gone."""
        self._watches.keep_all_but(edited)
        return self._parts | {path: self._part(os.path.basename(path), path) for path in edited}  # noqa: PTH119 - a text

    def _part(self, name: str, path: str) -> Part:
        """Read a folder directly below the functions folder."""
        known = self._parts.get(path)
        if self._is_the_same(path) and known is not None and not self._edits.within(path):
            self._watches.keep(path)
            return known
        outside = self._warnings
        self._services, self._functions, self._unusable, self._warnings = [], [], {}, []
        if not is_function(path):
            self._read_service(name, path)
        elif self._usable("", name, path):
            self._read_function("", name, path)
        part = Part(
            services=tuple(self._services), functions=tuple(self._functions), unusable=self._unusable,
            warnings=tuple(self._warnings),
        )  # fmt: skip
        self._warnings = outside
        return part

    def _read_service(self, name: str, path: str) -> None:
        functions = [entry for entry in self._functions_in(path, path) if entry.name != "versions"]
        versions = self._version_folders(path)
        settings = self._yaml.read(path, "service", anew=self._edits.written(path))
        if not (settings.stamp or functions or versions) or not self._usable(name, "", path):
            return
        config, problem = ServiceConfig(), settings.problem
        variables: Mapping[str, str] = {}
        aliases: tuple[FileAlias, ...] = ()
        try:
            config, variables = service_of(settings.content)
            aliases = aliases_of(settings)
        except InvalidArgument as error:
            problem = settings.placed(error)
        self._warn(problem, settings, fields.SERVICE_FILE, {"aliases"})
        shared = _Shared(problem, variables)
        numbers = tuple(number for number, _ in versions)
        self._services.append(FileService(name=name, folder=path, config=config, versions=numbers, aliases=aliases))
        heads = {}
        for entry in functions:
            if self._usable(name, entry.name, entry.path):
                heads[entry.name] = self._read_function(name, entry.name, entry.path, shared)
        for number, version_path in versions:
            for entry in self._functions_in(version_path, path):
                if self._usable(name, entry.name, entry.path):
                    head = heads.get(entry.name)
                    self._functions.append(self._function(name, entry.name, number, entry.path, head, shared))

    def _folders(self, path: str, part: str) -> Iterator[os.DirEntry[str]]:
        """Return the folders in the folder *path*, which is watched on behalf of *part* from now on."""
        self._watches.folder(path, part)
        return folders(path, self._follows)

    def _functions_in(self, path: str, part: str) -> list[os.DirEntry[str]]:
        found = list(self._folders(path, part))
        for entry in found:
            self._is_the_same(entry.path)
        return [entry for entry in found if is_function(entry.path)]

    def _is_the_same(self, path: str) -> bool:
        """Watch the folder of a part; False when another folder had this path, whose function is forgotten."""
        same = self._watches.part(path)
        if not same:
            self._known.pop(path, None)
        return same

    def _read_function(self, service: str, name: str, path: str, shared: _Shared = _ALONE) -> FileFunction:
        head = self._function(service, name, 0, path, None, shared)
        self._functions.append(head)
        if not service:
            for number, version_path in self._version_folders(path):
                self._is_the_same(version_path)
                self._functions.append(self._function("", name, number, version_path, head, shared))
        return head

    def _function(
        self, service: str, name: str, version: int, path: str, head: FileFunction | None, shared: _Shared
    ) -> FileFunction:
        """Return the function in the folder *path*, read anew only if the folder may have changed."""
        known = self._known.get(path)
        if known is not None and known.head == head and known.shared == shared and not self._edits.at(path):
            self._warnings += known.warnings
            return known.result
        before = len(self._warnings)
        self._watches.renew(path)
        self._watches.part(path)
        file = self._read_files(service, name, version, path, head, shared)
        rewritten = 0
        if known is not None and known.checksum == file.checksum:  # of another size, or a tick of the clock later
            rewritten = known.rewritten + self._edits.written(path)
        self._known[path] = _Known(
            replace(file, checksum=f"{int(file.checksum) + rewritten}"), tuple(self._warnings[before:]),
            head, shared, file.checksum, rewritten,
        )  # fmt: skip
        return self._known[path].result

    def _read_files(
        self, service: str, name: str, version: int, path: str, head: FileFunction | None, shared: _Shared
    ) -> FileFunction:
        settings = self._yaml.read(path, "function", anew=self._edits.written(path))
        skipped = SKIPPED if service else SKIPPED | {"versions"}
        checksum, size = fingerprint(path, skipped, self._follows, self._watches)
        rows = fields.FUNCTION_2 if service else fields.FUNCTION_3
        config, problem = default_config(service, path), shared.problem
        triggers: tuple[Struct, ...] = ()
        aliases: tuple[FileAlias, ...] = ()
        if settings.stamp is not None:
            problem = problem or settings.problem
            try:
                triggers = triggers_of(
                    settings.content.get("triggers")
                )  # theirs are looked for with the other mistakes
                config = config_of(rows, config, settings.content)
                if not service and not version:
                    aliases = aliases_of(settings)
            except InvalidArgument as error:
                problem = problem or settings.placed(error)
            self._warn(problem, settings, rows, {"triggers", *(() if service else ("aliases",))})
        elif head is not None:
            config, problem = head.config, problem or head.problem
        if shared.variables:
            config = replace(config, environment={**shared.variables, **config.environment})
        places = tuple(settings.place("triggers", str(number)) for number in range(len(triggers)))
        return FileFunction(
            service=service, name=name, version=version, folder=path, config=config, checksum=checksum, size=size,
            problem=problem, triggers=triggers, places=places, aliases=aliases,
        )  # fmt: skip

    def _follows(self, entry: os.DirEntry[str]) -> bool:
        """Whether an entry is no link that leads out of the functions folder; such a link is refused with a warning."""
        if not entry.is_symlink():
            return True
        target = os.path.realpath(entry.path)
        if f"{target}{os.sep}".startswith(self._real_root + os.sep):
            return True
        self._warnings.append(f"{entry.path} is left out: it is a link to {target}, outside of the functions folder")
        return False

    def _usable(self, service: str, function: str, path: str) -> bool:
        longest = limits.FUNCTION_NAME_LENGTH if function else limits.SERVICE_NAME_LENGTH
        try:
            check_name(function or service, "name", longest)
        except InvalidArgument as error:
            self._unusable[(service, function)] = f"{path}: {error.message}"
            self._warnings.append(f"{path} is left out: {error.message}")
            return False
        return True

    def _warn(self, problem: str, settings: YamlFile, known: Shape, more: set[str]) -> None:
        """Warn of a problem with all others, and of unknown names: a typing mistake would otherwise go unnoticed."""
        unknown = unknown_names(settings.content, [*(field.name for field in known), *more, *fields.DEPLOYED])
        deployed = "the field '{name}' is ignored here; localyun deploy reads it in an s.yaml"
        unknown += [(deployed.format(name=name), name) for name in fields.DEPLOYED if name in settings.content]
        if problem:
            every = list(every_problem(known, settings))
            self._warnings += every if problem in every else [problem, *every]
        self._warnings += [f"{settings.place(name)}: {each}" for each, name in unknown]

    def _version_folders(self, path: str) -> list[tuple[int, str]]:
        numbered = []
        for entry in self._folders(str(Path(path, "versions")), path):
            if number := read_digits(entry.name, limits.VERSION_ID_DIGITS):
                numbered.append((number, entry.path))
            else:
                self._warnings.append(f"{entry.path} is left out: a version is a number from 1 on")
        return sorted(numbered)
