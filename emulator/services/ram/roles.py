"""Roles with their trust policies, and tags, which roles and policies can have.

Lists in requests about tags come as JSON (``ResourceNames=["a"]``), as the newer SDKs write them, or numbered
(``ResourceNames.1=a``).

Source: RAM API reference, one page for each operation; for tags also the official SDK for Python.
"""

from emulator.kernel.frozen import replace
from emulator.kernel.identity import AccountId
from emulator.services.ram import codec, limits
from emulator.services.ram.errors import RamError, check_new, delete_conflict, existing, limit_exceeded
from emulator.services.ram.model import ROLE, Holder, HolderKind, Role
from emulator.services.ram.service import AccessManagement
from emulator.services.ram.store import RamStore
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply


@operation("CreateRole")
def create_role(access: AccessManagement, call: OperationRequest) -> Reply:
    """Create a role and return it.

    Raises: RamError: a parameter's, MalformedPolicyDocument, EntityAlreadyExists.Role, LimitExceeded.Role.
    Source: RAM API reference, CreateRole.
    """
    account = call.tenant.account
    name = codec.entity_name(call.parameters, "RoleName")
    codec.required(call.parameters, "AssumeRolePolicyDocument")
    chosen = ROLE.defaults() | codec.PARAMETERS.read(ROLE, call.parameters.get)
    role = Role(name=name, created_at=call.now, updated_at=call.now, **chosen)
    tags = codec.tags(call.parameters)
    codec.check_trust(role.trust, "AssumeRolePolicyDocument")
    present, count = access.store.find(Role, account, role.name), access.store.count(account, "roles", limits.ROLES)
    check_new(present, "Role", role.name, count, limits.ROLES)
    access.store.put(account, role)
    access.store.put_tags(account, "role", role.name, tags)
    return {"Role": codec.render_role(account, role)}


@operation("GetRole")
def get_role(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a role.

    Raises: RamError: EntityNotExist.Role.
    Source: RAM API reference, GetRole.
    """
    return {"Role": codec.render_role(call.tenant.account, _named(access, call))}


@operation("UpdateRole")
def update_role(access: AccessManagement, call: OperationRequest) -> Reply:
    """Change the attributes in the request; a description may be empty, a trust policy may not.

    Raises: RamError: a parameter's, MalformedPolicyDocument, EntityNotExist.Role.
    Source: RAM API reference, UpdateRole.
    """
    account, parameters = call.tenant.account, call.parameters
    name = codec.entity_name(parameters, "RoleName")
    change = codec.CHANGES.read(ROLE, parameters.get)
    if change.get("trust"):
        codec.check_trust(change["trust"], "NewAssumeRolePolicyDocument")
    else:
        change.pop("trust", None)
    role = replace(access.entity(Role, account, name), **change, updated_at=call.now)
    access.store.put(account, role)
    return {"Role": codec.render_role(account, role)}


@operation("ListRoles")
def list_roles(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a page of the roles by name, without their trust policies; ``Tag`` selects those with the tags.

    Raises: RamError: a parameter's.
    Source: RAM API reference, ListRoles.
    """
    account, wanted = call.tenant.account, codec.tags(call.parameters)

    def render(role: Role) -> Reply:
        return codec.render_listed_role(account, role, access.store.tags_of(account, "role", role.name))

    def read(after: str, limit: int) -> list[Role]:
        if not wanted:
            return access.store.page(Role, account, after, limit)
        names = access.store.tagged(account, "role", wanted, after, limit)
        return [access.entity(Role, account, name) for name in names]

    return codec.page(call.parameters, read, render, ("Roles", "Role"))


@operation("DeleteRole")
def delete_role(access: AccessManagement, call: OperationRequest) -> Reply:
    """Delete a role that has no policy attached.

    Raises: RamError: EntityNotExist.Role, DeleteConflict.Role.Policy.
    Source: RAM API reference, DeleteRole.
    """
    account, name = call.tenant.account, _named(access, call).name
    if access.store.attachments(Holder(account=account, kind=HolderKind.ROLE, name=name)):
        raise delete_conflict("Role", "Policy", "attached policy")
    access.store.delete(Role, account, name)
    return {}


def _named(access: AccessManagement, call: OperationRequest) -> Role:
    return access.entity(Role, call.tenant.account, codec.entity_name(call.parameters, "RoleName"))


@operation("TagResources")
def tag_resources(access: AccessManagement, call: OperationRequest) -> Reply:
    """Set tags of resources; tags with the same keys are replaced.

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
    """Remove the tags with the keys ``TagKeys`` from resources, or with ``All`` all tags.

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
    """Return the tags of resources of one type, filtered by resource or by tag.

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
        matching = set(access.store.tagged(account, kind, wanted))
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
