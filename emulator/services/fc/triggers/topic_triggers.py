"""Subscriptions of topic triggers."""

from emulator.kernel.identity import Tenant
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import function_arn
from emulator.services.fc.ports import TopicMissing, TopicSubscriptions
from emulator.services.fc.triggers.model import Trigger, topic_of
from emulator.services.fc.triggers.store import TriggerStore
from emulator.services.fc.triggers.triggers import TriggerWatcher


class TopicTriggers(TriggerWatcher):
    """Keeps subscriptions in step with the topic triggers.

    A trigger of the functions folder whose topic does not exist waits until the topic is created, as files have no
    order. One made by the API is refused, as the cloud does.
    """

    def __init__(self, store: TriggerStore, subscriptions: TopicSubscriptions) -> None:
        self._store = store
        self._subscriptions = subscriptions

    def topic_made(self, tenant: Tenant, topic: str) -> None:
        """Subscribe the functions of the folder whose triggers name a new topic, in the transaction that creates it."""
        for trigger in self._store.of_source(tenant, "mns_topic", topic):
            if trigger.folder and topic_of(trigger.source_arn) == topic:
                self.joining(tenant, trigger)

    def waits_for(self, tenant: Tenant, trigger: Trigger) -> str:
        """Return a sentence when the topic of a topic trigger does not exist, else an empty text."""
        if trigger.kind != "mns_topic":
            return ""
        topic = topic_of(trigger.source_arn)
        return "" if self._subscriptions.exists(tenant, topic) else f"the topic '{topic}' does not exist"

    def joining(self, tenant: Tenant, trigger: Trigger) -> None:
        """Subscribe the function to the topic, or change its subscription.

        Raises: InvalidArgument when there is no such topic and the trigger is not one of the folder.
        """
        if trigger.kind != "mns_topic":
            return
        topic = topic_of(trigger.source_arn)
        try:
            self._subscriptions.subscribe(
                tenant,
                topic,
                subscription_name(trigger),
                function_arn(tenant, trigger.service, trigger.function, _named(trigger)),
                filter_tag=trigger.config.get("filterTag") or None,
                content_format=trigger.config["notifyContentFormat"],
                strategy=trigger.config["notifyStrategy"],
            )
        except TopicMissing:
            if not trigger.folder:
                raise InvalidArgument(f"sourceArn is invalid: the topic '{topic}' does not exist") from None

    def leaving(self, tenant: Tenant, trigger: Trigger) -> None:
        """Remove the trigger's subscription."""
        if trigger.kind == "mns_topic":
            self._subscriptions.unsubscribe(tenant, topic_of(trigger.source_arn), subscription_name(trigger))


def subscription_name(trigger: Trigger) -> str:
    """Return the name of the subscription a topic trigger makes. Source: assumed."""
    return f"fc-{trigger.id}"


def _named(trigger: Trigger) -> str:
    return "" if trigger.qualifier == "LATEST" else trigger.qualifier
