"""The system policies: those of the emulated services, and the general ones.

Source: the vendor's pages on the policies of each service; where a page prints no document, the permissions are assumed
from the name.
"""

import json
import re
from functools import lru_cache
from typing import Any, NamedTuple

from emulator.kernel.clock import Millis
from emulator.services.ram.model import PolicyInfo, PolicyType, PolicyVersion

BEGINNING = Millis(1_430_438_400_000)
"""Creation date of the system's policies: 2015-05-01, the day of the API version."""


class SystemPolicy(NamedTuple):
    """A system policy, which cannot be changed, and its only version."""

    info: PolicyInfo
    version: PolicyVersion


def _allow(*actions: str, **condition: Any) -> dict[str, Any]:
    statement: dict[str, Any] = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    return {**statement, "Condition": condition} if condition else statement


def _pass_role(service: str) -> dict[str, Any]:
    return _allow("ram:PassRole", StringEquals={"acs:Service": service})


_READ = ("Get*", "List*", "Describe*")

_POLICIES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "AdministratorAccess": ("Provides full access to Alibaba Cloud services and resources.", [_allow("*")]),
    "ReadOnlyAccess": (
        "Provides read-only access to Alibaba Cloud services and resources.",
        [_allow(*(f"*:{verb}" for verb in _READ), "mns:PeekMessage")],
    ),
    "AliyunFCFullAccess": (
        "Provides full access to Function Compute.",
        [_allow("fc:*"), _pass_role("fc.aliyuncs.com")],
    ),
    "AliyunFCReadOnlyAccess": ("Provides read-only access to Function Compute.", [_allow("fc:Get*", "fc:List*")]),
    "AliyunFCInvocationAccess": ("Provides the right to invoke functions.", [_allow("fc:InvokeFunction")]),
    "AliyunFnFFullAccess": (
        "Provides full access to Serverless Workflow.",
        [_allow("fnf:*"), _pass_role("fnf.aliyuncs.com")],
    ),
    "AliyunFnFReadOnlyAccess": (
        "Provides read-only access to Serverless Workflow.",
        [_allow(*(f"fnf:{verb}" for verb in _READ))],
    ),
    "AliyunMNSFullAccess": ("Provides full access to Message Service.", [_allow("mns:*")]),
    "AliyunMNSReadOnlyAccess": (
        "Provides read-only access to Message Service.",
        [_allow("mns:Get*", "mns:List*", "mns:PeekMessage")],
    ),
    "AliyunOSSFullAccess": ("Provides full access to Object Storage Service.", [_allow("oss:*")]),
    "AliyunOSSReadOnlyAccess": (
        "Provides read-only access to Object Storage Service.",
        [_allow("oss:Get*", "oss:List*")],
    ),
    "AliyunFCDefaultRolePolicy": (
        "The default policy of the role of Function Compute.",
        [_allow("fc:InvokeFunction", "mns:SendMessage", "mns:PublishMessage", "log:PostLogStoreLogs")],
    ),
    "AliyunFCInvocationRolePolicy": ("Lets a service invoke functions.", [_allow("fc:InvokeFunction")]),
    "AliyunOSSEventNotificationRolePolicy": ("Lets object events invoke functions.", [_allow("fc:InvokeFunction")]),
    "AliyunMNSNotificationRolePolicy": ("Lets topics invoke functions.", [_allow("fc:InvokeFunction")]),
    "AliyunSTSAssumeRoleAccess": ("Provides the right to assume roles.", [_allow("sts:AssumeRole")]),
    "AliyunRAMFullAccess": ("Provides full access to Resource Access Management.", [_allow("ram:*")]),
    "AliyunRAMReadOnlyAccess": (
        "Provides read-only access to Resource Access Management.",
        [_allow("ram:Get*", "ram:List*")],
    ),
    "AliyunLogFullAccess": ("Provides full access to Log Service.", [_allow("log:*")]),
    "AliyunROSFullAccess": ("Provides full access to Resource Orchestration Service.", [_allow("ros:*")]),
}

_ELSEWHERE = r"Aliyun[A-Z][A-Za-z0-9]{1,60}?(?:Access|Policy)"
"""The form of names of system policies of services that are not emulated. Source: list of system policies."""

_SPELLINGS = {"aliyunfnfreadonlyaccess": "AliyunFnFReadOnlyAccess", "aliyunfnffullaccess": "AliyunFnFFullAccess"}
"""Names in lower case whose spelling differs between pages of Serverless Workflow's guide, with the one used here."""


@lru_cache(maxsize=64)
def system_policy(name: str) -> SystemPolicy | None:
    """Return the system policy of that name, None when there is none."""
    name = _SPELLINGS.get(name.lower(), name)
    policy = _POLICIES.get(name)
    if policy is None:
        if not re.fullmatch(_ELSEWHERE, name):
            return None
        policy = "A policy of a service that is not here; it has no effect.", []
    description, statements = policy
    document = json.dumps({"Version": "1", "Statement": statements}, indent=2)
    info = PolicyInfo(
        type=PolicyType.SYSTEM,
        name=name,
        description=description,
        default_version=1,
        created_at=BEGINNING,
        updated_at=BEGINNING,
    )
    return SystemPolicy(info, PolicyVersion(number=1, document=document, created_at=BEGINNING))


def is_effective(name: str) -> bool:
    """Whether a system policy has an effect in the emulator: it is of an emulated service, or a general one."""
    return _SPELLINGS.get(name.lower(), name) in _POLICIES


def system_policy_names() -> list[str]:
    """Return the names of the effective system policies, sorted."""
    return sorted(_POLICIES)
