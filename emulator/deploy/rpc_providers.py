"""Flows and schedules, queues, topics and subscriptions, roles and policies: what is spoken RPC to."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from emulator.deploy.errors import Refused
from emulator.deploy.model import Resource
from emulator.deploy.provider import (
    Attributes,
    Cloud,
    Content,
    Identity,
    Kind,
    Live,
    Reply,
    Unchanging,
    is_not_there,
    same,
)

FNF, MNS, RAM = "2019-03-15", "2022-01-19", "2015-05-01"


def _call(cloud: Cloud, version: str, action: str, given: Mapping[str, Any]) -> Reply:
    return cloud.rpc(version, action, {name: _text(value) for name, value in given.items() if value is not None})


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
        tells: Mapping[str, str] | None = None,
    ) -> None:
        self._version = version
        self._create, self._show, self._change, self._delete = actions
        self._names = names
        self._keeps = keeps
        self._inside = inside
        self._shown = shown or {}
        self._fixed = fixed
        self._documents = documents
        self._tells = tells or {}

    def find(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> Live | None:
        """Return what the API shows."""
        del attributes
        try:
            return Live(self._read(_call(cloud, self._version, self._show, self._identity(identity))))
        except Refused as error:
            if is_not_there(error):
                return None
            raise

    def create(self, cloud: Cloud, resource: Resource) -> Live:
        """Make it."""
        _call(cloud, self._version, self._create, {**resource.properties, **self._identity(resource.identity)})
        return self.find(cloud, resource.identity, {}) or Live({})

    def update(self, cloud: Cloud, resource: Resource, live: Live) -> Live:
        """Change what may change."""
        del live
        given = {name: value for name, value in resource.properties.items() if name not in self._fixed}
        _call(cloud, self._version, self._change, {**given, **self._identity(resource.identity)})
        return self.find(cloud, resource.identity, {}) or Live({})

    def delete(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> None:
        """Delete it."""
        del attributes
        try:
            _call(cloud, self._version, self._delete, self._identity(identity))
        except Refused as error:
            if not is_not_there(error):
                raise

    def differs(self, resource: Resource, live: Live) -> bool:
        """Compare property by property."""
        return any(not self._same(name, wanted, live) for name, wanted in resource.properties.items())

    def is_fixed(self, resource: Resource, live: Live) -> bool:
        """Compare what cannot be changed."""
        return any(
            not self._same(name, resource.properties[name], live) for name in self._fixed if name in resource.properties
        )

    def saved(self, cloud: Cloud, resource: Resource, live: Live) -> Resource:
        """Keep what can be written."""
        del cloud
        kept = {name: live.content.get(self._shown.get(name, name)) for name in self._keeps}
        return replace(resource, properties={name: value for name, value in kept.items() if value != ""})

    def undo_update(self, cloud: Cloud, saved: Resource, live: Live) -> None:
        """Change it back."""
        empty = {name: "" for name in self._keeps if isinstance(live.content.get(self._shown.get(name, name)), str)}
        self.update(cloud, replace(saved, properties={**empty, **saved.properties}), live)

    def attributes(self, live: Live) -> dict[str, str]:
        """Return ids and times."""
        return {name: str(live.content[member]) for name, member in self._tells.items() if member in live.content}

    def _identity(self, identity: Identity) -> dict[str, str]:
        return dict(zip(self._names, identity, strict=True))

    def _same(self, name: str, wanted: Any, live: Live) -> bool:
        found = live.content.get(self._shown.get(name, name))
        if name in self._documents:
            wanted, found = _opened(wanted), _opened(found)
        return same(wanted, found)

    def _read(self, reply: Reply) -> Content:
        return dict(reply.get(self._inside) or {}) if self._inside else dict(reply)


def _opened(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


class Subscription(Plain):
    """A subscription; how its endpoint is reached follows from the endpoint."""

    def create(self, cloud: Cloud, resource: Resource) -> Live:
        """Subscribe."""
        push = _push_type(str(resource.properties.get("Endpoint")))
        return super().create(cloud, replace(resource, properties={**resource.properties, "PushType": push}))


def _push_type(endpoint: str) -> str:
    for beginning, kind in (("http", "http"), ("mail:", "dm"), ("sms:", "dysms"), ("acs:fc:", "fc")):
        if endpoint.startswith(beginning):
            return kind
    return "queue"


class Role(Plain):
    """A role; the document that tells who may take it is changed under a name of its own."""

    def update(self, cloud: Cloud, resource: Resource, live: Live) -> Live:
        """Change the document."""
        del live
        given = {
            "NewAssumeRolePolicyDocument": resource.properties.get("AssumeRolePolicyDocument"),
            "NewDescription": resource.properties.get("Description"),
        }
        _call(cloud, RAM, "UpdateRole", {**given, **self._identity(resource.identity)})
        return self.find(cloud, resource.identity, {}) or Live({})


class Policy(Plain):
    """A policy of the account's own; a change is a new default version, and the one before goes."""

    def find(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> Live | None:
        """Return the policy with its document."""
        return super().find(cloud, identity, attributes)

    def update(self, cloud: Cloud, resource: Resource, live: Live) -> Live:
        """Make a version the default one, and remove the one that was."""
        given = {"PolicyDocument": resource.properties.get("PolicyDocument"), "SetAsDefault": True}
        name = self._identity(resource.identity)
        _call(cloud, RAM, "CreatePolicyVersion", {**given, **name})
        if before := live.content.get("DefaultVersion"):
            _call(cloud, RAM, "DeletePolicyVersion", {"VersionId": before, **name})
        return self.find(cloud, resource.identity, {}) or Live({})

    def undo_update(self, cloud: Cloud, saved: Resource, live: Live) -> None:
        """Make the document that was there the default version."""
        self.update(cloud, saved, live)

    def _identity(self, identity: Identity) -> dict[str, str]:
        return {"PolicyName": identity[0], "PolicyType": "Custom"}

    def _read(self, reply: Reply) -> Content:
        policy = dict(reply.get("Policy") or {})
        version = reply.get("DefaultPolicyVersion") or {}
        return {**policy, "PolicyDocument": version.get("PolicyDocument") or policy.get("PolicyDocument")}


class Attachment(Unchanging):
    """That a role has a policy."""

    def find(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> Live | None:
        """Look for the policy among the role's."""
        del attributes
        kind, policy, role = identity
        try:
            found = _call(cloud, RAM, "ListPoliciesForRole", {"RoleName": role})
        except Refused as error:
            if is_not_there(error):
                return None
            raise
        rows = (found.get("Policies") or {}).get("Policy") or []
        mine = (row for row in rows if row.get("PolicyName") == policy and row.get("PolicyType") == kind)
        return next((Live(dict(row)) for row in mine), None)

    def create(self, cloud: Cloud, resource: Resource) -> Live:
        """Attach."""
        _call(cloud, RAM, "AttachPolicyToRole", _attachment(resource.identity))
        return Live({})

    def update(self, cloud: Cloud, resource: Resource, live: Live) -> Live:
        """It is there or not."""
        del cloud, resource
        return live

    def delete(self, cloud: Cloud, identity: Identity, attributes: Attributes) -> None:
        """Detach."""
        del attributes
        try:
            _call(cloud, RAM, "DetachPolicyFromRole", _attachment(identity))
        except Refused as error:
            if not is_not_there(error):
                raise

    def attributes(self, live: Live) -> dict[str, str]:
        """There are none."""
        del live
        return {}


def _attachment(identity: Identity) -> dict[str, str]:
    return dict(zip(("PolicyType", "PolicyName", "RoleName"), identity, strict=True))


_QUEUE = (
    "DelaySeconds", "MaximumMessageSize", "MessageRetentionPeriod", "VisibilityTimeout", "PollingWaitSeconds",
    "EnableLogging", "QueueType", "DlqPolicy",
)  # fmt: skip

RPC_KINDS: Mapping[str, Kind] = {
    "fnf.flow": Plain(
        FNF,
        ("CreateFlow", "DescribeFlow", "UpdateFlow", "DeleteFlow"),
        ("Name",),
        ("Definition", "Description", "Type", "RoleArn", "ExecutionMode", "Environment"),
        fixed=("ExecutionMode",),
        documents=("Environment",),
        tells={"Id": "Id", "CreatedTime": "CreatedTime", "LastModifiedTime": "LastModifiedTime"},
    ),
    "fnf.schedule": Plain(
        FNF,
        ("CreateSchedule", "DescribeSchedule", "UpdateSchedule", "DeleteSchedule"),
        ("FlowName", "ScheduleName"),
        ("CronExpression", "Payload", "Enable", "Description"),
        tells={"ScheduleId": "ScheduleId"},
    ),
    "mns.queue": Plain(
        MNS,
        ("CreateQueue", "GetQueueAttributes", "SetQueueAttributes", "DeleteQueue"),
        ("QueueName",),
        _QUEUE,
        inside="Data",
        shown={"EnableLogging": "LoggingEnabled"},
        fixed=("QueueType",),
    ),
    "mns.topic": Plain(
        MNS,
        ("CreateTopic", "GetTopicAttributes", "SetTopicAttributes", "DeleteTopic"),
        ("TopicName",),
        ("MaxMessageSize", "EnableLogging", "TopicType"),
        inside="Data",
        shown={"EnableLogging": "LoggingEnabled"},
        fixed=("TopicType",),
    ),
    "mns.subscription": Subscription(
        MNS,
        ("Subscribe", "GetSubscriptionAttributes", "SetSubscriptionAttributes", "Unsubscribe"),
        ("TopicName", "SubscriptionName"),
        ("Endpoint", "MessageTag", "NotifyStrategy", "NotifyContentFormat"),
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
        tells={"RoleId": "RoleId"},
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
