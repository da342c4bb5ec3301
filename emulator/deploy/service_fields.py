"""The properties of flows, schedules, messages, buckets, roles and policies, in files and as the API takes them.

Source: Resource Orchestration Service, reference of the resource types ``ALIYUN::FNF``, ``MNS``, ``OSS`` and ``RAM``.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from emulator.deploy.build import (
    ATTACHMENT_TYPE,
    CUSTOM,
    POLICY_TYPE,
    ROLE_TYPE,
    SYSTEM,
    Build,
    attach,
    policy_properties,
)
from emulator.deploy.model import Resource, has_token
from emulator.deploy.shapes import (
    Field,
    ListOf,
    LocatedValue,
    Reader,
    anything,
    json_text,
    map_of,
    members,
    noted,
    number,
    payload,
    switch,
    text,
    texts,
    uncapitalised,
)
from emulator.services.mns.topics.model import SUBSCRIPTION
from emulator.wire.attributes import Attribute
from emulator.wire.attributes import Resource as Table

_REQUEST_ID = Field("requestId", noted("it names a request; each here has its own"))


FLOW = (
    Field("name", text),
    Field("definition", json_text, required=True),
    Field("description", text),
    Field("roleArn", text),
    Field("type", text),
    Field("executionMode", text),
    Field("environment", json_text),
    _REQUEST_ID,
)
RUNS = (
    Field("cronExpression", text, required=True),
    Field("payload", payload),
    Field("enable", switch),
    Field("description", text),
)
"""What every kind of file says of a schedule."""

SCHEDULE = (
    Field("flowName", text, required=True),
    Field("scheduleName", text, required=True),
    *RUNS,
    _REQUEST_ID,
)


def flow_properties(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a flow as the API takes it."""
    return {
        "Definition": values.get("definition"),
        "Description": values.get("description") or name,
        "Type": values.get("type") or "FDL",
        "RoleArn": values.get("roleArn"),
        "ExecutionMode": values.get("executionMode"),
        "Environment": values.get("environment"),
    }


def schedule_properties(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schedule as the API takes it."""
    return {
        "CronExpression": values.get("cronExpression"),
        "Payload": values.get("payload") or "",
        "Enable": values.get("enable", True),
        "Description": values.get("description") or "",
    }


def fields_of(table: Table[Any], *, capital: bool = True) -> tuple[Field, ...]:
    """Return the fields for the attributes of a queue, topic or subscription, from the service's table.

    Without *capital* the other names of an attribute may begin with a small letter too.
    """
    rows = []
    for each in table.of_form("file"):
        others = tuple(each.names.values())
        also = others if capital else (*others, *map(uncapitalised, others))
        rows.append(Field(uncapitalised(each.name), _reader(each), also=also))
    return tuple(rows)


def _reader(attribute: Attribute) -> Reader:
    if attribute.members:
        inner = tuple(Field(uncapitalised(each.name), _reader(each), also=(each.name,)) for each in attribute.members)

        def read_members(part: LocatedValue, capital: bool) -> dict[str, Any]:
            values = members(part, inner, capital=capital)
            names = {uncapitalised(each.name): each.name for each in attribute.members}
            return {names[name]: value for name, value in values.items()}

        return read_members
    if attribute.kind is bool and not attribute.words:
        return switch
    return number if attribute.kind is int else text


def api_properties(table: Table[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes as the management API takes them; those the file does not name have their defaults."""
    properties = {}
    for each in table.of_form("file"):
        default = None if each.words else table.default_of(each)
        default = default.value if isinstance(default, Enum) else default
        properties[each.name_in("rpc")] = values.get(uncapitalised(each.name), default)
    return properties


def file_values(table: Table[Any], properties: Mapping[str, Any], *, capital: bool) -> dict[str, Any]:
    """Return what a file says so that `api_properties` reads *properties*: the table backwards."""
    values = {}
    for each in table.of_form("file"):
        value = properties.get(each.name_in("rpc"))
        if value in (None, ""):
            continue
        if each.members and isinstance(value, Mapping):
            value = {(name if capital else uncapitalised(name)): item for name, item in value.items()}
        values[each.name if capital else uncapitalised(each.name)] = value
    return values


def message_properties(build: Build, table: Table[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a queue, topic or subscription as the API takes it; an endpoint that is a bare name is a queue of here."""
    if table is SUBSCRIPTION:
        endpoint = str(values.get("endpoint") or "")
        if ":" not in endpoint and not has_token(endpoint):
            endpoint = f"acs:mns:{build.region}:{build.account}:queues/{endpoint}"
        values = {**values, "endpoint": endpoint}
    return api_properties(table, values)


_NO_BUCKET_SETTING = noted("kept by no setting of buckets here; without effect")
BUCKET = (
    Field("bucketName", text, required=True),
    Field("accessControl", text),
    Field("storageClass", text),
    Field("deletionForce", switch),
    *(
        Field(name, _NO_BUCKET_SETTING)
        for name in (
            "corsConfiguration", "lifecycleConfiguration", "loggingConfiguration", "refererConfiguration",
            "serverSideEncryptionConfiguration", "tags", "websiteConfiguration", "websiteConfigurationV2", "policy",
            "versioningConfiguration", "enableOssHdfsService", "resourceGroupId", "transferAcceleration", "worm",
            "replicationConfiguration", "redundancyType", "blockPublicAccess",
        )
    ),
)  # fmt: skip
_POLICY_DOCUMENT = (Field("policyName", text, required=True), Field("policyDocument", anything, required=True))
_KEPT_ANYWAY = (Field("deletionForce", switch), Field("ignoreExisting", switch))
ROLE = (
    Field("roleName", text, required=True),
    Field("assumeRolePolicyDocument", anything, required=True),
    Field("description", text),
    Field("maxSessionDuration", number),
    Field("policies", ListOf(map_of(*_POLICY_DOCUMENT))),
    Field("policyAttachments", map_of(Field("system", texts), Field("custom", texts))),
    *_KEPT_ANYWAY,
    Field("tags", noted("tags are set through the API")),
)
POLICY = (
    *_POLICY_DOCUMENT,
    Field("description", text),
    Field("roles", texts),
    Field("users", noted("there are no users to attach policies to")),
    Field("groups", noted("there are no groups to attach policies to")),
    *_KEPT_ANYWAY,
)


def bucket_properties(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of a bucket, in the words of templates."""
    return {
        "AccessControl": values.get("accessControl") or "private",
        "StorageClass": values.get("storageClass") or "Standard",
        "DeletionForce": values.get("deletionForce", False),
    }


def add_policies_of_role(build: Build, part: LocatedValue, role: Resource, values: Mapping[str, Any]) -> None:
    """Add the policies written into a role and those it only names; in a template they have types too."""
    policy_type, attachment_type = (POLICY_TYPE, ATTACHMENT_TYPE) if role.type == ROLE_TYPE else ("", "")
    for policy in values.get("policies") or []:
        own = str(policy.get("policyName"))
        logical, properties = f"{part.name}/{own}-policy", policy_properties(policy.get("policyDocument"))
        build.add(part, "ram.policy", (own,), properties, type_name=policy_type, logical=logical)
        attach(build, part, role.identity[0], CUSTOM, own, type_name=attachment_type)
    attached = values.get("policyAttachments") or {}
    for kind in (SYSTEM, CUSTOM):
        for own in attached.get(kind.lower()) or []:
            attach(build, part, role.identity[0], kind, own, type_name=attachment_type)


def add_roles_of_policy(build: Build, part: LocatedValue, policy: Resource, values: Mapping[str, Any]) -> None:
    """Add that the roles which a policy names have it."""
    for role in values.get("roles") or []:
        type_name = ATTACHMENT_TYPE if policy.type == POLICY_TYPE else ""
        attach(build, part, role, CUSTOM, policy.identity[0], type_name=type_name, logical=f"{part.name}/{role}")
