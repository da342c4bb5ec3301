"""The data of a deployment: resources in the API's terms, the record of those deployed, and errors.

A text can contain *tokens*: placeholders for attributes that are known only after a resource was created, such as the
id of a version. `filled` replaces them by values. ::

    DeployError
    +- FileProblems    the file cannot be deployed; every problem with its line
    +- Refused         an emulator answered a call with an error
    +- StepFailed      one resource could not be brought to what the file says
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from hashlib import sha256
from typing import Any

from emulator.deploy.value_functions import json_value, written
from emulator.kernel.frozen import field, frozen
from emulator.kernel.phrases import Phrase

_OPEN, _CLOSE, _MEMBER = "\ue000", "\ue001", "\ue002"
_TOKEN = re.compile(f"{_OPEN}([^{_CLOSE}]*?)\\.([A-Za-z0-9]+)((?:{_MEMBER}[^{_MEMBER}{_CLOSE}]*)*){_CLOSE}")
_UNSET = "unset"

Properties = Mapping[str, Any]


@frozen
class Named:
    """The common part of a resource and its entry in a record.

    ``logical`` is its name in the file and ``type`` its type as written there, else `type_of` its kind: output refers
    to it by these two. ``kind`` selects its provider, and ``identity`` are the parts of its name in the emulator
    (service and function, topic and subscription ...).
    """

    logical: str
    type: str
    kind: str
    identity: tuple[str, ...]

    @property
    def key(self) -> str:
        """The key that identifies the resource in all deployments."""
        return key_of(self.kind, self.identity)

    @property
    def physical(self) -> str:
        """Its name in the emulator, for people."""
        return "/".join(self.identity)


@frozen
class Resource(Named):
    """A resource that a file describes; ``properties`` are the body of the call that makes it."""

    properties: Properties
    line: int = 0
    column: int = 0
    package: bytes | None = None
    """The zip of its code; None for code in a bucket and for resources without code."""


_SPELLED_OUT = {
    "async": "asyncInvokeConfig",
    "concurrency": "concurrencyConfig",
    "domain": "customDomain",
    "provision": "provisionConfig",
    "scaling": "scalingConfig",
}


def type_of(kind: str) -> str:
    """Return the words for a kind of resource whose file gives no type: ``fc3 asyncInvokeConfig``."""
    owner, _, what = kind.partition(".")
    return f"{owner} {_SPELLED_OUT.get(what, what)}"


def key_of(kind: str, identity: tuple[str, ...]) -> str:
    """Return the key that identifies a resource in all deployments."""
    return json.dumps([kind, *identity], ensure_ascii=False)


def token(logical: str, attribute: str) -> str:
    """Return the placeholder of an attribute that is not known yet."""
    return f"{_OPEN}{logical}.{attribute}{_CLOSE}"


def unset(name: str) -> str:
    """Return the placeholder of an environment variable or parameter that was not given."""
    return token(name, _UNSET)


def unset_in(value: Any) -> frozenset[str]:
    """Return the names of the `unset` placeholders anywhere in *value*."""
    if isinstance(value, str):
        return frozenset(place[1] for place in _TOKEN.finditer(value) if place[2] == _UNSET)
    if isinstance(value, Mapping):
        return frozenset().union(*map(unset_in, value.values()))
    return frozenset().union(*map(unset_in, value)) if isinstance(value, (list, tuple)) else frozenset()


def member_of(value: str, key: str) -> str | None:
    """Return the token of a member of the JSON text for which the token *value* stands; None if *value* is no token."""
    return f"{value[:-1]}{_MEMBER}{key}{_CLOSE}" if _TOKEN.fullmatch(value) else None


def has_token(value: Any) -> bool:
    """Whether there is a token anywhere in *value*."""
    if isinstance(value, str):
        return _OPEN in value
    if isinstance(value, Mapping):
        return any(has_token(item) or has_token(key) for key, item in value.items())
    return isinstance(value, (list, tuple)) and any(has_token(item) for item in value)


def filled(value: Any, attribute: Callable[[str, str], str | None]) -> Any:
    """Return *value* with tokens replaced by ``attribute(logical name, attribute)``; None leaves a token in place."""
    if isinstance(value, str):
        if _OPEN not in value:
            return value
        return _TOKEN.sub(lambda place: _read(attribute(place[1], place[2]), place), value)
    if isinstance(value, Mapping):
        return {key: filled(item, attribute) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, attribute) for item in value]
    if isinstance(value, tuple):
        return tuple(filled(item, attribute) for item in value)
    return value


def _read(value: str | None, place: re.Match[str]) -> str:
    if value is None:
        return place[0]
    for key in place[3].split(_MEMBER)[1:]:
        value = written(json_value(key, value))
    return value


def digest(resource: Resource) -> str:
    """Return a checksum of a resource's description in the file."""
    text = json.dumps(resource.properties, sort_keys=True, ensure_ascii=False)
    return sha256(text.encode("utf-8", "surrogatepass") + b"\0" + (resource.package or b"")).hexdigest()


@frozen
class Target:
    """Where resources are made: values of ``ALIYUN::AccountId`` and the like; ``endpoint`` is a URL."""

    account: str
    region: str
    endpoint: str
    name: str
    """The name of the deployment."""
    stack: str = ""
    """``ALIYUN::StackName``, if it differs from the name of the deployment."""
    now: int = 0
    """The time of the deployment in milliseconds, for ``Fn::FormatTime``."""
    outputs_of: Callable[[str], Mapping[str, Any] | None] = lambda name: None
    """Returns the outputs of another deployment by its name, None when there is none."""


@frozen
class Blueprint:
    """The content of a file: resources in the order in which they can be created, outputs by name, and notes."""

    resources: tuple[Resource, ...]
    outputs: Mapping[str, Any]


CREATED, UPDATED = "CREATE_COMPLETE", "UPDATE_COMPLETE"
UNDER_WAY = "CREATE_IN_PROGRESS"
"""The status of a resource that an interrupted deployment may have created or not."""


@frozen
class Entry(Named):
    """A resource of a deployment. ``made`` is true when the deployment made it, false when it existed before."""

    digest: str
    status: str
    made: bool
    attributes: Mapping[str, str]

    @property
    def physical(self) -> str:
        """Its name in the emulator, for people; a version is known by its number."""
        number = self.attributes.get("VersionId")
        return "/".join(self.identity) if number is None else f"{self.identity[0]}.{number}"


def entry_of(resource: Resource, digest: str, status: str, *, made: bool, attributes: Mapping[str, str]) -> Entry:
    """Return the entry of a resource in a record."""
    return Entry(
        logical=resource.logical,
        type=resource.type,
        kind=resource.kind,
        identity=resource.identity,
        digest=digest,
        status=status,
        made=made,
        attributes=attributes,
    )


@frozen
class Record:
    """A deployment. ``file`` is where its file was, ``outputs`` the values of the file's outputs."""

    name: str
    file: str = ""
    entries: tuple[Entry, ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict)

    def by_key(self) -> dict[str, Entry]:
        """Return the entries by key."""
        return {entry.key: entry for entry in self.entries}


def to_object(record: Record) -> dict[str, Any]:
    """Return a record in JSON's terms."""
    entries = [{**asdict(entry), "identity": list(entry.identity)} for entry in record.entries]
    return {"name": record.name, "file": record.file, "outputs": dict(record.outputs), "resources": entries}


def from_object(content: Mapping[str, Any]) -> Record:
    """Return the record that `to_object` wrote."""
    rows = [{each.name: row[each.name] for each in fields(Entry)} for row in content["resources"]]
    return Record(
        name=str(content["name"]),
        file=str(content.get("file") or ""),
        outputs=dict(content.get("outputs") or {}),
        entries=tuple(Entry(**{**row, "identity": tuple(row["identity"])}) for row in rows),
    )


@frozen(kw_only=False)
class Problem:
    """Something that is wrong at a place of the file; line and column count from 1."""

    line: int
    column: int
    text: str

    def within(self, file: object) -> str:
        """Return the problem with its place in *file*, in the form that editors and CI systems parse."""
        return Phrase("{place}: {problem}", place=f"{file}:{self.line}:{self.column}", problem=self.text)


class DeployError(Exception):
    """A deployment that cannot go on."""


class FileProblems(DeployError):
    """The file cannot be deployed; *problems* are in the order of their places."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
        super().__init__("; ".join(f"{each.line}:{each.column}: {each.text}" for each in self.problems))


class Refused(DeployError):
    """The answer to a call was an error; ``code`` is the service's name for it, ``status`` that of HTTP."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status = status
        self.code = code
        super().__init__(f"{code}: {message}" if code else message)


class StepFailed(DeployError):
    """A resource that could not be created, updated or deleted.

    Everything done before it was undone, except *left*.
    """

    def __init__(self, what: str, reason: str, left: Iterable[str] = ()) -> None:
        self.left = tuple(left)
        super().__init__(Phrase("{what}: {reason}", what=what, reason=reason))
