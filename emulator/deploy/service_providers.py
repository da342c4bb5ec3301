"""Flows and schedules, queues, topics and subscriptions, roles and policies through their RPC APIs; buckets of OSS."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from emulator.deploy.model import Resource
from emulator.deploy.provider import (
    ActualState,
    ApiClient,
    Attributes,
    Content,
    Identity,
    Immutable,
    Reply,
    ResourceProvider,
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
    """What has an action each to create, show, change and delete it.

    *names* are the parameters its identity goes into, *inside* is where the answer holds it.
    """

    version: str
    actions: tuple[str, str, str, str]
    names: tuple[str, ...]
    inside: str = ""

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
        """Call an action and return what is shown afterwards."""
        _call(api, self.version, action, {**parameters, **self._identity(identity)})
        return self.find(api, identity, {}) or ActualState({})

    def _identity(self, identity: Identity) -> dict[str, str]:
        return dict(zip(self.names, identity, strict=True))

    def _read(self, reply: Reply) -> Content:
        return dict(reply.get(self.inside) or {}) if self.inside else dict(reply)


class _Subscription(_Rpc):
    """A subscription; how its endpoint is reached follows from the endpoint."""

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
    """A role; the trust document is changed under a name of its own."""

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        parameters = {
            "NewAssumeRolePolicyDocument": resource.properties.get("AssumeRolePolicyDocument"),
            "NewDescription": resource.properties.get("Description"),
            "NewMaxSessionDuration": resource.properties.get("MaxSessionDuration"),
        }
        return self._perform(api, "UpdateRole", resource.identity, parameters)


class _Policy(_Rpc):
    """A policy of the account's own; a change is a new default version, and the one before goes."""

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
    """That a role has a policy."""

    def show(self, api: ApiClient, identity: Identity, attributes: Attributes) -> Content | None:
        kind, policy, role = identity
        shown = _call(api, RAM, "ListPoliciesForRole", {"RoleName": role})
        rows = (shown.get("Policies") or {}).get("Policy") or []
        mine = (row for row in rows if row.get("PolicyName") == policy and row.get("PolicyType") == kind)
        return next((dict(row) for row in mine), None)

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        _call(api, RAM, "AttachPolicyToRole", _attachment(resource.identity))
        return ActualState({})

    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        _call(api, RAM, "DetachPolicyFromRole", _attachment(identity))


def _attachment(identity: Identity) -> dict[str, str]:
    return dict(zip(("PolicyType", "PolicyName", "RoleName"), identity, strict=True))


def _names(resource: Shape) -> tuple[str, ...]:
    """Return the attributes of a queue, topic or subscription as the management API names them."""
    return tuple(each.name_in("rpc") for each in resource.of_form("file"))


def _queue_or_topic(kind: str, table: Shape) -> _Rpc:
    return _Rpc(
        MNS,
        (f"Create{kind}", f"Get{kind}Attributes", f"Set{kind}Attributes", f"Delete{kind}"),
        (f"{kind}Name",),
        "Data",
        keeps=_names(table),
        shown={"EnableLogging": "LoggingEnabled"},
        fixed=(f"{kind}Type",),
    )


class _Bucket(ResourceProvider):
    """A bucket: its ACL can be changed, its storage class cannot; the objects of a removed one are gone."""

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
        properties = resource.properties
        settings = Element("CreateBucketConfiguration", children=[Element("StorageClass", properties["StorageClass"])])
        acl = {"x-oss-acl": str(properties["AccessControl"])}
        api.objects("PUT", f"/{resource.identity[0]}", render(settings), acl)
        return ActualState(dict(properties))

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        acl = str(resource.properties["AccessControl"])
        if acl != actual.content.get("AccessControl"):
            api.objects("PUT", f"/{resource.identity[0]}?acl", b"", {"x-oss-acl": acl})
        return ActualState(dict(resource.properties))

    def remove(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """DeleteBucket, with ``DeletionForce`` after all its objects."""
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
    "fnf.flow": _Rpc(
        FNF,
        ("CreateFlow", "DescribeFlow", "UpdateFlow", "DeleteFlow"),
        ("Name",),
        keeps=("Definition", *_names(FLOW)),
        fixed=("ExecutionMode",),
        tells={"Id": "Id", "CreatedTime": "CreatedTime", "LastModifiedTime": "LastModifiedTime"},
    ),
    "fnf.schedule": _Rpc(
        FNF,
        ("CreateSchedule", "DescribeSchedule", "UpdateSchedule", "DeleteSchedule"),
        ("FlowName", "ScheduleName"),
        keeps=_names(SCHEDULE),
        tells={"ScheduleId": "ScheduleId"},
    ),
    "mns.queue": _queue_or_topic("Queue", QUEUE),
    "mns.topic": _queue_or_topic("Topic", TOPIC),
    "mns.subscription": _Subscription(
        MNS,
        ("Subscribe", "GetSubscriptionAttributes", "SetSubscriptionAttributes", "Unsubscribe"),
        ("TopicName", "SubscriptionName"),
        "Data",
        keeps=_names(SUBSCRIPTION),
        shown={"MessageTag": "FilterTag"},
        fixed=("Endpoint", "MessageTag", "NotifyContentFormat"),
    ),
    "oss.bucket": _Bucket(keeps=("AccessControl", "StorageClass", "DeletionForce"), fixed=("StorageClass",)),
    "ram.role": _Role(
        RAM,
        ("CreateRole", "GetRole", "UpdateRole", "DeleteRole"),
        ("RoleName",),
        "Role",
        keeps=_names(ROLE),
        tells={"RoleId": "RoleId"},
    ),
    "ram.policy": _Policy(
        RAM,
        ("CreatePolicy", "GetPolicy", "CreatePolicyVersion", "DeletePolicy"),
        ("PolicyName",),
        keeps=("PolicyDocument", "Description"),
    ),
    "ram.attachment": _Attachment(),
}
