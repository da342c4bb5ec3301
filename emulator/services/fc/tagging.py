"""Tags: of services in 2.0, of functions in 3.0."""

from collections.abc import Mapping

from emulator.kernel.identity import Tenant
from emulator.kernel.paging import Page, cut
from emulator.services.fc import limits
from emulator.services.fc.errors import FunctionNotFound, InvalidArgument, ServiceNotFound
from emulator.services.fc.store import Slice, Store


class Tagging:
    """The tags of every account's resources, which are named ``services/x`` or ``functions/x``."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def resource(self, tenant: Tenant, arn: str, kind: str) -> str:
        """Return the resource an ARN, a part of one, or (for functions) a bare name means; it must exist.

        *kind* is ``services`` or ``functions``.

        Raises: InvalidArgument, ServiceNotFound, FunctionNotFound.
        """
        tail = arn.split(":", 4)[-1] if arn.startswith("acs:") else arn
        if kind == "functions" and "/" not in tail:
            tail = f"functions/{tail}"
        found_kind, _, name = tail.partition("/")
        if found_kind != kind or not name or "/" in name:
            raise InvalidArgument(f"resourceArn '{arn[:200]}' does not name one of the {kind}")
        if kind == "services" and self._store.service(tenant, name) is None:
            raise ServiceNotFound(service=name)
        if kind == "functions" and self._store.function(tenant, "", name) is None:
            raise FunctionNotFound(function=name)
        return tail

    def tag(self, tenant: Tenant, resource: str, tags: object) -> None:
        """Set tags on *resource*; other tags stay.

        Raises: InvalidArgument.
        """
        self._store.put_tags(tenant, resource, check_tags(tags))

    def untag(self, tenant: Tenant, resource: str, keys: list[str], *, everything: bool) -> None:
        """Remove tags by key, or all; keys that are not there are no error.

        Raises: InvalidArgument when neither is asked for.
        """
        if not everything:
            if not keys:
                raise InvalidArgument("tagKeys is required")
            if len(keys) > limits.TAGS_PER_CALL.high:
                raise InvalidArgument(f"tagKeys must not have more than {limits.TAGS_PER_CALL.high} items")
        self._store.delete_tags(tenant, resource, None if everything else keys)

    def tags(self, tenant: Tenant, resource: str) -> dict[str, str]:
        """Return the tags of *resource*."""
        return self._store.tags(tenant, resource)

    def page(self, tenant: Tenant, kind: str, part: Slice) -> Page[tuple[str, dict[str, str]]]:
        """Return the tagged resources of *kind* with their tags."""
        names = self._store.tagged(tenant, f"{kind}/", part)
        rows = [(resource, self._store.tags(tenant, resource)) for resource in names]
        return cut(rows, part.limit, lambda row: row[0].partition("/")[2])

    def every(self, tenant: Tenant, kind: str) -> list[tuple[str, dict[str, str]]]:
        """Return all tagged resources of *kind* with their tags."""
        found: list[tuple[str, dict[str, str]]] = []
        marker = ""
        while True:
            page = self.page(tenant, kind, Slice(limit=limits.LIST.high, start=marker))
            found += page.items
            if page.next_marker is None:
                return found
            marker = page.next_marker


def check_tags(tags: object) -> Mapping[str, str]:
    """Check a map of tags: 1 to 20 a call, texts.

    Raises: InvalidArgument.
    Source: the classic SDK's comments; lengths are the cloud-wide ones.
    """
    if not isinstance(tags, dict) or not limits.TAGS_PER_CALL.contains(len(tags)):
        raise InvalidArgument(f"tags must be an object with 1 to {limits.TAGS_PER_CALL.high} entries")
    for key, value in tags.items():
        if not isinstance(key, str) or not 1 <= len(key) <= limits.TAG_KEY_LENGTH:
            raise InvalidArgument(f"a tag key must have 1 to {limits.TAG_KEY_LENGTH} characters")
        if not isinstance(value, str) or len(value) > limits.TAG_VALUE_LENGTH:
            raise InvalidArgument(f"the value of tag '{key}' must be a string of at most {limits.TAG_VALUE_LENGTH}")
    return tags
