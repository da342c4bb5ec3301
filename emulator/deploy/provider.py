"""What a kind of resource answers: how one is found, made, changed and removed, what it is called, what it needs."""

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
        """Call a function and return its answer and the kind of its error, empty when it has none."""
        ...

    def rpc(self, version: str, action: str, parameters: Mapping[str, str]) -> Reply:
        """Call an operation of a service that speaks RPC."""
        ...

    def objects(self, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
        """Call an operation of the object store and return its answer; *target* is ``/bucket/key?query``, encoded."""
        ...

    def download(self, url: str) -> bytes:
        """Return what is at a URL that this emulator gave out."""
        ...


Identity = tuple[str, ...]
Attributes = Mapping[str, str]
Content = dict[str, Any]
Reference = tuple[str, Identity]
"""Another resource: its kind and its identity."""


class Group(StrEnum):
    """What ``export --only`` takes."""

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
"""The property that lists what a resource has and no deployment file says."""

TAGS = "Tags"
"""The property that holds the tags of a resource, values by keys; only some formats have a place for them."""

LATEST = "LATEST"

_NOT_THERE = frozenset(
    {
        "FlowNotExists", "ScheduleNotExists", "QueueNotExist", "TopicNotExist", "SubscriptionNotExist",
        "SubscriptionNotExists", "EntityNotExist.Role", "EntityNotExist.Policy", "EntityNotExist.Role.Policy",
    }
)  # fmt: skip


@frozen(kw_only=False)
class ActualState:
    """A resource as it is: what the API shows of it, and whether the call that gave this has made it."""

    content: Content
    made: bool = True


@frozen(kw_only=False)
class Disagreement:
    """A place at which a resource is not what the file says: the names that lead to it, and both values."""

    path: tuple[str, ...]
    wanted: Any
    actual: Any


@frozen
class Route:
    """A route of a domain: what the API takes for it, the function it leads to, and the alias of that function."""

    content: Content
    function: Reference
    alias: Reference


@frozen(kw_only=False)
class Lead:
    """A property that names another resource: the text it is named in, whose first group is the identity, its kind."""

    property: str
    pattern: re.Pattern[str]
    kind: str


def role_in(name: str) -> Lead:
    """Return that a property holds the resource name of a role."""
    return Lead(name, re.compile(r":role/([^/]+)$"), "ram.role")


@dataclass(eq=False, kw_only=True)
class ResourceProvider(ABC):
    """One kind of resource: what all that deals with resources asks about it. Every call of *api* may raise `Refused`.

    `show`, `create` and `remove` are each kind's own; the other methods hold for most.

    - *names*: what templates call the parts of the identity.
    - *groups*: by which words ``export --only`` takes it.
    - *keeps*: the properties that make the resource again; *fixed*: those that only a new one can have otherwise.
    - *shown*: the API's name of a property where it shows it under another; *tells*: the member of its answers for each
      attribute that exists only once the resource does; *usual*: what its answers have where nobody has set a property.
    - *formed*: the attributes that follow from the identity and the place, as patterns.
    - *inside*: the kinds of what it is a part of, with the positions in its identity that name each.
    - *leads*: the properties that name other resources.

    ``renews``: a change makes a new one beside it, with other attributes. ``goes_first``: one that a file no longer has
    is removed before others are made, because there may be only one of it. ``is_snapshot``: it records what another
    resource was, so that a file need not mention it. ``is_named_by_file``: its identity ends with its name in the file.
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
        """Return what the API shows of the resource; `find` turns the refusal of a missing one into None."""

    @abstractmethod
    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """Create the resource."""

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """Bring an existing resource to what the file says."""
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
        """Remove the resource, or part of it after part; `delete` ignores the refusal of a missing one."""

    def value(self, name: str, actual: ActualState) -> Any:
        """Return a property as it is, under the name and in the form that `Resource` has it."""
        return actual.content.get(self.shown.get(name, name))

    def disagreements(self, resource: Resource, actual: ActualState) -> Iterator[Disagreement]:
        """Yield where the resource is not what the file says; code is compared by `has_other_code`.

        What the file does not say is left to the service, and does not disagree.
        """
        for name, wanted in resource.properties.items():
            if name != "code":
                yield from disagreements((name,), opened(wanted), opened(self.value(name, actual)))

    def has_other_code(self, api: ApiClient, resource: Resource, actual: ActualState) -> bool:
        """Whether the file comes with code that is not the one in the emulator."""
        return False

    def differs(self, api: ApiClient, resource: Resource, actual: ActualState) -> bool:
        """Whether the resource is not what the file says."""
        return any(self.disagreements(resource, actual)) or self.has_other_code(api, resource, actual)

    def is_fixed(self, resource: Resource, actual: ActualState) -> bool:
        """Whether only a new resource can be what the file says."""
        return any(each.path[0] in self.fixed for each in self.disagreements(resource, actual))

    def stays(self, resource: Resource, actual: ActualState) -> bool:
        """Whether a resource that is there stays as it is, whatever the file says by now."""
        return False

    def receivers(self, resource: Resource) -> Iterator[str]:
        """Yield the ARNs or endpoints that must be there for the resource to be of use."""
        return iter(())

    def needs_receivers(self, resource: Resource) -> bool:
        """Whether the service refuses to make the resource without its receivers."""
        return False

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """Return what makes the resource as it is now again."""
        kept = {name: value for name in self.keeps if (value := self.value(name, actual)) not in (None, "")}
        return replace(resource, properties=kept, package=None)

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Bring the resource back to what was *saved*; *actual* is what the update returned.

        What had no value before gets an empty one where the update gave it one.
        """
        given = {name: self.value(name, actual) for name in self.keeps}
        empty = {name: type(value)() for name, value in given.items() if value and isinstance(value, (str, list, dict))}
        self.update(api, replace(saved, properties={**empty, **saved.properties}), actual)

    def attributes(self, actual: ActualState) -> dict[str, str]:
        """Return what the emulator has decided about the resource."""
        shown = actual.content
        return {name: str(shown[member]) for name, member in self.tells.items() if shown.get(member) is not None}

    def attributes_of(self, resource: Resource, target: Target) -> dict[str, Any]:
        """Return the attributes that a file may refer to, by name; ``""`` is what ``Ref`` gives.

        One that exists only once the resource does is a token.
        """
        identity = resource.identity
        attributes: dict[str, Any] = dict(zip(self.names, identity, strict=False))
        attributes |= {name: token(resource.logical, name) for name in self.tells}
        attributes[""] = attributes.get("VersionId", identity[-1])
        place = {"region": target.region, "account": target.account, "endpoint": target.endpoint}
        return attributes | {name: form.format(*identity, **place) for name, form in self.formed.items()}

    def needs(self, resource: Resource, there: Iterable[Resource]) -> Iterator[Reference]:
        """Yield what has to be made before the resource: what it is a part of, its alias, what its properties name.

        *there* are all the resources that are made.
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
        """Return the alias for which the resource is made, also where it is ``LATEST``; None for one without."""
        return None

    def version_of(self, identity: Identity) -> Reference | None:
        """Return the newest version of what an alias belongs to; None for other kinds."""
        return None

    def mention(self, identity: Identity) -> str | None:
        """Return the regular expression of how a definition names it, None where nothing else names such a thing."""
        return None

    def routes(self, resource: Resource) -> Iterator[Route]:
        """Yield the routes of a domain; other kinds have none."""
        return iter(())

    def is_made_by_another(self, resource: Resource) -> bool:
        """Whether another resource makes and removes it, so that no file describes it."""
        return False

    def newest(self, api: ApiClient, identity: Identity) -> Attributes:
        """Return the attributes by which the newest version is found where no deployment has recorded any."""
        return {}

    def copied(self, api: ApiClient, resource: Resource) -> None:
        """Make again what an inventory has listed, with the numbers that it has there, in an emulator without it."""
        kept = {name: value for name, value in resource.properties.items() if name not in {BESIDE, TAGS}}
        self.create(api, replace(resource, properties=kept))

    def rehearsing(self) -> "ResourceProvider | None":
        """Return what stands in for the provider at a rehearsal; None for itself."""
        return None


class Immutable(ResourceProvider):
    """Resources that exist or do not and never change."""

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """Do nothing: such a resource never changes."""
        return actual

    def disagreements(self, resource: Resource, actual: ActualState) -> Iterator[Disagreement]:
        """What exists is what the file says."""
        return iter(())

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """What it is called is all there is to it."""
        return resource

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Do nothing: such a resource never changes."""


def path_of(template: str, identity: Identity) -> str:
    """Return a path with the parts of an identity in it, percent-encoded."""
    return template.format(*(quote(part, safe="") for part in identity))


def is_not_there(error: Refused) -> bool:
    """Whether an error says that the resource is not there."""
    return error.status == 404 or error.code in _NOT_THERE


def same(wanted: Any, actual: Any, *, exact: bool = False) -> bool:
    """Whether *actual* is what is *wanted*; a map may hold more than that unless *exact*.

    Nothing and an empty value are alike, and so are a number and its text.
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
"""Maps whose keys are the user's: one that is there too many counts as a difference."""


def disagreements(path: tuple[str, ...], wanted: Any, actual: Any) -> Iterator[Disagreement]:
    """Yield each place below *path* at which two values differ; lists are compared as wholes."""
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
    """Return the map or list that a JSON text holds, anything else as it is."""
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
