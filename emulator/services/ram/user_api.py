"""The operations on users, their access keys, and groups."""

from collections.abc import Mapping

from emulator.services.ram import limits, wire
from emulator.services.ram.errors import invalid_value, mandatory
from emulator.services.ram.model import User
from emulator.services.ram.users import Users
from emulator.wire.dates import iso_seconds
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Operation, Parameters, Reply

_USER = ":user/"


class UserApi:
    """CreateUser, CreateAccessKey, CreateGroup and their neighbours."""

    def __init__(self, users: Users) -> None:
        self._users = users
        self.operations: Mapping[str, Operation] = {
            "CreateUser": self._create,
            "GetUser": self._get,
            "UpdateUser": self._update,
            "ListUsers": self._list,
            "DeleteUser": self._delete,
            "CreateAccessKey": self._create_key,
            "ListAccessKeys": self._list_keys,
            "UpdateAccessKey": self._update_key,
            "DeleteAccessKey": self._delete_key,
            "CreateGroup": self._create_group,
            "GetGroup": self._get_group,
            "ListGroups": self._list_groups,
            "DeleteGroup": self._delete_group,
            "AddUserToGroup": self._join,
            "RemoveUserFromGroup": self._leave,
            "ListUsersForGroup": self._members,
            "ListGroupsForUser": self._groups_of,
        }

    # --- users ---------------------------------------------------------------------------------------------------

    def _create(self, context: OperationRequest, parameters: Parameters) -> Reply:
        name = wire.entity_name(parameters, "UserName")
        user = User(
            name=name,
            display_name=wire.text(parameters, "DisplayName", limits.DISPLAY_NAME_LENGTH) or name,
            mobile_phone=wire.text(parameters, "MobilePhone", limits.CONTACT_LENGTH),
            email=wire.email(parameters, "Email"),
            comments=wire.text(parameters, "Comments", limits.COMMENTS_LENGTH),
            created_at=context.now,
            updated_at=context.now,
        )
        account = context.tenant.account
        return {"User": wire.render_user(account, self._users.create(account, user))}

    def _get(self, context: OperationRequest, parameters: Parameters) -> Reply:
        account = context.tenant.account
        user = self._users.get(account, wire.entity_name(parameters, "UserName"))
        return {"User": wire.render_user(account, user)}

    def _update(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """Change what is given."""
        account = context.tenant.account
        name = wire.entity_name(parameters, "UserName")
        user = self._users.get(account, name)

        def given(parameter: str, present: str, most: int) -> str:
            return wire.text(parameters, parameter, most) if parameter in parameters else present

        changed = User(
            name=wire.entity_name(parameters, "NewUserName") if parameters.get("NewUserName") else name,
            display_name=given("NewDisplayName", user.display_name, limits.DISPLAY_NAME_LENGTH),
            mobile_phone=given("NewMobilePhone", user.mobile_phone, limits.CONTACT_LENGTH),
            email=wire.email(parameters, "NewEmail") if "NewEmail" in parameters else user.email,
            comments=given("NewComments", user.comments, limits.COMMENTS_LENGTH),
            created_at=user.created_at,
            updated_at=context.now,
        )
        return {"User": wire.render_user(account, self._users.update(account, name, changed))}

    def _list(self, context: OperationRequest, parameters: Parameters) -> Reply:
        account = context.tenant.account
        return wire.page(
            parameters,
            lambda after, limit: self._users.page(account, after, limit),
            lambda user: wire.render_user(account, user),
            ("Users", "User"),
        )

    def _delete(self, context: OperationRequest, parameters: Parameters) -> Reply:
        self._users.delete(context.tenant.account, wire.entity_name(parameters, "UserName"))
        return {}

    # --- access keys ---------------------------------------------------------------------------------------------

    def _create_key(self, context: OperationRequest, parameters: Parameters) -> Reply:
        key = self._users.create_key(context.tenant.account, _user_name(context, parameters), context.now)
        return {"AccessKey": {**wire.render_key(key), "AccessKeySecret": key.secret}}

    def _list_keys(self, context: OperationRequest, parameters: Parameters) -> Reply:
        keys = self._users.keys(context.tenant.account, _user_name(context, parameters))
        return {"AccessKeys": {"AccessKey": [wire.render_key(key) for key in keys]}}

    def _update_key(self, context: OperationRequest, parameters: Parameters) -> Reply:
        key_id = wire.required(parameters, "UserAccessKeyId")
        status = wire.required(parameters, "Status")
        if status not in {"Active", "Inactive"}:
            raise invalid_value("Status")
        name = _user_name(context, parameters)
        self._users.switch_key(context.tenant.account, name, key_id, active=status == "Active")
        return {}

    def _delete_key(self, context: OperationRequest, parameters: Parameters) -> Reply:
        key_id = wire.required(parameters, "UserAccessKeyId")
        self._users.delete_key(context.tenant.account, _user_name(context, parameters), key_id)
        return {}

    # --- groups --------------------------------------------------------------------------------------------------

    def _create_group(self, context: OperationRequest, parameters: Parameters) -> Reply:
        name = wire.entity_name(parameters, "GroupName")
        comments = wire.text(parameters, "Comments", limits.COMMENTS_LENGTH)
        group = self._users.create_group(context.tenant.account, name, comments, context.now)
        return {"Group": wire.render_group(group)}

    def _get_group(self, context: OperationRequest, parameters: Parameters) -> Reply:
        group = self._users.group(context.tenant.account, wire.entity_name(parameters, "GroupName"))
        return {"Group": wire.render_group(group)}

    def _list_groups(self, context: OperationRequest, parameters: Parameters) -> Reply:
        account = context.tenant.account
        return wire.page(
            parameters,
            lambda after, limit: self._users.groups(account, after, limit),
            wire.render_group,
            ("Groups", "Group"),
        )

    def _delete_group(self, context: OperationRequest, parameters: Parameters) -> Reply:
        self._users.delete_group(context.tenant.account, wire.entity_name(parameters, "GroupName"))
        return {}

    def _join(self, context: OperationRequest, parameters: Parameters) -> Reply:
        user, group = wire.entity_name(parameters, "UserName"), wire.entity_name(parameters, "GroupName")
        self._users.join(context.tenant.account, user, group, context.now)
        return {}

    def _leave(self, context: OperationRequest, parameters: Parameters) -> Reply:
        user, group = wire.entity_name(parameters, "UserName"), wire.entity_name(parameters, "GroupName")
        self._users.leave(context.tenant.account, user, group)
        return {}

    def _members(self, context: OperationRequest, parameters: Parameters) -> Reply:
        members = self._users.members(context.tenant.account, wire.entity_name(parameters, "GroupName"))
        shown = [
            {"UserName": user.name, "DisplayName": user.display_name, "JoinDate": iso_seconds(joined_at)}
            for user, joined_at in members
        ]
        return {"Users": {"User": shown}, "IsTruncated": False}

    def _groups_of(self, context: OperationRequest, parameters: Parameters) -> Reply:
        groups = self._users.groups_of(context.tenant.account, wire.entity_name(parameters, "UserName"))
        shown = [
            {"GroupName": group.name, "Comments": group.comments, "JoinDate": iso_seconds(joined_at)}
            for group, joined_at in groups
        ]
        return {"Groups": {"Group": shown}}


def _user_name(context: OperationRequest, parameters: Parameters) -> str:
    """Return whose keys are meant: the user that is named, else the one that calls.

    Raises: Mandatory for the account itself, whose keys are those of the installation.
    """
    if parameters.get("UserName"):
        return wire.entity_name(parameters, "UserName")
    arn = context.principal.arn if context.principal else ""
    if _USER not in arn:
        raise mandatory("UserName")
    return arn.partition(_USER)[2]
