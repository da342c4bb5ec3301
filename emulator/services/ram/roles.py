"""Roles and their trust policies. Source: RAM API reference, one page for each operation."""

from dataclasses import replace

from emulator.auth.permissions.policy import MalformedPolicy, parse_trust_policy
from emulator.kernel.identity import AccountId
from emulator.services.ram import codec, limits
from emulator.services.ram.errors import RamError, beyond_length, delete_conflict, limit_exceeded
from emulator.services.ram.model import Holder, HolderKind, Role
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
    role = Role(
        name=codec.entity_name(call.parameters, "RoleName"),
        trust=codec.required(call.parameters, "AssumeRolePolicyDocument"),
        description=codec.text(call.parameters, "Description", limits.DESCRIPTION_LENGTH),
        max_session_s=codec.session_s(call.parameters, "MaxSessionDuration") or limits.MAX_SESSION_S.default,
        created_at=call.now,
        updated_at=call.now,
    )
    tags = codec.tags(call.parameters)
    check_trust(role.trust, "AssumeRolePolicyDocument")
    if access.store.role(account, role.name) is not None:
        raise RamError("EntityAlreadyExists.Role", name=role.name)
    if access.store.count(account, "roles") >= limits.ROLES:
        raise limit_exceeded("Role", "roles")
    access.store.put_role(account, role)
    access.store.put_tags(account, "role", role.name, tags)
    return {"Role": codec.render_role(account, role)}


@operation("GetRole")
def get_role(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a role.

    Raises: RamError: EntityNotExist.Role.
    Source: RAM API reference, GetRole.
    """
    account = call.tenant.account
    role = existing_role(access.store, account, codec.entity_name(call.parameters, "RoleName"))
    return {"Role": codec.render_role(account, role)}


@operation("UpdateRole")
def update_role(access: AccessManagement, call: OperationRequest) -> Reply:
    """Change the attributes that the request has; a description may be emptied, a trust policy may not.

    Raises: RamError: a parameter's, MalformedPolicyDocument, EntityNotExist.Role.
    Source: RAM API reference, UpdateRole.
    """
    account, parameters = call.tenant.account, call.parameters
    name = codec.entity_name(parameters, "RoleName")
    description = codec.text(parameters, "NewDescription", limits.DESCRIPTION_LENGTH)
    trust = parameters.get("NewAssumeRolePolicyDocument")
    max_session_s = codec.session_s(parameters, "NewMaxSessionDuration")
    if trust:
        check_trust(trust, "NewAssumeRolePolicyDocument")
    role = existing_role(access.store, account, name)
    role = replace(
        role,
        description=description if "NewDescription" in parameters else role.description,
        trust=trust or role.trust,
        max_session_s=max_session_s or role.max_session_s,
        updated_at=call.now,
    )
    access.store.put_role(account, role)
    return {"Role": codec.render_role(account, role)}


@operation("ListRoles")
def list_roles(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a page of the roles by name, without their trust policies. Source: RAM API reference, ListRoles."""
    account = call.tenant.account
    return codec.page(
        call.parameters,
        lambda after, limit: access.store.roles(account, after, limit),
        lambda role: codec.render_listed_role(account, role),
        ("Roles", "Role"),
    )


@operation("DeleteRole")
def delete_role(access: AccessManagement, call: OperationRequest) -> Reply:
    """Delete a role that has no policy attached.

    Raises: RamError: EntityNotExist.Role, DeleteConflict.Role.Policy.
    Source: RAM API reference, DeleteRole.
    """
    account, name = call.tenant.account, codec.entity_name(call.parameters, "RoleName")
    existing_role(access.store, account, name)
    if access.store.attachments(Holder(account=account, kind=HolderKind.ROLE, name=name)):
        raise delete_conflict("Role", "Policy", "attached policy")
    access.store.delete_role(account, name)
    return {}


def existing_role(store: RamStore, account: AccountId, name: str) -> Role:
    """Return a role.

    Raises: RamError: EntityNotExist.Role.
    """
    role = store.role(account, name)
    if role is None:
        raise RamError("EntityNotExist.Role", name=name)
    return role


def check_trust(document: str, parameter: str) -> None:
    """Check the document that says who may assume a role.

    Raises: RamError: InvalidParameter.*.Length, MalformedPolicyDocument.
    """
    if len(document.encode("utf-8", "surrogateescape")) > limits.TRUST_LENGTH:
        raise beyond_length(parameter)
    try:
        parse_trust_policy(document)
    except MalformedPolicy as error:
        raise RamError("MalformedPolicyDocument", reason=str(error)) from error
