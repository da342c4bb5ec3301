"""What a task calls: resource ARNs and actions.

Source: service integration pages, Serverless Workflow guide. Region and account may be empty or anything: there is one
tenant here. The FC 3 form is assumed for this language.
"""

import re
from typing import Final

from emulator.services.workflow.definition.nodes import (
    ActionResource,
    FlowResource,
    FunctionResource,
    Pattern,
    QueueResource,
    Resource,
    TopicResource,
)

_FUNCTION_OF_SERVICE = re.compile(r"services/([^/.\s]+)(?:\.([^/\s]+))?/functions/([^/\s]+)\Z")
_FUNCTION = re.compile(r"functions/([^/\s]+)(?:/([^/\s]+))?\Z")
_QUEUE = re.compile(r"/queues/([^/\s]+)/messages\Z")
_TOPIC = re.compile(r"/topics/([^/\s]+)/messages\Z")
_FLOW = re.compile(r"flow/([^/\s]+)\Z")
_ACTION = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):([A-Za-z][A-Za-z0-9_]*)\Z")

_FORMS: Final = (
    "acs:fc:{region}:{account}:services/{service}[.{qualifier}]/functions/{function}, "
    "acs:fc:{region}:{account}:functions/{function}[/{qualifier}], "
    "acs:mns:{region}:{account}:/queues/{queue}/messages, "
    "acs:mns:{region}:{account}:/topics/{topic}/messages or "
    "acs:fnf:{region}:{account}:flow/{name}"
)

PATTERNS: Final[dict[type, tuple[Pattern, ...]]] = {
    FunctionResource: ("requestResponse", "sync", "waitForCallback"),
    QueueResource: ("requestResponse", "waitForCallback"),
    TopicResource: ("requestResponse", "waitForCallback"),
    FlowResource: ("requestResponse", "sync", "waitForCallback"),
    ActionResource: ("requestResponse",),
}
"""Which patterns each kind of target knows."""


def parse_arn(text: str) -> Resource:
    """Return what an ARN names; in a service segment the qualifier is the text behind the first dot.

    Raises: ValueError with a text for the client when the form is not known.
    """
    scheme, product, _region, _account, resource = (*text.split(":", 4), "", "", "", "")[:5]
    if scheme == "acs" and product == "fc":
        if found := _FUNCTION_OF_SERVICE.match(resource):
            return FunctionResource(service=found[1], qualifier=found[2], function=found[3])
        if found := _FUNCTION.match(resource):
            return FunctionResource(service=None, qualifier=found[2], function=found[1])
    elif scheme == "acs" and product == "mns":
        if found := _QUEUE.match(resource):
            return QueueResource(found[1])
        if found := _TOPIC.match(resource):
            return TopicResource(found[1])
    elif scheme == "acs" and product == "fnf" and (found := _FLOW.match(resource)):
        return FlowResource(found[1])
    raise ValueError(f"unknown form of resource; there are {_FORMS}")


def parse_action(text: str) -> ActionResource:
    """Return what ``{serviceName}:{apiName}`` names.

    Raises: ValueError with a text for the client when it has another form.
    """
    found = _ACTION.match(text)
    if not found:
        raise ValueError("an action is written {serviceName}:{apiName}")
    return ActionResource(found[1], found[2])
