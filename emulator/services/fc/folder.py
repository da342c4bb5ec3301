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

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from emulator.kernel.frozen import frozen
from emulator.services.fc import checks, fields, limits
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.folder_files import SKIPPED, YamlFiles, entries, fingerprint, folders, is_function, yaml_path
from emulator.services.fc.model import FunctionConfig, ServiceConfig, Struct
from emulator.services.fc.versions import check_weights


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
    """A function a folder holds, as LATEST (``version`` 0) or in a version; ``service`` is empty for 3.0."""

    service: str
    name: str
    version: int
    folder: str
    config: FunctionConfig
    checksum: str
    size: int
    problem: str = ""
    triggers: tuple[Struct, ...] = ()
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
        for entry in folders(self._root):
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

    # --- services ------------------------------------------------------------------------------------------------

    def _read_service(self, name: str, path: str) -> None:
        functions = [entry for entry in folders(path) if entry.name != "versions" and is_function(entry.path)]
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
            config = ServiceConfig(**fields.read(fields.SERVICE, content))
            aliases = _aliases(content.get("aliases"), yaml_path(path, "service"))
        except InvalidArgument as error:
            problem = f"{yaml_path(path, 'service')}: {error.message}"
        if problem:
            self._warnings.append(problem)
        self._warn_unknown(content, fields.SERVICE, {"aliases"}, yaml_path(path, "service"))
        numbers = tuple(number for number, _ in versions)
        self._services.append(FileService(name=name, folder=path, config=config, versions=numbers, aliases=aliases))
        heads = {}
        for entry in functions:
            if self._usable(name, entry.name, entry.path):
                heads[entry.name] = self._read_function(name, entry.name, entry.path, problem)
        for number, version_path in versions:
            for entry in folders(version_path):
                if is_function(entry.path) and self._usable(name, entry.name, entry.path):
                    self._read_version(name, entry.name, number, entry.path, heads.get(entry.name), problem)

    # --- functions -----------------------------------------------------------------------------------------------

    def _read_function(self, service: str, name: str, path: str, problem: str = "") -> FileFunction:
        head = self._function(service, name, 0, path, None, problem)
        self._functions.append(head)
        if not service:
            for number, version_path in self._version_folders(path):
                self._read_version("", name, number, version_path, head, "")
        return head

    def _read_version(
        self, service: str, name: str, number: int, path: str, head: FileFunction | None, problem: str
    ) -> None:
        self._functions.append(self._function(service, name, number, path, head, problem))

    def _function(
        self, service: str, name: str, version: int, path: str, head: FileFunction | None, problem: str
    ) -> FileFunction:
        settings = self._yaml.read(path, "function")
        skipped = SKIPPED if service else SKIPPED | {"versions"}
        checksum, size = fingerprint(path, skipped)
        config = _default_config(service, path)
        triggers: tuple[Struct, ...] = ()
        aliases: tuple[FileAlias, ...] = ()
        if settings is None and head is not None:
            config, problem = head.config, problem or head.problem
        elif settings is not None:
            problem = problem or settings.problem
            try:
                config = _config(service, config, settings.content)
                triggers = _triggers(settings.content.get("triggers"))
                if not service and not version:
                    aliases = _aliases(settings.content.get("aliases"), yaml_path(path, "function"))
            except InvalidArgument as error:
                problem = problem or f"{yaml_path(path, 'function')}: {error.message}"
            if problem:
                self._warnings.append(problem)
            known, more = (fields.FUNCTION_2, set()) if service else (fields.FUNCTION_3, {"aliases"})
            self._warn_unknown(settings.content, known, {"triggers", *more}, yaml_path(path, "function"))
        return FileFunction(
            service=service, name=name, version=version, folder=path, config=config, checksum=checksum, size=size,
            problem=problem, triggers=triggers, aliases=aliases,
        )  # fmt: skip

    # --- pieces --------------------------------------------------------------------------------------------------

    def _usable(self, service: str, function: str, path: str) -> bool:
        longest = limits.FUNCTION_NAME_LENGTH if function else limits.SERVICE_NAME_LENGTH
        try:
            checks.name(function or service, "name", longest)
        except InvalidArgument as error:
            self._unusable[(service, function)] = f"{path}: {error.message}"
            self._warnings.append(f"{path} is left out: {error.message}")
            return False
        return True

    def _warn_unknown(
        self, content: Mapping[str, Any], known: tuple[fields.Field, ...], more: set[str], place: str
    ) -> None:
        """Say which names mean nothing here: a typing mistake would otherwise pass in silence."""
        names = {field.wire.lower() for field in known} | more
        for name in content:
            if name.lower() not in names:
                self._warnings.append(f"{place}: the field '{name}' is not known and ignored")

    def _version_folders(self, path: str) -> list[tuple[int, str]]:
        found = []
        for entry in folders(str(Path(path, "versions"))):
            name = entry.name
            if name.isascii() and name.isdigit() and 0 < len(name) <= limits.VERSION_ID_DIGITS and int(name) > 0:
                found.append((int(name), entry.path))
            else:
                self._warnings.append(f"{entry.path} is left out: a version is a number from 1 on")
        return sorted(found)


def _config(service: str, default: FunctionConfig, content: Mapping[str, Any]) -> FunctionConfig:
    content = dict(content)
    variables = content.get("environmentVariables")
    if isinstance(variables, dict):  # YAML reads 8080 and yes as what they are; variables are texts
        content["environmentVariables"] = {str(key): _as_text(value) for key, value in variables.items()}
    rows = fields.FUNCTION_2 if service else fields.FUNCTION_3
    values = fields.read(rows, content)
    values.setdefault("runtime", default.runtime)
    values.setdefault("handler", "" if checks.is_custom(values["runtime"]) else default.handler)
    config = FunctionConfig(**values)
    fields.check_together(config)
    return config


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def _default_config(service: str, path: str) -> FunctionConfig:
    """Return the newest Python with ``index.handler``, or Node.js where only an ``index.js`` is."""
    runtime = checks.NEWEST_PYTHON["2.0" if service else "3.0"]
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
    found = []
    weights = "additionalVersionWeight"
    for name, target in value.items():
        target = target if isinstance(target, dict) else {"versionId": target}
        found.append(
            FileAlias(
                name=checks.alias_name(name, "alias"),
                version_id=checks.version_or_latest(target.get("versionId"), f"aliases.{name}.versionId"),
                weights=check_weights(target.get(weights) or {}, f"aliases.{name}.additionalVersionWeight"),
                description=str(target.get("description") or ""),
                file=file,
            )
        )
    return tuple(sorted(found, key=lambda alias: alias.name))
