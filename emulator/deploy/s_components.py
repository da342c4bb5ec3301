"""The components of Serverless Devs by name, and those for flows and messages.

The properties of flows are those of the component ``fnf``; queues and topics have the attributes of their API.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from emulator.deploy import service_fields
from emulator.deploy.build import POLICY_TYPE, ROLE_TYPE, Build
from emulator.deploy.notation import members
from emulator.deploy.places import LocatedValue
from emulator.deploy.ros_types import ROS_TYPES
from emulator.deploy.s_fc_components import REGION, fc, fc3, fc3_domain, fc3_layer, ram
from emulator.kernel.frozen import replace
from emulator.services.mns.queues.model import QUEUE
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC
from emulator.wire.schema.kinds import AS_WRITTEN, TEXT, Field, member, needed

Component = Callable[[Build, LocatedValue, LocatedValue], None]
"""Adds the resources of a module: the module, and its properties with variables replaced."""


FLOW = (
    REGION,
    needed("name"),
    needed("definition", AS_WRITTEN),
    *(
        each._replace(names={"file": ("roleArn", "role", "rolearn")}) if each.name == "roleArn" else each
        for each in service_fields.ATTRIBUTES
    ),
    member("schedules", AS_WRITTEN),
)
WRITTEN_HERE = "# written here\n"
"""Put before a definition of one line in an export, which would be read as a file name otherwise."""
SCHEDULE = (Field("name", "name", TEXT, required=True, names={"file": ("name", "scheduleName")}), *service_fields.RUNS)


def flow(build: Build, part: LocatedValue, props: LocatedValue) -> None:
    """Add a flow, whose definition is a file, a text or a map, and its schedules."""
    values = members(props, FLOW, capital=False)
    definition = values.get("definition")
    if isinstance(definition, str) and "\n" not in definition.strip() and not definition.startswith("{"):
        definition = build.definition(props.member("definition"))
    elif isinstance(definition, str):
        definition = definition.removeprefix(WRITTEN_HERE)
    elif definition is not None:
        definition = json.dumps(definition, ensure_ascii=False)
    name = values.get("name", "")
    role = values.get("roleArn")
    values |= {"definition": definition, "roleArn": build.role_arn(role) if role else None}
    build.add(part, "fnf.flow", (name,), service_fields.flow_properties(values))
    for place in props.member("schedules").items():
        rows = members(place, SCHEDULE, capital=False)
        schedule = service_fields.schedule_properties(rows)
        own = rows.get("name", "")
        build.add(place, "fnf.schedule", (name, own), schedule, logical=f"{part.name}/{own}")


_QUEUE = (
    REGION,
    Field("queueName", "queueName", TEXT, required=True, names={"file": ("queueName", "name")}),
    *service_fields.fields_of(QUEUE, capital=False),
)
_TOPIC = (
    REGION,
    Field("topicName", "topicName", TEXT, required=True, names={"file": ("topicName", "name")}),
    *service_fields.fields_of(TOPIC, capital=False),
    member("subscriptions", AS_WRITTEN),
)
_SUBSCRIPTION = (
    Field("subscriptionName", "subscriptionName", TEXT, required=True, names={"file": ("subscriptionName", "name")}),
    *service_fields.fields_of(SUBSCRIPTION, capital=False),
)


def queue(build: Build, part: LocatedValue, props: LocatedValue, logical: str = "") -> None:
    """Add a queue."""
    values = members(props, _QUEUE, capital=False)
    name = values.get("queueName", "")
    properties = service_fields.api_properties(QUEUE, values)
    build.add(part, "mns.queue", (name,), properties, logical=logical and f"{logical}/{name}")


def topic(build: Build, part: LocatedValue, props: LocatedValue, logical: str = "") -> None:
    """Add a topic and its subscriptions."""
    values = members(props, _TOPIC, capital=False)
    name = values.get("topicName", "")
    properties = service_fields.api_properties(TOPIC, values)
    made = build.add(part, "mns.topic", (name,), properties, logical=logical and f"{logical}/{name}")
    for place in props.member("subscriptions").items():
        own = members(place, _SUBSCRIPTION, capital=False)
        own_name = own.get("subscriptionName", "")
        properties = service_fields.message_properties(build, SUBSCRIPTION, own)
        logical_name = f"{made.logical}/{own_name}"
        build.add(place, "mns.subscription", (name, own_name), properties, logical=logical_name)


def messages(build: Build, part: LocatedValue, props: LocatedValue) -> None:
    """Add queues and topics."""
    members(props, (REGION, member("queues", AS_WRITTEN), member("topics", AS_WRITTEN)), capital=False)
    for place in props.member("queues").items():
        queue(build, place, place, part.name)
    for place in props.member("topics").items():
        topic(build, place, place, part.name)


_BUCKET, _ROLE_TYPE, _POLICY_TYPE = (ROS_TYPES[name] for name in ("ALIYUN::OSS::Bucket", ROLE_TYPE, POLICY_TYPE))

COMPONENTS: Mapping[str, Component] = {
    "fc": fc,
    "fc-deploy": fc,
    "fc3": fc3,
    "fc3-domain": fc3_domain,
    "fc3-layer": fc3_layer,
    "fnf": flow,
    "cloudflow": flow,
    "mns": messages,
    "mns-queue": queue,
    "mns-topic": topic,
    "nodejs-runtime": fc,
    "oss-bucket": replace(_BUCKET, table=(REGION, *_BUCKET.table)).add,
    "ram": ram,
    "ram-policy": _POLICY_TYPE.add,
    "ram-role": _ROLE_TYPE.add,
}
"""The components by name. ``fc-deploy`` and ``nodejs-runtime`` are predecessors of ``fc`` with the same properties."""

_TOLD_BY = {
    "functionName": "fc3", "function": "fc", "service": "fc", "layerName": "fc3-layer", "domainName": "fc3-domain",
}  # fmt: skip


def component_of_props(props: Mapping[str, Any]) -> str | None:
    """Return the component that has one of these properties and is known by it, None when there is none."""
    return next((name for member, name in _TOLD_BY.items() if member in props), None)
