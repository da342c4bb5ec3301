"""The management API through its official client, against the resources of the XML API."""

import uuid

import pytest
from alibabacloud_mns_open20220119 import models
from alibabacloud_mns_open20220119.client import Client
from alibabacloud_tea_openapi.models import OpenApiRequest
from alibabacloud_tea_util.models import RuntimeOptions
from mns.queue import QueueMeta

pytestmark = [
    pytest.mark.sdk,
    pytest.mark.filterwarnings("ignore:Call to deprecated function"),  # the client's own notes on the counters
]


@pytest.fixture
def client(emulator):
    return Client(emulator.tea_config())


@pytest.fixture
def name():
    return f"open-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def topic(client, name):
    client.create_topic(models.CreateTopicRequest(topic_name=name))
    yield name
    client.delete_topic(models.DeleteTopicRequest(topic_name=name))


def refusal(call, request):
    with pytest.raises(Exception) as caught:
        call(request)
    return caught.value.status_code, caught.value.code


def test_a_queue_made_here_is_there_for_the_xml_api(client, account, name):
    """Every attribute of both APIs, read back through both."""
    reply = client.create_queue(
        models.CreateQueueRequest(
            queue_name=name,
            delay_seconds=1,
            maximum_message_size=2048,
            message_retention_period=600,
            visibility_timeout=45,
            polling_wait_seconds=2,
            enable_logging=True,
            queue_type="fifo",
            dlq_policy=models.CreateQueueRequestDlqPolicy(
                enabled=True, dead_letter_target_queue="dead", max_receive_count=5
            ),
            tenant_rate_limit_policy=models.CreateQueueRequestTenantRateLimitPolicy(
                enabled=True, max_receives_per_second=7
            ),
            enable_sse=True,
            sse_type="KMS",
            sse_algorithm="AES-256-GCM",
            kms_key_id="key-1",
            tag=[models.CreateQueueRequestTag(key="team", value="a")],
        )
    ).body
    seen = account.get_queue(name).get_attributes()
    data = client.get_queue_attributes(models.GetQueueAttributesRequest(queue_name=name)).body.data
    deleted = client.delete_queue(models.DeleteQueueRequest(queue_name=name)).body

    assert (reply.code, reply.status, reply.success, reply.data.success) == (200, "Success", True, True)
    assert (seen.delay_seconds, seen.maximum_message_size, seen.visibility_timeout) == (1, 2048, 45)
    assert (seen.message_retention_period, seen.polling_wait_seconds, seen.logging_enabled) == (600, 2, True)
    assert data.to_map() | {"CreateTime": 0, "LastModifyTime": 0} == {
        "QueueName": name, "QueueType": "fifo", "CreateTime": 0, "LastModifyTime": 0, "DelaySeconds": 1,
        "MaximumMessageSize": 2048, "MessageRetentionPeriod": 600, "VisibilityTimeout": 45, "PollingWaitSeconds": 2,
        "ActiveMessages": 0, "InactiveMessages": 0, "DelayMessages": 0, "LoggingEnabled": True,
        "EncryptionEnabled": True, "EnableSSE": True, "SseType": "KMS", "SseAlgorithm": "AES-256-GCM",
        "KmsKeyId": "key-1", "Tags": [{"TagKey": "team", "TagValue": "a"}],
        "DlqPolicy": {"Enabled": True, "DeadLetterTargetQueue": "dead", "MaxReceiveCount": "5"},
        "TenantRateLimitPolicy": {"Enabled": True, "MaxReceivesPerSecond": 7},
    }  # fmt: skip
    assert deleted.data.success


def test_a_queue_of_the_xml_api_is_there_for_the_management_api(client, account, name):
    """Shown, changed and listed here, changed there."""
    queue = account.get_queue(name)
    queue.create(QueueMeta(20))

    client.set_queue_attributes(models.SetQueueAttributesRequest(queue_name=name, visibility_timeout=60))
    page = client.list_queue(models.ListQueueRequest(queue_name=name, page_size=1, page_num=0)).body.data
    seen = queue.get_attributes()
    queue.delete()

    assert seen.visibility_timeout == 60
    assert (page.total, page.size, page.pages, page.page_num, page.page_size) == (1, 1, 1, 1, 10)
    assert page.page_data[0].queue_name == name


def test_lists_are_filtered_by_type_and_tags(client, name):
    """All filters that are given have to agree."""
    tag = models.CreateQueueRequestTag(key="team", value="b")
    client.create_queue(models.CreateQueueRequest(queue_name=f"{name}-1", queue_type="fifo", tag=[tag]))
    client.create_queue(models.CreateQueueRequest(queue_name=f"{name}-2"))

    def names(**filters):
        data = client.list_queue(models.ListQueueRequest(queue_name=name, **filters)).body.data
        return [item.queue_name for item in data.page_data]

    everything, fifo = names(), names(queue_type="fifo")
    tagged = names(tag=[models.ListQueueRequestTag(key="team", value="b")])
    others = names(tag=[models.ListQueueRequestTag(key="team", value="c")])
    for number in (1, 2):
        client.delete_queue(models.DeleteQueueRequest(queue_name=f"{name}-{number}"))

    assert everything == [f"{name}-1", f"{name}-2"]
    assert fifo == tagged == [f"{name}-1"]
    assert others == []


@pytest.mark.parametrize("kind", ["queue", "topic"])
def test_tags_of_what_is_there_are_changed(client, name, kind):
    """Terraform's provider calls these operations, which the SDK has no methods for; other tags stay."""
    if kind == "queue":
        tags = [models.CreateQueueRequestTag(key=key, value="1") for key in "ab"]
        client.create_queue(models.CreateQueueRequest(queue_name=name, tag=tags))
    else:
        tags = [models.CreateTopicRequestTag(key=key, value="1") for key in "ab"]
        client.create_topic(models.CreateTopicRequest(topic_name=name, tag=tags))

    def call(action, **parameters):
        query = {"ResourceType": kind, "ResourceId.1": name} | parameters
        return client.do_rpcrequest(
            action, "2022-01-19", "HTTP", "POST", "AK", "json", OpenApiRequest(query=query), RuntimeOptions()
        )["body"]

    untagged = call("UntagResources", **{"TagKey.1": "a"})
    call("TagResources", **{"Tag.1.Key": "b", "Tag.1.Value": "2", "Tag.2.Key": "c", "Tag.2.Value": "3"})
    with pytest.raises(Exception) as missing:
        call("TagResources", **{"ResourceId.1": "no" + name, "Tag.1.Key": "a"})
    if kind == "queue":
        data = client.get_queue_attributes(models.GetQueueAttributesRequest(queue_name=name)).body.data
        client.delete_queue(models.DeleteQueueRequest(queue_name=name))
    else:
        data = client.get_topic_attributes(models.GetTopicAttributesRequest(topic_name=name)).body.data
        client.delete_topic(models.DeleteTopicRequest(topic_name=name))

    assert untagged["Success"] is True
    assert {tag.tag_key: tag.tag_value for tag in data.tags} == {"b": "2", "c": "3"}
    assert missing.value.code == f"{kind.title()}NotExist"


def test_topics_are_shared_with_the_xml_api(client, account, name):
    """Form parameters, objects and addresses; the XML API sees the same topic."""
    client.create_topic(
        models.CreateTopicRequest(
            topic_name=name,
            max_message_size=2048,
            enable_logging=True,
            topic_type="normal",
            tag=[models.CreateTopicRequestTag(key="k", value="v")],
        )
    )
    client.set_topic_attributes(models.SetTopicAttributesRequest(topic_name=name, max_message_size=4096))
    data = client.get_topic_attributes(models.GetTopicAttributesRequest(topic_name=name)).body.data
    listed = client.list_topic(models.ListTopicRequest(topic_name=name)).body.data
    seen = account.get_topic(name).get_attributes()
    client.delete_topic(models.DeleteTopicRequest(topic_name=name))

    assert (seen.maximum_message_size, seen.logging_enabled) == (4096, True)
    assert (data.max_message_size, data.topic_type, data.message_count) == (4096, "normal", 0)
    assert data.topic_url.endswith(f".aliyuncs.com/topics/{name}")
    assert [(tag.tag_key, tag.tag_value) for tag in data.tags] == [("k", "v")]
    assert (listed.total, listed.page_data[0].topic_name) == (1, name)


@pytest.mark.parametrize(
    ("push_type", "endpoint", "shown"),
    [
        ("http", "http://127.0.0.1:1/x", "http://127.0.0.1:1/x"),
        ("queue", "work", "acs:mns:{region}:{account}:queues/work"),
        ("queue", "acs:mns:cn-x:1:queues/work", "acs:mns:cn-x:1:queues/work"),
        ("email", "a@example.com", "mail:directmail:a@example.com"),
        ("dm", "smq-ep:dm:1:__dynamic", "smq-ep:dm:1:__dynamic"),
        ("alisms", "13800000000", "sms:directsms:13800000000"),
        ("dysms", "smq-ep:dysms:1:13800000000", "smq-ep:dysms:1:13800000000"),
        ("mpush", "app1", "push:app1"),
        ("fc", "acs:fc:cn-x:1:services/s/functions/f", "acs:fc:cn-x:1:services/s/functions/f"),
        ("eventbus", "acs:eventbridge:cn-x:1:eventbus/b", "acs:eventbridge:cn-x:1:eventbus/b"),
    ],
)
def test_every_push_type_can_be_subscribed(client, emulator, topic, push_type, endpoint, shown):
    """Names and addresses may come bare; what is shown is the form of the XML API."""
    reply = client.subscribe(
        models.SubscribeRequest(topic_name=topic, subscription_name="s", push_type=push_type, endpoint=endpoint)
    ).body
    ends = models.GetSubscriptionAttributesRequest(topic_name=topic, subscription_name="s")
    data = client.get_subscription_attributes(ends).body.data

    keys = emulator.keys
    assert reply.data == "s"
    assert data.endpoint == shown.format(region=keys["region"], account=keys["accountId"])
    assert (data.notify_strategy, data.notify_content_format) == ("BACKOFF_RETRY", "XML")


def test_subscriptions_are_changed_filtered_and_ended(client, account, topic):
    """The life of a subscription, with what only this API knows."""
    client.subscribe(
        models.SubscribeRequest(
            topic_name=topic,
            subscription_name="one",
            push_type="queue",
            endpoint="work",
            notify_strategy="EXPONENTIAL_DECAY_RETRY",
            notify_content_format="JSON",
            message_tag="red",
            dlq_policy=models.SubscribeRequestDlqPolicy(enabled=True, dead_letter_target_queue="dead"),
            tenant_rate_limit_policy=models.SubscribeRequestTenantRateLimitPolicy(
                enabled=True, max_receives_per_second=3
            ),
        )
    )
    request = models.SubscribeRequest(
        topic_name=topic, subscription_name="two", push_type="http", endpoint="http://h/x"
    )
    client.subscribe(request)
    client.set_subscription_attributes(
        models.SetSubscriptionAttributesRequest(
            topic_name=topic,
            subscription_name="one",
            notify_strategy="BACKOFF_RETRY",
            dlq_policy=models.SetSubscriptionAttributesRequestDlqPolicy(enabled=False),
        )
    )

    ends = models.GetSubscriptionAttributesRequest(topic_name=topic, subscription_name="one")
    data = client.get_subscription_attributes(ends).body.data
    seen = account.get_topic(topic).get_subscription("one").get_attributes()

    def listed(**filters):
        asked = models.ListSubscriptionByTopicRequest(topic_name=topic, **filters)
        return [item.subscription_name for item in client.list_subscription_by_topic(asked).body.data.page_data]

    everything, queues = listed(), listed(endpoint_type="queue")
    by_value, by_name = listed(endpoint_value="work"), listed(subscription_name="tw")
    client.unsubscribe(models.UnsubscribeRequest(topic_name=topic, subscription_name="one"))

    assert (data.filter_tag, data.notify_strategy, data.notify_content_format) == ("red", "BACKOFF_RETRY", "JSON")
    assert data.dlq_policy.enabled is False
    assert data.tenant_rate_limit_policy.max_receives_per_second == 3
    assert seen.filter_tag == "red"
    assert everything == ["one", "two"]
    assert queues == by_value == ["one"]
    assert by_name == ["two"] == listed()


def test_account_settings_are_kept(client, account):
    """Logging and message trace; the switch for trace is the XML API's too."""
    client.set_account_attributes(
        models.SetAccountAttributesRequest(
            log_enabled=True, log_store_name="store", project_name="project", message_trace_enabled=True
        )
    )
    data = client.get_account_attributes(models.GetAccountAttributesRequest()).body.data
    client.set_account_attributes(
        models.SetAccountAttributesRequest(
            log_enabled=False, log_store_name="", project_name="", message_trace_enabled=False
        )
    )

    assert data.to_map() == {
        "LogEnabled": True, "LogStoreName": "store", "MessageTraceEnabled": True, "ProjectName": "project",
    }  # fmt: skip


def test_the_public_endpoint_and_its_access_list(client):
    """Kept and shown."""
    public = {"endpoint_type": "public"}
    networks = {"acl_strategy": "allow", "cidr_list": ["10.0.0.0/8", "192.168.0.1"]}
    client.disable_endpoint(models.DisableEndpointRequest(**public))
    client.authorize_endpoint_acl(models.AuthorizeEndpointAclRequest(**public, **networks))
    closed = client.get_endpoint_attribute(models.GetEndpointAttributeRequest(**public)).body.data
    client.enable_endpoint(models.EnableEndpointRequest(**public))
    client.revoke_endpoint_acl(models.RevokeEndpointAclRequest(**public, **networks))
    opened = client.get_endpoint_attribute(models.GetEndpointAttributeRequest(**public)).body.data

    assert closed.endpoint_enabled is False
    assert [item.cidr for item in closed.cidr_list] == ["10.0.0.0/8", "192.168.0.1"]
    assert (opened.endpoint_enabled, opened.cidr_list) == (True, [])


def test_event_rules_are_kept(client, topic):
    """Made, shown, listed and removed."""
    rule = models.CreateEventRuleRequest(
        product_name="oss",
        rule_name=topic,
        event_types=["ObjectCreated:PutObject"],
        match_rules=[[models.EventMatchRule(match_state=True, prefix="bucket/in/", suffix=".txt")]],
        endpoint=models.CreateEventRuleRequestEndpoint(endpoint_type="topic", endpoint_value=topic),
    )
    created = client.create_event_rule(rule).body.data
    client.create_event_rule(rule)
    client.subscribe(
        models.SubscribeRequest(topic_name=topic, subscription_name="s", push_type="queue", endpoint="work")
    )
    named = {"product_name": "oss", "rule_name": topic}
    shown = client.get_event_rule(models.GetEventRuleRequest(**named)).body.data
    listed = client.list_event_rules(models.ListEventRulesRequest(resource_name="bucket", topic_name=topic)).body.data
    others = client.list_event_rules(models.ListEventRulesRequest(resource_name="other", topic_name=topic)).body.data
    client.delete_event_rule(models.DeleteEventRuleRequest(**named))

    assert created == topic
    assert (shown.topic_name, shown.event_types) == (topic, ["ObjectCreated:PutObject"])
    assert shown.match_rules[0][0].prefix == "bucket/in/"
    assert shown.subscriptions[0].endpoint_type == "queue"
    assert [item.rule_name for item in listed.page_data] == [topic]
    assert others.page_data == []
    assert refusal(client.get_event_rule, models.GetEventRuleRequest(**named)) == (404, "EventRuleNotExist")


def test_refusals_carry_the_codes_of_the_xml_api(client, topic):
    """The client raises on the status and shows the code."""
    cases = [
        (client.get_queue_attributes, models.GetQueueAttributesRequest(queue_name="nobody"), (404, "QueueNotExist")),
        (client.get_topic_attributes, models.GetTopicAttributesRequest(topic_name="nobody"), (404, "TopicNotExist")),
        (client.create_topic, models.CreateTopicRequest(topic_name="a_b"), (400, "TopicNameInvalid")),
        (
            client.create_topic,
            models.CreateTopicRequest(topic_name=topic, max_message_size=2048),
            (409, "TopicAlreadyExist"),
        ),
        (client.create_queue, models.CreateQueueRequest(queue_name="q", delay_seconds=-1), (400, "InvalidArgument")),
        (client.create_queue, models.CreateQueueRequest(queue_name="q", queue_type="heap"), (400, "InvalidParameter")),
        (client.create_queue, models.CreateQueueRequest(), (400, "MissingParameter")),
        (client.enable_endpoint, models.EnableEndpointRequest(endpoint_type="vpc"), (400, "InvalidParameter")),
    ]

    for call, request, expected in cases:
        assert refusal(call, request) == expected
