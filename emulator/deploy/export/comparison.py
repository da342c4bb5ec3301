"""What a deployment file says compared with what runs: resources on one side only, and properties that differ."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emulator.deploy.export.resources import document, looks_secret, portable
from emulator.deploy.files import same_code
from emulator.deploy.inventory import VERSIONS, inventory
from emulator.deploy.model import Blueprint, Record, Refused, Resource, has_token
from emulator.deploy.planner import PROVIDERS, with_attributes
from emulator.deploy.provider import ApiClient, same
from emulator.kernel.frozen import frozen

ABSENT = "-"
HIDDEN = "(hidden)"


@frozen
class Difference:
    """One difference: of a whole resource when ``path`` is empty, else of one of its properties."""

    resource: Resource
    """As the file has it; one that only runs goes by its name in the emulator."""
    path: str = ""
    file: Any = None
    """What the file says; None where it says nothing."""
    running: Any = None
    """What is there; None where nothing is."""


_NOT_COMPARED = frozenset({*VERSIONS, "fc.invocation", "fc3.invocation"})


def differences(
    api: ApiClient, blueprint: Blueprint, record: Record, account: str, region: str, *, others: bool
) -> list[Difference]:
    """Return what differs; with *others* also what runs and is not in the file.

    Raises: Refused.
    """
    differences: list[Difference] = []
    noted = record.by_key()
    known: dict[str, Mapping[str, str]] = {}
    for described in blueprint.resources:
        resource = with_attributes(described, known)
        provider = PROVIDERS[resource.kind]
        entry = noted.get(resource.key)
        attributes = entry.attributes if entry is not None else _newest(api, resource)
        actual = None if has_token(resource.identity) else provider.find(api, resource.identity, attributes)
        if actual is None:
            differences.append(Difference(resource=resource, file="there"))
            continue
        known[resource.logical] = provider.attributes(actual)
        if resource.kind in _NOT_COMPARED:
            continue
        saved = provider.saved(api, resource, actual)
        differences.extend(_of_properties(resource, saved))
        if resource.package is not None and not same_code(resource.package, saved.package):
            differences.append(Difference(resource=resource, path="code", file="this", running="other"))
    if others:
        mentioned = {each.key for each in blueprint.resources}
        differences.extend(
            Difference(resource=each, running="there")
            for each in portable(inventory(api), account, region).resources
            if each.key not in mentioned and each.kind not in VERSIONS
        )
    return differences


def _newest(api: ApiClient, resource: Resource) -> Mapping[str, str]:
    """Return what a record would have noted of a resource that is known by a number: the newest."""
    if resource.kind.endswith(".layer"):
        rows = api.functions("GET", f"/2023-03-30/layers/{resource.identity[0]}/versions?limit=1").get("layers") or []
        return {"Version": str(rows[0]["version"])} if rows else {}
    if resource.kind in VERSIONS:
        owner = (
            "/2016-08-15/services/" if resource.kind == "fc.version" else "/2023-03-30/functions/"
        ) + resource.identity[0]
        try:
            rows = api.functions("GET", f"{owner}/versions?limit=1").get("versions") or []
        except Refused as error:
            if error.status == 404:
                return {}
            raise
        return {"VersionId": str(rows[0]["versionId"])} if rows else {}
    return {}


def _of_properties(resource: Resource, saved: Resource) -> Iterator[Difference]:
    for name, wanted in resource.properties.items():
        if has_token(wanted) or name == "code":
            continue
        for path, mine, theirs in _leaves((name,), document(wanted), document(saved.properties.get(name))):
            secret = any(looks_secret(path[-1], value) for value in (mine, theirs) if isinstance(value, str))
            secret = secret or path[-1] in {"privateKey", "authInfo"}
            yield Difference(
                resource=resource,
                path=".".join(path),
                file=_hidden(mine) if secret else mine,
                running=_hidden(theirs) if secret else theirs,
            )


def _hidden(value: Any) -> Any:
    return value if value is None else HIDDEN


_USERS = frozenset({"environmentVariables", "additionalVersionWeight"})
"""Maps of which nothing may be there beyond what the file says."""


def _leaves(path: tuple[str, ...], wanted: Any, actual: Any) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Yield each place at which two values differ, with both."""
    if same(wanted, actual, exact=path[-1] in _USERS):
        return
    if isinstance(wanted, Mapping) and isinstance(actual or {}, Mapping):
        theirs = actual or {}
        names: Sequence[str] = [*wanted, *(name for name in theirs if name not in wanted and path[-1] in _USERS)]
        for name in names:
            yield from _leaves((*path, name), wanted.get(name), theirs.get(name))
        return
    yield path, wanted, actual
