"""What an emulator remembers of a deployment: what it made, in which order, and what it found out about it."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from emulator.deploy.model import key_of
from emulator.kernel.frozen import frozen

CREATED, UPDATED = "CREATE_COMPLETE", "UPDATE_COMPLETE"
UNDER_WAY = "CREATE_IN_PROGRESS"
"""Of a resource that an interrupted deployment may or may not have made."""


@frozen
class Entry:
    """A resource of a deployment. ``made`` tells whether the deployment made it or found it there."""

    logical: str
    type: str
    kind: str
    identity: tuple[str, ...]
    digest: str
    status: str
    made: bool
    attributes: Mapping[str, str]

    @property
    def key(self) -> str:
        """What two deployments know the same resource by."""
        return key_of(self.kind, self.identity)

    @property
    def physical(self) -> str:
        """Its name in the emulator, for people."""
        return physical(self.kind, self.identity, self.attributes)


def physical(kind: str, identity: tuple[str, ...], attributes: Mapping[str, str]) -> str:
    """Return the name of a resource in the emulator; a version is known by its number."""
    if kind in {"fc.version", "fc3.version"}:
        return f"{identity[0]}.{attributes.get('VersionId', '?')}"
    return "/".join(identity)


@frozen
class Record:
    """A deployment. ``file`` is where its file was, ``outputs`` what the file promised to tell."""

    name: str
    file: str = ""
    entries: tuple[Entry, ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict)

    def by_key(self) -> dict[str, Entry]:
        """Return the entries by what they are known by."""
        return {entry.key: entry for entry in self.entries}

    def with_entries(self, entries: Iterable[Entry]) -> "Record":
        """Return a record of the same deployment with other resources."""
        return replace(self, entries=tuple(entries))


def to_object(record: Record) -> dict[str, Any]:
    """Return a record in JSON's terms."""
    return {
        "name": record.name,
        "file": record.file,
        "outputs": dict(record.outputs),
        "resources": [
            {
                "logical": entry.logical,
                "type": entry.type,
                "kind": entry.kind,
                "identity": list(entry.identity),
                "digest": entry.digest,
                "status": entry.status,
                "made": entry.made,
                "attributes": dict(entry.attributes),
            }
            for entry in record.entries
        ],
    }


def from_object(found: Mapping[str, Any]) -> Record:
    """Return the record that `to_object` wrote."""
    return Record(
        name=str(found["name"]),
        file=str(found.get("file") or ""),
        outputs=dict(found.get("outputs") or {}),
        entries=tuple(
            Entry(
                logical=str(row["logical"]),
                type=str(row["type"]),
                kind=str(row["kind"]),
                identity=tuple(str(part) for part in row["identity"]),
                digest=str(row["digest"]),
                status=str(row["status"]),
                made=bool(row["made"]),
                attributes={str(name): str(value) for name, value in row["attributes"].items()},
            )
            for row in found["resources"]
        ),
    )
