"""Flows and schedules, queues, topics and subscriptions, roles and policies through their RPC APIs; buckets of OSS."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from emulator.deploy.model import Resource
from emulator.deploy.provider import (
    ActualState,
    ApiClient,
    Attributes,
    Content,
    Group,
    Identity,
    Immutable,
    Lead,
    Reply,
    ResourceProvider,
    role_in,
)
from emulator.kernel.frozen import replace
from emulator.services.mns.queues.model import QUEUE
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC
from emulator.services.ram.model import ROLE
from emulator.services.workflow.model import FLOW, SCHEDULE
from emulator.wire.schema.kinds import Shape
from emulator.wire.xml import Element, parse, render

FNF, MNS, RAM = "2019-03-15", "2022-01-19", "2015-05-01"


def _call(api: ApiClient, version: str, action: str, parameters: Mapping[str, Any]) -> Reply:
    return api.rpc(version, action, {name: _text(value) for name, value in parameters.items() if value is not None})


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)


@dataclass(eq=False)
class _Rpc(ResourceProvider):
    """A resource with one action each to create, show, change and delete it.

    *names* are also the parameters for its identity; *member* is the answer's member with the resource, "" for the
    whole answer.
    """

    version: str
    actions: tuple[str, str, str, str]
    member: str = ""

    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content:
        return self._read(_call(api, self.version, self.actions[1], self._identity(identity)))

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        return self._perform(api, self.actions[0], resource.identity, resource.properties)

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        parameters = {name: value for name, value in resource.properties.items() if name not in self.fixed}
        return self._perform(api, self.actions[2], resource.identity, parameters)

    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        _call(api, self.version, self.actions[3], self._identity(identity))

    def _perform(self, api: ApiClient, action: str, identity: Identity, parameters: Mapping[str, Any]) -> ActualState:
        """Call an action and return the resource as it is shown afterwards."""
        _call(api, self.version, action, {**parameters, **self._identity(identity)})
        return self.find(api, identity, {}) or ActualState({})

    def _identity(self, identity: Identity) -> dict[str, str]:
        return dict(zip(self.names, identity, strict=True))

    def _read(self, reply: Reply) -> Content:
        return dict(reply.get(self.member) or {}) if self.member else dict(reply)


class _Flow(_Rpc):
    """A flow; the service does not show an empty description, but requires one to create a flow."""

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        return super().create(api, replace(resource, properties={"Description": "", **resource.properties}))


_MADE_BY_TRIGGER = re.compile(r"fc-[0-9a-f-]{36}")


class _Subscription(_Rpc):
    """A subscription; its push type follows from its endpoint."""

    def is_made_by_another(self, resource: Resource) -> bool:
        """Whether the trigger of a topic has created it."""
        to_function = str(resource.properties.get("Endpoint")).startswith("acs:fc:")
        return to_function and _MADE_BY_TRIGGER.fullmatch(resource.identity[-1]) is not None

    def receivers(self, resource: Resource) -> Iterator[str]:
        """Yield the endpoint."""
        endpoint = resource.properties.get("Endpoint")
        if isinstance(endpoint, str):
            yield endpoint

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        push = _push_type(str(resource.properties.get("Endpoint")))
        return super().create(api, replace(resource, properties={**resource.properties, "PushType": push}))


def _push_type(endpoint: str) -> str:
    for beginning, kind in (("http", "http"), ("mail:", "dm"), ("sms:", "dysms"), ("acs:fc:", "fc")):
        if endpoint.startswith(beginning):
            return kind
    return "queue"


class _Role(_Rpc):
    """A role; the parameter that changes the trust document has another name."""

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        parameters = {
            "NewAssumeRolePolicyDocument": resource.properties.get("AssumeRolePolicyDocument"),
            "NewDescription": resource.properties.get("Description"),
            "NewMaxSessionDuration": resource.properties.get("MaxSessionDuration"),
        }
        return self._perform(api, "UpdateRole", resource.identity, parameters)


class _Policy(_Rpc):
    """A custom policy; a change creates a new default version and deletes the previous one."""

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        parameters = {"PolicyDocument": resource.properties.get("PolicyDocument"), "SetAsDefault": True}
        name = self._identity(resource.identity)
        _call(api, RAM, "CreatePolicyVersion", {**parameters, **name})
        if before := actual.content.get("DefaultVersion"):
            _call(api, RAM, "DeletePolicyVersion", {"VersionId": before, **name})
        return self.find(api, resource.identity, {}) or ActualState({})

    def _identity(self, identity: Identity) -> dict[str, str]:
        return {"PolicyName": identity[0], "PolicyType": "Custom"}

    def _read(self, reply: Reply) -> Content:
        policy = dict(reply.get("Policy") or {})
        version = reply.get("DefaultPolicyVersion") or {}
        return {**policy, "PolicyDocument": version.get("PolicyDocument") or policy.get("PolicyDocument")}


class _Attachment(Immutable):
    """The attachment of a policy to a role."""

    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content | None:
        kind, policy, role = identity
        shown = _call(api, RAM, "ListPoliciesForRole", {"RoleName": role})
        rows = (shown.get("Policies") or {}).get("Policy") or []
        mine = (row for row in rows if row.get("PolicyName") == policy and row.get("PolicyType") == kind)
        return next((dict(row) for row in mine), None)

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        _call(api, RAM, "AttachPolicyToRole", self._identity(resource.identity))
        return ActualState({})

    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        _call(api, RAM, "DetachPolicyFromRole", self._identity(identity))

    def _identity(self, identity: Identity) -> dict[str, str]:
        return dict(zip(self.names, identity, strict=True))


def _names(resource: Shape) -> tuple[str, ...]:
    """Return the attributes of a queue, topic or subscription by their names in the management API."""
    return tuple(each.name_in("rpc") for each in resource.of_form("file"))


def _queue_or_topic(kind: str, group: Group, table: Shape) -> _Rpc:
    arn = "acs:mns:{region}:{account}:"
    return _Rpc(
        MNS,
        (f"Create{kind}", f"Get{kind}Attributes", f"Set{kind}Attributes", f"Delete{kind}"),
        "Data",
        names=(f"{kind}Name",),
        groups=(group,),
        formed={
            "ARN.WithSlash": f"{arn}/{group}/{{0}}",
            "ARN.WithoutSlash": f"{arn}{group}/{{0}}",
            f"{kind}Url": f"{{endpoint}}/{group}/{{0}}",
        },
        keeps=_names(table),
        shown={"EnableLogging": "LoggingEnabled"},
        fixed=(f"{kind}Type",),
    )


class _Bucket(ResourceProvider):
    """A bucket: its ACL can be changed, its storage class cannot; objects are deleted with it."""

    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content:
        answer = parse(api.objects("GET", f"/{identity[0]}?bucketInfo"))
        bucket = answer.find("Bucket") or answer
        acl = bucket.find("AccessControlList")
        return {
            "AccessControl": acl.text_of("Grant") if acl is not None else None,
            "StorageClass": bucket.text_of("StorageClass"),
            "DeletionForce": attributes.get("DeletionForce") == "true",
        }

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        properties = resource.properties  # the service chooses the values of those left out
        storage, acl = properties.get("StorageClass"), properties.get("AccessControl")
        settings = (
            Element("CreateBucketConfiguration", children=[Element("StorageClass", storage)]) if storage else None
        )
        headers = {"x-oss-acl": str(acl)} if acl else {}
        api.objects("PUT", f"/{resource.identity[0]}", render(settings) if settings is not None else b"", headers)
        return ActualState(dict(properties))

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        acl = str(resource.properties.get("AccessControl") or "")
        if acl and acl != actual.content.get("AccessControl"):
            api.objects("PUT", f"/{resource.identity[0]}?acl", b"", {"x-oss-acl": acl})
        return ActualState(dict(resource.properties))

    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """Delete the bucket; with ``DeletionForce``, its objects first."""
        if attributes.get("DeletionForce") == "true":
            self._empty(api, identity[0])
        api.objects("DELETE", f"/{identity[0]}")

    @staticmethod
    def _empty(api: ApiClient, name: str) -> None:
        while True:
            listing = parse(api.objects("GET", f"/{name}?max-keys=1000&encoding-type=url"))
            keys = [each.text_of("Key") for each in listing.all("Contents")]
            for key in keys:
                api.objects("DELETE", f"/{name}/{key}")
            if not keys:
                return

    def attributes(self, actual: ActualState) -> dict[str, str]:
        return {"DeletionForce": "true" if actual.content.get("DeletionForce") else "false"}


SERVICE_PROVIDERS: Mapping[str, ResourceProvider] = {
    "fnf.flow": _Flow(
        FNF,
        ("CreateFlow", "DescribeFlow", "UpdateFlow", "DeleteFlow"),
        names=("Name",),
        groups=(Group.FLOWS,),
        leads=(role_in("RoleArn"),),
        keeps=("Definition", *_names(FLOW)),
        fixed=("ExecutionMode",),
        tells={"Id": "Id", "CreatedTime": "CreatedTime", "LastModifiedTime": "LastModifiedTime"},
    ),
    "fnf.schedule": _Rpc(
        FNF,
        ("CreateSchedule", "DescribeSchedule", "UpdateSchedule", "DeleteSchedule"),
        names=("FlowName", "ScheduleName"),
        groups=(Group.SCHEDULES,),
        inside=(("fnf.flow", (0,)),),
        keeps=_names(SCHEDULE),
        tells={"ScheduleId": "ScheduleId"},
    ),
    "mns.queue": _queue_or_topic("Queue", Group.QUEUES, QUEUE),
    "mns.topic": _queue_or_topic("Topic", Group.TOPICS, TOPIC),
    "mns.subscription": _Subscription(
        MNS,
        ("Subscribe", "GetSubscriptionAttributes", "SetSubscriptionAttributes", "Unsubscribe"),
        "Data",
        names=("TopicName", "SubscriptionName"),
        groups=(Group.SUBSCRIPTIONS,),
        formed={"SubscriptionUrl": "{endpoint}/topics/{0}/subscriptions/{1}"},
        inside=(("mns.topic", (0,)),),
        leads=(Lead("Endpoint", re.compile(r":/?queues/([^/]+)$"), "mns.queue"),),
        keeps=_names(SUBSCRIPTION),
        shown={"MessageTag": "FilterTag"},
        fixed=("Endpoint", "MessageTag", "NotifyContentFormat"),
    ),
    "oss.bucket": _Bucket(
        names=("Name",),
        groups=(Group.BUCKETS,),
        formed={
            "DomainName": "{0}.oss-{region}.aliyuncs.com",
            "InternalDomainName": "{0}.oss-{region}-internal.aliyuncs.com",
        },
        keeps=("AccessControl", "StorageClass", "DeletionForce"),
        fixed=("StorageClass",),
    ),
    "ram.role": _Role(
        RAM,
        ("CreateRole", "GetRole", "UpdateRole", "DeleteRole"),
        "Role",
        names=("RoleName",),
        groups=(Group.ROLES,),
        formed={"Arn": "acs:ram::{account}:role/{0}"},
        keeps=_names(ROLE),
        tells={"RoleId": "RoleId"},
    ),
    "ram.policy": _Policy(
        RAM,
        ("CreatePolicy", "GetPolicy", "CreatePolicyVersion", "DeletePolicy"),
        names=("PolicyName",),
        groups=(Group.ROLES,),
        keeps=("PolicyDocument", "Description"),
    ),
    "ram.attachment": _Attachment(
        names=("PolicyType", "PolicyName", "RoleName"),
        groups=(Group.ROLES,),
        inside=(("ram.role", (2,)), ("ram.policy", (1,))),
    ),
}
