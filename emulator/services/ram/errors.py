"""Errors of resource access management, answered in the RPC gateway's form.

::

    PopError
    `-- RamError
        |-- Mandatory, InvalidChars, BeyondLength, InvalidFormat, InvalidValue: one class for each parameter
        |-- MalformedPolicyDocument
        |-- RoleNotExist, UserNotExist, GroupNotExist, PolicyNotExist, PolicyVersionNotExist, AccessKeyNotExist
        |-- NotAttached, NotMember
        |-- RoleExists, UserExists, GroupExists, PolicyExists, AlreadyAttached, AlreadyMember
        |-- DeleteConflict: one class for each pair of things
        `-- LimitExceeded: one class for each kind of thing

Source: RAM "Error messages"; the texts are the service's. "assumed" marks the rest.
"""

from functools import cache

from emulator.wire.pop_errors import PopError


class RamError(PopError):
    """Base of the errors of resource access management."""


class Mandatory(RamError):
    """A parameter is missing. Source: the gateway's pattern."""

    code = "MissingParameter"
    http_status = 400
    template = "{name} is mandatory for this action."


class InvalidChars(RamError):
    """A name holds characters it must not."""

    code = "InvalidParameter.InvalidChars"
    http_status = 400
    template = 'The parameter - "{name}" contains invalid chars.'


class BeyondLength(RamError):
    """A value is too long, or empty."""

    code = "InvalidParameter.Length"
    http_status = 400
    template = 'The parameter - "{name}" beyond the length limit.'


class InvalidFormat(RamError):
    """A value is not of the documented form."""

    code = "InvalidParameter.Format"
    http_status = 400
    template = 'The format of the parameter - "{name}" is incorrect.'


class InvalidValue(RamError):
    """A value is none of those documented."""

    code = "InvalidParameter"
    http_status = 400
    template = 'The parameter - "{name}" is incorrect.'


class MalformedPolicyDocument(RamError):
    """A policy cannot be read; the text says why. Source: the code; the texts are ours."""

    code = "MalformedPolicyDocument"
    http_status = 400


class EntityNotExist(RamError):
    """Base of what is not there."""

    code = "EntityNotExist"
    http_status = 404


class RoleNotExist(EntityNotExist):
    """The account has no such role. Field: ``name``."""

    code = "EntityNotExist.Role"
    template = "The role not exists: {name}."


class UserNotExist(EntityNotExist):
    """The account has no such user. Field: ``name``."""

    code = "EntityNotExist.User"
    template = "The user does not exist: {name}."


class GroupNotExist(EntityNotExist):
    """The account has no such group. Field: ``name``."""

    code = "EntityNotExist.Group"
    template = "The group does not exist: {name}."


class PolicyNotExist(EntityNotExist):
    """Neither the account nor the system has such a policy. Field: ``name``."""

    code = "EntityNotExist.Policy"
    template = "The policy does not exist: {name}."


class PolicyVersionNotExist(EntityNotExist):
    """The policy has no such version. Field: ``name``."""

    code = "EntityNotExist.Policy.Version"
    template = "The policy version does not exist: {name}."


class AccessKeyNotExist(EntityNotExist):
    """The user has no such key. Field: ``name``."""

    code = "EntityNotExist.User.AccessKey"
    template = "The user access key does not exist: {name}."


class NotAttached(EntityNotExist):
    """The policy is not attached. Fields: ``kind`` in lower case, ``name`` of the policy."""

    template = "The indicate policy of the {kind} does not exist: {name}."


class NotMember(EntityNotExist):
    """The user is not in the group."""

    code = "EntityNotExist.User.Group"
    template = "The user has not joined the group."


class EntityAlreadyExists(RamError):
    """Base of what is there already."""

    code = "EntityAlreadyExists"
    http_status = 409


class RoleExists(EntityAlreadyExists):
    """The account has a role of that name. Field: ``name``."""

    code = "EntityAlreadyExists.Role"
    template = "The role does already EXIST: {name}."


class UserExists(EntityAlreadyExists):
    """The account has a user of that name. Field: ``name``."""

    code = "EntityAlreadyExists.User"
    template = "The user does already EXIST: {name}."


class GroupExists(EntityAlreadyExists):
    """The account has a group of that name. Field: ``name``."""

    code = "EntityAlreadyExists.Group"
    template = "The group does already EXIST: {name}."


class PolicyExists(EntityAlreadyExists):
    """There is a policy of that name. Field: ``name``."""

    code = "EntityAlreadyExists.Policy"
    template = "The policy does already EXIST: {name}."


class AlreadyAttached(EntityAlreadyExists):
    """The policy is attached already. Field: ``kind`` in lower case."""

    template = "The {kind} has already been attached this policy."


class AlreadyMember(EntityAlreadyExists):
    """The user is in the group already."""

    code = "EntityAlreadyExists.User.Group"
    template = "The user has already joined the group."


class DeleteConflict(RamError):
    """Something still belongs to what is to be deleted. Fields: ``owner`` and ``part`` in lower case."""

    code = "DeleteConflict"
    http_status = 409
    template = "The {owner} CAN NOT has any {part} while deleting the {owner}."


class DefaultVersionConflict(DeleteConflict):
    """The version in force cannot be deleted."""

    code = "DeleteConflict.Policy.Version.Default"
    template = "The default policy version CAN NOT been deleted directly."


class SystemPolicyFixed(RamError):
    """A policy of the system cannot be changed. Source: assumed."""

    code = "NoPermission.SystemPolicy"
    http_status = 403
    template = "The system policy {name} cannot be changed."


class LimitExceeded(RamError):
    """There are as many as an account may have. Field: ``kind`` in words."""

    code = "LimitExceeded"
    http_status = 409
    template = "The count of {kind} beyond the current limits."


@cache
def coded(parent: type[RamError], code: str) -> type[RamError]:
    """Return the class of *parent*'s errors with the documented *code*, which names a parameter or a kind of thing."""
    members = {"code": code, "__doc__": parent.__doc__ or ""}
    return type(f"{parent.__name__}_{code.replace('.', '_')}", (parent,), members)


def mandatory(name: str) -> RamError:
    """Return the error for a parameter that is missing."""
    return coded(Mandatory, f"Missing{name}")(name=name)


def invalid_chars(name: str) -> RamError:
    """Return the error for a parameter with wrong characters."""
    return coded(InvalidChars, f"InvalidParameter.{name}.InvalidChars")(name=name)


def beyond_length(name: str) -> RamError:
    """Return the error for a parameter that is too long or empty."""
    return coded(BeyondLength, f"InvalidParameter.{name}.Length")(name=name)


def invalid_format(name: str) -> RamError:
    """Return the error for a parameter of the wrong form."""
    return coded(InvalidFormat, f"InvalidParameter.{name}.Format")(name=name)


def invalid_value(name: str) -> RamError:
    """Return the error for a parameter with a value that is not documented."""
    return coded(InvalidValue, f"InvalidParameter.{name}")(name=name)


def not_attached(kind: str, policy: str) -> RamError:
    """Return the error for a policy that a user, group or role does not have."""
    return coded(NotAttached, f"EntityNotExist.{kind}.Policy")(kind=kind.lower(), name=policy)


def already_attached(kind: str) -> RamError:
    """Return the error for a policy that a user, group or role already has."""
    return coded(AlreadyAttached, f"EntityAlreadyExists.{kind}.Policy")(kind=kind.lower())


def delete_conflict(owner: str, part: str, shown: str) -> RamError:
    """Return the error for something that still belongs to what is to be deleted."""
    return coded(DeleteConflict, f"DeleteConflict.{owner}.{part}")(owner=owner.lower(), part=shown)


def limit_exceeded(suffix: str, kind: str) -> RamError:
    """Return the error for one thing too many."""
    return coded(LimitExceeded, f"LimitExceeded.{suffix}")(kind=kind)
