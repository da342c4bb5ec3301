"""Errors of resource access management, answered in the RPC gateway's form: one table.

Many codes name a parameter or a kind of thing, which are fields of the row's code. Source: RAM "Error messages"; the
texts are the service's. "assumed" marks the rest.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from emulator.kernel.errors import ErrorRow
from emulator.wire.rpc import PopError

ERRORS: Mapping[str, ErrorRow] = {
    # parameters; field: ``name``
    "Missing": ErrorRow(400, "{name} is mandatory for this action.", "Missing{name}"),  # the gateway's pattern
    "InvalidChars": ErrorRow(
        400, 'The parameter - "{name}" contains invalid chars.', "InvalidParameter.{name}.InvalidChars"
    ),
    "Length": ErrorRow(400, 'The parameter - "{name}" beyond the length limit.', "InvalidParameter.{name}.Length"),
    "Format": ErrorRow(400, 'The format of the parameter - "{name}" is incorrect.', "InvalidParameter.{name}.Format"),
    "InvalidParameter": ErrorRow(400, 'The parameter - "{name}" is incorrect.', "InvalidParameter.{name}"),
    "MalformedPolicyDocument": ErrorRow(400, "{reason}"),  # the texts are ours
    # what does not exist; field: ``name``
    "EntityNotExist.Role": ErrorRow(404, "The role not exists: {name}."),
    "EntityNotExist.User": ErrorRow(404, "The user does not exist: {name}."),
    "EntityNotExist.Group": ErrorRow(404, "The group does not exist: {name}."),
    "EntityNotExist.Policy": ErrorRow(404, "The policy does not exist: {name}."),
    "EntityNotExist.Policy.Version": ErrorRow(404, "The policy version does not exist: {name}."),
    "EntityNotExist.User.AccessKey": ErrorRow(404, "The user access key does not exist: {name}."),
    "EntityNotExist.User.LoginProfile": ErrorRow(404, "The user login profile does not exist: {name}."),
    "EntityNotExist.User.MFADevice": ErrorRow(404, "The user MFA device does not exist: {name}."),
    "EntityNotExist.User.Group": ErrorRow(404, "The user has not joined the group."),
    "NotAttached": ErrorRow(
        404, "The indicate policy of the {holder} does not exist: {name}.", "EntityNotExist.{kind}.Policy"
    ),
    # what exists already; field: ``name``
    "EntityAlreadyExists.Role": ErrorRow(409, "The role does already EXIST: {name}."),
    "EntityAlreadyExists.User": ErrorRow(409, "The user does already EXIST: {name}."),
    "EntityAlreadyExists.Group": ErrorRow(409, "The group does already EXIST: {name}."),
    "EntityAlreadyExists.Policy": ErrorRow(409, "The policy does already EXIST: {name}."),
    "EntityAlreadyExists.User.Group": ErrorRow(409, "The user has already joined the group."),
    "AlreadyAttached": ErrorRow(
        409, "The {holder} has already been attached this policy.", "EntityAlreadyExists.{kind}.Policy"
    ),
    # deletion and limits
    "DeleteConflict": ErrorRow(
        409, "The {holder} CAN NOT has any {part} while deleting the {holder}.", "DeleteConflict.{kind}.{suffix}"
    ),
    "DeleteConflict.Policy.Version.Default": ErrorRow(409, "The default policy version CAN NOT been deleted directly."),
    "NoPermission.SystemPolicy": ErrorRow(403, "The system policy {name} cannot be changed."),  # assumed
    "LimitExceeded": ErrorRow(409, "The count of {counted} beyond the current limits.", "LimitExceeded.{suffix}"),
    # accounts of this installation: ours, answered by the admin API
    "InvalidAccountId": ErrorRow(400, "An account's id has 1 to {most} digits."),
    "AccountAlreadyExists": ErrorRow(409, "The account {account} is this installation's own."),
    "TooManyAccounts": ErrorRow(409, "The limit of {most} accounts is reached."),
}

_COUNTED: Final = {"User": "users", "Group": "groups", "Role": "roles", "Policy": "policy"}
"""The names of limited resources in the texts of LimitExceeded."""

Entity = TypeVar("Entity")


class RamError(PopError):
    """An error of resource access management; the codes of some rows have fields, too."""

    table = ERRORS

    def __init__(self, name: str, message: str | None = None, /, **fields: Any) -> None:
        super().__init__(name, message, **fields)
        self.code = self.code.format_map(fields)


def about_attachment(row: str, kind: str, policy: str = "") -> RamError:
    """Return the error ``NotAttached`` or ``AlreadyAttached`` of a user, group or role, which is *kind*."""
    return RamError(row, kind=kind, holder=kind.lower(), name=policy)


def delete_conflict(owner: str, part: str, text: str) -> RamError:
    """Return the error for deleting an *owner* that still has a *part*; *text* is *part* in words."""
    return RamError("DeleteConflict", kind=owner, holder=owner.lower(), suffix=part, part=text)


def limit_exceeded(suffix: str, kind: str) -> RamError:
    """Return LimitExceeded.*suffix*; *kind* is the name of the limited resource in its text."""
    return RamError("LimitExceeded", suffix=suffix, counted=kind)


def existing(entity: Entity | None, kind: str, name: str) -> Entity:
    """Return *entity*, which was read from the store by *name*, unless it is None.

    Raises: RamError: EntityNotExist.*kind* for None.
    """
    if entity is None:
        raise RamError(f"EntityNotExist.{kind}", name=name)
    return entity


def check_new(entity: object | None, kind: str, name: str, count: int, most: int) -> None:
    """Check that an entity can be created: *entity*, read by its name, is None, and *count* is below *most*.

    Raises: RamError: EntityAlreadyExists.*kind*, LimitExceeded.*kind*.
    """
    if entity is not None:
        raise RamError(f"EntityAlreadyExists.{kind}", name=name)
    if count >= most:
        raise limit_exceeded(kind, _COUNTED[kind])
