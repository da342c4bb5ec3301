"""The interface of kinds of resources: how one is found, created, changed and removed, its names and dependencies."""

import json
import re
from abc import ABC, abstractmethod
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Protocol
from urllib.parse import quote

from emulator.deploy.model import Refused, Resource, Target, token
from emulator.kernel.frozen import frozen, replace

Reply = dict[str, Any]


class ApiClient(Protocol):
    """Signed calls to the services of one account and region.

    Each call raises `Refused` when the answer is an error.
    """

    def functions(self, method: str, path: str, content: Mapping[str, Any] | None = None) -> Reply:
        """Call an operation of Function Compute; *path* holds version and query and is percent-encoded."""
        ...

    def invoke(self, path: str, payload: bytes, *, asynchronous: bool) -> tuple[bytes, str]:
        """Call a function; return its answer, and the type of its error, "" for none."""
        ...

    def rpc(self, version: str, action: str, parameters: Mapping[str, str]) -> Reply:
        """Call an operation of a service that speaks RPC."""
        ...

    def objects(self, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
        """Call an operation of the object store and return its answer; *target* is ``/bucket/key?query``, encoded."""
        ...

    def download(self, url: str) -> bytes:
        """Return the content of a URL of this emulator."""
        ...


Identity = tuple[str, ...]
Attributes = Mapping[str, str]
Content = dict[str, Any]
Reference = tuple[str, Identity]
"""A reference to another resource: its kind and its identity."""


class Group(StrEnum):
    """A word that ``export --only`` takes."""

    SERVICES = "services"
    FUNCTIONS = "functions"
    VERSIONS = "versions"
    ALIASES = "aliases"
    LAYERS = "layers"
    TRIGGERS = "triggers"
    DOMAINS = "domains"
    FLOWS = "flows"
    SCHEDULES = "schedules"
    QUEUES = "queues"
    TOPICS = "topics"
    SUBSCRIPTIONS = "subscriptions"
    BUCKETS = "buckets"
    ROLES = "roles"


BESIDE = "Beside"
"""The property that lists, in words, what no deployment file can describe of a resource."""

TAGS = "Tags"
"""The property with the tags of a resource, values by key; only some formats can write it."""

LATEST = "LATEST"

_NOT_THERE = frozenset(
    {
        "FlowNotExists", "ScheduleNotExists", "QueueNotExist", "TopicNotExist", "SubscriptionNotExist",
        "SubscriptionNotExists", "EntityNotExist.Role", "EntityNotExist.Policy", "EntityNotExist.Role.Policy",
    }
)  # fmt: skip


@frozen(kw_only=False)
class ActualState:
    """The state of a resource in the emulator: the API's answer, and whether this call has created the resource."""

    content: Content
    made: bool = True


@frozen(kw_only=False)
class Disagreement:
    """A difference between the emulator and the file: the path of names that leads to it, and both values."""

    path: tuple[str, ...]
    wanted: Any
    actual: Any


@frozen
class Route:
    """A route of a domain: its content for the API, the function it leads to, and the alias of that function."""

    content: Content
    function: Reference
    alias: Reference


@frozen(kw_only=False)
class Lead:
    """A property that names another resource: the pattern of its text, with the identity as first group; its kind."""

    property: str
    pattern: re.Pattern[str]
    kind: str


def role_in(name: str) -> Lead:
    """Return the lead of a property that has the ARN of a role."""
    return Lead(name, re.compile(r":role/([^/]+)$"), "ram.role")


@dataclass(eq=False, kw_only=True)
class ResourceProvider(ABC):
    """A kind of resource, for planning, deployment and export. Every call of *api* may raise `Refused`.

    `show`, `create` and `remove` are each kind's own; the other methods hold for most.

    - *names*: what templates call the parts of the identity.
    - *groups*: by which words ``export --only`` takes it.
    - *keeps*: the properties that make the resource again; *fixed*: those that only a new one can have otherwise.
    - *shown*: the API's name of a property where it shows it under another; *tells*: the member of its answers for each
      attribute that exists only once the resource does; *usual*: what its answers have where nobody has set a property.
    - *formed*: the attributes that follow from the identity and the place, as patterns.
    - *inside*: the kinds of what it is a part of, with the positions in its identity that name each.
    - *leads*: the properties that name other resources.

    ``renews``: a change creates a new resource beside it, with other attributes. ``goes_first``: one removed from the
    file is deleted before others are created, because there may be only one. ``is_snapshot``: it is a copy of another
    resource at a time, so that a file need not mention it. ``is_named_by_file``: its identity ends with its name in the
    file.
    """

    renews: ClassVar[bool] = False
    goes_first: ClassVar[bool] = False
    is_snapshot: ClassVar[bool] = False
    is_named_by_file: ClassVar[bool] = False

    names: tuple[str, ...]
    groups: tuple[Group, ...]
    formed: Mapping[str, str] = field(default_factory=dict)
    inside: tuple[tuple[str, tuple[int, ...]], ...] = ()
    leads: tuple[Lead, ...] = ()
    keeps: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    shown: Mapping[str, str] = field(default_factory=dict)
    tells: Mapping[str, str] = field(default_factory=dict)
    usual: Content = field(default_factory=dict)

    def find(self, api: ApiClient, identity: Identity, attributes: Attributes) -> ActualState | None:
        """Return the resource, None when it does not exist; *attributes* are those the last deployment recorded."""
        try:
            shown = self.show(api, identity, attributes)
        except Refused as error:
            if is_not_there(error):
                return None
            raise
        return None if shown is None else ActualState(shown)

    @abstractmethod
    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content | None:
        """Return the API's answer about the resource; `find` turns the refusal of a missing one into None."""

    @abstractmethod
    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """Create the resource."""

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """Change an existing resource to the state in the file."""
        return self.create(api, resource)

    def delete(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """Remove the resource; removing a missing one succeeds."""
        try:
            self.remove(api, identity, attributes)
        except Refused as error:
            if not is_not_there(error):
                raise

    @abstractmethod
    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """Delete the resource, perhaps in several calls; `delete` ignores the refusal of a missing one."""

    def value(self, name: str, actual: ActualState) -> Any:
        """Return the actual value of a property, in the form that `Resource` has it."""
        return actual.content.get(self.shown.get(name, name))

    def disagreements(self, resource: Resource, actual: ActualState) -> Iterator[Disagreement]:
        """Yield the differences between the resource and the file; code is compared by `has_other_code`.

        Properties that the file does not have are left to the service and not compared.
        """
        for name, wanted in resource.properties.items():
            if name != "code":
                yield from disagreements((name,), opened(wanted), opened(self.value(name, actual)))

    def has_other_code(self, api: ApiClient, resource: Resource, actual: ActualState) -> bool:
        """Whether the file's code differs from the emulator's."""
        return False

    def differs(self, api: ApiClient, resource: Resource, actual: ActualState) -> bool:
        """Whether the resource differs from the file."""
        return any(self.disagreements(resource, actual)) or self.has_other_code(api, resource, actual)

    def is_fixed(self, resource: Resource, actual: ActualState) -> bool:
        """Whether a difference requires a new resource."""
        return any(each.path[0] in self.fixed for each in self.disagreements(resource, actual))

    def stays(self, resource: Resource, actual: ActualState) -> bool:
        """Whether an existing resource is never changed, whatever the file says."""
        return False

    def receivers(self, resource: Resource) -> Iterator[str]:
        """Yield the ARNs or endpoints that have to exist for the resource to be of use."""
        return iter(())

    def needs_receivers(self, resource: Resource) -> bool:
        """Whether the service refuses to create the resource without its receivers."""
        return False

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """Return a resource from which the present state can be created again."""
        kept = {name: value for name in self.keeps if (value := self.value(name, actual)) not in (None, "")}
        return replace(resource, properties=kept, package=None)

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Change the resource back to *saved*; *actual* is the state that the update returned.

        A property that was not set before, and that the update has set, gets an empty value.
        """
        given = {name: self.value(name, actual) for name in self.keeps}
        empty = {name: type(value)() for name, value in given.items() if value and isinstance(value, (str, list, dict))}
        self.update(api, replace(saved, properties={**empty, **saved.properties}), actual)

    def attributes(self, actual: ActualState) -> dict[str, str]:
        """Return the attributes assigned by the emulator."""
        shown = actual.content
        return {name: str(shown[member]) for name, member in self.tells.items() if shown.get(member) is not None}

    def attributes_of(self, resource: Resource, target: Target) -> dict[str, Any]:
        """Return the attributes that a file may refer to, by name; the one under ``""`` is the value of ``Ref``.

        An attribute that is known only after the creation is a token.
        """
        identity = resource.identity
        attributes: dict[str, Any] = dict(zip(self.names, identity, strict=False))
        attributes |= {name: token(resource.logical, name) for name in self.tells}
        attributes[""] = attributes.get("VersionId", identity[-1])
        place = {"region": target.region, "account": target.account, "endpoint": target.endpoint}
        return attributes | {name: form.format(*identity, **place) for name, form in self.formed.items()}

    def needs(self, resource: Resource, there: Iterable[Resource]) -> Iterator[Reference]:
        """Yield the resources to create before this one: its parents, its alias, and those its properties name.

        *there* are all the resources to create.
        """
        for kind, places in self.inside:
            yield kind, tuple(resource.identity[at] for at in places)
        if (alias := self.alias_of(resource)) is not None:
            yield alias
        yield from (route.function for route in self.routes(resource))
        for lead in self.leads:
            if match := lead.pattern.search(str(resource.properties.get(lead.property) or "")):
                yield lead.kind, (match[1],)

    def alias_of(self, resource: Resource) -> Reference | None:
        """Return the alias that the resource is for, also ``LATEST``; None for other resources."""
        return None

    def version_of(self, identity: Identity) -> Reference | None:
        """Return the newest version that an alias leads to; None for other kinds."""
        return None

    def mention(self, identity: Identity) -> str | None:
        """Return the regular expression of its name in definitions, None if definitions cannot name it."""
        return None

    def routes(self, resource: Resource) -> Iterator[Route]:
        """Yield the routes of a domain; other kinds have none."""
        return iter(())

    def is_made_by_another(self, resource: Resource) -> bool:
        """Whether another resource creates and removes it, so that no file describes it."""
        return False

    def newest(self, api: ApiClient, identity: Identity) -> Attributes:
        """Return the attributes that identify the newest version, for a resource that no deployment has recorded."""
        return {}

    def copied(self, api: ApiClient, resource: Resource) -> None:
        """Create a resource of an inventory in another emulator, with the same numbers."""
        kept = {name: value for name, value in resource.properties.items() if name not in {BESIDE, TAGS}}
        self.create(api, replace(resource, properties=kept))

    def rehearsing(self) -> "ResourceProvider | None":
        """Return the provider to use in a rehearsal; None for this one."""
        return None


class Immutable(ResourceProvider):
    """Resources that exist or not, and never change."""

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """Do nothing: such a resource never changes."""
        return actual

    def disagreements(self, resource: Resource, actual: ActualState) -> Iterator[Disagreement]:
        """Yield nothing: such a resource never differs from the file."""
        return iter(())

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """Return the resource as it is, without properties to save."""
        return resource

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Do nothing: such a resource never changes."""


def path_of(template: str, identity: Identity) -> str:
    """Return *template* with the percent-encoded parts of an identity."""
    return template.format(*(quote(part, safe="") for part in identity))


def is_not_there(error: Refused) -> bool:
    """Whether an error says that the resource does not exist."""
    return error.status == 404 or error.code in _NOT_THERE


def same(wanted: Any, actual: Any, *, exact: bool = False) -> bool:
    """Whether *actual* equals *wanted*; unless *exact*, a map may have more members.

    None equals an empty value, and a number its text.
    """
    if wanted in (None, "", [], {}) and actual in (None, "", [], {}):
        return True
    if isinstance(wanted, Mapping):
        if not isinstance(actual, Mapping) or (exact and set(wanted) != set(actual)):
            return False
        return all(same(item, actual.get(key), exact=exact) for key, item in wanted.items())
    if isinstance(wanted, (list, tuple)):
        if not isinstance(actual, (list, tuple)) or len(wanted) != len(actual):
            return False
        return all(same(mine, theirs, exact=exact) for mine, theirs in zip(wanted, actual, strict=True))
    if isinstance(wanted, bool) or isinstance(actual, bool):
        return str(wanted).lower() == str(actual).lower()
    if isinstance(wanted, (int, float)) and isinstance(actual, (int, float)):
        return wanted == actual
    return str(wanted) == str(actual)


_EXACT = frozenset({"environmentVariables", "additionalVersionWeight"})
"""Maps whose keys are the user's: an additional key is a difference."""


def disagreements(path: tuple[str, ...], wanted: Any, actual: Any) -> Iterator[Disagreement]:
    """Yield each difference between two values, with its path below *path*; lists are compared as wholes."""
    exact = path[-1] in _EXACT
    if same(wanted, actual, exact=exact):
        return
    if not isinstance(wanted, Mapping) or not isinstance(actual or {}, Mapping):
        yield Disagreement(path, wanted, actual)
        return
    theirs = actual or {}
    for name in (*wanted, *(name for name in theirs if exact and name not in wanted)):
        yield from disagreements((*path, name), wanted.get(name), theirs.get(name))


def opened(value: Any) -> Any:
    """Return the map or list in a JSON text; any other value as it is."""
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] in {"{", "["} else value
    except (ValueError, RecursionError):
        return value


def decoded(text: str) -> bytes | None:
    """Return the bytes that *text* encodes in base64, None when it is not base64."""
    try:
        return b64decode("".join(text.split()), validate=True)
    except ValueError:
        return None
