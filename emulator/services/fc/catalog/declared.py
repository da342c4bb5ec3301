"""Reads the content of a ``service.yml`` or ``function.yml``: configuration, triggers, aliases, environment variables.

Raises, but for `every_problem`: InvalidArgument, naming the member and what it takes.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from emulator.kernel.frozen import frozen
from emulator.services.fc.catalog import fields
from emulator.services.fc.catalog.files import YamlFile, entries
from emulator.services.fc.codec import BODY
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.kinds import NEWEST_PYTHON, check_alias_name, check_weights, version_or_latest
from emulator.services.fc.model import FunctionConfig, ServiceConfig, Struct, is_custom
from emulator.wire.schema.kinds import Shape


@frozen
class FileAlias:
    """An alias declared in a file, and where: ``file`` is the path, ``place`` is ``file:line``."""

    name: str
    version_id: str
    weights: Mapping[str, float]
    description: str
    file: str
    place: str


def config_of(rows: Shape, default: FunctionConfig, content: Mapping[str, Any]) -> FunctionConfig:
    """Return the configuration in a function.yml, with the runtime and handler of *default* where it has none."""
    values = BODY.read(rows, as_of_api(content))
    values.setdefault("runtime", default.runtime)
    values.setdefault("handler", "" if is_custom(values["runtime"]) else default.handler)
    return fields.check_together(FunctionConfig(**values), values)


def service_of(content: Mapping[str, Any]) -> tuple[ServiceConfig, Mapping[str, str]]:
    """Return the configuration in a service.yml, and the environment variables it sets for all functions."""
    values = BODY.read(fields.SERVICE_FILE, as_of_api(content))
    variables = values.pop("environment", None) or {}
    return ServiceConfig(**values), variables


def every_problem(rows: Shape, settings: YamlFile) -> Iterator[str]:
    """Yield what is wrong with single members of a file, each with its place; `check_together` is not run."""
    checks: list[Callable[[], object]] = [
        *(partial(BODY.read, rows, {name: value}) for name, value in as_of_api(settings.content).items()),
        partial(triggers_of, settings.content.get("triggers")),
        partial(aliases_of, settings),
    ]
    for check in checks:
        try:
            check()
        except InvalidArgument as error:
            yield settings.placed(error)


def as_of_api(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return *content* with the environment variables as texts, as requests have them; YAML reads 8080 as a number."""
    variables = content.get("environmentVariables")
    if not isinstance(variables, dict):
        return dict(content)
    return {**content, "environmentVariables": {str(key): _as_text(value) for key, value in variables.items()}}


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def default_config(service: str, path: str) -> FunctionConfig:
    """Return the configuration of a function without any: the newest Python, or Node.js where only ``index.js`` is."""
    runtime = NEWEST_PYTHON["2.0" if service else "3.0"]
    names = {entry.name for entry in entries(path)}
    if "index.py" not in names and names & {"index.js", "index.mjs", "index.cjs"}:
        runtime = "nodejs20"
    elif "bootstrap" in names and not any(name.endswith(".py") for name in names):
        runtime = "custom.debian10" if service else "custom.debian12"
    return FunctionConfig(runtime=runtime, handler="index.handler")


def triggers_of(value: Any) -> tuple[Struct, ...]:
    """Return the triggers of a function.yml as they are written."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InvalidArgument("triggers must be a list of objects")
    return tuple(value)


def aliases_of(settings: YamlFile) -> tuple[FileAlias, ...]:
    """Return the aliases of a file, by name; each has a version alone, or an object as in the API."""
    value = settings.content.get("aliases")
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise InvalidArgument("aliases must map names to versions")
    aliases = []
    weights = "additionalVersionWeight"
    for name, target in sorted(value.items()):
        target = target if isinstance(target, dict) else {"versionId": target}
        aliases.append(
            FileAlias(
                name=check_alias_name(name, "alias"),
                version_id=version_or_latest(target.get("versionId"), f"aliases.{name}.versionId"),
                weights=check_weights(target.get(weights) or {}, f"aliases.{name}.{weights}"),
                description=str(target.get("description") or ""),
                file=settings.file,
                place=settings.place("aliases", name),
            )
        )
    return tuple(aliases)
