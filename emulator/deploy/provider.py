"""What can be done with a resource of any kind: find it, create it, change it, remove it, put it back."""

import json
from abc import ABC, abstractmethod
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from emulator.deploy.model import Refused, Resource
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


@dataclass(eq=False, kw_only=True)
class ResourceProvider(ABC):
    """One kind of resource: how it is shown, made, changed, removed, and put back. Every method may raise `Refused`.

    A kind says what is so for it; `show`, `create` and `remove` it has to have. *keeps* are the properties that make
    the resource again, *fixed* those that only a new one can have otherwise. *shown* says what the API shows a property
    as where that is another name, *tells* what it shows of each attribute that the emulator has decided.

    ``renews``: a change makes a new one beside it, with other attributes. ``goes_first``: one that a file no longer has
    is removed before others are made, because there may be only one of it.
    """

    renews: ClassVar[bool] = False
    goes_first: ClassVar[bool] = False

    keeps: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    shown: Mapping[str, str] = field(default_factory=dict)
    tells: Mapping[str, str] = field(default_factory=dict)

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
                yield from disagreements((name,), _opened(wanted), _opened(self.value(name, actual)))

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


class Immutable(ResourceProvider):
    """Resources that exist or do not and never change."""

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """Leave it as it is."""
        return actual

    def disagreements(self, resource: Resource, actual: ActualState) -> Iterator[Disagreement]:
        """What exists is what the file says."""
        return iter(())

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """What it is called is all there is to it."""
        return resource

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Leave it as it is."""


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


def _opened(value: Any) -> Any:
    """Return the map or list that a JSON text holds, anything else as it is."""
    try:
        opened = json.loads(value) if isinstance(value, str) and value[:1] in {"{", "["} else value
    except (ValueError, RecursionError):
        return value
    return opened


def decoded(text: str) -> bytes | None:
    """Return the bytes that *text* encodes in base64, None when it is not base64."""
    try:
        return b64decode("".join(text.split()), validate=True)
    except ValueError:
        return None
