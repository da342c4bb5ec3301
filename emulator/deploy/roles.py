"""Roles and policies that files ask for: full ones, and those that a list of ``Policies`` stands for."""

import json
from typing import Any

from emulator.deploy.building import Build
from emulator.deploy.model import Resource
from emulator.deploy.part import Part

_LONGEST_ROLE = 64

SYSTEM, CUSTOM = "System", "Custom"


def trust(service: str) -> str:
    """Return the document by which a service of the cloud may take a role."""
    statement = {"Action": "sts:AssumeRole", "Effect": "Allow", "Principal": {"Service": [f"{service}.aliyuncs.com"]}}
    return json.dumps({"Statement": [statement], "Version": "1"})


def add_role(
    build: Build,
    part: Part,
    name: str,
    trust_document: Any,
    *,
    type_name: str,
    logical: str = "",
    description: Any = None,
) -> Resource:
    """Add a role; *trust_document* tells who may take it."""
    document = trust_document if isinstance(trust_document, str) else json.dumps(trust_document, ensure_ascii=False)
    properties = {"AssumeRolePolicyDocument": document, "Description": description}
    return build.add(part, "ram.role", (name,), properties, type_name=type_name, logical=logical)


def add_policy(build: Build, part: Part, name: str, document: Any, *, type_name: str, logical: str) -> Resource:
    """Add a policy of the account's own."""
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    return build.add(part, "ram.policy", (name,), {"PolicyDocument": text}, type_name=type_name, logical=logical)


def attach(build: Build, part: Part, role: str, kind: str, policy: str, *, type_name: str, logical: str = "") -> None:
    """Add that a role has a policy."""
    logical = logical or f"{part.name}/{policy}"
    build.add(part, "ram.attachment", (kind, policy, role), {}, type_name=type_name, logical=logical)


def role_of_policies(build: Build, owner: Part, policies: Part, service: str) -> str:
    """Add the role that a list of policies stands for, and return its resource name.

    Each policy is the name of one of the cloud's, or a document.
    """
    logical = f"{owner.name}Role"
    name = build.default_name(owner).lower()[: _LONGEST_ROLE - len("-role")] + "-role"
    add_role(build, owner, name, trust(service), type_name="ALIYUN::RAM::Role", logical=logical)
    given = policies.items() if isinstance(policies.value, list) else [policies]
    for number, policy in enumerate(given):
        if isinstance(policy.value, str):
            kind, policy_name = SYSTEM, policy.value
        elif isinstance(policy.value, dict) and "Statement" in policy.value:
            kind, policy_name = CUSTOM, f"{name}-policy-{number}"
            logical_policy = f"{owner.name}Policy{number}"
            add_policy(
                build, policy, policy_name, policy.value, type_name="ALIYUN::RAM::ManagedPolicy", logical=logical_policy
            )
        else:
            policy.problem("must be the name of a policy or a document with Version and Statement")
            continue
        attach(
            build, owner, name, kind, policy_name, type_name="ALIYUN::RAM::AttachPolicyToRole",
            logical=f"{logical}/{policy_name if kind == SYSTEM else f'Policy{number}'}",
        )  # fmt: skip
    return build.role_arn(name)
