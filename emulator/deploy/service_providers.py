"""Flows and schedules, queues, topics and subscriptions, roles and policies through their RPC APIs; buckets of OSS."""

import json
from collections.abc import Mapping
from typing import Any

from emulator.deploy.model import Refused, Resource
from emulator.deploy.provider import (
    ActualState,
    ApiClient,
    Attributes,
    Content,
    Identity,
    Immutable,
    Reply,
    ResourceProvider,
    is_not_there,
    same,
)
from emulator.kernel.frozen import replace
from emulator.services.mns.queues.model import QUEUE
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC
from emulator.wire.attributes import Resource as Table
from emulator.wire.xml import Element, parse, render

FNF, MNS, RAM = "2019-03-15", "2022-01-19", "2015-05-01"


def _call(api: ApiClient, version: str, action: str, parameters: Mapping[str, Any]) -> Reply:
    return api.rpc(version, action, {name: _text(value) for name, value in parameters.items() if value is not None})


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)


class Plain:
    """What has an action each to make, show, change and delete it.

    *names* are the parameters its identity goes into; *inside* is where the answer holds it; *shown* says what the API
    shows a property as where that is another name; *fixed* cannot be changed; *documents* are JSON texts.
    """

    def __init__(
        self,
        version: str,
        actions: tuple[str, str, str, str],
        names: tuple[str, ...],
        keeps: tuple[str, ...],
        *,
        inside: str = "",
        shown: Mapping[str, str] | None = None,
        fixed: tuple[str, ...] = (),
        documents: tuple[str, ...] = (),
        shows: Mapping[str, str] | None = None,
    ) -> None:
        self._version = version
        self._create, self._show, self._change, self._delete = actions
        self._names = names
        self._keeps = keeps
        self._inside = inside
        self._shown = shown or {}
        self._fixed = fixed
        self._documents = documents
        self._shows = shows or {}

    def find(self, api: ApiClient, identity: Identity, attributes: Attributes) -> ActualState | None:
        """Return what the API shows."""
        del attributes
        try:
            return ActualState(self._read(_call(api, self._version, self._show, self._identity(identity))))
        except Refused as error:
            if is_not_there(error):
                return None
            raise

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """Make it."""
        _call(api, self._version, self._create, {**resource.properties, **self._identity(resource.identity)})
        return self.find(api, resource.identity, {}) or ActualState({})

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """Change what may change."""
        del actual
        parameters = {name: value for name, value in resource.properties.items() if name not in self._fixed}
        _call(api, self._version, self._change, {**parameters, **self._identity(resource.identity)})
        return self.find(api, resource.identity, {}) or ActualState({})

    def delete(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """Delete it."""
        del attributes
        try:
            _call(api, self._version, self._delete, self._identity(identity))
        except Refused as error:
            if not is_not_there(error):
                raise

    def differs(self, resource: Resource, actual: ActualState) -> bool:
        """Compare property by property."""
        return any(not self._same(name, wanted, actual) for name, wanted in resource.properties.items())

    def is_fixed(self, resource: Resource, actual: ActualState) -> bool:
        """Compare what cannot be changed."""
        return any(
            not self._same(name, resource.properties[name], actual)
            for name in self._fixed
            if name in resource.properties
        )

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """Keep what can be written."""
        del api
        kept = {name: actual.content.get(self._shown.get(name, name)) for name in self._keeps}
        return replace(resource, properties={name: value for name, value in kept.items() if value != ""})

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Change it back."""
        empty = {name: "" for name in self._keeps if isinstance(actual.content.get(self._shown.get(name, name)), str)}
        self.update(api, replace(saved, properties={**empty, **saved.properties}), actual)

    def attributes(self, actual: ActualState) -> dict[str, str]:
        """Return ids and times."""
        return {name: str(actual.content[member]) for name, member in self._shows.items() if member in actual.content}

    def _identity(self, identity: Identity) -> dict[str, str]:
        return dict(zip(self._names, identity, strict=True))

    def _same(self, name: str, wanted: Any, actual: ActualState) -> bool:
        shown = actual.content.get(self._shown.get(name, name))
        if name in self._documents:
            wanted, shown = _opened(wanted), _opened(shown)
        return same(wanted, shown)

    def _read(self, reply: Reply) -> Content:
        return dict(reply.get(self._inside) or {}) if self._inside else dict(reply)


def _opened(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


class Subscription(Plain):
    """A subscription; how its endpoint is reached follows from the endpoint."""

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """Subscribe."""
        push = _push_type(str(resource.properties.get("Endpoint")))
        return super().create(api, replace(resource, properties={**resource.properties, "PushType": push}))


def _push_type(endpoint: str) -> str:
    for beginning, kind in (("http", "http"), ("mail:", "dm"), ("sms:", "dysms"), ("acs:fc:", "fc")):
        if endpoint.startswith(beginning):
            return kind
    return "queue"


class Role(Plain):
    """A role; the trust document is changed under a name of its own."""

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """Change the document."""
        del actual
        parameters = {
            "NewAssumeRolePolicyDocument": resource.properties.get("AssumeRolePolicyDocument"),
            "NewDescription": resource.properties.get("Description"),
        }
        _call(api, RAM, "UpdateRole", {**parameters, **self._identity(resource.identity)})
        return self.find(api, resource.identity, {}) or ActualState({})


class Policy(Plain):
    """A policy of the account's own; a change is a new default version, and the one before goes."""

    def find(self, api: ApiClient, identity: Identity, attributes: Attributes) -> ActualState | None:
        """Return the policy with its document."""
        return super().find(api, identity, attributes)

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """Make a version the default one, and remove the one that was."""
        parameters = {"PolicyDocument": resource.properties.get("PolicyDocument"), "SetAsDefault": True}
        name = self._identity(resource.identity)
        _call(api, RAM, "CreatePolicyVersion", {**parameters, **name})
        if before := actual.content.get("DefaultVersion"):
            _call(api, RAM, "DeletePolicyVersion", {"VersionId": before, **name})
        return self.find(api, resource.identity, {}) or ActualState({})

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Make the document that was there the default version."""
        self.update(api, saved, actual)

    def _identity(self, identity: Identity) -> dict[str, str]:
        return {"PolicyName": identity[0], "PolicyType": "Custom"}

    def _read(self, reply: Reply) -> Content:
        policy = dict(reply.get("Policy") or {})
        version = reply.get("DefaultPolicyVersion") or {}
        return {**policy, "PolicyDocument": version.get("PolicyDocument") or policy.get("PolicyDocument")}


class Attachment(Immutable):
    """That a role has a policy."""

    def find(self, api: ApiClient, identity: Identity, attributes: Attributes) -> ActualState | None:
        """Look for the policy among the role's."""
        del attributes
        kind, policy, role = identity
        try:
            shown = _call(api, RAM, "ListPoliciesForRole", {"RoleName": role})
        except Refused as error:
            if is_not_there(error):
                return None
            raise
        rows = (shown.get("Policies") or {}).get("Policy") or []
        mine = (row for row in rows if row.get("PolicyName") == policy and row.get("PolicyType") == kind)
        return next((ActualState(dict(row)) for row in mine), None)

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """Attach."""
        _call(api, RAM, "AttachPolicyToRole", _attachment(resource.identity))
        return ActualState({})

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """It is there or not."""
        del api, resource
        return actual

    def delete(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """Detach."""
        del attributes
        try:
            _call(api, RAM, "DetachPolicyFromRole", _attachment(identity))
        except Refused as error:
            if not is_not_there(error):
                raise

    def attributes(self, actual: ActualState) -> dict[str, str]:
        """There are none."""
        del actual
        return {}


def _attachment(identity: Identity) -> dict[str, str]:
    return dict(zip(("PolicyType", "PolicyName", "RoleName"), identity, strict=True))


def _names(resource: Table[Any]) -> tuple[str, ...]:
    """Return the attributes of a queue, topic or subscription as the management API names them."""
    return tuple(each.name_in("rpc") for each in resource.of_form("file"))


RPC_PROVIDERS: Mapping[str, ResourceProvider] = {
    "fnf.flow": Plain(
        FNF,
        ("CreateFlow", "DescribeFlow", "UpdateFlow", "DeleteFlow"),
        ("Name",),
        ("Definition", "Description", "Type", "RoleArn", "ExecutionMode", "Environment"),
        fixed=("ExecutionMode",),
        documents=("Environment",),
        shows={"Id": "Id", "CreatedTime": "CreatedTime", "LastModifiedTime": "LastModifiedTime"},
    ),
    "fnf.schedule": Plain(
        FNF,
        ("CreateSchedule", "DescribeSchedule", "UpdateSchedule", "DeleteSchedule"),
        ("FlowName", "ScheduleName"),
        ("CronExpression", "Payload", "Enable", "Description"),
        shows={"ScheduleId": "ScheduleId"},
    ),
    "mns.queue": Plain(
        MNS,
        ("CreateQueue", "GetQueueAttributes", "SetQueueAttributes", "DeleteQueue"),
        ("QueueName",),
        _names(QUEUE),
        inside="Data",
        shown={"EnableLogging": "LoggingEnabled"},
        fixed=("QueueType",),
    ),
    "mns.topic": Plain(
        MNS,
        ("CreateTopic", "GetTopicAttributes", "SetTopicAttributes", "DeleteTopic"),
        ("TopicName",),
        _names(TOPIC),
        inside="Data",
        shown={"EnableLogging": "LoggingEnabled"},
        fixed=("TopicType",),
    ),
    "mns.subscription": Subscription(
        MNS,
        ("Subscribe", "GetSubscriptionAttributes", "SetSubscriptionAttributes", "Unsubscribe"),
        ("TopicName", "SubscriptionName"),
        _names(SUBSCRIPTION),
        inside="Data",
        shown={"MessageTag": "FilterTag"},
        fixed=("Endpoint", "MessageTag", "NotifyContentFormat"),
    ),
    "ram.role": Role(
        RAM,
        ("CreateRole", "GetRole", "UpdateRole", "DeleteRole"),
        ("RoleName",),
        ("AssumeRolePolicyDocument", "Description"),
        inside="Role",
        documents=("AssumeRolePolicyDocument",),
        shows={"RoleId": "RoleId"},
    ),
    "ram.policy": Policy(
        RAM,
        ("CreatePolicy", "GetPolicy", "CreatePolicyVersion", "DeletePolicy"),
        ("PolicyName",),
        ("PolicyDocument", "Description"),
        documents=("PolicyDocument",),
    ),
    "ram.attachment": Attachment(),
}


class BucketProvider:
    """A bucket: its ACL can be changed, its storage class cannot."""

    def find(self, api: ApiClient, identity: Identity, attributes: Attributes) -> ActualState | None:
        """Return what GetBucketInfo shows."""
        try:
            answer = parse(api.objects("GET", f"/{identity[0]}?bucketInfo"))
        except Refused as error:
            if is_not_there(error):
                return None
            raise
        bucket = answer.find("Bucket") or answer
        acl = bucket.find("AccessControlList")
        content = {
            "AccessControl": acl.text_of("Grant") if acl is not None else None,
            "StorageClass": bucket.text_of("StorageClass"),
            "DeletionForce": attributes.get("DeletionForce") == "true",
        }
        return ActualState(content)

    def create(self, api: ApiClient, resource: Resource) -> ActualState:
        """PutBucket."""
        properties = resource.properties
        settings = Element("CreateBucketConfiguration", children=[Element("StorageClass", properties["StorageClass"])])
        acl = {"x-oss-acl": str(properties["AccessControl"])}
        api.objects("PUT", f"/{resource.identity[0]}", render(settings), acl)
        return ActualState(dict(properties))

    def update(self, api: ApiClient, resource: Resource, actual: ActualState) -> ActualState:
        """PutBucketAcl."""
        acl = str(resource.properties["AccessControl"])
        if acl != actual.content.get("AccessControl"):
            api.objects("PUT", f"/{resource.identity[0]}?acl", b"", {"x-oss-acl": acl})
        return ActualState(dict(resource.properties))

    def delete(self, api: ApiClient, identity: Identity, attributes: Attributes) -> None:
        """DeleteBucket, with ``DeletionForce`` after all its objects."""
        name = identity[0]
        try:
            if attributes.get("DeletionForce") == "true":
                self._empty(api, name)
            api.objects("DELETE", f"/{name}")
        except Refused as error:
            if not is_not_there(error):
                raise

    @staticmethod
    def _empty(api: ApiClient, name: str) -> None:
        while True:
            listing = parse(api.objects("GET", f"/{name}?max-keys=1000&encoding-type=url"))
            keys = [each.text_of("Key") for each in listing.all("Contents")]
            for key in keys:
                api.objects("DELETE", f"/{name}/{key}")
            if not keys:
                return

    def differs(self, resource: Resource, actual: ActualState) -> bool:
        """Compare what can be changed."""
        return any(not same(resource.properties[name], actual.content.get(name)) for name in resource.properties)

    def is_fixed(self, resource: Resource, actual: ActualState) -> bool:
        """Compare what cannot be changed."""
        return not same(resource.properties["StorageClass"], actual.content.get("StorageClass"))

    def saved(self, api: ApiClient, resource: Resource, actual: ActualState) -> Resource:
        """Keep the settings; the objects of a bucket that was removed are gone."""
        del api
        return replace(resource, properties=dict(actual.content))

    def undo_update(self, api: ApiClient, saved: Resource, actual: ActualState) -> None:
        """Set the ACL that the bucket had."""
        self.update(api, saved, actual)

    def attributes(self, actual: ActualState) -> dict[str, str]:
        """Return how the bucket is to be removed."""
        content: Content = actual.content
        return {"DeletionForce": "true" if content.get("DeletionForce") else "false"}
