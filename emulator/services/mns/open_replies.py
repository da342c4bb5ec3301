"""Answers of the management API: the envelope, and queues, topics and subscriptions as its objects."""

from collections.abc import Sequence
from typing import Any

from emulator.kernel.identity import Tenant
from emulator.services.mns.model import DeadLetterPolicy, Encryption, QueueView, RateLimit
from emulator.services.mns.topic_limits import RETENTION_S
from emulator.services.mns.topic_model import Subscription, TopicView
from emulator.wire.rpc import Reply

Object = dict[str, Any]

_DONE = "operation success"


def success(data: Any = None) -> Reply:
    """Return the envelope around *data*; ``Code`` is a number there and nowhere else."""
    reply: Reply = {"Code": 200, "Status": "Success", "Message": _DONE, "Success": True}
    if data is not None:
        reply["Data"] = data
    return reply


def done() -> Reply:
    """Return the envelope of an operation that has nothing to tell: it says so once more inside."""
    return success({"Code": 200, "Message": _DONE, "Success": True})


def page(items: Sequence[Object], number: int, size: int) -> Object:
    """Return one page of all *items*."""
    part = list(items[(number - 1) * size : number * size])
    return {
        "PageData": part,
        "PageNum": number,
        "PageSize": size,
        "Pages": -(-len(items) // size),
        "Size": len(part),
        "Total": len(items),
    }


def queue_object(view: QueueView, *, listed: bool = False) -> Object:
    """Return a queue; one in a list has no rate limit. Counts of receives are texts in a policy, nowhere else."""
    queue, counters = view.queue, view.counters
    settings = queue.settings
    members: Object = {
        "QueueName": queue.name,
        "QueueType": _kind(fifo=settings.fifo),
        "CreateTime": queue.created_at // 1000,
        "LastModifyTime": queue.modified_at // 1000,
        "DelaySeconds": settings.delay_s,
        "MaximumMessageSize": settings.maximum_message_size,
        "MessageRetentionPeriod": settings.retention_s,
        "VisibilityTimeout": settings.visibility_timeout_s,
        "PollingWaitSeconds": settings.polling_wait_s,
        "ActiveMessages": counters.active,
        "InactiveMessages": counters.inactive,
        "DelayMessages": counters.delayed,
        "LoggingEnabled": settings.logging_enabled,
        **_encryption(settings.encryption),
        "DlqPolicy": _queue_policy(settings.dead_letter),
        "Tags": _tags(settings.tags),
    }
    if not listed:
        members["TenantRateLimitPolicy"] = _rate_limit(settings.rate_limit)
    return members


def topic_object(view: TopicView) -> Object:
    """Return a topic, with the addresses it would have in the cloud."""
    topic = view.topic
    settings = topic.settings
    return {
        "TopicName": topic.name,
        "TopicType": _kind(fifo=settings.fifo),
        "TopicUrl": _topic_url(topic.tenant, topic.name, ""),
        "TopicInnerUrl": _topic_url(topic.tenant, topic.name, "-internal"),
        "CreateTime": topic.created_at // 1000,
        "LastModifyTime": topic.modified_at // 1000,
        "MaxMessageSize": settings.maximum_message_size,
        "MessageRetentionPeriod": RETENTION_S,
        "MessageCount": view.message_count,
        "LoggingEnabled": settings.logging_enabled,
        **_encryption(settings.encryption),
        "Tags": _tags(settings.tags),
    }


def subscription_object(subscription: Subscription, *, listed: bool = False) -> Object:
    """Return a subscription; one in a list has no rate limit."""
    settings = subscription.settings
    policy = settings.dead_letters
    members: Object = {
        "TopicOwner": subscription.tenant.account,
        "TopicName": subscription.topic_name,
        "SubscriptionName": subscription.name,
        "Endpoint": settings.endpoint,
        "FilterTag": settings.filter_tag or "",
        "NotifyStrategy": settings.strategy.value,
        "NotifyContentFormat": settings.content_format.value,
        "CreateTime": subscription.created_at // 1000,
        "LastModifyTime": subscription.modified_at // 1000,
        "DlqPolicy": {"Enabled": False}
        if policy is None
        else {"Enabled": policy.enabled, "DeadLetterTargetQueue": policy.target},
    }
    if not listed:
        members["TenantRateLimitPolicy"] = _rate_limit(settings.rate_limit)
    return members


def _kind(*, fifo: bool) -> str:
    return "fifo" if fifo else "normal"


def _topic_url(tenant: Tenant, name: str, network: str) -> str:
    return f"http://{tenant.account}.mns.{tenant.region}{network}.aliyuncs.com/topics/{name}"


def _encryption(encryption: Encryption) -> Object:
    return {
        "EncryptionEnabled": encryption.enabled,
        "EnableSSE": encryption.enabled,
        "SseType": encryption.kind,
        "SseAlgorithm": encryption.algorithm,
        "KmsKeyId": encryption.key_id,
    }


def _queue_policy(policy: DeadLetterPolicy | None) -> Object:
    if policy is None:
        return {"Enabled": False}
    return {
        "Enabled": policy.enabled,
        "DeadLetterTargetQueue": policy.target,
        "MaxReceiveCount": str(policy.max_receives),
    }


def _rate_limit(policy: RateLimit | None) -> Object:
    if policy is None:
        return {"Enabled": False}
    members: Object = {"Enabled": policy.enabled}
    if policy.max_receives_per_second is not None:
        members["MaxReceivesPerSecond"] = policy.max_receives_per_second
    return members


def _tags(tags: Sequence[tuple[str, str]]) -> list[Object]:
    return [{"TagKey": key, "TagValue": value} for key, value in tags]
