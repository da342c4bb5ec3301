"""Tags of roles and policies. Source: RAM API reference, one page for each operation; the official SDK for Python.

Lists come as JSON (``ResourceNames=["a"]``), as the newer SDKs write them, or numbered (``ResourceNames.1=a``).
"""

from emulator.kernel.identity import AccountId
from emulator.services.ram import codec, limits
from emulator.services.ram.errors import RamError, existing, limit_exceeded
from emulator.services.ram.model import Role
from emulator.services.ram.service import AccessManagement
from emulator.services.ram.store import RamStore
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply


@operation("TagResources")
def tag_resources(access: AccessManagement, call: OperationRequest) -> Reply:
    """Set tags of resources, in place of those with the same keys.

    Raises: RamError: a parameter's, EntityNotExist.Role, .Policy, LimitExceeded.Tag.
    Source: RAM API reference, TagResources.
    """
    account, kind, names = _named_resources(access.store, call)
    tags = codec.tags(call.parameters)
    if not names or not tags:
        raise RamError("Missing", name="Tag" if names else "ResourceNames")
    for name in names:
        present = {key for _, key, _ in access.store.tags(account, kind, name)}
        if len(present | tags.keys()) > limits.TAGS:
            raise limit_exceeded("Tag", "tags of the resource")
        access.store.put_tags(account, kind, name, tags)
    return {}


@operation("UntagResources")
def untag_resources(access: AccessManagement, call: OperationRequest) -> Reply:
    """Remove the tags with the keys ``TagKeys`` from resources, or all of them when ``All`` says so.

    Raises: RamError: a parameter's, EntityNotExist.Role, .Policy.
    Source: RAM API reference, UntagResources.
    """
    account, kind, names = _named_resources(access.store, call)
    keys = codec.names(call.parameters, "TagKeys")
    everything = codec.flag(call.parameters, "All")
    if not names or not (keys or everything):
        raise RamError("Missing", name="TagKeys" if names else "ResourceNames")
    for name in names:
        access.store.delete_tags(account, kind, name, None if everything else keys)
    return {}


@operation("ListTagResources")
def list_tag_resources(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return the tags of resources of one type: of those that the request names, or that have its tags.

    ``NextToken`` is a position in the list, whose order is that of names and keys (assumed).

    Raises: RamError: a parameter's, EntityNotExist.Role, .Policy.
    Source: RAM API reference, ListTagResources.
    """
    account, kind, names = _named_resources(access.store, call)
    wanted = codec.tags(call.parameters)
    size = codec.number(call.parameters, "PageSize", limits.TAG_PAGE) or limits.TAG_PAGE.default
    start = codec.number(call.parameters, "NextToken", limits.TAG_POSITION) or limits.TAG_POSITION.default
    rows = [row for row in access.store.tags(account, kind) if not names or row[0] in names]
    if wanted:
        of_name: dict[str, dict[str, str]] = {}
        for name, key, value in rows:
            of_name.setdefault(name, {})[key] = value
        matching = {
            name
            for name, tags in of_name.items()
            if all(key in tags and value in ("", tags[key]) for key, value in wanted.items())
        }
        rows = [row for row in rows if row[0] in matching]
    listed = [
        {"ResourceType": kind, "ResourceName": name, "TagKey": key, "TagValue": value}
        for name, key, value in rows[start : start + size]
    ]
    more = {"NextToken": str(start + size)} if len(rows) > start + size else {}
    return {"TagResources": listed, **more}


def _named_resources(store: RamStore, call: OperationRequest) -> tuple[AccountId, str, list[str]]:
    """Return the account, and type and names of the resources, which exist."""
    account = call.tenant.account
    kind, names = codec.required(call.parameters, "ResourceType"), codec.names(call.parameters, "ResourceNames")
    if kind not in {"role", "policy"}:
        raise RamError("InvalidParameter", name="ResourceType")
    for name in names:
        entity = store.find(Role, account, name) if kind == "role" else store.policy(account, name)
        existing(entity, kind.capitalize(), name)
    return account, kind, names
