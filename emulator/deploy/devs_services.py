"""The components of Serverless Devs for flows, queues and topics.

Source: the component ``fnf`` for flows. The component names and properties of queues and topics are assumed: those of
the API.
"""

import json

from emulator.deploy import ros_services
from emulator.deploy.building import Build
from emulator.deploy.part import Part
from emulator.deploy.shapes import Field, anything, json_text, members, number, payload, switch, text

_REGION = Field("region", text)

# --- flows -----------------------------------------------------------------------------------------------------------

_FLOW = (
    _REGION,
    Field("name", text, required=True),
    Field("definition", anything, required=True),
    Field("description", text),
    Field("type", text),
    Field("roleArn", text, also=("role", "rolearn")),
    Field("executionMode", text),
    Field("environment", json_text),
    Field("schedules", anything),
)
_SCHEDULE = (
    Field("name", text, required=True, also=("scheduleName",)),
    Field("cronExpression", text, required=True),
    Field("payload", payload),
    Field("enable", switch),
    Field("description", text),
)


def flow(build: Build, part: Part, props: Part) -> None:
    """Add a flow, whose definition is a file, a text or written out, and its schedules."""
    found = members(props, _FLOW, capital=False)
    definition = found.get("definition")
    if isinstance(definition, str) and "\n" not in definition.strip():
        definition = build.definition(props.member("definition"))
    elif definition is not None and not isinstance(definition, str):
        definition = json.dumps(definition, ensure_ascii=False)
    name = found.get("name", "")
    role = found.get("roleArn")
    properties = {
        "Definition": definition,
        "Description": found.get("description") or name,
        "Type": found.get("type") or "FDL",
        "RoleArn": build.role_arn(role) if role else None,
        "ExecutionMode": found.get("executionMode"),
        "Environment": found.get("environment"),
    }
    build.add(part, "fnf.flow", (name,), properties, type_name="flow")
    for place in props.member("schedules").items():
        given = members(place, _SCHEDULE, capital=False)
        schedule = {
            "CronExpression": given.get("cronExpression"),
            "Payload": given.get("payload") or "",
            "Enable": given.get("enable", True),
            "Description": given.get("description") or "",
        }
        own = given.get("name", "")
        build.add(place, "fnf.schedule", (name, own), schedule, type_name="schedule", logical=f"{part.name}/{own}")


# --- messages --------------------------------------------------------------------------------------------------------

_QUEUE = (
    _REGION,
    Field("queueName", text, required=True, also=("name",)),
    *(Field(name[0].lower() + name[1:], read) for name, (read, _) in ros_services.QUEUE.items()),
    Field("queueType", text),
    Field("dlqPolicy", anything),
)
_TOPIC = (
    _REGION,
    Field("topicName", text, required=True, also=("name",)),
    Field("maximumMessageSize", number, also=("maxMessageSize",)),
    Field("loggingEnabled", switch),
    Field("topicType", text),
    Field("subscriptions", anything),
)
_SUBSCRIPTION = (
    Field("subscriptionName", text, required=True, also=("name",)),
    Field("endpoint", text, required=True),
    Field("filterTag", text),
    Field("notifyStrategy", text),
    Field("notifyContentFormat", text),
)


def queue(build: Build, part: Part, props: Part, logical: str = "") -> None:
    """Add a queue."""
    found = members(props, _QUEUE, capital=False)
    properties = ros_services.queue_properties(found)
    properties |= {"QueueType": found.get("queueType"), "DlqPolicy": found.get("dlqPolicy")}
    name = found.get("queueName", "")
    build.add(part, "mns.queue", (name,), properties, type_name="queue", logical=logical and f"{logical}/{name}")


def topic(build: Build, part: Part, props: Part, logical: str = "") -> None:
    """Add a topic and its subscriptions."""
    found = members(props, _TOPIC, capital=False)
    name = found.get("topicName", "")
    properties = {
        "MaxMessageSize": found.get("maximumMessageSize", 65536),
        "EnableLogging": found.get("loggingEnabled", False),
        "TopicType": found.get("topicType"),
    }
    made = build.add(part, "mns.topic", (name,), properties, type_name="topic", logical=logical and f"{logical}/{name}")
    for place in props.member("subscriptions").items():
        given = members(place, _SUBSCRIPTION, capital=False)
        own = given.get("subscriptionName", "")
        build.add(place, "mns.subscription", (name, own), ros_services.subscription_properties(build, given),
                  type_name="subscription", logical=f"{made.logical}/{own}")  # fmt: skip


def messages(build: Build, part: Part, props: Part) -> None:
    """Add queues and topics."""
    members(props, (_REGION, Field("queues", anything), Field("topics", anything)), capital=False)
    for place in props.member("queues").items():
        queue(build, place, place, part.name)
    for place in props.member("topics").items():
        topic(build, place, place, part.name)
