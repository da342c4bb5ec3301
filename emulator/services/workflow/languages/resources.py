"""The resources that tasks name: ARNs, and actions as ``{serviceName}:{apiName}``.

Region and account of an ARN may be empty or anything: there is one tenant here.

Source: service integration, Serverless Workflow guide; the form of FC 3's ARNs, CloudFlow documentation.
"""

import re
from typing import Final, assert_never

from emulator.kernel.names import OF_QUEUES_AND_TOPICS
from emulator.kernel.phrases import Phrase, alternatives
from emulator.services.workflow.ports import (
    ActionResource,
    ArnTarget,
    FlowResource,
    FunctionResource,
    QueueResource,
    TopicResource,
)

_FUNCTION_OF_SERVICE = re.compile(r"services/([^/.\s]+)(?:\.([^/\s]+))?/functions/([^/\s]+)\Z")
_FUNCTION = re.compile(r"functions/([^/\s]+)(?:/([^/\s]+))?\Z")
_QUEUE = re.compile(r"/queues/([^/\s]+)/messages\Z")
_TOPIC = re.compile(r"/topics/([^/\s]+)/messages\Z")
_FLOW = re.compile(r"flow/([^/\s]+)\Z")
_ACTION = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):([A-Za-z][A-Za-z0-9_]*)\Z")

_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_-]*"
_FILLED_IN = re.compile(r"[${}<>*\[\]]")
"""Characters in names that another tool fills in, such as ``${queue}`` and ``<topic>``."""

_FORMS: Final = alternatives(
    (
        "acs:fc:{region}:{account}:services/{service}[.{qualifier}]/functions/{function}",
        "acs:fc:{region}:{account}:functions/{function}[/{qualifier}]",
        "acs:mns:{region}:{account}:/queues/{queue}/messages",
        "acs:mns:{region}:{account}:/topics/{topic}/messages",
        "acs:fnf:{region}:{account}:flow/{name}",
    )
)


def parse_arn(text: str) -> ArnTarget:
    """Return the resource that an ARN names; in a service segment the qualifier is the text behind the first dot.

    Raises: ValueError with a text for the client when the form is not known.
    """
    scheme, product, _region, _account, resource = (*text.split(":", 4), "", "", "", "")[:5]
    if scheme == "acs" and product == "fc":
        if match := _FUNCTION_OF_SERVICE.match(resource):
            return FunctionResource(service=match[1], qualifier=match[2], function=match[3])
        if match := _FUNCTION.match(resource):
            return FunctionResource(service=None, qualifier=match[2], function=match[1])
    elif scheme == "acs" and product == "mns":
        if match := _QUEUE.match(resource):
            return QueueResource(match[1])
        if match := _TOPIC.match(resource):
            return TopicResource(match[1])
    elif scheme == "acs" and product == "fnf" and (match := _FLOW.match(resource)):
        return FlowResource(match[1])
    raise ValueError(Phrase("unknown form of resource; there are {names}", names=_FORMS))


def impossible_name(target: ArnTarget) -> Phrase | None:
    """Return a message when no resource can have the name in an ARN; None when one can, or another tool fills it in.

    Such a name is not a mistake of the definition's form: a task looks up its target when it runs.
    """
    match target:
        case QueueResource(queue=name) | TopicResource(topic=name):
            names, form = [name], OF_QUEUES_AND_TOPICS
            text = "no queue or topic can be called {name!r}: their names have letters, digits and hyphens"
        case FunctionResource() | FlowResource():
            names, form = [target.flow] if isinstance(target, FlowResource) else [target.function], _IDENTIFIER
            if isinstance(target, FunctionResource) and target.service:
                names.append(target.service)
            text = (
                "no service, function or flow can be called {name!r}: their names have letters, digits, '_' and '-' "
                "and do not begin with a digit or '-'"
            )
        case _:
            assert_never(target)
    wrong = (name for name in names if not re.fullmatch(form, name) and not _FILLED_IN.search(name))
    return next((Phrase(text, name=name) for name in wrong), None)


def parse_action(text: str) -> ActionResource:
    """Return the action that ``{serviceName}:{apiName}`` names.

    Raises: ValueError with a text for the client when it has another form.
    """
    match = _ACTION.match(text)
    if not match:
        raise ValueError("an action is written {serviceName}:{apiName}")
    return ActionResource(match[1], match[2])
