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

What cannot be used is a `problem` of the function, or a warning when there is no function to blame; reading fails only
where the system cannot read anything at present. A snapshot is a plain value, so "has anything changed?" is a
comparison. YAML is imported when the first file needs it.
"""

import errno
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from emulator.kernel.frozen import field, frozen
from emulator.services.fc import limits
from emulator.services.fc.attributes import (
    NEWEST_PYTHON,
    Field,
    check_alias_name,
    check_name,
    check_weights,
    is_custom,
    read,
    unknown_names,
    version_or_latest,
)
from emulator.services.fc.catalog import fields
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import FunctionConfig, ServiceConfig, Struct

_CODE_SUFFIXES = frozenset({".py", ".js", ".mjs", ".cjs", ".php", ".jar", ".class", ".dll", ".so", ".go", ".rb", ".sh"})
_CODE_NAMES = frozenset({"bootstrap", "main"})
SKIPPED = frozenset({"__pycache__", "node_modules"})
"""Folders whose files never count as a function's own."""

_NOT_NOW = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.EAGAIN, errno.EIO})
"""Errors that say nothing about a file."""

_DEEPEST = 12
_MOST_FILES = 5000
"""Beyond this many files of one function edits are noticed by its folders only, to keep watching cheap."""


class YamlFile(NamedTuple):
    """A YAML file that was read: its fields and their lines, or what is wrong with it (then there are no fields)."""

    file: str
    stamp: tuple[int, int]
    content: Mapping[str, Any]
    problem: str
    lines: Mapping[tuple[str, ...], int] = {}

    def place(self, *path: str) -> str:
        """Return where the value at *path* stands, as ``file:line``; of the whole file where there is no such value."""
        line = self.lines.get(path)
        return f"{self.file}:{line}" if line else self.file

    def told(self, error: InvalidArgument) -> str:
        """Return an error that begins with the name of a field, with its place."""
        name = re.split(r"[ .\[]", error.message, maxsplit=1)[0].lower()
        field = next((key for key in self.content if key.lower() == name), "")
        return f"{self.place(field)}: {error.message}"


class YamlFiles:
    """Reads YAML files; one that has not changed is not parsed again."""

    def __init__(self) -> None:
        self._parsed: dict[str, YamlFile] = {}

    def read(self, path: str, name: str) -> YamlFile | None:
        """Return ``name.yml`` (or ``name.yaml``) in the folder *path*, None when there is neither."""
        file = yaml_path(path, name)
        try:
            status = os.stat(file)  # noqa: PTH116 - see above
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._parsed.get(file)
        if known is None or known.stamp != stamp:
            known = self._parsed[file] = _parse(file, stamp)
        return known


def _parse(file: str, stamp: tuple[int, int]) -> YamlFile:
    from emulator.wire.yaml import UnreadableYaml, read_document  # only a folder with a yml file pays for it

    try:
        content, marks = read_document(Path(file).read_bytes())
    except UnreadableYaml as error:
        return YamlFile(file, stamp, {}, f"{file}:{error.line}:{error.column}: {error.problem}")
    except OSError as error:
        if error.errno in _NOT_NOW:
            raise
        return YamlFile(file, stamp, {}, f"{file}: {error}")
    if content is None:
        return YamlFile(file, stamp, {}, "")
    if not isinstance(content, dict):
        return YamlFile(file, stamp, {}, f"{file}: it must hold fields with values")
    try:  # what goes into the store is JSON: dates become texts, keys too, and nothing contains itself
        content = json.loads(json.dumps(content, default=str))
    except (ValueError, TypeError, RecursionError) as error:
        return YamlFile(file, stamp, {}, f"{file}: {error}")
    return YamlFile(file, stamp, content, "", {path: mark.line for path, mark in marks.items()})


def yaml_path(path: str, name: str) -> str:
    """Return the path of ``name.yml`` in the folder *path*, or of ``name.yaml`` when only that is there."""
    file = f"{path}{os.sep}{name}.yml"
    if not os.path.exists(file) and os.path.exists(file[:-3] + "yaml"):  # noqa: PTH110 - see above
        return file[:-3] + "yaml"
    return file


def entries(path: str | Path) -> list[os.DirEntry[str]]:
    """Return the visible entries of a folder by name, none when it cannot be read.

    Raises: OSError when nothing can be read at present.
    """
    try:
        with os.scandir(path) as listing:
            return sorted((entry for entry in listing if entry.name[0] != "."), key=lambda entry: entry.name)
    except OSError as error:
        if error.errno in _NOT_NOW:
            raise
        return []


Follow = Callable[["os.DirEntry[str]"], bool]
"""Whether an entry is followed when it is a link."""


def folders(path: str | Path, follow: Follow) -> Iterator[os.DirEntry[str]]:
    """Return the folders in a folder by name."""
    return (entry for entry in entries(path) if entry.name != "__pycache__" and _is_folder(entry) and follow(entry))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_function(path: str) -> bool:
    """Whether a folder is a function: it has a function.yml, or code and no service.yml."""
    names = {entry.name for entry in entries(path) if not _is_folder(entry)}
    if names & {"function.yml", "function.yaml"}:
        return True
    if names & {"service.yml", "service.yaml"}:
        return False
    return any(name in _CODE_NAMES or os.path.splitext(name)[1] in _CODE_SUFFIXES for name in names)  # noqa: PTH122 - see above


def fingerprint(path: str, skipped: frozenset[str], follow: Follow) -> tuple[str, int]:
    """Return a text that changes with every edit below *path*, shaped like a code checksum, and the size of the files.

    Names, sizes and times stand for the content. Folders in *skipped* (caches, installed modules, the versions beside
    a 3.0 function's code) are not followed, nor are links that *follow* is against.
    """
    seen: list[str] = []
    size = 0
    followed: set[int] = set()  # a link may lead back up
    pending = [(path, "", 0)]
    while pending:
        folder, prefix, depth = pending.pop()
        for entry in entries(folder):
            if entry.name not in skipped and not follow(entry):
                continue
            try:
                status = entry.stat()
            except OSError:
                continue  # gone since it was listed, or a dangling link
            relative = prefix + entry.name
            if stat.S_ISDIR(status.st_mode):
                if entry.name in skipped:
                    if entry.name == "node_modules":
                        seen.append(f"{relative} {status.st_mtime_ns}")
                elif depth < _DEEPEST and len(seen) < _MOST_FILES and status.st_ino not in followed:
                    followed |= {status.st_ino} - {0}  # 0 where the system has no such number
                    pending.append((entry.path, relative + "/", depth + 1))
                continue
            size += status.st_size
            seen.append(f"{relative} {status.st_size} {status.st_mtime_ns} {status.st_mode & 0o111}")
    digest = sha256("\n".join(sorted(seen)).encode("utf-8", "surrogateescape")).digest()
    return str(int.from_bytes(digest[:8], "big")), size


@frozen
class FileAlias:
    """An alias a file names."""

    name: str
    version_id: str
    weights: Mapping[str, float]
    description: str
    file: str


@frozen
class FileFunction:
    """A function a folder holds, as LATEST (``version`` 0) or in a version; ``service`` is empty for 3.0.

    ``places`` says for each of the ``triggers`` where it stands.
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
    """A service a folder holds, and the numbers of its versions."""

    name: str
    folder: str
    config: ServiceConfig
    versions: tuple[int, ...] = ()
    aliases: tuple[FileAlias, ...] = ()


@frozen
class Snapshot:
    """All a functions folder says. ``unusable`` maps (service, function) of bad folders to the reason."""

    services: tuple[FileService, ...] = ()
    functions: tuple[FileFunction, ...] = ()
    unusable: Mapping[tuple[str, str], str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class FolderReader:
    """Reads a functions folder again and again; files that have not changed are not parsed twice.

    Used by one thread at a time.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self._real_root = ""
        self._yaml = YamlFiles()
        self._services: list[FileService] = []
        self._functions: list[FileFunction] = []
        self._unusable: dict[tuple[str, str], str] = {}
        self._warnings: list[str] = []

    def read(self) -> Snapshot:
        """Return what the folder holds now; an absent folder holds nothing.

        Raises: OSError when nothing can be read at present, for want of file descriptors or memory.
        """
        self._services, self._functions, self._unusable, self._warnings = [], [], {}, []
        self._real_root = os.path.realpath(self._root)
        for entry in folders(self._root, self._follows):
            name = entry.name
            if name == "versions":
                continue
            if is_function(entry.path):
                if self._usable("", name, entry.path):
                    self._read_function("", name, entry.path)
            else:
                self._read_service(name, entry.path)
        return Snapshot(
            services=tuple(self._services),
            functions=tuple(self._functions),
            unusable=dict(self._unusable),
            warnings=tuple(self._warnings),
        )

    def _read_service(self, name: str, path: str) -> None:
        functions = [
            entry for entry in folders(path, self._follows) if entry.name != "versions" and is_function(entry.path)
        ]
        versions = self._version_folders(path)
        settings = self._yaml.read(path, "service")
        if settings is None and not functions and not versions:
            return
        if not self._usable(name, "", path):
            return
        content, problem = (settings.content, settings.problem) if settings else ({}, "")
        config = ServiceConfig()
        aliases: tuple[FileAlias, ...] = ()
        try:
            config = ServiceConfig(**read(fields.SERVICE, content))
            aliases = _aliases(content.get("aliases"), yaml_path(path, "service"))
        except InvalidArgument as error:
            problem = settings.told(error) if settings else error.message
        if problem:
            self._warnings.append(problem)
        if settings:
            self._warn_unknown(settings, fields.SERVICE, {"aliases"})
        numbers = tuple(number for number, _ in versions)
        self._services.append(FileService(name=name, folder=path, config=config, versions=numbers, aliases=aliases))
        heads = {}
        for entry in functions:
            if self._usable(name, entry.name, entry.path):
                heads[entry.name] = self._read_function(name, entry.name, entry.path, problem)
        for number, version_path in versions:
            for entry in folders(version_path, self._follows):
                if is_function(entry.path) and self._usable(name, entry.name, entry.path):
                    version = self._function(name, entry.name, number, entry.path, heads.get(entry.name), problem)
                    self._functions.append(version)

    def _read_function(self, service: str, name: str, path: str, problem: str = "") -> FileFunction:
        head = self._function(service, name, 0, path, None, problem)
        self._functions.append(head)
        if not service:
            for number, version_path in self._version_folders(path):
                self._functions.append(self._function("", name, number, version_path, head, ""))
        return head

    def _function(
        self, service: str, name: str, version: int, path: str, head: FileFunction | None, problem: str
    ) -> FileFunction:
        settings = self._yaml.read(path, "function")
        skipped = SKIPPED if service else SKIPPED | {"versions"}
        checksum, size = fingerprint(path, skipped, self._follows)
        config = _default_config(service, path)
        triggers: tuple[Struct, ...] = ()
        places: tuple[str, ...] = ()
        aliases: tuple[FileAlias, ...] = ()
        if settings is None and head is not None:
            config, problem = head.config, problem or head.problem
        elif settings is not None:
            problem = problem or settings.problem
            try:
                config = _config(service, config, settings.content)
                triggers = _triggers(settings.content.get("triggers"))
                places = tuple(settings.place("triggers", str(number)) for number in range(len(triggers)))
                if not service and not version:
                    aliases = _aliases(settings.content.get("aliases"), yaml_path(path, "function"))
            except InvalidArgument as error:
                problem = problem or settings.told(error)
            if problem:
                self._warnings.append(problem)
            known, more = (fields.FUNCTION_2, set()) if service else (fields.FUNCTION_3, {"aliases"})
            self._warn_unknown(settings, known, {"triggers", *more})
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

    def _warn_unknown(self, settings: YamlFile, known: tuple[Field, ...], more: set[str]) -> None:
        """Warn of unknown names: a typing mistake would otherwise go unnoticed."""
        names = [*(field.wire for field in known), *more]
        for problem, name in unknown_names(settings.content, names):
            self._warnings.append(f"{settings.place(name)}: {problem}")

    def _version_folders(self, path: str) -> list[tuple[int, str]]:
        numbered = []
        for entry in folders(str(Path(path, "versions")), self._follows):
            name = entry.name
            if name.isascii() and name.isdigit() and 0 < len(name) <= limits.VERSION_ID_DIGITS and int(name) > 0:
                numbered.append((int(name), entry.path))
            else:
                self._warnings.append(f"{entry.path} is left out: a version is a number from 1 on")
        return sorted(numbered)


def _config(service: str, default: FunctionConfig, content: Mapping[str, Any]) -> FunctionConfig:
    content = dict(content)
    variables = content.get("environmentVariables")
    if isinstance(variables, dict):  # YAML reads 8080 and yes as what they are; variables are texts
        content["environmentVariables"] = {str(key): _as_text(value) for key, value in variables.items()}
    rows = fields.FUNCTION_2 if service else fields.FUNCTION_3
    values = read(rows, content)
    values.setdefault("runtime", default.runtime)
    values.setdefault("handler", "" if is_custom(values["runtime"]) else default.handler)
    config = FunctionConfig(**values)
    fields.check_together(config)
    return config


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def _default_config(service: str, path: str) -> FunctionConfig:
    """Return the newest Python with ``index.handler``, or Node.js where only an ``index.js`` is."""
    runtime = NEWEST_PYTHON["2.0" if service else "3.0"]
    names = {entry.name for entry in entries(path)}
    if "index.py" not in names and names & {"index.js", "index.mjs", "index.cjs"}:
        runtime = "nodejs20"
    elif "bootstrap" in names and not any(name.endswith(".py") for name in names):
        runtime = "custom.debian10" if service else "custom.debian12"
    return FunctionConfig(runtime=runtime, handler="index.handler")


def _triggers(value: Any) -> tuple[Struct, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InvalidArgument("triggers must be a list of objects")
    return tuple(value)


def _aliases(value: Any, file: str) -> tuple[FileAlias, ...]:
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise InvalidArgument("aliases must map names to versions")
    aliases = []
    weights = "additionalVersionWeight"
    for name, target in value.items():
        target = target if isinstance(target, dict) else {"versionId": target}
        aliases.append(
            FileAlias(
                name=check_alias_name(name, "alias"),
                version_id=version_or_latest(target.get("versionId"), f"aliases.{name}.versionId"),
                weights=check_weights(target.get(weights) or {}, f"aliases.{name}.{weights}"),
                description=str(target.get("description") or ""),
                file=file,
            )
        )
    return tuple(sorted(aliases, key=lambda alias: alias.name))
