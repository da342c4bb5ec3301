"""What can be done with a resource, whatever it is: find it, make it, change it, take it away, put it back."""

from base64 import b64decode
from collections.abc import Mapping
from typing import Any, Protocol

from emulator.deploy.model import Refused, Resource
from emulator.kernel.frozen import frozen

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


class ResourceProvider(Protocol):
    """One kind of resource. Every method may raise `Refused`."""

    def find(self, api: ApiClient, identity: Identity, attributes: Attributes) -> ActualState | None:
        """Return the resource, None when it is not there; *attributes* are those the last deployment noted."""
        ...

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """Make the resource."""
        ...

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """Bring a resource that is there to what the file says."""
        ...

    def delete(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """Take the resource away; one that is gone already is fine."""
        ...

    def differs(self, resource: Resource, actual: ActualState) -> bool:
        """Whether what is there is not what the file says."""
        ...

    def is_fixed(self, resource: Resource, actual: ActualState) -> bool:
        """Whether only a new resource can be what the file says."""
        ...

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """Return what makes the resource as it is now again."""
        ...

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Bring the resource back to what was *saved*; *actual* is what the update gave."""
        ...

    def attributes(self, actual: ActualState) -> dict[str, str]:
        """Return what the emulator has decided about the resource."""
        ...


class Immutable:
    """The part of a `ResourceProvider` whose resources are there or not and never change."""

    def differs(self, resource: Resource, actual: ActualState) -> bool:
        """What is there is what the file says."""
        del resource, actual
        return False

    def is_fixed(self, resource: Resource, actual: ActualState) -> bool:
        """There is nothing a new resource would be needed for."""
        del resource, actual
        return False

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """What the file says is all there is to know."""
        del api, actual
        return resource

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Nothing was changed."""


def is_not_there(error: Refused) -> bool:
    """Whether an error says that the resource is not there."""
    return error.status == 404 or error.code in _NOT_THERE


def same(wanted: Any, found: Any, *, exact: bool = False) -> bool:
    """Whether *found* is what is *wanted*; a map may hold more than that unless *exact*.

    Nothing and an empty value are alike, and so are a number and its text.
    """
    if wanted in (None, "", [], {}) and found in (None, "", [], {}):
        return True
    if isinstance(wanted, Mapping):
        if not isinstance(found, Mapping) or (exact and set(wanted) != set(found)):
            return False
        return all(same(item, found.get(key), exact=exact) for key, item in wanted.items())
    if isinstance(wanted, (list, tuple)):
        if not isinstance(found, (list, tuple)) or len(wanted) != len(found):
            return False
        return all(same(mine, theirs, exact=exact) for mine, theirs in zip(wanted, found, strict=True))
    if isinstance(wanted, bool) or isinstance(found, bool):
        return str(wanted).lower() == str(found).lower()
    if isinstance(wanted, (int, float)) and isinstance(found, (int, float)):
        return wanted == found
    return str(wanted) == str(found)


def decoded(text: str) -> bytes | None:
    """Return the bytes of base64 text, None when it is none."""
    try:
        return b64decode("".join(text.split()), validate=True)
    except ValueError:
        return None
