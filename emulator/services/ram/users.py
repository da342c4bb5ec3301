"""Users, their groups and their access keys.

Source: RAM API reference, one page for each operation.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from emulator.kernel.frozen import replace
from emulator.kernel.identity import AccountId, stable_id
from emulator.services.ram import codec, limits
from emulator.services.ram.errors import (
    RamError,
    check_new,
    delete_conflict,
    existing,
    limit_exceeded,
)
from emulator.services.ram.model import KEY_PREFIX, Group, Holder, HolderKind, User, UserKey
from emulator.services.ram.service import AccessManagement
from emulator.services.ram.store import Entity
from emulator.wire.dates import iso_seconds
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply

_USER = ":user/"


def _named(access: AccessManagement, call: OperationRequest, kind: type[Entity]) -> Entity:
    """Return the user or group of the request's ``UserName`` or ``GroupName``."""
    return access.entity(kind, call.tenant.account, codec.entity_name(call.parameters, f"{kind.__name__}Name"))


def _create(access: AccessManagement, account: AccountId, entity: User | Group, most: int) -> None:
    """Store a new user or group; *most* is the limit of its kind in an account.

    Raises: RamError: EntityAlreadyExists.*, LimitExceeded.*.
    """
    kind = type(entity)
    name, present = kind.__name__, access.store.find(kind, account, entity.name)
    check_new(present, name, entity.name, access.store.count(account, f"{name.lower()}s", most), most)
    access.store.put(account, entity)


def _update(access: AccessManagement, account: AccountId, name: str, entity: User | Group) -> None:
    """Store the changed user or group whose name was *name* before; its new name applies in all tables.

    Raises: RamError: EntityAlreadyExists.*.
    """
    kind = type(entity)
    if entity.name != name:
        if access.store.find(kind, account, entity.name) is not None:
            raise RamError(f"EntityAlreadyExists.{kind.__name__}", name=entity.name)
        access.store.rename(kind, account, name, entity.name)
    access.store.put(account, entity)


def _page(
    access: AccessManagement,
    call: OperationRequest,
    kind: type[Entity],
    render: Callable[[Entity], dict[str, Any]],
) -> Reply:
    account, name = call.tenant.account, kind.__name__
    return codec.page(call.parameters, partial(access.store.page, kind, account), render, (f"{name}s", name))


@operation("CreateUser")
def create_user(access: AccessManagement, call: OperationRequest) -> Reply:
    """Create a user and return it.

    Raises: RamError: a parameter's, EntityAlreadyExists.User, LimitExceeded.User.
    Source: RAM API reference, CreateUser.
    """
    account, parameters = call.tenant.account, call.parameters
    name = codec.entity_name(parameters, "UserName")
    user = User(
        name=name,
        display_name=codec.text(parameters, "DisplayName", limits.DISPLAY_NAME_LENGTH),
        mobile_phone=codec.text(parameters, "MobilePhone", limits.CONTACT_LENGTH),
        email=codec.email(parameters, "Email"),
        comments=codec.text(parameters, "Comments", limits.COMMENTS_LENGTH),
        created_at=call.now,
        updated_at=call.now,
        user_id=stable_id("user", account, access.ids.uuid()),
    )
    _create(access, account, user, limits.USERS)
    return {"User": codec.render_user(user)}


@operation("GetUser")
def get_user(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a user.

    Raises: RamError: EntityNotExist.User.
    Source: RAM API reference, GetUser.
    """
    return {"User": codec.render_user(_named(access, call, User))}


@operation("UpdateUser")
def update_user(access: AccessManagement, call: OperationRequest) -> Reply:
    """Change the attributes in the request; a new name applies everywhere.

    Raises: RamError: a parameter's, EntityNotExist.User, EntityAlreadyExists.User.
    Source: RAM API reference, UpdateUser.
    """
    account, parameters = call.tenant.account, call.parameters
    user = _named(access, call, User)
    name = user.name

    def changed(parameter: str, present: str, most: int) -> str:
        return codec.text(parameters, parameter, most) if parameter in parameters else present

    user = replace(
        user,
        name=codec.entity_name(parameters, "NewUserName") if parameters.get("NewUserName") else name,
        display_name=changed("NewDisplayName", user.display_name, limits.DISPLAY_NAME_LENGTH),
        mobile_phone=changed("NewMobilePhone", user.mobile_phone, limits.CONTACT_LENGTH),
        email=codec.email(parameters, "NewEmail") if "NewEmail" in parameters else user.email,
        comments=changed("NewComments", user.comments, limits.COMMENTS_LENGTH),
        updated_at=call.now,
    )
    _update(access, account, name, user)
    return {"User": codec.render_user(user)}


@operation("ListUsers")
def list_users(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a page of the users by name.

    Raises: RamError: a parameter's.
    Source: RAM API reference, ListUsers.
    """
    return _page(access, call, User, codec.render_user)


@operation("DeleteUser")
def delete_user(access: AccessManagement, call: OperationRequest) -> Reply:
    """Delete a user without keys, policies and groups.

    Raises: RamError: EntityNotExist.User, DeleteConflict.User.AccessKey, .Policy, .Group.
    Source: RAM API reference, DeleteUser.
    """
    account, name = call.tenant.account, _named(access, call, User).name
    if access.store.keys(account, name):
        raise delete_conflict("User", "AccessKey", "access key")
    if access.store.attachments(Holder(account=account, kind=HolderKind.USER, name=name)):
        raise delete_conflict("User", "Policy", "attached policy")
    if access.store.memberships(account, user=name):
        raise delete_conflict("User", "Group", "group")
    access.store.delete(User, account, name)
    return {}


@operation("GetLoginProfile")
@operation("DeleteLoginProfile")
def no_login_profile(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return an error: no user has a console password.

    Raises: RamError: EntityNotExist.User, EntityNotExist.User.LoginProfile. Source: RAM API reference,
    DeleteLoginProfile; terraform-provider-alicloud.
    """
    raise RamError("EntityNotExist.User.LoginProfile", name=_named(access, call, User).name)


@operation("UnbindMFADevice")
def no_device(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return an error: no user has an MFA device.

    Raises: RamError: EntityNotExist.User, EntityNotExist.User.MFADevice. Source: RAM API reference, UnbindMFADevice;
    terraform-provider-alicloud.
    """
    raise RamError("EntityNotExist.User.MFADevice", name=_named(access, call, User).name)


@operation("CreateGroup")
def create_group(access: AccessManagement, call: OperationRequest) -> Reply:
    """Create a group and return it.

    Raises: RamError: a parameter's, EntityAlreadyExists.Group, LimitExceeded.Group.
    Source: RAM API reference, CreateGroup.
    """
    account, name = call.tenant.account, codec.entity_name(call.parameters, "GroupName")
    comments = codec.text(call.parameters, "Comments", limits.COMMENTS_LENGTH)
    group = Group(name=name, comments=comments, created_at=call.now, updated_at=call.now)
    _create(access, account, group, limits.GROUPS)
    return {"Group": codec.render_group(group)}


@operation("GetGroup")
def get_group(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a group.

    Raises: RamError: EntityNotExist.Group.
    Source: RAM API reference, GetGroup.
    """
    return {"Group": codec.render_group(_named(access, call, Group))}


@operation("UpdateGroup")
def update_group(access: AccessManagement, call: OperationRequest) -> Reply:
    """Change the attributes in the request; a new name applies everywhere.

    Raises: RamError: a parameter's, EntityNotExist.Group, EntityAlreadyExists.Group.
    Source: RAM API reference, UpdateGroup.
    """
    account, parameters = call.tenant.account, call.parameters
    group = _named(access, call, Group)
    name = group.name
    if "NewComments" in parameters:
        group = replace(group, comments=codec.text(parameters, "NewComments", limits.COMMENTS_LENGTH))
    if parameters.get("NewGroupName"):
        group = replace(group, name=codec.entity_name(parameters, "NewGroupName"))
    group = replace(group, updated_at=call.now)
    _update(access, account, name, group)
    return {"Group": codec.render_group(group)}


@operation("ListGroups")
def list_groups(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a page of the groups by name.

    Raises: RamError: a parameter's.
    Source: RAM API reference, ListGroups.
    """
    return _page(access, call, Group, codec.render_group)


@operation("DeleteGroup")
def delete_group(access: AccessManagement, call: OperationRequest) -> Reply:
    """Delete a group without members and policies.

    Raises: RamError: EntityNotExist.Group, DeleteConflict.Group.User, .Policy.
    Source: RAM API reference, DeleteGroup.
    """
    account, name = call.tenant.account, _named(access, call, Group).name
    if access.store.memberships(account, group=name):
        raise delete_conflict("Group", "User", "user member")
    if access.store.attachments(Holder(account=account, kind=HolderKind.GROUP, name=name)):
        raise delete_conflict("Group", "Policy", "attached policy")
    access.store.delete(Group, account, name)
    return {}


@operation("AddUserToGroup")
def add_user_to_group(access: AccessManagement, call: OperationRequest) -> Reply:
    """Make a user a member of a group.

    Raises: RamError: EntityNotExist.User, .Group, EntityAlreadyExists.User.Group, LimitExceeded.User.Group.
    Source: RAM API reference, AddUserToGroup.
    """
    account, user, group = _member_and_group(access, call)
    memberships = access.store.memberships(account, user=user)
    if any(each[1] == group for each in memberships):
        raise RamError("EntityAlreadyExists.User.Group")
    if len(memberships) >= limits.GROUPS_OF_USER:
        raise limit_exceeded("User.Group", "groups the target user joined")
    access.store.join(account, user, group, call.now)
    return {}


@operation("RemoveUserFromGroup")
def remove_user_from_group(access: AccessManagement, call: OperationRequest) -> Reply:
    """End a membership.

    Raises: RamError: EntityNotExist.User, .Group, .User.Group.
    Source: RAM API reference, RemoveUserFromGroup.
    """
    account, user, group = _member_and_group(access, call)
    if not access.store.leave(account, user, group):
        raise RamError("EntityNotExist.User.Group")
    return {}


@operation("ListUsersForGroup")
def list_users_for_group(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return all users of a group with the date each joined.

    Raises: RamError: EntityNotExist.Group.
    Source: RAM API reference, ListUsersForGroup.
    """
    account = call.tenant.account
    group = _named(access, call, Group).name
    users = [
        {
            "UserName": user,
            "DisplayName": access.entity(User, account, user).display_name,
            "JoinDate": iso_seconds(joined_at),
        }
        for user, _, joined_at in access.store.memberships(account, group=group)
    ]
    return {"Users": {"User": users}, "IsTruncated": False}


@operation("ListGroupsForUser")
def list_groups_for_user(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a user's groups with the date the user joined each.

    Raises: RamError: EntityNotExist.User.
    Source: RAM API reference, ListGroupsForUser.
    """
    account = call.tenant.account
    user = _named(access, call, User).name
    groups = [
        {
            "GroupName": group,
            "Comments": access.entity(Group, account, group).comments,
            "JoinDate": iso_seconds(joined_at),
        }
        for _, group, joined_at in access.store.memberships(account, user=user)
    ]
    return {"Groups": {"Group": groups}}


def _member_and_group(access: AccessManagement, call: OperationRequest) -> tuple[AccountId, str, str]:
    account = call.tenant.account
    user, group = codec.entity_name(call.parameters, "UserName"), codec.entity_name(call.parameters, "GroupName")
    return account, access.entity(User, account, user).name, access.entity(Group, account, group).name


@operation("CreateAccessKey")
def create_access_key(access: AccessManagement, call: OperationRequest) -> Reply:
    """Create an access key for a user; no other operation returns its secret.

    Raises: RamError: EntityNotExist.User, LimitExceeded.User.AccessKey.
    Source: RAM API reference, CreateAccessKey.
    """
    account, name = call.tenant.account, _owner_of_keys(call)
    access.entity(User, account, name)
    if len(access.store.keys(account, name)) >= limits.ACCESS_KEYS:
        raise limit_exceeded("User.AccessKey", "access keys of the user")
    key = UserKey(
        key_id=KEY_PREFIX + access.ids.secret(10).hex().upper(),
        user=name,
        secret=access.ids.secret(20).hex(),
        active=True,
        created_at=call.now,
    )
    access.store.put_key(account, key)
    return {"AccessKey": {**codec.render_key(key), "AccessKeySecret": key.secret}}


@operation("ListAccessKeys")
def list_access_keys(access: AccessManagement, call: OperationRequest) -> Reply:
    """Return a user's keys, oldest first.

    Raises: RamError: EntityNotExist.User.
    Source: RAM API reference, ListAccessKeys.
    """
    account, name = call.tenant.account, _owner_of_keys(call)
    access.entity(User, account, name)
    return {"AccessKeys": {"AccessKey": [codec.render_key(key) for key in access.store.keys(account, name)]}}


@operation("UpdateAccessKey")
def update_access_key(access: AccessManagement, call: OperationRequest) -> Reply:
    """Enable or disable a key.

    Raises: RamError: a parameter's, EntityNotExist.User, EntityNotExist.User.AccessKey.
    Source: RAM API reference, UpdateAccessKey.
    """
    key_id = codec.required(call.parameters, "UserAccessKeyId")
    status = codec.required(call.parameters, "Status")
    if status not in {"Active", "Inactive"}:
        raise RamError("InvalidParameter", name="Status")
    key = _existing_key(access, call, key_id)
    access.store.put_key(call.tenant.account, replace(key, active=status == "Active"))
    return {}


@operation("DeleteAccessKey")
def delete_access_key(access: AccessManagement, call: OperationRequest) -> Reply:
    """Delete a key.

    Raises: RamError: EntityNotExist.User, EntityNotExist.User.AccessKey.
    Source: RAM API reference, DeleteAccessKey.
    """
    key_id = codec.required(call.parameters, "UserAccessKeyId")
    access.store.delete_key(_existing_key(access, call, key_id).key_id)
    return {}


def _existing_key(access: AccessManagement, call: OperationRequest, key_id: str) -> UserKey:
    account, name = call.tenant.account, _owner_of_keys(call)
    access.entity(User, account, name)
    keys = {key.key_id: key for key in access.store.keys(account, name)}
    return existing(keys.get(key_id), "User.AccessKey", key_id)


def _owner_of_keys(call: OperationRequest) -> str:
    """Return the name of the user in the request, else of the user who calls.

    Raises: RamError: MissingUserName when the account itself calls, whose keys are those of the installation.
    """
    if call.parameters.get("UserName"):
        return codec.entity_name(call.parameters, "UserName")
    arn = call.principal.arn if call.principal else ""
    if _USER not in arn:
        raise RamError("Missing", name="UserName")
    return arn.partition(_USER)[2]
