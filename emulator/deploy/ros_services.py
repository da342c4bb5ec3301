"""The plain resource types of ROS around functions: ``ALIYUN::FNF``, ``ALIYUN::MNS`` and ``ALIYUN::RAM``.

Source: Resource Orchestration Service, reference of resource types.
"""

from collections.abc import Mapping
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
)
from emulator.services.mns.queues.model import QUEUE as QUEUE_TABLE

_REQUEST_ID = Field("requestId", noted("it names a request; each here has its own"))

# --- flows -----------------------------------------------------------------------------------------------------------


def flow(build: Build, part: Part, kind: str) -> None:
    """Add a flow."""
    table = (
        Field("name", text),
        Field("definition", json_text, required=True),
        Field("description", text),
        Field("roleArn", text),
        Field("type", text),
        Field("executionMode", text),
        Field("environment", json_text),
        _REQUEST_ID,
    )
    values = members(build.properties(part), table, capital=True)
    name = values.get("name") or build.default_name(part)
    properties = {
        "Definition": values.get("definition"),
        "Description": values.get("description") or name,
        "Type": values.get("type") or "FDL",
        "RoleArn": values.get("roleArn"),
        "ExecutionMode": values.get("executionMode"),
        "Environment": values.get("environment"),
    }
    build.add(part, "fnf.flow", (name,), properties, type_name=kind)


def schedule(build: Build, part: Part, kind: str) -> None:
    """Add a schedule of a flow."""
    table = (
        Field("flowName", text, required=True),
        Field("scheduleName", text, required=True),
        Field("cronExpression", text, required=True),
        Field("payload", payload),
        Field("enable", switch),
        Field("description", text),
        _REQUEST_ID,
    )
    values = members(build.properties(part), table, capital=True)
    properties = {
        "CronExpression": values.get("cronExpression"),
        "Payload": values.get("payload") or "",
        "Enable": values.get("enable", True),
        "Description": values.get("description") or "",
    }
    identity = (values.get("flowName", ""), values.get("scheduleName", ""))
    build.add(part, "fnf.schedule", identity, properties, type_name=kind)


# --- messages --------------------------------------------------------------------------------------------------------

QUEUE: Mapping[str, tuple[Reader, Any]] = {
    each.name: (number if each.kind is int else switch, QUEUE_TABLE.default_of(each))
    for each in QUEUE_TABLE.of_form("file")
    if each.kind in {int, bool} and not each.words
}
"""The attributes of a queue, how each is read and what it is by default."""


def _plain(table: Mapping[str, tuple[Reader, Any]]) -> tuple[Field, ...]:
    return tuple(Field(name[0].lower() + name[1:], read) for name, (read, _) in table.items())


def queue(build: Build, part: Part, kind: str) -> None:
    """Add a queue."""
    table = (
        Field("queueName", text, required=True),
        *_plain(QUEUE),
        Field("queueType", text),
        Field("dlqPolicy", anything),
        Field("tags", noted("tags are set through the API")),
    )
    values = members(build.properties(part), table, capital=True)
    properties = queue_properties(values)
    properties |= {"QueueType": values.get("queueType"), "DlqPolicy": values.get("dlqPolicy")}
    build.add(part, "mns.queue", (values.get("queueName", ""),), properties, type_name=kind)


def queue_properties(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a queue as the management API takes them."""
    values = {name: values.get(name[0].lower() + name[1:], default) for name, (_, default) in QUEUE.items()}
    values["EnableLogging"] = values.pop("LoggingEnabled")
    return values


def topic(build: Build, part: Part, kind: str) -> None:
    """Add a topic."""
    table = (
        Field("topicName", text, required=True),
        Field("maximumMessageSize", number, also=("MaxMessageSize",)),
        Field("loggingEnabled", switch),
        Field("topicType", text),
        Field("tags", noted("tags are set through the API")),
    )
    values = members(build.properties(part), table, capital=True)
    properties = {
        "MaxMessageSize": values.get("maximumMessageSize", 65536),
        "EnableLogging": values.get("loggingEnabled", False),
        "TopicType": values.get("topicType"),
    }
    build.add(part, "mns.topic", (values.get("topicName", ""),), properties, type_name=kind)


def subscription(build: Build, part: Part, kind: str) -> None:
    """Add a subscription."""
    table = (
        Field("topicName", text, required=True),
        Field("subscriptionName", text, required=True),
        Field("endpoint", text, required=True),
        Field("filterTag", text),
        Field("notifyStrategy", text),
        Field("notifyContentFormat", text),
    )
    values = members(build.properties(part), table, capital=True)
    identity = (values.get("topicName", ""), values.get("subscriptionName", ""))
    build.add(part, "mns.subscription", identity, subscription_properties(build, values), type_name=kind)


def subscription_properties(build: Build, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a subscription as the management API takes it; a queue's bare name is one of this account."""
    endpoint = str(values.get("endpoint") or "")
    if ":" not in endpoint and not has_token(endpoint):
        endpoint = f"acs:mns:{build.region}:{build.account}:queues/{endpoint}"
    return {
        "Endpoint": endpoint,
        "MessageTag": values.get("filterTag"),
        "NotifyStrategy": values.get("notifyStrategy") or "BACKOFF_RETRY",
        "NotifyContentFormat": values.get("notifyContentFormat") or "XML",
    }


# --- buckets ---------------------------------------------------------------------------------------------------------

_NO_BUCKET_SETTING = noted("kept by no setting of buckets here; without effect")
_BUCKET_SETTINGS = (
    "corsConfiguration", "lifecycleConfiguration", "loggingConfiguration", "refererConfiguration",
    "serverSideEncryptionConfiguration", "tags", "websiteConfiguration", "websiteConfigurationV2", "policy",
    "versioningConfiguration", "enableOssHdfsService", "resourceGroupId", "transferAcceleration", "worm",
    "replicationConfiguration", "redundancyType", "blockPublicAccess",
)  # fmt: skip


def bucket(build: Build, part: Part, kind: str) -> None:
    """Add a bucket."""
    table = (
        Field("bucketName", text, required=True),
        Field("accessControl", text),
        Field("storageClass", text),
        Field("deletionForce", switch),
        *(Field(name, _NO_BUCKET_SETTING) for name in _BUCKET_SETTINGS),
    )
    values = members(build.properties(part), table, capital=True)
    properties = {
        "AccessControl": values.get("accessControl") or "private",
        "StorageClass": values.get("storageClass") or "Standard",
        "DeletionForce": values.get("deletionForce", False),
    }
    build.add(part, "oss.bucket", (values.get("bucketName", ""),), properties, type_name=kind)


# --- roles -----------------------------------------------------------------------------------------------------------

_POLICY = map_of(Field("policyName", text, required=True), Field("policyDocument", anything, required=True))


def role(build: Build, part: Part, kind: str) -> None:
    """Add a role, the policies written into it and those it only names."""
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
    place = build.properties(part)
    values = members(place, table, capital=True)
    name = values.get("roleName", "")
    document = values.get("assumeRolePolicyDocument", {})
    add_role(build, part, name, document, type_name=kind, description=values.get("description"))
    policy_type, attachment = "ALIYUN::RAM::ManagedPolicy", "ALIYUN::RAM::AttachPolicyToRole"
    for policy in values.get("policies") or []:
        own = str(policy.get("policyName"))
        logical = f"{part.name}/{own}-policy"
        add_policy(build, part, own, policy.get("policyDocument"), type_name=policy_type, logical=logical)
        attach(build, part, name, CUSTOM, own, type_name=attachment)
    attached = values.get("policyAttachments") or {}
    for policy_kind, names in ((SYSTEM, attached.get("system")), (CUSTOM, attached.get("custom"))):
        for policy_name in names or []:
            attach(build, part, name, policy_kind, policy_name, type_name=attachment)


def policy(build: Build, part: Part, kind: str) -> None:
    """Add a policy and the roles that have it."""
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
    values = members(build.properties(part), table, capital=True)
    name = values.get("policyName", "")
    document = values.get("policyDocument", {})
    add_policy(build, part, name, document, type_name=kind, logical=part.name)
    for each in values.get("roles") or []:
        attachment = "ALIYUN::RAM::AttachPolicyToRole"
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
    "ALIYUN::MNS::Queue": queue,
    "ALIYUN::MNS::Topic": topic,
    "ALIYUN::MNS::Subscription": subscription,
    "ALIYUN::OSS::Bucket": bucket,
    "ALIYUN::RAM::Role": role,
    "ALIYUN::RAM::ManagedPolicy": policy,
    "ALIYUN::RAM::AttachPolicyToRole": attachment,
}
"""Types of flows, messages and access."""
