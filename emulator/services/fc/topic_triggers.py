"""Topic triggers: each has a subscription on its topic, by which messages reach the function."""

from emulator.kernel.identity import Tenant
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import function_arn
from emulator.services.fc.ports import TopicMissing, TopicSubscriptions
from emulator.services.fc.trigger_configs import topic_of
from emulator.services.fc.trigger_model import Trigger


class TopicTriggers:
    """Keeps subscriptions in step with the topic triggers (a `TriggerWatcher`)."""

    def __init__(self, subscriptions: TopicSubscriptions) -> None:
        self._subscriptions = subscriptions

    def joining(self, tenant: Tenant, trigger: Trigger) -> None:
        """Subscribe the function to the topic, or change its subscription.

        Raises: InvalidArgument when there is no such topic.
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
            raise InvalidArgument(f"sourceArn is invalid: the topic '{topic}' does not exist") from None

    def leaving(self, tenant: Tenant, trigger: Trigger) -> None:
        """Remove the trigger's subscription."""
        if trigger.kind == "mns_topic":
            self._subscriptions.unsubscribe(tenant, topic_of(trigger.source_arn), subscription_name(trigger))

    def changed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Do nothing more: the subscription is made in the same transaction."""

    def removed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Do nothing more: the subscription is removed in the same transaction."""


def subscription_name(trigger: Trigger) -> str:
    """Return the name of the subscription a topic trigger makes. Source: assumed."""
    return f"fc-{trigger.trigger_id}"


def _named(trigger: Trigger) -> str:
    return "" if trigger.qualifier == "LATEST" else trigger.qualifier
