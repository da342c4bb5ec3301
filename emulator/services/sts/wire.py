"""Parameters of the security token service to checked requests, and its answers."""

import re
from collections.abc import Mapping
from typing import Any

from emulator.auth.permissions.policy import MalformedPolicy, parse_policy
from emulator.kernel.identity import AccountId, Principal, stable_id
from emulator.services.sts.errors import (
    InvalidDurationSeconds,
    InvalidPolicyGrammar,
    InvalidRoleArn,
    InvalidRoleSessionName,
    MissingRoleArn,
    MissingRoleSessionName,
)
from emulator.services.sts.limits import DURATION_S, POLICY_LENGTH, SESSION_NAME_LENGTH
from emulator.services.sts.model import AssumeRole, TemporaryCredentials, session_arn
from emulator.wire.dates import iso_seconds

_ROLE_ARN = re.compile(r"acs:ram::(\d{1,20}):role/([A-Za-z0-9.@_-]{1,64})", re.ASCII)
_SESSION_NAME = re.compile(r"[A-Za-z0-9.@_-]+", re.ASCII)


def parse_assume_role(parameters: Mapping[str, str]) -> AssumeRole:
    """Read and check an AssumeRole request.

    ``ExternalId`` and ``SourceIdentity`` are accepted and not used.

    Raises: MissingRoleArn, MissingRoleSessionName, InvalidRoleArn, InvalidRoleSessionName, InvalidDurationSeconds,
    InvalidPolicyGrammar.
    """
    arn = parameters.get("RoleArn", "")
    session_name = parameters.get("RoleSessionName", "")
    if not arn:
        raise MissingRoleArn
    if not session_name:
        raise MissingRoleSessionName
    role = _ROLE_ARN.fullmatch(arn)
    if role is None:
        raise InvalidRoleArn
    if _SESSION_NAME.fullmatch(session_name) is None or not SESSION_NAME_LENGTH.contains(len(session_name)):
        raise InvalidRoleSessionName
    if parameters.get("Policy"):
        _check_policy(parameters["Policy"])
    return AssumeRole(
        account=AccountId(role[1]),
        role=role[2],
        role_arn=arn,
        session_name=session_name,
        duration_s=_duration(parameters.get("DurationSeconds", "")),
        policy=parameters.get("Policy", ""),
    )


def _duration(text: str) -> int:
    if not text:
        return DURATION_S.default
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or not DURATION_S.contains(int(text)):
        raise InvalidDurationSeconds(low=DURATION_S.low, high=DURATION_S.high)
    return int(text)


def _check_policy(text: str) -> None:
    if len(text) > POLICY_LENGTH:
        raise InvalidPolicyGrammar
    try:
        parse_policy(text)
    except MalformedPolicy as error:
        raise InvalidPolicyGrammar from error


def render_assumed_role(request: AssumeRole, credentials: TemporaryCredentials) -> dict[str, Any]:
    """Return the answer to AssumeRole."""
    role_id = stable_id("role", request.account, request.role)
    return {
        "AssumedRoleUser": {
            "Arn": f"{request.role_arn}/{request.session_name}",
            "AssumedRoleId": f"{role_id}:{request.session_name}",
        },
        "Credentials": {
            "AccessKeyId": credentials.access_key_id,
            "AccessKeySecret": credentials.access_key_secret,
            "SecurityToken": credentials.security_token,
            "Expiration": iso_seconds(credentials.expiration),
        },
    }


def render_caller_identity(principal: Principal) -> dict[str, Any]:
    """Return the answer to GetCallerIdentity, for the account itself, a user or a role's session."""
    kind, _, name = principal.arn.rpartition(":")[2].partition("/")
    answer: dict[str, Any] = {"AccountId": principal.account, "Arn": principal.arn}
    if kind == "user":
        user_id = stable_id("user", principal.account, name)
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
