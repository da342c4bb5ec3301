"""Operations on topics, subscriptions and published messages."""

from collections.abc import Mapping

from emulator.services.mns.codec import Call, Handler, read_query_int
from emulator.services.mns.queues.codec import read_marker, render_receipt
from emulator.services.mns.topic_service import TopicService
from emulator.services.mns.topics.codec import (
    read_publish,
    read_subscription,
    read_subscription_change,
    read_topic,
    render_subscription,
    render_subscriptions,
    render_topic,
    render_topics,
)
from emulator.wire.request import Answer


class TopicApi:
    """Handlers that parse, call the service and render."""

    def __init__(self, service: TopicService) -> None:
        self._service = service
        self._topics = service.topics
        self._subscriptions = service.subscriptions
        self.operations: Mapping[str, Handler] = {
            "CreateTopic": self._create,
            "SetTopicAttributes": self._set_attributes,
            "GetTopicAttributes": self._get_attributes,
            "DeleteTopic": self._delete,
            "ListTopic": self._list,
            "PublishMessage": self._publish,
            "Subscribe": self._subscribe,
            "SetSubscriptionAttributes": self._set_subscription,
            "GetSubscriptionAttributes": self._get_subscription,
            "Unsubscribe": self._unsubscribe,
            "ListSubscriptionByTopic": self._list_subscriptions,
        }

    # --- topics --------------------------------------------------------------------------------------------------

    def _create(self, call: Call) -> Answer:
        is_new = self._topics.create(call.tenant, call.name, read_topic(call.request.body))
        # with both statuses: the Python client needs the address of a topic that was there already
        return call.answer(201 if is_new else 204, location=f"{call.base}/topics/{call.name}")

    def _set_attributes(self, call: Call) -> Answer:
        self._topics.view(call.tenant, call.name)  # a missing topic is complained about before the body
        self._topics.change(call.tenant, call.name, read_topic(call.request.body))
        return call.answer(204)

    def _get_attributes(self, call: Call) -> Answer:
        return call.answer(200, render_topic(self._topics.view(call.tenant, call.name)))

    def _delete(self, call: Call) -> Answer:
        self._topics.delete(call.tenant, call.name)
        return call.answer(204)

    def _list(self, call: Call) -> Answer:
        prefix, start, limit, with_meta = _list_headers(call)
        page = self._topics.page(call.tenant, prefix=prefix, start=start, limit=limit)
        return call.answer(200, render_topics(page.items, base=call.base, with_meta=with_meta, marker=page.next_marker))

    def _publish(self, call: Call) -> Answer:
        self._topics.view(call.tenant, call.name)
        receipt = self._service.publish_draft(call.tenant, call.name, read_publish(call.request.body))
        call.context.about = {"message_id": receipt.message_id}
        return call.answer(201, render_receipt(receipt))

    # --- subscriptions -------------------------------------------------------------------------------------------

    def _subscribe(self, call: Call) -> Answer:
        self._topics.view(call.tenant, call.name)
        settings = read_subscription(call.request.body)
        is_new = self._subscriptions.create(call.tenant, call.name, call.subscription, settings)
        location = f"{call.base}/topics/{call.name}/subscriptions/{call.subscription}"
        return call.answer(201 if is_new else 204, location=location)

    def _set_subscription(self, call: Call) -> Answer:
        self._subscriptions.get(call.tenant, call.name, call.subscription)
        change = read_subscription_change(call.request.body)
        self._subscriptions.change(call.tenant, call.name, call.subscription, change)
        return call.answer(204)

    def _get_subscription(self, call: Call) -> Answer:
        found = self._subscriptions.get(call.tenant, call.name, call.subscription)
        return call.answer(200, render_subscription(found))

    def _unsubscribe(self, call: Call) -> Answer:
        self._subscriptions.delete(call.tenant, call.name, call.subscription)
        return call.answer(204)

    def _list_subscriptions(self, call: Call) -> Answer:
        prefix, start, limit, with_meta = _list_headers(call)
        page = self._subscriptions.page(call.tenant, call.name, prefix=prefix, start=start, limit=limit)
        body = render_subscriptions(page.items, base=call.base, with_meta=with_meta, marker=page.next_marker)
        return call.answer(200, body)


def _list_headers(call: Call) -> tuple[str, str, int | None, bool]:
    """Return prefix, start, limit and whether attributes are wanted.

    Raises: InvalidArgument.
    """
    number = call.header("x-mns-ret-number")
    return (
        call.header("x-mns-prefix"),
        read_marker(call.header("x-mns-marker")),
        read_query_int(number, "x-mns-ret-number") if number else None,
        call.header("x-mns-with-meta").lower() == "true",
    )
