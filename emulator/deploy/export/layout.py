"""What every format needs to know about exported resources: groups to choose from, owners, names, order."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from emulator.deploy.export.portable import Portable
from emulator.deploy.model import Resource, key_of
from emulator.deploy.provider import Identity
from emulator.kernel.frozen import frozen

GROUPS: Mapping[str, frozenset[str]] = {
    "services": frozenset({"fc.service"}),
    "functions": frozenset(
        {"fc.service", "fc.function", "fc.async", "fc.provision", "fc3.function", "fc3.async", "fc3.concurrency",
         "fc3.provision", "fc3.scaling"}
    ),
    "versions": frozenset({"fc.version", "fc3.version"}),
    "aliases": frozenset({"fc.version", "fc3.version", "fc.alias", "fc3.alias"}),
    "layers": frozenset({"fc3.layer"}),
    "triggers": frozenset({"fc.trigger", "fc3.trigger"}),
    "domains": frozenset({"fc.domain", "fc3.domain"}),
    "flows": frozenset({"fnf.flow"}),
    "schedules": frozenset({"fnf.schedule"}),
    "queues": frozenset({"mns.queue"}),
    "topics": frozenset({"mns.topic"}),
    "subscriptions": frozenset({"mns.subscription"}),
    "buckets": frozenset({"oss.bucket"}),
    "roles": frozenset({"ram.role", "ram.policy", "ram.attachment"}),
}  # fmt: skip
"""What may be asked for, and the kinds of resources that are meant."""


def chosen(groups: Iterable[str]) -> Callable[[str, Identity], bool]:
    """Return whether a resource belongs to one of the groups; no groups are all of them."""
    kinds = frozenset().union(*(GROUPS[name] for name in groups))
    return lambda kind, identity: not kinds or kind in kinds


@frozen
class Written:
    """The main file's name and text, files of bytes beside it, and what could not be said in it."""

    file: str
    text: str
    resources: tuple[Resource, ...]
    """The resources that the file describes."""
    notes: tuple[str, ...]


@frozen(kw_only=False)
class Job:
    """What is to be written into *folder*, for the project *name*."""

    content: Portable
    folder: Path
    name: str
    region: str


_VERSION = "version"
_OF_SERVICE = (("fc.function", (0, 1)), ("fc.alias", (0, -1)))
_OF_FUNCTION = (("fc3.function", (0,)), ("fc3.alias", (0, -1)))
_INSIDE: Mapping[str, tuple[tuple[str, tuple[int, ...]], ...]] = {
    "fc.function": (("fc.service", (0,)),),
    "fc.version": (("fc.service", (0,)),),
    "fc.alias": (("fc.service", (0,)),),
    "fc.trigger": _OF_SERVICE,
    "fc.async": _OF_SERVICE,
    "fc.provision": (("fc.function", (0, 2)), ("fc.alias", (0, 1))),
    "fc3.version": (("fc3.function", (0,)),),
    "fc3.alias": (("fc3.function", (0,)),),
    "fc3.trigger": (("fc3.function", (0,)),),
    "fc3.concurrency": (("fc3.function", (0,)),),
    "fc3.async": _OF_FUNCTION,
    "fc3.provision": _OF_FUNCTION,
    "fc3.scaling": _OF_FUNCTION,
    "fnf.schedule": (("fnf.flow", (0,)),),
    "mns.subscription": (("mns.topic", (0,)),),
    "ram.attachment": (("ram.role", (2,)), ("ram.policy", (1,))),
}
"""By kind: the kinds of what has to be there before, and the parts of the identity that name it."""

_LED_TO = (
    ("role", re.compile(r":role/([^/]+)$"), "ram.role"),
    ("RoleArn", re.compile(r":role/([^/]+)$"), "ram.role"),
    ("invocationRole", re.compile(r":role/([^/]+)$"), "ram.role"),
    ("sourceArn", re.compile(r":/topics/([^/]+)$"), "mns.topic"),
    ("Endpoint", re.compile(r":/?queues/([^/]+)$"), "mns.queue"),
)
"""Properties that lead to another resource, and which."""


def needs(resource: Resource, there: Mapping[str, Resource]) -> list[Resource]:
    """Return those of *there* that have to be made before a resource: what it is inside of, and what it leads to."""
    identity, properties = resource.identity, resource.properties
    inside = _INSIDE.get(resource.kind, ())
    wanted: list[tuple[str, Identity]] = [(kind, tuple(identity[at] for at in places)) for kind, places in inside]
    prefix, _, what = resource.kind.partition(".")
    if what == "trigger":
        wanted.append((f"{prefix}.alias", (identity[0], str(properties.get("qualifier")))))
    if what == "alias":
        wanted.append((f"{prefix}.version", (identity[0], _VERSION)))
    if resource.kind == "fc.version":
        wanted += [(each.kind, each.identity) for each in there.values() if each.kind == "fc.function"
                   and each.identity[0] == identity[0]]  # fmt: skip
    for route in (properties.get("routeConfig") or {}).get("routes") or []:
        names = (route.get("serviceName"), route.get("functionName"))
        wanted.append((f"{prefix}.function", tuple(str(name) for name in names if name)))
    for name, pattern, kind in _LED_TO:
        if match := pattern.search(str(properties.get(name) or "")):
            wanted.append((kind, (match[1],)))
    keys = dict.fromkeys(key_of(kind, name) for kind, name in wanted)
    return [there[key] for key in keys if key in there and key != resource.key]


class Names:
    """Names of resources in a file: made of their own, unlike one another."""

    def __init__(self, shaped: Callable[[str], str]) -> None:
        self._shaped = shaped
        self._taken: dict[str, str] = {}

    def of(self, resource: Resource) -> str:
        """Return the name of a resource, the same each time."""
        known = next((name for name, key in self._taken.items() if key == resource.key), None)
        if known is not None:
            return known
        base = self._shaped("-".join(resource.identity)) or "resource"
        candidates = [base, self._shaped(f"{'-'.join(resource.identity)}-{resource.kind.rpartition('.')[2]}")]
        number = 2
        while candidates[0] in self._taken:
            candidates.pop(0)
            if not candidates:
                candidates = [f"{base}{number}"]
                number += 1
        self._taken[candidates[0]] = resource.key
        return candidates[0]


class Writer:
    """A file under construction: the resources by their keys, their names in the file, and what is noted of them."""

    def __init__(self, job: Job, shaped: Callable[[str], str]) -> None:
        self._job = job
        self._there = {each.key: each for each in job.content.resources}
        self._names = Names(shaped)
        self._notes: list[str] = []

    def _code_folder(self) -> Path:
        """Return the folder for code, made when it is missing."""
        folder = self._job.folder / "code"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _archive(self, each: Resource) -> str:
        """Write the package of a resource into the folder for code and return the name of the file."""
        name = f"{self._names.of(each)}.zip"
        (self._code_folder() / name).write_bytes(each.package or b"")
        return name


def plain(value: Any) -> Any:
    """Return a value of plain dictionaries and lists, without members that have no value."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items() if item is not None}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def yaml_text(value: Any) -> str:
    """Return YAML in the order of the value; texts of several lines as blocks."""
    import yaml  # slow to import, and most commands write none

    class Dumper(yaml.SafeDumper):
        """The dumper of deployment files."""

        def ignore_aliases(self, data: Any) -> bool:
            """Write everything out."""
            return True

    def block(dumper: Any, text: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)

    Dumper.add_representer(str, block)
    return str(yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100))


def owned(kind: str, resources: Sequence[Resource], identity: Identity) -> list[Resource]:
    """Return the resources of a kind that belong to what has that identity."""
    return [each for each in resources if each.kind == kind and each.identity[: len(identity)] == identity]
