"""Queues, topics and subscriptions of ``localyun.yaml``.

What can be told from the file alone is checked before anything is made. What exists already gets the attributes the
file names where they differ; attributes the file does not name, and resources it does not know, are left alone.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from emulator.config import Config
from emulator.declared.parts import Part, section
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.services.mns.errors import MnsError, QueueNotExist, SubscriptionNotExist, TopicNotExist
from emulator.services.mns.limits import RELAXED
from emulator.services.mns.management.codec import (
    read_fifo,
    read_queue,
    read_subscription_dead_letters,
    read_topic,
)
from emulator.services.mns.queues.model import Encryption, SettingsChange
from emulator.services.mns.queues.validation import check_queue_name, check_settings
from emulator.services.mns.service import MessageService
from emulator.services.mns.topic_service import TopicService
from emulator.services.mns.topics.codec import read_format, read_strategy
from emulator.services.mns.topics.endpoints import queue_endpoint, read_endpoint
from emulator.services.mns.topics.model import SubscriptionChange, SubscriptionSettings, TopicChange
from emulator.wire.pop_errors import InvalidParameter

# What the file may say about each; documented in docs/configuration.md.
QUEUE = (
    *("DelaySeconds", "MaximumMessageSize", "MessageRetentionPeriod", "VisibilityTimeout", "PollingWaitSeconds"),
    *("LoggingEnabled", "QueueType", "DlqPolicy"),
)
TOPIC = ("MaximumMessageSize", "LoggingEnabled", "TopicType", "subscriptions")
SUBSCRIPTION = ("Endpoint", "FilterTag", "NotifyStrategy", "NotifyContentFormat", "DlqPolicy")
_DEAD_LETTERS = ("Enabled", "DeadLetterTargetQueue", "MaxReceiveCount")

_OTHER_NAMES = {"LoggingEnabled": "EnableLogging"}
"""Where the API that has all the attributes calls one differently than the one everybody knows."""

_SHORT = "queue:"


@frozen
class DeclaredQueue:
    """A queue and the attributes the file names."""

    part: Part
    change: SettingsChange


@frozen
class DeclaredSubscription:
    """A subscription: its settings, and which of them the file names."""

    part: Part
    settings: SubscriptionSettings
    named: frozenset[str]


@frozen
class DeclaredTopic:
    """A topic, the attributes the file names, and its subscriptions."""

    part: Part
    change: TopicChange
    subscriptions: tuple[DeclaredSubscription, ...]


class DeclaredMessaging:
    """What a configuration declares for one tenant.

    Raises: ConfigError with file and line for anything that cannot be made.
    """

    def __init__(self, config: Config, tenant: Tenant) -> None:
        self._tenant = tenant
        self._queues = [_read_queue(part) for part in section(config, "queues").entries("a mapping of queue names")]
        self._topics = [
            _read_topic(part, tenant) for part in section(config, "topics").entries("a mapping of topic names")
        ]

    def apply(self, queues: MessageService, topics: TopicService) -> None:
        """Make what is missing and change what differs.

        Raises: ConfigError for what contradicts what exists.
        """
        for queue in self._queues:
            with _refusals_told(queue.part):
                self._apply_queue(queue, queues)
        for topic in self._topics:
            with _refusals_told(topic.part):
                self._apply_topic(topic, topics)
            for subscription in topic.subscriptions:
                with _refusals_told(subscription.part):
                    self._apply_subscription(subscription, topic.part.name, topics)

    def _apply_queue(self, queue: DeclaredQueue, service: MessageService) -> None:
        name = queue.part.name
        try:
            before = service.queues.view(self._tenant, name).queue.settings
        except QueueNotExist:
            service.queues.create(self._tenant, name, queue.change)
            return
        change = cast("SettingsChange", _differing(queue.change, before))
        if "fifo" in change:
            raise queue.part.error("the queue exists and its QueueType cannot be changed; delete the queue first")
        if change:
            service.queues.change(self._tenant, name, change)

    def _apply_topic(self, topic: DeclaredTopic, service: TopicService) -> None:
        name = topic.part.name
        try:
            before = service.topics.view(self._tenant, name).topic.settings
        except TopicNotExist:
            service.topics.create(self._tenant, name, topic.change)
            return
        change = cast("TopicChange", _differing(topic.change, before))
        if "fifo" in change:
            raise topic.part.error("the topic exists and its TopicType cannot be changed; delete the topic first")
        if change:
            service.topics.change(self._tenant, name, change)

    def _apply_subscription(self, declared: DeclaredSubscription, topic: str, service: TopicService) -> None:
        """Subscribe or change; endpoint and format can only be changed by subscribing anew."""
        name, wanted = declared.part.name, declared.settings
        try:
            before = service.subscriptions.get(self._tenant, topic, name).settings
        except SubscriptionNotExist:
            service.subscriptions.create(self._tenant, topic, name, wanted)
            return
        change = _differing({field: getattr(wanted, field) for field in declared.named}, before)
        if "endpoint" in change or "content_format" in change:
            service.subscriptions.delete(self._tenant, topic, name)
            service.subscriptions.create(self._tenant, topic, name, wanted)
        elif change:
            service.subscriptions.change(self._tenant, topic, name, cast("SubscriptionChange", change))


def _differing(change: Any, before: object) -> dict[str, Any]:
    """Return the settings that are not so yet."""
    return {field: value for field, value in change.items() if getattr(before, field) != value}


@contextmanager
def _refusals_told(part: Part) -> Iterator[None]:
    """Turn what the service refuses inside into a ConfigError about *part*."""
    try:
        yield
    except InvalidParameter:
        raise part.error(f"{part.text} is not a value for this attribute") from None
    except MnsError as error:
        raise part.error(error.message) from None


# --- reading the file --------------------------------------------------------------------------------------------


def _read_queue(part: Part) -> DeclaredQueue:
    _check_name(part)
    change: SettingsChange = {}
    for name, attribute in part.members("a mapping of attributes", QUEUE).items():
        with _refusals_told(attribute):
            own = read_queue(_parameters(attribute), Encryption())
            if name == "QueueType":
                own["fifo"] = bool(read_fifo({name: attribute.text}, name))
            check_settings(own, part.name)
            change.update(own)
    return DeclaredQueue(part=part, change=change)


def _read_topic(part: Part, tenant: Tenant) -> DeclaredTopic:
    _check_name(part)
    change: TopicChange = {}
    subscriptions: list[DeclaredSubscription] = []
    for name, attribute in part.members("a mapping of attributes and subscriptions", TOPIC).items():
        with _refusals_told(attribute):
            match name:
                case "subscriptions":
                    inner = attribute.entries("a mapping of subscription names")
                    subscriptions = [_read_subscription(each, tenant) for each in inner]
                case "TopicType":
                    change["fifo"] = bool(read_fifo({name: attribute.text}, name))
                case "MaximumMessageSize":
                    own = read_queue(_parameters(attribute), Encryption())
                    check_settings(own, part.name)  # the limits of a queue and of a topic are the same
                    change["maximum_message_size"] = own["maximum_message_size"]
                case _:
                    change.update(read_topic(_parameters(attribute), Encryption()))
    return DeclaredTopic(part=part, change=change, subscriptions=tuple(subscriptions))


def _read_subscription(part: Part, tenant: Tenant) -> DeclaredSubscription:
    _check_name(part)
    members = part.members("a mapping of attributes", SUBSCRIPTION)
    if "Endpoint" not in members:
        raise part.error("needs an Endpoint")
    chosen: dict[str, Any] = {}
    for name, attribute in members.items():
        with _refusals_told(attribute):
            match name:
                case "Endpoint":
                    chosen["endpoint"] = _endpoint(attribute.text, tenant)
                case "FilterTag":
                    chosen["filter_tag"] = attribute.text
                case "NotifyStrategy":
                    chosen["strategy"] = read_strategy(attribute.text)
                case "NotifyContentFormat":
                    chosen["content_format"] = read_format(attribute.text)
                case _:
                    chosen["dead_letters"] = read_subscription_dead_letters(_parameters(attribute))
    return DeclaredSubscription(part=part, settings=SubscriptionSettings(**chosen), named=frozenset(chosen))


def _endpoint(text: str, tenant: Tenant) -> str:
    """Return the endpoint's full form; ``queue:NAME`` is short for a queue of this installation.

    Raises: EndpointInvalid.
    """
    endpoint = queue_endpoint(tenant, text.removeprefix(_SHORT)) if text.startswith(_SHORT) else text
    read_endpoint(endpoint)
    return endpoint


def _parameters(attribute: Part) -> dict[str, str]:
    """Return an attribute as the management API takes it; a dead-letter policy that is written down is meant."""
    if attribute.name != "DlqPolicy":
        return {_OTHER_NAMES.get(attribute.name, attribute.name): attribute.text}
    members = attribute.members("a mapping of Enabled, DeadLetterTargetQueue and MaxReceiveCount", _DEAD_LETTERS)
    policy = {"Enabled": True, **{name: member.value for name, member in members.items()}}
    return {"DlqPolicy": json.dumps(policy, default=str)}


def _check_name(part: Part) -> None:
    """Check a name; the rules for queues, topics and subscriptions are the same."""
    try:
        check_queue_name(part.name, RELAXED)
    except MnsError:
        reason = "a name consists of letters, digits and hyphens and begins with a letter or digit"
        raise part.error(f"{reason}; it has at most {RELAXED.queue_name_length} characters") from None
