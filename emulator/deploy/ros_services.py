"""The plain resource types of ROS around functions: ``ALIYUN::FNF``, ``ALIYUN::MNS`` and ``ALIYUN::RAM``.

Source: Resource Orchestration Service, reference of resource types.
"""

from collections.abc import Mapping
from enum import Enum
from functools import partial
from typing import Any

from emulator.deploy.build import CUSTOM, SYSTEM, Build, Builder, add_policy, add_role, attach
from emulator.deploy.model import has_token
from emulator.deploy.shapes import (
    Field,
    Part,
    Reader,
    anything,
    json_text,
    list_of,
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
from emulator.services.mns.queues.model import QUEUE
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC
from emulator.wire.attributes import Attribute, Resource

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


def flow(build: Build, part: Part, kind: str) -> None:
    """Add a flow."""
    values = members(build.properties(part), FLOW, capital=True)
    name = values.get("name") or build.default_name(part)
    build.add(part, "fnf.flow", (name,), flow_properties(name, values), type_name=kind)


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


def schedule(build: Build, part: Part, kind: str) -> None:
    """Add a schedule of a flow."""
    values = members(build.properties(part), SCHEDULE, capital=True)
    identity = (values.get("flowName", ""), values.get("scheduleName", ""))
    build.add(part, "fnf.schedule", identity, schedule_properties(values), type_name=kind)


def fields_of(resource: Resource[Any], *, capital: bool = True) -> tuple[Field, ...]:
    """Return the fields for the attributes of a queue, topic or subscription, from the service's table.

    Without *capital* the other names of an attribute may begin with a small letter too.
    """
    table = []
    for each in resource.of_form("file"):
        others = tuple(each.names.values())
        also = others if capital else (*others, *map(uncapitalised, others))
        table.append(Field(uncapitalised(each.name), _reader(each), also=also))
    return tuple(table)


def _reader(attribute: Attribute) -> Reader:
    if attribute.members:
        inner = tuple(Field(uncapitalised(each.name), _reader(each), also=(each.name,)) for each in attribute.members)

        def read_members(part: Part, capital: bool) -> dict[str, Any]:
            values = members(part, inner, capital=capital)
            names = {uncapitalised(each.name): each.name for each in attribute.members}
            return {names[name]: value for name, value in values.items()}

        return read_members
    if attribute.kind is bool and not attribute.words:
        return switch
    return number if attribute.kind is int else text


def api_properties(resource: Resource[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes as the management API takes them; those the file does not name have their defaults."""
    properties = {}
    for each in resource.of_form("file"):
        default = None if each.words else resource.default_of(each)
        default = default.value if isinstance(default, Enum) else default
        properties[each.name_in("rpc")] = values.get(uncapitalised(each.name), default)
    return properties


def file_values(resource: Resource[Any], properties: Mapping[str, Any], *, capital: bool) -> dict[str, Any]:
    """Return what a file says so that `api_properties` reads *properties*: the table backwards."""
    values = {}
    for each in resource.of_form("file"):
        value = properties.get(each.name_in("rpc"))
        if value in (None, ""):
            continue
        if each.members and isinstance(value, Mapping):
            value = {(name if capital else uncapitalised(name)): item for name, item in value.items()}
        values[each.name if capital else uncapitalised(each.name)] = value
    return values


_NAME = {name: Field(name, text, required=True) for name in ("queueName", "topicName", "subscriptionName")}
_TAGS = Field("tags", noted("tags are set through the API"))
_ENDPOINT = Field("endpoint", text, required=True)


def queue_or_topic(build: Build, part: Part, kind: str, *, resource: Resource[Any]) -> None:
    """Add a queue or topic."""
    what = resource.name.lower()
    values = members(build.properties(part), (_NAME[f"{what}Name"], *fields_of(resource), _TAGS), capital=True)
    identity = (values.get(f"{what}Name", ""),)
    build.add(part, f"mns.{what}", identity, api_properties(resource, values), type_name=kind)


def subscription(build: Build, part: Part, kind: str) -> None:
    """Add a subscription."""
    table = (_NAME["topicName"], _NAME["subscriptionName"], *fields_of(SUBSCRIPTION), _ENDPOINT)
    values = members(build.properties(part), table, capital=True)
    identity = (values.get("topicName", ""), values.get("subscriptionName", ""))
    build.add(part, "mns.subscription", identity, subscription_properties(build, values), type_name=kind)


def subscription_properties(build: Build, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a subscription as the management API takes it; a queue's bare name is one of this account."""
    endpoint = str(values.get("endpoint") or "")
    if ":" not in endpoint and not has_token(endpoint):
        endpoint = f"acs:mns:{build.region}:{build.account}:queues/{endpoint}"
    return api_properties(SUBSCRIPTION, {**values, "endpoint": endpoint})


_NO_BUCKET_SETTING = noted("kept by no setting of buckets here; without effect")
_BUCKET_SETTINGS = (
    "corsConfiguration", "lifecycleConfiguration", "loggingConfiguration", "refererConfiguration",
    "serverSideEncryptionConfiguration", "tags", "websiteConfiguration", "websiteConfigurationV2", "policy",
    "versioningConfiguration", "enableOssHdfsService", "resourceGroupId", "transferAcceleration", "worm",
    "replicationConfiguration", "redundancyType", "blockPublicAccess",
)  # fmt: skip


def bucket(build: Build, part: Part, kind: str = "", props: Part | None = None) -> None:
    """Add a bucket; *props* are its properties in an ``s.yaml``, whose names begin with a small letter."""
    table = (
        *([Field("region", text)] if props is not None else []),
        Field("bucketName", text, required=True),
        Field("accessControl", text),
        Field("storageClass", text),
        Field("deletionForce", switch),
        *(Field(name, _NO_BUCKET_SETTING) for name in _BUCKET_SETTINGS),
    )
    values = members(props or build.properties(part), table, capital=props is None)
    properties = {
        "AccessControl": values.get("accessControl") or "private",
        "StorageClass": values.get("storageClass") or "Standard",
        "DeletionForce": values.get("deletionForce", False),
    }
    build.add(part, "oss.bucket", (values.get("bucketName", ""),), properties, type_name=kind)


_POLICY_TYPE, _ATTACHMENT_TYPE = "ALIYUN::RAM::ManagedPolicy", "ALIYUN::RAM::AttachPolicyToRole"
_POLICY = map_of(Field("policyName", text, required=True), Field("policyDocument", anything, required=True))


def role(build: Build, part: Part, kind: str = "", props: Part | None = None) -> None:
    """Add a role, the policies written into it and those it only names; *props* as for `bucket`."""
    table = (
        Field("roleName", text, required=True),
        Field("assumeRolePolicyDocument", anything, required=True),
        Field("description", text),
        Field("maxSessionDuration", number),
        Field("policies", list_of(_POLICY)),
        Field("policyAttachments", map_of(Field("system", texts), Field("custom", texts))),
        Field("deletionForce", switch),
        Field("ignoreExisting", switch),
        Field("tags", noted("tags are set through the API")),
    )
    values = members(props or build.properties(part), table, capital=props is None)
    name = values.get("roleName", "")
    document = values.get("assumeRolePolicyDocument", {})
    add_role(build, part, name, document, type_name=kind, description=values.get("description"))
    policy_type = _POLICY_TYPE if props is None else ""
    attachment = _ATTACHMENT_TYPE if props is None else ""
    for policy in values.get("policies") or []:
        own = str(policy.get("policyName"))
        logical = f"{part.name}/{own}-policy"
        add_policy(build, part, own, policy.get("policyDocument"), type_name=policy_type, logical=logical)
        attach(build, part, name, CUSTOM, own, type_name=attachment)
    attached = values.get("policyAttachments") or {}
    for policy_kind, names in ((SYSTEM, attached.get("system")), (CUSTOM, attached.get("custom"))):
        for policy_name in names or []:
            attach(build, part, name, policy_kind, policy_name, type_name=attachment)


def policy(build: Build, part: Part, kind: str = "", props: Part | None = None) -> None:
    """Add a policy and the roles that have it; *props* as for `bucket`."""
    table = (
        Field("policyName", text, required=True),
        Field("policyDocument", anything, required=True),
        Field("description", text),
        Field("roles", texts),
        Field("users", noted("there are no users to attach policies to")),
        Field("groups", noted("there are no groups to attach policies to")),
        Field("deletionForce", switch),
        Field("ignoreExisting", switch),
    )
    values = members(props or build.properties(part), table, capital=props is None)
    name = values.get("policyName", "")
    document = values.get("policyDocument", {})
    description = values.get("description")
    add_policy(build, part, name, document, type_name=kind, logical=part.name, description=description)
    attachment = _ATTACHMENT_TYPE if props is None else ""
    for each in values.get("roles") or []:
        build.add(part, "ram.attachment", (CUSTOM, name, each), {}, type_name=attachment,
                  logical=f"{part.name}/{each}")  # fmt: skip


def attachment(build: Build, part: Part, kind: str) -> None:
    """Add that a role has a policy."""
    table = (
        Field("policyName", text, required=True),
        Field("policyType", text, required=True),
        Field("roleName", text, required=True),
    )
    values = members(build.properties(part), table, capital=True)
    identity = tuple(values.get(name, "") for name in ("policyType", "policyName", "roleName"))
    build.add(part, "ram.attachment", identity, {}, type_name=kind)


SERVICE_TYPES: Mapping[str, Builder] = {
    "ALIYUN::FNF::Flow": flow,
    "ALIYUN::FNF::Schedule": schedule,
    "ALIYUN::MNS::Queue": partial(queue_or_topic, resource=QUEUE),
    "ALIYUN::MNS::Topic": partial(queue_or_topic, resource=TOPIC),
    "ALIYUN::MNS::Subscription": subscription,
    "ALIYUN::OSS::Bucket": bucket,
    "ALIYUN::RAM::Role": role,
    _POLICY_TYPE: policy,
    _ATTACHMENT_TYPE: attachment,
}
"""Types of flows, messages and access."""
