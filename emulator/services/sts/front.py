"""The operations of the security token service, version 2015-04-01, spoken RPC."""

import re
import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from emulator.auth.policy import Facts, MalformedPolicy, facts_of, parse_policy
from emulator.kernel.digits import read_digits
from emulator.kernel.identity import ACCOUNT_DIGITS, AccountId, Demand, Principal, stable_id
from emulator.kernel.ids import Ids
from emulator.services.sts.service import (
    DURATION_S,
    POLICY_LENGTH,
    SESSION_NAME_LENGTH,
    StsError,
    TemporaryKeys,
    session_arn,
)
from emulator.wire.dates import iso_seconds
from emulator.wire.operation import Actions, operation, operations_of
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Reply, RpcFront, no_permission

VERSION = "2015-04-01"
ASSUME_ROLE = "sts:AssumeRole"

_ROLE_ARN = rf"acs:ram::([0-9]{{1,{ACCOUNT_DIGITS}}}):role/([A-Za-z0-9.@_-]{{1,64}})"
_SESSION_NAME = r"[A-Za-z0-9.@_-]+"


class RoleDirectory(Protocol):
    """Looks up the roles and users of each account."""

    def user_id(self, account: AccountId, name: str) -> str | None:
        """Return the id of a user; None when there is no such user."""
        ...

    def max_session_s(self, account: AccountId, role: str, *, foreign: bool) -> int | None:
        """Return how long a session of *role* may last, in seconds; None when there is no such role.

        *foreign* is a role of another account than the caller's.
        """
        ...

    def may_assume(self, account: AccountId, role: str, caller: Principal, facts: Facts, *, foreign: bool) -> bool:
        """Whether *role* trusts the caller; *facts* are the values for conditions."""
        ...


class TokenService(NamedTuple):
    """The keys and the directory on which the operations work.

    Without *roles* every role name of the caller's own account exists, trusts every caller and allows the longest
    session. Another account's role always has to exist and to trust the caller.
    """

    keys: TemporaryKeys
    roles: RoleDirectory | None

    def max_session_s(self, account: AccountId, owner: AccountId, role: str) -> int | None:
        """Return the longest session of *owner*'s role in seconds; None when no such role exists for *account*."""
        if self.roles is None:
            return DURATION_S.high if owner == account else None
        return self.roles.max_session_s(owner, role, foreign=owner != account)

    def user_id(self, account: AccountId, name: str) -> str:
        """Return the id of a user, one made of the name when the directory has none."""
        known = self.roles.user_id(account, name) if self.roles is not None else None
        return known or stable_id("user", account, name)

    def trusts(self, call: OperationRequest, owner: AccountId, role: str) -> bool:
        """Whether *owner*'s role trusts the caller."""
        if self.roles is None or call.principal is None:
            return True
        foreign = owner != call.tenant.account
        return self.roles.may_assume(owner, role, call.principal, facts_of(call), foreign=foreign)


class StsFront(RpcFront):
    """AssumeRole and GetCallerIdentity."""

    def __init__(self, keys: TemporaryKeys, ids: Ids, roles: RoleDirectory | None = None) -> None:
        actions = Actions(operations_of(sys.modules[__name__]))
        super().__init__("sts", VERSION, actions, TokenService(keys, roles), ids)

    def allows_anonymous(self, call: OperationRequest) -> bool:
        """Whether the call is AssumeRoleWithOIDC, which is unsigned; it is answered as an unknown action."""
        return call.action.lower() == "assumerolewithoidc"

    def rights(self, operation: str, call: OperationRequest) -> Iterable[Demand]:
        """Return the right to assume the role, for AssumeRole; GetCallerIdentity needs none."""
        role = call.parameters.get("RoleArn", "")
        return [Demand(ASSUME_ROLE, role)] if operation == "AssumeRole" and role else []


@operation("AssumeRole")
def assume_role(service: TokenService, call: OperationRequest) -> Reply:
    """Issue a temporary key for a session of a role.

    The real service refuses the account's own keys with NoPermission: only users and roles may assume a role. Here the
    account's key stands for that of whoever runs a program, such as fc-java-sdk's suite, so it is accepted also where
    permissions are enforced. ``ExternalId`` and ``SourceIdentity`` are accepted and not used.

    Raises: StsError: MissingRoleArn, MissingRoleSessionName, InvalidParameter.*, EntityNotExist.Role, TooManyKeys;
    NoPermission for a caller whom the role does not trust. Source: STS, "AssumeRole".
    """
    parameters = call.parameters
    role_arn, session_name = parameters.get("RoleArn", ""), parameters.get("RoleSessionName", "")
    owner, role = _named_role(role_arn, session_name)
    policy = parameters.get("Policy", "")
    _check_policy(policy)
    duration_s = _duration(parameters)
    account = call.tenant.account
    longest_s = service.max_session_s(account, owner, role)
    if longest_s is None:
        raise StsError("EntityNotExist.Role", arn=role_arn)
    if not service.trusts(call, owner, role):
        raise no_permission(Demand(ASSUME_ROLE, role_arn))
    if duration_s > longest_s:
        raise StsError("InvalidParameter.DurationSeconds", low=DURATION_S.low, high=longest_s)
    credentials = service.keys.issue(owner, role, session_name, duration_s, call.now, policy=policy)
    return {
        "AssumedRoleUser": {
            "Arn": f"{role_arn}/{session_name}",
            "AssumedRoleId": f"{stable_id('role', owner, role)}:{session_name}",
        },
        "Credentials": {
            "AccessKeyId": credentials.access_key_id,
            "AccessKeySecret": credentials.access_key_secret,
            "SecurityToken": credentials.security_token,
            "Expiration": iso_seconds(credentials.expiration),
        },
    }


def _named_role(role_arn: str, session_name: str) -> tuple[AccountId, str]:
    """Return account and name of the role."""
    if not role_arn:
        raise StsError("MissingRoleArn")
    if not session_name:
        raise StsError("MissingRoleSessionName")
    role = re.fullmatch(_ROLE_ARN, role_arn)
    if role is None:
        raise StsError("InvalidParameter.RoleArn")
    if re.fullmatch(_SESSION_NAME, session_name) is None or not SESSION_NAME_LENGTH.contains(len(session_name)):
        raise StsError("InvalidParameter.RoleSessionName")
    return AccountId(role[1]), role[2]


def _check_policy(text: str) -> None:
    if len(text) > POLICY_LENGTH:
        raise StsError("InvalidParameter.PolicyGrammar")
    try:
        if text:
            parse_policy(text)
    except MalformedPolicy as error:
        raise StsError("InvalidParameter.PolicyGrammar") from error


def _duration(parameters: Mapping[str, str]) -> int:
    text = parameters.get("DurationSeconds", "")
    if not text:
        return DURATION_S.default
    seconds = read_digits(text)
    if seconds is None or not DURATION_S.contains(seconds):
        raise StsError("InvalidParameter.DurationSeconds", low=DURATION_S.low, high=DURATION_S.high)
    return seconds


@operation("GetCallerIdentity")
def get_caller_identity(service: TokenService, call: OperationRequest) -> Reply:
    """Return who signed the request: the account itself, a user or a role's session.

    Source: STS, "GetCallerIdentity".
    """
    principal = call.principal
    assert principal is not None  # unsigned requests get no further than the unknown action
    kind, _, name = principal.arn.rpartition(":")[2].partition("/")
    answer: Reply = {"AccountId": principal.account, "Arn": principal.arn}
    if kind == "user":
        user_id = service.user_id(principal.account, name)
        return {**answer, "IdentityType": "RAMUser", "PrincipalId": user_id, "UserId": user_id}
    if kind == "assumed-role":
        role, _, session_name = name.partition("/")
        role_id = stable_id("role", principal.account, role)
        return {
            **answer,
            "Arn": session_arn(principal.account, role, session_name),
            "IdentityType": "AssumedRoleUser",
            "PrincipalId": f"{role_id}:{session_name}",
            "RoleId": role_id,
        }
    return {**answer, "IdentityType": "Account", "PrincipalId": principal.account}
