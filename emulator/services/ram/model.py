"""Users, groups, roles, policies and attachments.

The fields of stored classes are in the order of the columns that `store` reads.
"""

from enum import StrEnum

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import AccountId
from emulator.services.ram import limits
from emulator.wire.schema.kinds import JSON_TEXT, Field, Shape, Text, duration

KEY_PREFIX = "LYUN"
"""The prefix of the ids of all permanent access keys of an installation."""


class HolderKind(StrEnum):
    """The kinds of identities that policies are attached to."""

    USER = "User"
    GROUP = "Group"
    ROLE = "Role"


class PolicyType(StrEnum):
    """Who made a policy."""

    SYSTEM = "System"
    CUSTOM = "Custom"


@frozen
class Holder:
    """A user, a group or a role of an account."""

    account: AccountId
    kind: HolderKind
    name: str


@frozen(kw_only=False)
class Role:
    """A role; ``trust`` is the document that says who may assume it, as it was sent."""

    name: str
    description: str
    trust: str
    max_session_s: int
    created_at: Millis
    updated_at: Millis


ROLE = Shape(
    "Role",
    (
        Field(
            "AssumeRolePolicyDocument", "trust", JSON_TEXT, required=True,
            names={"change": ("NewAssumeRolePolicyDocument",)}, only=("rpc", "change", "file"), source="CreateRole",
            help=("policy that says who may assume the role", "信任策略，说明谁可以扮演该角色"),
        ),
        Field(
            "Description", "description", Text(limits.DESCRIPTION_LENGTH), default="",
            names={"change": ("NewDescription",)}, source="CreateRole", help=("description", "描述"),
        ),
        Field(
            "MaxSessionDuration", "max_session_s", duration(limits.MAX_SESSION_S), default=limits.MAX_SESSION_S.default,
            names={"change": ("NewMaxSessionDuration",)}, source="CreateRole",
            help=("maximum validity of its credentials", "临时访问凭证的最长有效期"),
        ),
    ),
    Role,
)  # fmt: skip
"""The attributes of a role beside its name; a new one needs a row, a member above and a column."""


@frozen(kw_only=False)
class User:
    """A user of the account, whose id stays when it is renamed."""

    name: str
    display_name: str
    mobile_phone: str
    email: str
    comments: str
    created_at: Millis
    updated_at: Millis
    user_id: str


@frozen
class UserKey:
    """A permanent access key of a user."""

    key_id: str
    user: str
    secret: str
    active: bool
    created_at: Millis


@frozen(kw_only=False)
class Group:
    """A group of users, who have the group's policies."""

    name: str
    comments: str
    created_at: Millis
    updated_at: Millis


@frozen
class PolicyInfo:
    """A policy without its documents; ``default_version`` is the number of the version in force."""

    type: PolicyType
    name: str
    description: str
    default_version: int
    created_at: Millis
    updated_at: Millis


@frozen(kw_only=False)
class PolicyVersion:
    """One document of a policy, as it was sent."""

    number: int
    document: str
    created_at: Millis


@frozen
class Attachment:
    """A policy attached to a user, a group or a role."""

    kind: HolderKind
    holder: str
    type: PolicyType
    policy: str
    attached_at: Millis


def role_arn(account: AccountId, name: str) -> str:
    """Return ``acs:ram::{account}:role/{name}``."""
    return f"acs:ram::{account}:role/{name}"


def user_arn(account: AccountId, name: str) -> str:
    """Return ``acs:ram::{account}:user/{name}``."""
    return f"acs:ram::{account}:user/{name}"
