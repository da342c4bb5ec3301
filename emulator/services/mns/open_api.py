"""The management API of the message service, version 2022-01-19, spoken RPC.

It works on the queues, topics and subscriptions of the XML API and adds what that has no elements for. Failures are
answered with the XML API's codes and statuses; the API's own description names none (assumed).
"""

from emulator.dialect.rpc import RpcFront
from emulator.kernel.ids import Ids
from emulator.services.mns.open_account import OpenAccount
from emulator.services.mns.open_queues import OpenQueues
from emulator.services.mns.open_rules import OpenRules
from emulator.services.mns.open_topics import OpenTopics
from emulator.services.mns.service import MessageService
from emulator.services.mns.topic_service import TopicService

VERSION = "2022-01-19"


class MnsOpenFront(RpcFront):
    """All of its operations."""

    def __init__(self, service: MessageService, topics: TopicService, ids: Ids) -> None:
        operations = {
            **OpenQueues(service).operations,
            **OpenTopics(topics).operations,
            **OpenAccount(service, topics.store).operations,
            **OpenRules(topics).operations,
        }
        super().__init__("mns-open", VERSION, operations, ids, upper_case_ids=True)
