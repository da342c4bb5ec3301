"""Policies, their versions, and attaching them. Source: RAM API reference, one page for each operation."""

from collections.abc import Mapping
from typing import Any

from emulator.kernel.frozen import replace
from emulator.kernel.identity import AccountId, stable_id
from emulator.services.ram import codec, limits
from emulator.services.ram.errors import (
    RamError,
    about_attachment,
    check_new,
    delete_conflict,
    limit_exceeded,
)
from emulator.services.ram.model import (
    Attachment,
    Group,
    Holder,
    HolderKind,
    PolicyInfo,
    PolicyType,
    Role,
    User,
    role_arn,
)
from emulator.services.ram.service import AccessManagement
from emulator.services.ram.store import RamStore
from emulator.services.ram.system_policies import system_policy, system_policy_names
from emulator.wire.dates import iso_seconds
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply

_ROTATE_OLDEST = "DeleteOldestNonDefaultVersionWhenLimitExceeded"


@operation("CreatePolicy")
def create_policy(access: AccessManagement, call: OperationRequest) -> Reply:
    """Create a policy with version 1 and return it.

    Raises: RamError: a parameter's, MalformedPolicyDocument, EntityAlreadyExists.Policy, LimitExceeded.Policy.
    Source: RAM API reference, CreatePolicy.
    """
    account, store = call.tenant.account, access.store
    name = codec.policy_name(call.parameters)
    document = codec.required(call.parameters, "PolicyDocument")
    description = codec.text(call.parameters, "Description", limits.DESCRIPTION_LENGTH)
    tags = codec.tags(call.parameters)
    codec.check_policy(document, "PolicyDocument")
    count = store.count(account, "policies", limits.POLICIES)
    check_new(store.policy(account, name) or system_policy(name), "Policy", name, count, limits.POLICIES)
    policy = PolicyInfo(
        type=PolicyType.CUSTOM,
        name=name,
        description=description,
        default_version=1,
        created_at=call.now,
        updated_at=call.now,
    )
    store.put_policy(account, policy)
    store.add_version(account, name, document, call.now)
    store.put_tags(account, "policy", name, tags)
    return {"Policy": codec.render_policy(policy, 0)}


@operation("GetPolicy")
def get_policy(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a policy with its default version.

    Raises: RamError: EntityNotExist.Policy.
    Source: RAM API reference, GetPolicy.
    """
    policy = _named_policy(access, call)
    version = access.in_force(call.tenant.account, policy)
    return {
        "Policy": {**_counted(access.store, call, policy), "PolicyDocument": version.document},
        "DefaultPolicyVersion": codec.render_version(policy, version),
    }


@operation("ListPolicies")
def list_policies(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a page of the policies: system policies first, then custom ones, by name.

    ``PolicyType`` selects one kind, ``Tag`` those with the tags.

    The marker is the name of the last one: a policy of the account never has the name of one of the system.

    Raises: RamError: a parameter's.
    Source: RAM API reference, ListPolicies.
    """
    account, parameters = call.tenant.account, call.parameters
    kind = codec.policy_type(parameters) if parameters.get("PolicyType") else None
    counts, wanted = access.store.attachment_counts(account), codec.tags(parameters)
    system: list[str] = []
    if kind is not PolicyType.CUSTOM and not wanted:  # those of the system have no tags
        elsewhere = {name for type_, name in counts if type_ == PolicyType.SYSTEM}  # of services that are not here
        system = sorted(elsewhere.union(system_policy_names()))

    def read(after: str, limit: int) -> list[PolicyInfo]:
        start = system.index(after) + 1 if after in system else len(system) * bool(after)
        names = system[start : start + limit]
        policies = [access.policy(account, PolicyType.SYSTEM, name) for name in names]
        if kind is not PolicyType.SYSTEM:
            policies += custom("" if after in system else after, limit - len(policies))
        return policies

    def custom(after: str, limit: int) -> list[PolicyInfo]:
        if not wanted:
            return access.store.policies(account, after, limit)
        names = access.store.tagged(account, "policy", wanted, after, limit)
        return [access.policy(account, PolicyType.CUSTOM, name) for name in names]

    return codec.page(
        parameters,
        read,
        lambda policy: {
            **codec.render_policy(policy, counts.get((policy.type, policy.name), 0)),
            **codec.listed_tags(access.store.tags_of(account, "policy", policy.name)),
        },
        ("Policies", "Policy"),
    )


@operation("UpdatePolicyDescription")
def update_policy_description(access: AccessManagement, call: OperationRequest) -> Reply:
    """Change the description of a policy.

    Raises: RamError: EntityNotExist.Policy, NoPermission.SystemPolicy.
    Source: RAM API reference, UpdatePolicyDescription.
    """
    description = codec.text(call.parameters, "NewDescription", limits.DESCRIPTION_LENGTH)
    policy = replace(_custom_policy(access.store, call), description=description, updated_at=call.now)
    access.store.put_policy(call.tenant.account, policy)
    return {"Policy": _counted(access.store, call, policy)}


@operation("DeletePolicy")
def delete_policy(access: AccessManagement, call: OperationRequest) -> Reply:
    """Delete a policy that is not attached; several versions need ``CascadingDelete``.

    Raises: RamError: EntityNotExist.Policy, NoPermission.SystemPolicy, DeleteConflict.Policy.*.
    Source: RAM API reference, DeletePolicy.
    """
    account, store = call.tenant.account, access.store
    with_versions = codec.flag(call.parameters, "CascadingDelete")
    name = _custom_policy(store, call).name
    for attachment in store.attached_to(account, PolicyType.CUSTOM, name):
        raise delete_conflict("Policy", attachment.kind, f"attached {attachment.kind.lower()}")
    if not with_versions and len(store.versions(account, name)) > 1:
        raise delete_conflict("Policy", "Version", "version except the default version")
    store.delete_policy(account, name)
    return {}


@operation("CreatePolicyVersion")
def create_policy_version(access: AccessManagement, call: OperationRequest) -> Reply:
    """Add a version; ``RotateStrategy`` can delete the oldest one that is not the default.

    Raises: RamError: a parameter's, MalformedPolicyDocument, EntityNotExist.Policy, NoPermission.SystemPolicy,
    LimitExceeded.Policy.Version.
    Source: RAM API reference, CreatePolicyVersion.
    """
    account, store, parameters = call.tenant.account, access.store, call.parameters
    codec.policy_name(parameters)
    document = codec.required(parameters, "PolicyDocument")
    as_default = codec.flag(parameters, "SetAsDefault")
    codec.check_policy(document, "PolicyDocument")
    policy = _custom_policy(store, call)
    versions = store.versions(account, policy.name)
    if len(versions) >= limits.POLICY_VERSIONS:
        if parameters.get("RotateStrategy") != _ROTATE_OLDEST:
            raise limit_exceeded("Policy.Version", "policy version")
        oldest = next(each for each in versions if each.number != policy.default_version)
        store.delete_version(account, policy.name, oldest.number)
    version = store.add_version(account, policy.name, document, call.now)
    if as_default:
        policy = replace(policy, default_version=version.number, updated_at=call.now)
        store.put_policy(account, policy)
    return {"PolicyVersion": codec.render_version(policy, version)}


@operation("GetPolicyVersion")
def get_policy_version(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a version of a policy.

    Raises: RamError: EntityNotExist.Policy, EntityNotExist.Policy.Version.
    Source: RAM API reference, GetPolicyVersion.
    """
    number = codec.version_number(call.parameters)
    policy = _named_policy(access, call)
    for version in access.versions(call.tenant.account, policy):
        if version.number == number:
            return {"PolicyVersion": codec.render_version(policy, version)}
    raise RamError("EntityNotExist.Policy.Version", name=f"v{number}")


@operation("ListPolicyVersions")
def list_policy_versions(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return all versions of a policy, oldest first.

    Raises: RamError: EntityNotExist.Policy.
    Source: RAM API reference, ListPolicyVersions.
    """
    policy = _named_policy(access, call)
    versions = access.versions(call.tenant.account, policy)
    return {"PolicyVersions": {"PolicyVersion": [codec.render_version(policy, each) for each in versions]}}


@operation("DeletePolicyVersion")
def delete_policy_version(access: AccessManagement, call: OperationRequest) -> Reply:
    """Delete a version that is not the default.

    Raises: RamError: EntityNotExist.Policy, NoPermission.SystemPolicy, EntityNotExist.Policy.Version,
    DeleteConflict.Policy.Version.Default.
    Source: RAM API reference, DeletePolicyVersion.
    """
    policy, number = _custom_version(access.store, call)
    if policy.default_version == number:
        raise RamError("DeleteConflict.Policy.Version.Default")
    access.store.delete_version(call.tenant.account, policy.name, number)
    return {}


@operation("SetDefaultPolicyVersion")
def set_default_policy_version(access: AccessManagement, call: OperationRequest) -> Reply:
    """Make a version the default.

    Raises: RamError: EntityNotExist.Policy, NoPermission.SystemPolicy, EntityNotExist.Policy.Version.
    Source: RAM API reference, SetDefaultPolicyVersion.
    """
    policy, number = _custom_version(access.store, call)
    access.store.put_policy(call.tenant.account, replace(policy, default_version=number, updated_at=call.now))
    return {}


@operation("AttachPolicyToUser")
@operation("AttachPolicyToGroup")
@operation("AttachPolicyToRole")
def attach_policy(access: AccessManagement, call: OperationRequest) -> Reply:
    """Attach a policy to a user, group or role.

    Raises: RamError: EntityNotExist.User, .Group, .Role, .Policy, EntityAlreadyExists.*.Policy, LimitExceeded.*.Policy.
    Source: RAM API reference, AttachPolicyToUser, AttachPolicyToGroup and AttachPolicyToRole.
    """
    kind, name = codec.policy_type(call.parameters), codec.policy_name(call.parameters)
    holder = _existing_holder(access, call)
    name = access.policy(holder.account, kind, name).name
    present = [each for each in access.store.attachments(holder) if each.type is kind]
    if any(each.policy == name for each in present):
        raise about_attachment("AlreadyAttached", holder.kind)
    most = limits.ATTACHED_SYSTEM if kind is PolicyType.SYSTEM else limits.ATTACHED_CUSTOM
    if len(present) >= most:
        raise limit_exceeded(f"{holder.kind}.Policy", f"policies attached to the {holder.kind.lower()}")
    access.store.attach(holder, kind, name, call.now)
    return {}


@operation("DetachPolicyFromUser")
@operation("DetachPolicyFromGroup")
@operation("DetachPolicyFromRole")
def detach_policy(access: AccessManagement, call: OperationRequest) -> Reply:
    """Detach a policy from a user, group or role.

    Raises: RamError: EntityNotExist.User, .Group, .Role, EntityNotExist.*.Policy.
    Source: RAM API reference, DetachPolicyFromUser, DetachPolicyFromGroup and DetachPolicyFromRole.
    """
    kind, name = codec.policy_type(call.parameters), codec.policy_name(call.parameters)
    holder = _existing_holder(access, call)
    system = system_policy(name) if kind is PolicyType.SYSTEM else None
    if not access.store.detach(holder, kind, system.info.name if system else name):
        raise about_attachment("NotAttached", holder.kind, name)
    return {}


@operation("ListPoliciesForUser")
@operation("ListPoliciesForGroup")
@operation("ListPoliciesForRole")
def list_policies_for(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return the policies attached to a user, group or role.

    Raises: RamError: EntityNotExist.User, .Group, .Role.
    Source: RAM API reference, ListPoliciesForUser, ListPoliciesForGroup and ListPoliciesForRole.
    """
    holder = _existing_holder(access, call)
    policies = []
    for attachment in access.store.attachments(holder):
        policy = access.policy(holder.account, attachment.type, attachment.policy)
        policies.append(
            {
                "PolicyType": policy.type.value,
                "PolicyName": policy.name,
                "Description": policy.description,
                "DefaultVersion": f"v{policy.default_version}",
                "AttachDate": iso_seconds(attachment.attached_at),
            }
        )
    return {"Policies": {"Policy": policies}}


@operation("ListEntitiesForPolicy")
def list_entities_for_policy(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return the users, groups and roles that have a policy.

    Raises: RamError: EntityNotExist.Policy.
    Source: RAM API reference, ListEntitiesForPolicy.
    """
    account = call.tenant.account
    policy = _named_policy(access, call)
    entities: Mapping[HolderKind, list[dict[str, Any]]] = {kind: [] for kind in HolderKind}
    for each in access.store.attached_to(account, policy.type, policy.name):
        entities[each.kind].append(_entity(access, account, each))
    return {f"{kind}s": {kind.value: entities[kind]} for kind in HolderKind}


def _entity(access: AccessManagement, account: AccountId, attachment: Attachment) -> dict[str, Any]:
    name, since = attachment.holder, {"AttachDate": iso_seconds(attachment.attached_at)}
    match attachment.kind:
        case HolderKind.USER:
            user = access.entity(User, account, name)
            return {"UserName": name, "UserId": user.user_id, "DisplayName": user.display_name, **since}
        case HolderKind.GROUP:
            return {"GroupName": name, "Comments": access.entity(Group, account, name).comments, **since}
        case HolderKind.ROLE:
            description = access.entity(Role, account, name).description
            role_id, arn = stable_id("role", account, name), role_arn(account, name)
            return {"RoleName": name, "RoleId": role_id, "Arn": arn, "Description": description, **since}


def _named_policy(access: AccessManagement, call: OperationRequest) -> PolicyInfo:
    """Return the policy of the request's ``PolicyType`` and ``PolicyName``."""
    kind, name = codec.policy_type(call.parameters), codec.policy_name(call.parameters)
    return access.policy(call.tenant.account, kind, name)


def _custom_policy(store: RamStore, call: OperationRequest) -> PolicyInfo:
    """Return the account's own policy of the request's ``PolicyName``."""
    name = codec.policy_name(call.parameters)
    policy = store.policy(call.tenant.account, name)
    if policy is None:
        raise RamError("NoPermission.SystemPolicy" if system_policy(name) else "EntityNotExist.Policy", name=name)
    return policy


def _custom_version(store: RamStore, call: OperationRequest) -> tuple[PolicyInfo, int]:
    codec.policy_name(call.parameters)
    number = codec.version_number(call.parameters)
    policy = _custom_policy(store, call)
    if all(version.number != number for version in store.versions(call.tenant.account, policy.name)):
        raise RamError("EntityNotExist.Policy.Version", name=f"v{number}")
    return policy, number


def _counted(store: RamStore, call: OperationRequest, policy: PolicyInfo) -> dict[str, Any]:
    return codec.render_policy(policy, len(store.attached_to(call.tenant.account, policy.type, policy.name)))


_KINDS: Mapping[HolderKind, type[User | Group | Role]] = {
    HolderKind.USER: User, HolderKind.GROUP: Group, HolderKind.ROLE: Role,
}  # fmt: skip


def _existing_holder(access: AccessManagement, call: OperationRequest) -> Holder:
    """Return the user, group or role that the operation's name (``AttachPolicyToRole``) and parameters select."""
    account = call.tenant.account
    kind = next(kind for kind in HolderKind if call.operation.endswith(kind))
    name = codec.entity_name(call.parameters, f"{kind}Name")
    access.entity(_KINDS[kind], account, name)
    return Holder(account=account, kind=kind, name=name)
