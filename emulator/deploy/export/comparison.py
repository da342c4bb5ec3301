"""Comparing a deployment file with the emulator: resources on one side only, and properties that differ."""

from collections.abc import Iterator, Mapping
from typing import Any

from emulator.deploy.export.resources import looks_secret, portable
from emulator.deploy.files import other_files
from emulator.deploy.inventory import VERSIONS, inventory, is_outdated
from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import Blueprint, Entry, Record, Resource, has_token, unset_in
from emulator.deploy.planner import with_attributes
from emulator.deploy.provider import ActualState, ApiClient, Disagreement, ResourceProvider
from emulator.kernel.frozen import field, frozen

ABSENT = "-"
HIDDEN = "(hidden)"
THERE, THIS, OTHER = "there", "this", "other"


@frozen
class Difference:
    """One difference: of a whole resource when ``path`` is empty, else of one of its properties."""

    resource: Resource
    """The resource as the file has it; one that is not in the file is called by its name in the emulator."""
    path: str = ""
    file: Any = None
    """The file's value; None where the file has none."""
    running: Any = None
    """The emulator's value; None where it has none."""
    files: Mapping[str, tuple[bool, bool]] = field(default_factory=dict)
    """The files of code that differ: whether each is in the file's code, and in the emulator's."""
    is_dropped: bool = False
    """Whether `deploy` would delete the resource, which the deployment has made and the file does not have."""


@frozen
class NotCompared:
    """A property whose value in the file is not known: it depends on the variables *names*, which were not given."""

    resource: Resource
    path: str
    names: frozenset[str]


@frozen
class Comparison:
    """The differences, and the properties that could not be compared."""

    differences: tuple[Difference, ...]
    not_compared: tuple[NotCompared, ...]


def compare(
    api: ApiClient, blueprint: Blueprint, record: Record, account: str, region: str, *, others: bool
) -> Comparison:
    """Return the differences; with *others*, also resources of the emulator that are not in the file.

    Raises: Refused.
    """
    found: list[Difference | NotCompared] = []
    noted = record.by_key()
    known: dict[str, Mapping[str, str]] = {}
    for described in blueprint.resources:
        resource = with_attributes(described, known)
        provider = PROVIDERS[resource.kind]
        entry = noted.get(resource.key)
        attributes = entry.attributes if entry is not None else provider.newest(api, resource.identity)
        actual = None if has_token(resource.identity) else provider.find(api, resource.identity, attributes)
        if actual is None:
            found.append(Difference(resource=resource, file=THERE))
            continue
        known[resource.logical] = provider.attributes(actual)
        found.extend(filter(None, (_row(resource, each) for each in provider.disagreements(resource, actual))))
        found.extend(_of_code(api, provider, resource, actual))
        number = str(actual.content.get("versionId", ""))
        if resource.kind in VERSIONS and is_outdated(api, resource.kind, resource.identity[0], number):
            found.append(Difference(resource=resource, path="code", file=THIS, running=OTHER))
    mentioned = {each.key for each in blueprint.resources}
    for entry in record.entries:
        if entry.made and entry.key not in mentioned:
            mentioned.add(entry.key)
            if PROVIDERS[entry.kind].find(api, entry.identity, entry.attributes) is not None:
                found.append(Difference(resource=_of_entry(entry), running=THERE, is_dropped=True))
    if others:
        found.extend(
            Difference(resource=each, running=THERE)
            for each in portable(inventory(api), account, region).resources
            if each.key not in mentioned and not PROVIDERS[each.kind].is_snapshot
        )
    return Comparison(
        differences=tuple(each for each in found if isinstance(each, Difference)),
        not_compared=tuple(each for each in found if isinstance(each, NotCompared)),
    )


def _of_entry(entry: Entry) -> Resource:
    return Resource(logical=entry.logical, type=entry.type, kind=entry.kind, identity=entry.identity, properties={})


def _row(resource: Resource, each: Disagreement) -> Difference | NotCompared | None:
    """Return the difference at a place; None where the file's value depends on a resource that does not exist."""
    path, mine, theirs = each.path, each.wanted, each.actual
    names = unset_in(mine)
    if names and theirs not in (None, ""):
        return NotCompared(resource=resource, path=".".join(path), names=names)
    if has_token(mine) and not names:
        return None
    secret = bool(names) or path[-1] in {"privateKey", "authInfo"}
    secret = secret or any(looks_secret(path[-1], value) for value in (mine, theirs) if isinstance(value, str))
    return Difference(
        resource=resource,
        path=".".join(path),
        file=_hidden(mine) if secret else mine,
        running=_hidden(theirs) if secret else theirs,
    )


def _hidden(value: Any) -> Any:
    return value if value is None else HIDDEN


def _of_code(
    api: ApiClient, provider: ResourceProvider, resource: Resource, actual: ActualState
) -> Iterator[Difference]:
    if resource.package is not None and provider.has_other_code(api, resource, actual):
        files = other_files(resource.package, provider.saved(api, resource, actual).package)
        yield Difference(resource=resource, path="code", file=THIS, running=OTHER, files=files)
