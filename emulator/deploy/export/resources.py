"""Exported resources, as every format takes them: portable to another account, selected, named, in order.

Placeholders ("places") stand for the account, the region and secrets. A place is written in a text between two private
characters; each format writes it in its own syntax.
"""

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import chain, count, zip_longest
from pathlib import Path
from typing import Any

from emulator.deploy.export.left_out import called, left_out, without_dependents
from emulator.deploy.files import unpacked
from emulator.deploy.inventory import OUTDATED
from emulator.deploy.kinds import GROUPS, PROVIDERS
from emulator.deploy.model import Resource, key_of, type_of
from emulator.deploy.provider import BESIDE, LATEST, TAGS, Identity
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.identity import default_resource_group
from emulator.kernel.phrases import Phrase
from emulator.wire.yaml import stays_text

_OPEN, _CLOSE = "\ue010", "\ue011"
_PLACE = re.compile(f"{_OPEN}([a-z]+):([^{_CLOSE}]*){_CLOSE}")

ACCOUNT, REGION, VARIABLE, LAYER, VERSION = "account", "region", "variable", "layer", "version"


def place(kind: str, name: str = "") -> str:
    """Return a placeholder of a *kind*; *name* is the variable's name or the resource's key."""
    return f"{_OPEN}{kind}:{name}{_CLOSE}"


def has_place(value: Any) -> bool:
    """Whether there is a place anywhere in *value*."""
    if isinstance(value, str):
        return _OPEN in value
    if isinstance(value, Mapping):
        return any(has_place(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(has_place(item) for item in value)


def parts(text: str) -> list[tuple[str, str] | str]:
    """Return a text split at its places: literal texts, and (kind, name) of each place."""
    pieces = _PLACE.split(text)  # alternately text, kind, name, text, kind, name ... text
    cut = zip_longest(pieces[::3], zip(pieces[1::3], pieces[2::3], strict=True))
    return [each for pair in cut for each in pair if each] or [text]


def changed(value: Any, change: Callable[[str], Any]) -> Any:
    """Return *value* with *change* applied to every text in it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: changed(item, change) for key, item in value.items()}
    return [changed(item, change) for item in value] if isinstance(value, (list, tuple)) else value


@frozen(kw_only=False)
class Variable:
    """A value that is not written to the file: the user gives it when deploying."""

    name: str
    value: str
    owner: str
    """The resource and property it belongs to, for people."""


@frozen
class Portable:
    """Resources with places in their texts, the variables among these, and notes about what is left out."""

    resources: tuple[Resource, ...]
    variables: tuple[Variable, ...]
    notes: tuple[str, ...]


def portable(
    resources: Sequence[Resource], account: str, region: str, tagged: Container[str] = frozenset()
) -> Portable:
    """Return resources with places for the account, the region, secrets, and numbers assigned on creation.

    *tagged* are the kinds whose tags the format can write.
    """
    notes: list[str] = []
    variables: dict[str, Variable] = {}
    own = [each for each in resources if not PROVIDERS[each.kind].is_made_by_another(each)]
    remaining = without_dependents(own, _beyond(own, tagged, notes))
    notes += remaining.notes
    kept = _with_numbers(remaining.resources, notes)
    arn = re.compile(rf"(acs:[a-z-]+:){re.escape(region)}(?=:)")
    number = re.compile(rf"(?<!\d){re.escape(account)}(?!\d)")

    def local(text: str) -> str:
        return number.sub(place(ACCOUNT), arn.sub(lambda match: match[1] + place(REGION), text))

    chosen = []
    for each in kept:
        properties = _without_secrets(each, variables)
        if each.kind not in tagged:
            properties.pop(TAGS, None)
        if properties.get("resourceGroupId") == default_resource_group(account):
            del properties["resourceGroupId"]  # every account has its own
        chosen.append(replace(each, properties=changed(properties, local)))
        if each.package is not None:
            notes.extend(_suspicious(each))
    return Portable(resources=tuple(chosen), variables=tuple(variables.values()), notes=tuple(notes))


def _beyond(resources: Sequence[Resource], tagged: Container[str], notes: list[str]) -> list[Resource]:
    """Return versions and aliases of such that publishing does not make again; note them, and versions not listed."""
    newest = {
        (each.kind, each.identity): str(number)
        for each in resources
        if (number := each.properties.get("VersionId")) and not each.properties.get(OUTDATED)
    }
    gone = []
    for each in resources:
        older, what = str(each.properties.get("Older") or "").split(), f"{type_of(each.kind)} {each.identity[0]}"
        notes.extend(
            Phrase("{resource}/{number}: a version before the newest; left out", resource=what, number=number)
            for number in older
        )
        if each.properties.get(OUTDATED):
            text = "{resource}/{number}: a version of other code or settings than the present ones; left out"
            notes.append(Phrase(text, resource=what, number=each.properties["VersionId"]))
            gone.append(each)
        tags = "tags" if each.properties.get(TAGS) and each.kind not in tagged else ""
        if unsaid := ", ".join(filter(None, (tags, each.properties.get(BESIDE)))):
            notes.append(
                Phrase("{resource}: the file does not say its {unsaid}; left out", resource=called(each), unsaid=unsaid)
            )
        version = PROVIDERS[each.kind].version_of(each.identity)
        if version is None:
            continue
        lead, weights = str(each.properties.get("versionId")), each.properties.get("additionalVersionWeight")
        if weights or lead not in {newest.get(version), LATEST}:
            gone.append(each)
            notes.append(left_out(each, "it leads to a version that is not made again"))
    return gone


def _with_numbers(resources: Sequence[Resource], notes: list[str]) -> list[Resource]:
    """Replace the number of a version or layer in properties of other resources by a place."""
    layers = {each.identity[0]: str(number) for each in resources if (number := each.properties.get("Version"))}
    numbered = []
    for each in resources:
        properties = {name: item for name, item in each.properties.items() if name not in _NUMBERS}
        version = PROVIDERS[each.kind].version_of(each.identity)
        if version is not None and properties.get("versionId") != LATEST:
            properties["versionId"] = place(VERSION, f"{version[0]}/{each.identity[0]}")
        if properties.get("layers"):
            properties["layers"] = [_layer(str(arn), layers, each, notes) for arn in properties["layers"]]
        numbered.append(replace(each, properties=properties))
    return numbered


_NUMBERS = frozenset({BESIDE, OUTDATED, "Older", "Version", "VersionId"})
_LAYER = re.compile(r".*:layers/([^/]+)/versions/(\d+)")


def _layer(arn: str, layers: Mapping[str, str], owner: Resource, notes: list[str]) -> str:
    match = _LAYER.fullmatch(arn)
    if match is None or match[1] not in layers:
        return arn
    if layers[match[1]] != match[2]:
        notes.append(
            Phrase(
                "{resource}: version {number} of the layer {name} becomes its newest",
                resource=called(owner),
                number=match[2],
                name=match[1],
            )
        )
    return place(LAYER, match[1])


_SECRET_NAME = re.compile(
    r"passw|passphrase|pwd|secret|token|credential|private_?key|access_?key|api_?key|auth_?key|(?:^|_)key$|Key$|"
    r"(?:^|_)(?:sk|ak|dsn)$",
    re.IGNORECASE,
)
_SECRET_PART = re.compile(
    r"LTAI[0-9A-Za-z]{8,}|STS\.[0-9A-Za-z]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:@]+:[^/\s@]+@|"
    r"(?:gh[pousr]_|glpat-|xox[abprs]-|sk-)[0-9A-Za-z_-]{10,}|eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.|"
    r"AKIA[0-9A-Z]{12,}"
)
_SECRET_WHOLE = re.compile(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[0-9A-Za-z+/_]{24,}={0,2}|[0-9a-fA-F]{32,}")
_SECRET_MEMBERS = re.compile(r'"(?:k|d|privateKey|password|secret)"\s*:')
_MAPS = frozenset({"environmentVariables", "functionParameter"})
_NAMED = frozenset({"privateKey", "password", "accessKeySecret"})
_TEXTS_OF_TEMPLATES = frozenset({"AssumeRolePolicyDocument", "PolicyDocument"})


def looks_secret(name: str, value: str) -> bool:
    """Whether the value of an environment variable looks like a secret; an empty one does not."""
    return bool(value) and bool(
        _SECRET_NAME.search(name) or _SECRET_PART.search(value) or _SECRET_WHOLE.fullmatch(value)
    )


def _without_secrets(resource: Resource, variables: dict[str, Variable]) -> dict[str, Any]:
    """Return properties with a variable for each secret, added to *variables*."""

    def hidden(path: Sequence[str], value: str) -> str:
        name = re.sub(r"[^0-9A-Za-z]+", "_", "_".join((*resource.identity, path[-1]))).strip("_").upper()
        name = name if name[:1].isalpha() else f"V_{name}"
        number, free = 1, name
        while free in variables and variables[free].value != value:
            number += 1
            free = f"{name}_{number}"
        variables[free] = Variable(free, value, f"{resource.physical}: {'.'.join(path)}")
        return place(VARIABLE, free)

    def walk(value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, Mapping):
            if set(value) == {"Name", "Value"} and isinstance(value["Value"], str):
                name = str(value["Name"])
                secret = looks_secret(name, value["Value"])
                return {"Name": name, "Value": hidden((*path, name), value["Value"]) if secret else value["Value"]}
            return {key: walk(item, (*path, str(key))) for key, item in value.items()}
        if isinstance(value, list):
            return [walk(item, path) for item in value]
        if isinstance(value, str) and is_secret(value, path):
            return hidden(path, value)
        return value

    def is_secret(value: str, path: tuple[str, ...]) -> bool:
        if len(path) > 1 and path[-2] in _MAPS:
            return looks_secret(path[-1], value)
        if path[-1] in _NAMED or (path[-1] == "authInfo" and _SECRET_MEMBERS.search(value)):
            return bool(value)
        return path[-1] not in _TEXTS_OF_TEMPLATES and _SECRET_PART.search(value) is not None

    return {name: walk(item, (name,)) for name, item in resource.properties.items()}


_KEY_FILES = re.compile(r"(?:^|/)(?:\.env(?:\.[^/]*)?|[^/]*\.pem|id_[a-z0-9]+|credentials[^/]*|[^/]*\.p12|[^/]*\.key)$")


def _suspicious(resource: Resource) -> Iterable[str]:
    """Yield a note for each file of the code whose name is typical of files with keys."""
    for name in unpacked(resource.package or b""):
        if _KEY_FILES.search(name):
            yield f"{resource.physical}: its code holds {name}, which may be secret; code is written as it is"


def chosen(groups: Iterable[str]) -> Callable[[str, Identity], bool]:
    """Return the predicate for resources of the given groups; all resources without any."""
    kinds = frozenset().union(*(GROUPS[name] for name in groups))
    return lambda kind, identity: not kinds or kind in kinds


@frozen
class Written:
    """An exported file: its name and text, the files beside it, and notes about what the format cannot express."""

    file: str
    text: str
    resources: tuple[Resource, ...]
    """The resources that the file describes."""
    notes: tuple[str, ...]


@frozen(kw_only=False)
class Job:
    """An export of resources into *folder*, for the project *name*."""

    content: Portable
    folder: Path
    name: str
    region: str


def needs(resource: Resource, there: Mapping[str, Resource]) -> list[Resource]:
    """Return those of *there*, resources by key, that have to be created before a resource."""
    wanted = PROVIDERS[resource.kind].needs(resource, there.values())
    keys = dict.fromkeys(key_of(kind, identity) for kind, identity in wanted)
    return [there[key] for key in keys if key in there and key != resource.key]


class Names:
    """Distinct names for resources in a file, derived from their own names."""

    def __init__(self, shaped: Callable[[str], str]) -> None:
        self._shaped = shaped
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, resource: Resource) -> str:
        """Return the name of a resource, the same at every call."""
        if resource.key not in self._names:
            own, what = "-".join(resource.identity), resource.kind.rpartition(".")[2]
            base = self._shaped(own) or "resource"
            candidates = chain((base, self._shaped(f"{own}-{what}")), (f"{base}{number}" for number in count(2)))
            name = next(each for each in candidates if each not in self._taken)
            self._names[resource.key] = name
            self._taken.add(name)
        return self._names[resource.key]


class Writer:
    """A file under construction: the resources by key, their names in the file, and notes."""

    def __init__(self, job: Job, shaped: Callable[[str], str]) -> None:
        self._job = job
        self._there = {each.key: each for each in job.content.resources}
        self._names = Names(shaped)
        self._notes: list[str] = []

    def _skip(self, each: Resource, why: Phrase) -> None:
        """Add the note that a part of a resource is not written."""
        self._notes.append(Phrase("{resource}: {why}; left out", resource=each.physical, why=why))

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
    """Return a value as plain dictionaries and lists, without members that are None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items() if item is not None}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def yaml_text(value: Any) -> str:
    """Return YAML in the order of *value*, with texts of several lines as blocks."""
    import yaml  # slow to import, and rarely needed

    class Dumper(yaml.SafeDumper):
        """The dumper of deployment files."""

        def ignore_aliases(self, data: Any) -> bool:
            """Write everything out."""
            return True

    def block(dumper: Any, text: str) -> Any:
        style = "|" if "\n" in text else None if stays_text(text) else "'"
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, block)
    return str(yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100))


def owned(kind: str, resources: Sequence[Resource], identity: Identity) -> list[Resource]:
    """Return the resources of a kind that are parts of the resource with that identity."""
    return [each for each in resources if each.kind == kind and each.identity[: len(identity)] == identity]
