"""Tags of queues and topics that are there already.

Source: terraform-provider-alicloud, SetResourceTags of its service for MNS; no published SDK has these operations.
"""

from collections.abc import Callable

from emulator.services.mns.management.codec import Parameters, numbered, read_tags, required, success
from emulator.services.mns.service import MessageService
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import InvalidParameter, MissingParameter, Reply

Tags = dict[str, str]


@operation("TagResources")
def tag_resources(service: MessageService, call: OperationRequest) -> Reply:
    """Set tags of queues or topics, in place of those with the same keys.

    Raises: MissingParameter, InvalidParameter, QueueNotExist, TopicNotExist.
    Source: terraform-provider-alicloud, SetResourceTags; the answer is assumed.
    """
    tags = dict(read_tags(call.parameters))
    if not tags:
        raise MissingParameter(name="Tag")
    return _changed(service, call, lambda present: present | tags)


@operation("UntagResources")
def untag_resources(service: MessageService, call: OperationRequest) -> Reply:
    """Remove the tags with the keys that the request names.

    Raises: MissingParameter, InvalidParameter, QueueNotExist, TopicNotExist.
    Source: terraform-provider-alicloud, SetResourceTags; the answer is assumed.
    """
    keys = _listed(call.parameters, "TagKey")
    return _changed(service, call, lambda present: {key: present[key] for key in present if key not in keys})


def _changed(service: MessageService, call: OperationRequest, change: Callable[[Tags], Tags]) -> Reply:
    kind, names = required(call.parameters, "ResourceType"), _listed(call.parameters, "ResourceId")
    for name in names:
        match kind:
            case "queue":
                queues = service.queues
                tags = change(dict(queues.view(call.tenant, name).queue.settings.tags))
                queues.change(call.tenant, name, {"tags": tuple(tags.items())})
            case "topic":
                topics = service.topics
                tags = change(dict(topics.view(call.tenant, name).topic.settings.tags))
                topics.change(call.tenant, name, {"tags": tuple(tags.items())})
            case _:
                raise InvalidParameter(name="ResourceType")
    return success()


def _listed(parameters: Parameters, name: str) -> list[str]:
    values = numbered(parameters, name)
    if not values:
        raise MissingParameter(name=name)
    return values
