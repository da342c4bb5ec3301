"""Reads and checks parameters of resource access management, and renders its answers."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from emulator.auth.policy import MalformedPolicy, parse_policy, parse_trust_policy
from emulator.kernel.digits import read_digits
from emulator.kernel.identity import AccountId, stable_id
from emulator.kernel.paging import Range, cut
from emulator.services.ram import limits
from emulator.services.ram.errors import (
    RamError,
)
from emulator.services.ram.model import (
    ROLE,
    Group,
    PolicyInfo,
    PolicyType,
    PolicyVersion,
    Role,
    User,
    UserKey,
    role_arn,
)
from emulator.wire.dates import iso_seconds
from emulator.wire.schema.texts import Texts, show

Parameters = Mapping[str, str]
T = TypeVar("T")

_NAME = r"[A-Za-z0-9.@_-]+"
_POLICY_NAME = r"[A-Za-z0-9-]+"
_EMAIL = r"[^@\s]+@[^@\s]+\.[^@\s]+"
_VERSION_ID = r"v([1-9][0-9]{0,8})"


def required(parameters: Parameters, name: str) -> str:
    """Return a parameter.

    Raises: RamError: Missing*.
    """
    value = parameters.get(name, "")
    if not value:
        raise RamError("Missing", name=name)
    return value


def entity_name(parameters: Parameters, parameter: str) -> str:
    """Return the name of a role, user or group.

    Raises: RamError: Missing*, InvalidParameter.*.InvalidChars, InvalidParameter.*.Length.
    """
    return _checked_name(required(parameters, parameter), parameter, _NAME, limits.NAME_LENGTH)


def check_trust(document: str, parameter: str) -> None:
    """Check the document that says who may assume a role.

    Raises: RamError: InvalidParameter.*.Length, MalformedPolicyDocument.
    """
    _check_document(document, parameter, limits.TRUST_LENGTH, parse_trust_policy)


def check_policy(document: str, parameter: str) -> None:
    """Check the document of a permission policy.

    Raises: RamError: InvalidParameter.*.Length, MalformedPolicyDocument.
    """
    _check_document(document, parameter, limits.POLICY_LENGTH, parse_policy)


def _check_document(document: str, parameter: str, most: int, parse: Callable[[str], object]) -> None:
    if len(document.encode("utf-8", "surrogateescape")) > most:
        raise RamError("Length", name=parameter)
    try:
        parse(document)
    except MalformedPolicy as error:
        raise RamError("MalformedPolicyDocument", reason=str(error)) from error


def policy_name(parameters: Parameters) -> str:
    """Return the name of a policy.

    Raises: RamError: Missing*, InvalidParameter.*.InvalidChars, InvalidParameter.*.Length.
    """
    name = required(parameters, "PolicyName")
    return _checked_name(name, "PolicyName", _POLICY_NAME, limits.POLICY_NAME_LENGTH)


def _checked_name(name: str, parameter: str, form: str, most: int) -> str:
    if re.fullmatch(form, name) is None:
        raise RamError("InvalidChars", name=parameter)
    if len(name) > most:
        raise RamError("Length", name=parameter)
    return name


def policy_type(parameters: Parameters) -> PolicyType:
    """Return the type of a policy.

    Raises: RamError: Missing*, InvalidParameter.*.
    """
    try:
        return PolicyType(required(parameters, "PolicyType"))
    except ValueError:
        raise RamError("InvalidParameter", name="PolicyType") from None


def version_number(parameters: Parameters) -> int:
    """Return the number in ``VersionId`` (``v3``).

    Raises: RamError: Missing*, InvalidParameter.*.Format.
    """
    match = re.fullmatch(_VERSION_ID, required(parameters, "VersionId"))
    if match is None:
        raise RamError("Format", name="VersionId")
    return int(match[1])


def text(parameters: Parameters, parameter: str, most: int) -> str:
    """Return a free text of at most *most* characters, ``""`` when it is absent.

    Raises: RamError: InvalidParameter.*.Length.
    """
    value = parameters.get(parameter, "")
    if len(value) > most:
        raise RamError("Length", name=parameter)
    return value


def email(parameters: Parameters, parameter: str) -> str:
    """Return a mail address, ``""`` when it is absent.

    Raises: RamError: InvalidParameter.*.Length, InvalidParameter.*.Format.
    """
    value = text(parameters, parameter, limits.CONTACT_LENGTH)
    if value and re.fullmatch(_EMAIL, value) is None:
        raise RamError("Format", name=parameter)
    return value


def flag(parameters: Parameters, parameter: str) -> bool:
    """Return a truth value; false when it is absent.

    Raises: RamError: InvalidParameter.*.
    """
    value = parameters.get(parameter, "").lower()
    if value not in {"", "true", "false"}:
        raise RamError("InvalidParameter", name=parameter)
    return value == "true"


def number(parameters: Parameters, parameter: str, allowed: Range) -> int | None:
    """Return a number in a range, None when it is absent.

    Raises: RamError: InvalidParameter.*.
    """
    value = parameters.get(parameter, "")
    if not value:
        return None
    number = read_digits(value, 9)
    if number is None or not allowed.contains(number):
        raise RamError("InvalidParameter", name=parameter)
    return number


def _digits(value: object, name: str) -> int:
    number = read_digits(str(value), 9)
    if number is None:
        raise RamError("InvalidParameter", name=name)
    return number


def _switch(value: object, name: str) -> bool:
    return flag({name: str(value)}, name)


def _wrong(name: str) -> RamError:
    return RamError("InvalidParameter", name=name)


PARAMETERS = Texts(
    "rpc", _digits, _switch, _wrong, lambda name, kind: _wrong(name),
    out_of_range=lambda name, kind: _wrong(name), too_long=lambda name: RamError("Length", name=name),
)  # fmt: skip
"""The notation of the attributes of roles in parameters."""

CHANGES = PARAMETERS.of_form("change")
"""The notation of the attributes of roles in UpdateRole, where their names begin with ``New``."""


def names(parameters: Parameters, parameter: str) -> list[str]:
    """Return a list of texts: a JSON array, or numbered parameters.

    Raises: RamError: InvalidParameter.*.
    """
    listed = _json_list(parameters, parameter)
    if listed is None:
        listed = [parameters[name] for name in _numbered(parameters, parameter, "")]
    if len(listed) > limits.TAGGED_AT_ONCE or not all(isinstance(each, str) and each for each in listed):
        raise RamError("InvalidParameter", name=parameter)
    return listed


def tags(parameters: Parameters) -> dict[str, str]:
    """Return the tags in ``Tag``: a JSON array of ``Key`` and ``Value``, or ``Tag.1.Key`` and ``Tag.1.Value``.

    Raises: RamError: InvalidParameter.Tag.
    """
    listed = _json_list(parameters, "Tag")
    if listed is None:
        listed = [
            {"Key": parameters[name], "Value": parameters.get(name.removesuffix("Key") + "Value", "")}
            for name in _numbered(parameters, "Tag", ".Key")
        ]
    read: dict[str, str] = {}
    for each in listed:
        key, value = (each.get("Key"), each.get("Value") or "") if isinstance(each, dict) else (None, "")
        if not isinstance(key, str) or not isinstance(value, str):
            raise RamError("InvalidParameter", name="Tag")
        if not 0 < len(key) <= limits.TAG_KEY_LENGTH or len(value) > limits.TAG_VALUE_LENGTH or key in read:
            raise RamError("InvalidParameter", name="Tag")
        read[key] = value
    if len(read) > limits.TAGS:
        raise RamError("InvalidParameter", name="Tag")
    return read


def _json_list(parameters: Parameters, parameter: str) -> list[Any] | None:
    value = parameters.get(parameter)
    if not value:
        return None
    try:
        listed = json.loads(value)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        raise RamError("InvalidParameter", name=parameter)
    return listed


def _numbered(parameters: Parameters, parameter: str, suffix: str) -> list[str]:
    """Return the names of the given parameters among ``parameter.1suffix``, ``parameter.2suffix`` ..., in order."""
    numbers = range(1, limits.TAGGED_AT_ONCE + 2)
    return [name for number in numbers if (name := f"{parameter}.{number}{suffix}") in parameters]


def page(
    parameters: Parameters,
    read: Callable[[str, int], Sequence[T]],
    render: Callable[[T], dict[str, Any]],
    elements: tuple[str, str],
) -> dict[str, Any]:
    """Return the reply of a list operation: *read* returns items after a marker, *elements* names list and item.

    Raises: RamError: InvalidParameter.*.
    """
    limit = number(parameters, "MaxItems", limits.PAGE) or limits.PAGE.default
    shown = cut(read(parameters.get("Marker", ""), limit + 1), limit, lambda _: "")
    items = [render(item) for item in shown.items]
    answer: dict[str, Any] = {elements[0]: {elements[1]: items}, "IsTruncated": shown.next_marker is not None}
    if shown.next_marker is not None:
        answer["Marker"] = items[-1][_MARKED_BY[elements[1]]]
    return answer


_MARKED_BY = {"Role": "RoleName", "User": "UserName", "Group": "GroupName", "Policy": "PolicyName"}


def render_role(account: AccountId, role: Role) -> dict[str, Any]:
    """Return a role as in the answers of GetRole and the like, with its trust policy."""
    return {**_role(account, role), "AssumeRolePolicyDocument": role.trust}


def render_listed_role(account: AccountId, role: Role, tags: Mapping[str, str]) -> dict[str, Any]:
    """Return a role as in ListRoles, without its trust policy and with its tags."""
    return {**_role(account, role), **listed_tags(tags)}


def listed_tags(tags: Mapping[str, str]) -> dict[str, Any]:
    """Return the member that holds the tags of a role or policy in a list.

    Source: ListRoles and ListPolicies; terraform-provider-alicloud, data sources ``alicloud_ram_roles`` and
    ``alicloud_ram_policies``.
    """
    return {"Tags": {"Tag": [{"TagKey": key, "TagValue": value} for key, value in tags.items()]}}


def _role(account: AccountId, role: Role) -> dict[str, Any]:
    return {
        "RoleId": stable_id("role", account, role.name),
        "RoleName": role.name,
        "Arn": role_arn(account, role.name),
        **dict(show(ROLE, "reply", role, role)),
        "CreateDate": iso_seconds(role.created_at),
        "UpdateDate": iso_seconds(role.updated_at),
    }


def render_user(user: User) -> dict[str, Any]:
    """Return a user."""
    return {
        "UserId": user.user_id,
        "UserName": user.name,
        "DisplayName": user.display_name,
        "MobilePhone": user.mobile_phone,
        "Email": user.email,
        "Comments": user.comments,
        "CreateDate": iso_seconds(user.created_at),
        "UpdateDate": iso_seconds(user.updated_at),
    }


def render_key(key: UserKey) -> dict[str, Any]:
    """Return an access key without its secret."""
    return {
        "AccessKeyId": key.key_id,
        "Status": "Active" if key.active else "Inactive",
        "CreateDate": iso_seconds(key.created_at),
    }


def render_group(group: Group) -> dict[str, Any]:
    """Return a group."""
    return {
        "GroupName": group.name,
        "Comments": group.comments,
        "CreateDate": iso_seconds(group.created_at),
        "UpdateDate": iso_seconds(group.updated_at),
    }


def render_policy(policy: PolicyInfo, attached: int) -> dict[str, Any]:
    """Return a policy; *attached* is how many users, groups and roles have it."""
    return {
        "PolicyType": policy.type.value,
        "PolicyName": policy.name,
        "Description": policy.description,
        "DefaultVersion": f"v{policy.default_version}",
        "AttachmentCount": attached,
        "CreateDate": iso_seconds(policy.created_at),
        "UpdateDate": iso_seconds(policy.updated_at),
    }


def render_version(policy: PolicyInfo, version: PolicyVersion) -> dict[str, Any]:
    """Return a version of a policy."""
    return {
        "VersionId": f"v{version.number}",
        "IsDefaultVersion": version.number == policy.default_version,
        "PolicyDocument": version.document,
        "CreateDate": iso_seconds(version.created_at),
    }
