"""The management API: parameters as clients write them, refusals, and what the official client's tests leave out."""

import json

import pytest

from emulator.http.message import Headers, Request
from emulator.kernel.identity import Principal
from emulator.services.mns.errors import MnsError
from emulator.services.mns.queues.model import DeadLetters, RateLimit
from emulator.wire.request import OperationRequest

SUB = {"TopicName": "t", "SubscriptionName": "s"}
RULE = {"ProductName": "oss", "RuleName": "r"}
ACL = {"EndpointType": "public"}
OWN = '{"Enabled":true,"DeadLetterTargetQueue":"q"}'
TOPICS = {"ResourceType": "topic", "ResourceId.1": "t"}
EMPTY = {"EventTypes": '["a"]', "MatchRules": "[]", "Endpoint": "{}"}


def body(answer, status=200):
    assert answer.status == status, answer.body
    return json.loads(answer.body)


async def test_the_envelope_says_success_twice(new_site):
    """Code is a number there."""
    async with new_site() as site:
        reply = body(site.act("CreateQueue", QueueName="q"))

        assert len(reply.pop("RequestId")) == 36
        assert reply == {
            "Code": 200, "Status": "Success", "Message": "operation success", "Success": True,
            "Data": {"Code": 200, "Message": "operation success", "Success": True},
        }  # fmt: skip


async def test_form_parameters_count_like_those_of_the_query(new_site):
    """Two operations put some of theirs there."""
    async with new_site() as site:
        headers = [("Host", "h"), ("Content-Type", "application/x-www-form-urlencoded")]
        target = "/?Action=CreateTopic&Version=2022-01-19&Format=JSON&TopicType=fifo"
        context = OperationRequest(Request("POST", target, Headers(headers), b"TopicName=t&EnableLogging=true"), 0)
        context.region, context.principal = site.tenant.region, Principal(site.tenant.account, "key", "arn")
        site.open_front.handle(context)

        settings = site.service.topics.view(site.tenant, "t").topic.settings
        assert (settings.fifo, settings.logging_enabled) == (True, True)


@pytest.mark.parametrize(
    ("action", "parameters", "status", "code"),
    [
        ("CreateQueue", {}, 400, "MissingParameter"),
        ("CreateQueue", {"QueueName": "q", "DelaySeconds": "soon"}, 400, "InvalidParameter"),
        ("CreateQueue", {"QueueName": "q", "EnableLogging": "maybe"}, 400, "InvalidParameter"),
        ("CreateQueue", {"QueueName": "q", "DlqPolicy": "{"}, 400, "InvalidParameter"),
        ("CreateQueue", {"QueueName": "q", "DlqPolicy": "[]"}, 400, "InvalidParameter"),
        ("CreateQueue", {"QueueName": "q", "DlqPolicy": '{"Enabled":"x"}'}, 400, "InvalidParameter"),
        ("CreateQueue", {"QueueName": "q", "DlqPolicy": '{"DeadLetterTargetQueue":1}'}, 400, "InvalidParameter"),
        ("CreateQueue", {"QueueName": "q", "DlqPolicy": '{"MaxReceiveCount":true}'}, 400, "InvalidParameter"),
        ("CreateQueue", {"QueueName": "q", "Tag.1.Value": "v"}, 400, "InvalidParameter"),
        ("CreateQueue", {"QueueName": "q", "QueueType": "heap"}, 400, "InvalidParameter"),
        ("CreateQueue", {"QueueName": "a_b"}, 400, "InvalidQueueName"),
        ("SetQueueAttributes", {"QueueName": "q"}, 404, "QueueNotExist"),
        ("GetQueueAttributes", {"QueueName": "q"}, 404, "QueueNotExist"),
        ("ListQueue", {"PageNum": "first"}, 400, "InvalidParameter"),
        ("ListQueue", {"QueueType": "heap"}, 400, "InvalidParameter"),
        ("SetAccountAttributes", {"LogEnabled": "maybe"}, 400, "InvalidParameter"),
        ("SetTopicAttributes", {"TopicName": "x"}, 404, "TopicNotExist"),
        ("Subscribe", {"TopicName": "x", "SubscriptionName": "s"}, 404, "TopicNotExist"),
        ("Subscribe", SUB, 400, "MissingParameter"),
        ("Subscribe", SUB | {"PushType": "fax", "Endpoint": "1"}, 400, "InvalidParameter"),
        ("Subscribe", SUB | {"PushType": "http", "Endpoint": "push:a"}, 400, "EndpointInvalid"),
        ("Subscribe", SUB | {"PushType": "http", "Endpoint": "q"}, 400, "EndpointInvalid"),
        ("Subscribe", SUB | {"PushType": "queue", "Endpoint": "q", "DlqPolicy": OWN}, 400, "InvalidArgument"),
        ("Subscribe", SUB | {"PushType": "queue", "Endpoint": "q", "DmAttributes": "x"}, 400, "InvalidParameter"),
        ("SetSubscriptionAttributes", SUB, 404, "SubscriptionNotExist"),
        ("ListSubscriptionByTopic", {}, 400, "MissingParameter"),
        ("GetEndpointAttribute", {"EndpointType": "vpc"}, 400, "InvalidParameter"),
        ("AuthorizeEndpointAcl", ACL | {"AclStrategy": "deny", "CidrList": "::/0"}, 400, "InvalidParameter"),
        ("AuthorizeEndpointAcl", ACL | {"AclStrategy": "allow", "CidrList": "x"}, 400, "InvalidParameter"),
        ("CreateEventRule", RULE | {"EventTypes": '["a"]'}, 400, "MissingParameter"),
        ("CreateEventRule", RULE | {"EventTypes": '["a"]', "MatchRules": "[]"}, 400, "MissingParameter"),
        ("CreateEventRule", RULE | {"EventTypes": "[1]", "MatchRules": "[]"}, 400, "InvalidParameter"),
        ("CreateEventRule", RULE | {"EventTypes": '["a"]', "MatchRules": "[1]"}, 400, "InvalidParameter"),
        ("CreateEventRule", RULE | EMPTY, 400, "InvalidParameter"),
        ("GetEventRule", RULE, 404, "EventRuleNotExist"),
        ("TagResources", TOPICS, 400, "MissingParameter"),
        ("TagResources", {"ResourceType": "topic", "Tag.1.Key": "k"}, 400, "MissingParameter"),
        ("TagResources", TOPICS | {"ResourceType": "flow", "Tag.1.Key": "k"}, 400, "InvalidParameter"),
        ("UntagResources", TOPICS, 400, "MissingParameter"),
        ("UntagResources", {"ResourceType": "queue", "ResourceId.1": "q", "TagKey.1": "k"}, 404, "QueueNotExist"),
        ("DropEverything", {}, 404, "InvalidAction.NotFound"),
    ],
)  # fmt: skip
async def test_refusals(new_site, action, parameters, status, code):
    """With the four members every client reads."""
    async with new_site() as site:
        site.topic()
        reply = body(site.act(action, **parameters), status)

        assert reply["Code"] == code
        assert reply.keys() >= {"RequestId", "HostId", "Message"}


async def test_policies_may_be_written_in_any_case_and_type(new_site):
    """Booleans as text, numbers as text."""
    async with new_site() as site:
        policy = '{"Enabled":"True","DeadLetterTargetQueue":"dead","MaxReceiveCount":"7"}'
        site.act("CreateQueue", QueueName="q", DlqPolicy=policy, TenantRateLimitPolicy='{"Enabled":false}')
        data = body(site.act("GetQueueAttributes", QueueName="q"))["Data"]

        assert data["DlqPolicy"] == {"Enabled": True, "DeadLetterTargetQueue": "dead", "MaxReceiveCount": "7"}
        assert data["TenantRateLimitPolicy"] == {"Enabled": False}


async def test_a_longer_retention_of_a_queue_with_much_that_has_expired(new_site):
    """It is answered once that has left, portion by portion."""
    async with new_site() as site:
        site.queue(retention_s=60)
        for _ in range(450):
            site.service.send(site.tenant, "q", "old")
        site.clock.move_to(site.clock.now() + 60_000)  # no timer has run yet

        body(await site.act("SetQueueAttributes", QueueName="q", MessageRetentionPeriod="90"))
        data = body(site.act("GetQueueAttributes", QueueName="q"))["Data"]
        assert (data["MessageRetentionPeriod"], data["ActiveMessages"]) == (90, 0)


async def test_a_policy_that_is_off_shows_no_number_that_nobody_set(new_site):
    """Nor is 0 one; what is set stays, and a policy that is on has the default."""
    async with new_site() as site:

        def shown(policy):
            body(site.act("SetQueueAttributes", QueueName="q", DlqPolicy=policy))
            return body(site.act("GetQueueAttributes", QueueName="q"))["Data"]["DlqPolicy"].get("MaxReceiveCount")

        site.act("CreateQueue", QueueName="q")

        assert shown('{"Enabled":false}') is None
        assert shown('{"Enabled":false,"MaxReceiveCount":0}') is None
        assert shown('{"Enabled":false,"MaxReceiveCount":4}') == "4"
        assert shown('{"Enabled":true,"DeadLetterTargetQueue":"dead"}') == "16"


async def test_a_queue_for_smaller_messages_can_be_subscribed_here(new_site):
    """Not through the XML API."""
    async with new_site() as site:
        site.act("CreateQueue", QueueName="small", MaximumMessageSize="1024")
        site.topic()
        body(site.act("Subscribe", TopicName="t", SubscriptionName="s", PushType="queue", Endpoint="small"))

        with pytest.raises(MnsError) as refused:
            site.subscribe("acs:mns:r:1:queues/small", name="other")
        assert refused.value.code == "EndpointInvalid"


async def test_lists_have_the_addresses_that_the_cloud_would_give(new_site):
    """Of queues and subscriptions; an answer about one of them has none."""
    async with new_site() as site:
        site.act("CreateQueue", QueueName="q")
        site.topic()
        site.act("Subscribe", TopicName="t", SubscriptionName="s", PushType="queue", Endpoint="q")
        (queue,) = body(site.act("ListQueue"))["Data"]["PageData"]
        (subscription,) = body(site.act("ListSubscriptionByTopic", TopicName="t"))["Data"]["PageData"]
        alone = body(site.act("GetQueueAttributes", QueueName="q"))["Data"]

        host = f"http://{site.tenant.account}.mns.{site.tenant.region}"
        assert queue["QueueUrl"] == f"{host}.aliyuncs.com/queues/q"
        assert queue["QueueInternalUrl"] == f"{host}-internal.aliyuncs.com/queues/q"
        assert subscription["SubscriptionURL"] == f"{host}.aliyuncs.com/topics/t/subscriptions/s"
        assert not {"QueueUrl", "QueueInternalUrl"} & alone.keys()


async def test_changing_a_part_of_the_encryption_keeps_the_rest(new_site):
    """For queues and topics."""
    async with new_site() as site:
        for kind in ("Queue", "Topic"):
            name = {f"{kind}Name": "x"}
            site.act(f"Create{kind}", EnableSSE="true", SseType="KMS", KmsKeyId="1", **name)
            site.act(f"Set{kind}Attributes", KmsKeyId="2", **name)
            data = body(site.act(f"Get{kind}Attributes", **name))["Data"]

            assert (data["EnableSSE"], data["SseType"], data["KmsKeyId"]) == (True, "KMS", "2")


@pytest.mark.parametrize(
    ("number", "size", "expected"),
    [("", "", (1, 10, 10)), ("2", "", (2, 10, 2)), ("0", "1", (1, 10, 10)), ("9", "99", (9, 50, 0))],
)
@pytest.mark.parametrize("kind", ["Queue", "Topic"])
async def test_pages_are_moved_into_range(new_site, kind, number, size, expected):
    """Never refused; a page behind the end is empty."""
    async with new_site() as site:
        for index in range(12):
            site.act(f"Create{kind}", **{f"{kind}Name": f"x{index:02d}"})
        data = body(site.act(f"List{kind}", PageNum=number, PageSize=size))["Data"]

        assert (data["PageNum"], data["PageSize"], len(data["PageData"])) == expected
        assert data["Total"] == 12
        assert ("Pages" in data) == ("Size" in data) == (kind == "Queue")


async def test_subscribing_again_is_compared_like_in_the_xml_api(new_site):
    """What only this API knows counts when it is named."""
    async with new_site() as site:
        site.topic()
        subscribe = {"TopicName": "t", "SubscriptionName": "s", "PushType": "queue", "Endpoint": "q"}
        policy = '{"Enabled":true,"DeadLetterTargetQueue":"dead"}'
        body(site.act("Subscribe", **subscribe, DlqPolicy=policy, StsRoleArn="acs:ram::1:role/r"))
        body(site.act("Subscribe", **subscribe))
        other = body(site.act("Subscribe", **subscribe, DlqPolicy='{"Enabled":false}'), 409)

        assert other["Code"] == "SubscriptionAlreadyExist"


async def test_changes_of_a_subscription_are_kept(new_site):
    """Each of them, next to what was there."""
    async with new_site() as site:
        site.topic()
        names = {"TopicName": "t", "SubscriptionName": "s"}
        subscribe = {**names, "PushType": "email", "Endpoint": "a@example.com"}
        site.act("Subscribe", **subscribe, DmAttributes='{"AccountName":"me","Subject":"Hi"}')
        site.act(
            "SetSubscriptionAttributes",
            **names,
            StsRoleArn="acs:ram::1:role/r",
            TenantRateLimitPolicy='{"Enabled":true,"MaxReceivesPerSecond":3}',
            DlqPolicy='{"Enabled":true,"DeadLetterTargetQueue":"dead"}',
        )
        site.publish()

        settings = site.service.subscriptions.get(site.tenant, "t", "s").settings
        assert settings.extras["StsRoleArn"] == "acs:ram::1:role/r"
        assert settings.rate_limit == RateLimit(enabled=True, max_receives_per_second=3)
        assert settings.dead_letters == DeadLetters(enabled=True, target="dead")
        assert site.service.topic_store.outbox(site.tenant, 100)[0].details == {"AccountName": "me", "Subject": "Hi"}


async def test_a_rule_that_says_something_else_is_a_conflict(new_site):
    """The same again is none."""
    async with new_site() as site:
        rule = {"ProductName": "oss", "RuleName": "r", "EventTypes": '["a"]', "MatchRules": "[]"}
        endpoint = {"Endpoint": '{"EndpointType":"queue","EndpointValue":"q"}'}
        body(site.act("CreateEventRule", **rule, **endpoint))
        body(site.act("CreateEventRule", **rule, **endpoint))
        other = body(site.act("CreateEventRule", **rule | {"EventTypes": '["b"]'}, **endpoint), 409)

        assert other["Code"] == "EventRuleAlreadyExist"


async def test_rules_are_found_by_product_name_and_subscriber(new_site):
    """The older list of endpoints serves as subscribers; the older paging has its members."""
    async with new_site() as site:
        endpoint = {"EndpointType": "http", "EndpointValue": "http://127.0.0.1:1/"}
        match = '[[{"Name":"bucket/a.txt"}]]'
        rule = {"ProductName": "oss", "EventTypes": '["a"]', "MatchRules": match, "Endpoints": json.dumps([endpoint])}
        for name in ("one", "two"):
            body(site.act("CreateEventRule", RuleName=name, DeliveryMode="DIRECT", **rule))

        def listed(**filters):
            data = body(site.act("ListEventRules", **filters))["Data"]
            assert (data["NextToken"], data["MaxResults"]) == ("", 10)
            return [item["RuleName"] for item in data["PageData"]]

        assert listed() == listed(ProductName="oss", ResourceName="bucket") == ["one", "two"]
        assert listed(RuleName="tw") == ["two"]
        assert listed(Subscription=json.dumps(endpoint)) == ["one", "two"]
        assert listed(Subscription='{"EndpointType":"http","EndpointValue":"x"}') == []
        assert listed(ProductName="ecs") == listed(TopicName="t") == []


async def test_a_rule_to_a_topic_that_has_gone_has_no_subscribers(new_site):
    """Rules outlive topics."""
    async with new_site() as site:
        endpoint = '{"EndpointType":"topic","EndpointValue":"gone"}'
        names = {"ProductName": "oss", "RuleName": "r"}
        body(site.act("CreateEventRule", **names, EventTypes='["a"]', MatchRules="[]", Endpoint=endpoint))
        data = body(site.act("GetEventRule", **names))["Data"]

        assert (data["TopicName"], data["Subscriptions"]) == ("gone", [])


@pytest.mark.parametrize("kind", ["Queue", "Topic"])
async def test_lists_are_filtered_by_name_type_and_tags(new_site, kind):
    """All filters that are given have to agree; the type is a word in any case."""

    async with new_site() as site:
        site.act(
            f"Create{kind}", **{f"{kind}Name": "a1", f"{kind}Type": "FIFO", "Tag.1.Key": "team", "Tag.1.Value": "x"}
        )
        site.act(f"Create{kind}", **{f"{kind}Name": "a2"})

        def listed(**filters):
            data = body(site.act(f"List{kind}", **filters))["Data"]
            return {each[f"{kind}Name"]: each["Tags"] for each in data["PageData"]}

        assert listed() == {"a1": [{"TagKey": "team", "TagValue": "x"}], "a2": []}
        assert listed(**{f"{kind}Name": "a2"}).keys() == listed(**{f"{kind}Type": "normal"}).keys() == {"a2"}
        assert listed(**{f"{kind}Type": "fifo"}).keys() == {"a1"}
        assert listed(**{"Tag.1.Key": "team", "Tag.1.Value": "x"}).keys() == {"a1"}
        assert listed(**{"Tag.1.Key": "team", "Tag.1.Value": "y"}) == {}


@pytest.mark.parametrize("kind", ["Queue", "Topic"])
async def test_a_tag_is_found_as_a_whole_whatever_stands_in_it(new_site, kind):
    """Neither a part of a tag nor a text that looks like one in another tag's value is the tag."""
    odd = 'a", "b"], ["team", "x'
    async with new_site() as site:
        body(site.act(f"Create{kind}", **{f"{kind}Name": "odd", "Tag.1.Key": "note", "Tag.1.Value": odd}))
        both = {"Tag.1.Key": "first", "Tag.1.Value": "", "Tag.2.Key": "team", "Tag.2.Value": "\u8336\\"}
        body(site.act(f"Create{kind}", **{f"{kind}Name": "two"}, **both))

        def listed(key, value):
            data = body(site.act(f"List{kind}", **{"Tag.1.Key": key, "Tag.1.Value": value}))["Data"]
            return [each[f"{kind}Name"] for each in data["PageData"]]

        found = [listed("note", odd), listed("first", ""), listed("team", "\u8336\\")]
        not_found = [listed("team", "x"), listed("note", "a"), listed("eam", "\u8336\\"), listed("team", "\u8336")]

    assert found == [["odd"], ["two"], ["two"]]
    assert not_found == [[]] * 4


async def test_subscriptions_are_listed_by_name_and_endpoint(new_site):
    """The last part of an endpoint is enough; a list leaves the rate limit out."""

    async with new_site() as site:
        site.topic()
        limit = '{"Enabled":true,"MaxReceivesPerSecond":3}'
        for name, kind, endpoint in (("s1", "queue", "q"), ("s2", "http", "http://127.0.0.1:1/x")):
            site.act(
                "Subscribe", TopicName="t", SubscriptionName=name, PushType=kind, Endpoint=endpoint,
                TenantRateLimitPolicy=limit,
            )  # fmt: skip

        def listed(**filters):
            data = body(site.act("ListSubscriptionByTopic", TopicName="t", **filters))["Data"]
            assert all("TenantRateLimitPolicy" not in each for each in data["PageData"])
            return [each["SubscriptionName"] for each in data["PageData"]]

        one = body(site.act("GetSubscriptionAttributes", TopicName="t", SubscriptionName="s1"))["Data"]
        assert listed() == ["s1", "s2"]
        assert listed(SubscriptionName="s2") == listed(EndpointType="http") == listed(EndpointValue="x") == ["s2"]
        assert listed(EndpointType="queue", EndpointValue="q") == ["s1"]
        assert listed(EndpointType="queue", EndpointValue="x") == listed(EndpointType="fax") == []
        assert one["TenantRateLimitPolicy"] == {"Enabled": True, "MaxReceivesPerSecond": 3}


async def test_resources_end_with_a_deletion_that_may_be_repeated(new_site):
    """The answer is the same."""

    async with new_site() as site:
        site.topic()
        site.act("Subscribe", TopicName="t", SubscriptionName="s", PushType="queue", Endpoint="q")
        for _ in range(2):
            body(site.act("Unsubscribe", TopicName="t", SubscriptionName="s"))
            body(site.act("DeleteTopic", TopicName="t"))
            body(site.act("DeleteQueue", QueueName="q"))
            body(site.act("DeleteEventRule", **RULE))

        assert body(site.act("ListTopic"))["Data"]["Total"] == 0


@pytest.mark.parametrize("kind", ["queue", "topic"])
async def test_tags_are_set_and_removed_by_their_keys(new_site, kind):
    """A tag replaces the one with its key; the others stay."""
    async with new_site() as site:
        site.topic()
        resource = {"ResourceType": kind, "ResourceId.1": "t"}
        body(site.act("CreateQueue", QueueName="t"))

        body(site.act("TagResources", **resource, **{"Tag.1.Key": "a", "Tag.1.Value": "1", "Tag.2.Key": "b"}))
        body(site.act("TagResources", **resource, **{"Tag.1.Key": "a", "Tag.1.Value": "2", "Tag.2.Key": "c"}))
        body(site.act("UntagResources", **resource, **{"TagKey.1": "b", "TagKey.2": "missing"}))

        service = site.service
        view = (
            service.queues.view(site.tenant, "t").queue
            if kind == "queue"
            else service.topics.view(site.tenant, "t").topic
        )
        assert view.settings.tags == (("a", "2"), ("c", ""))


async def test_settings_of_the_account_change_one_by_one(new_site):
    """Message trace is the switch of the XML API."""

    async with new_site() as site:

        def settings():
            return body(site.act("GetAccountAttributes"))["Data"]

        assert settings() == {"LogEnabled": False, "LogStoreName": "", "MessageTraceEnabled": False, "ProjectName": ""}
        assert "Data" not in body(site.act("SetAccountAttributes", LogEnabled="True", LogStoreName="store"))
        body(site.act("SetAccountAttributes", MessageTraceEnabled="true", ProjectName="p"))
        assert settings() == {
            "LogEnabled": True, "LogStoreName": "store", "MessageTraceEnabled": True, "ProjectName": "p",
        }  # fmt: skip
        body(site.act("SetAccountAttributes", LogEnabled="false", ProjectName="p"))
        assert settings() == {
            "LogEnabled": False, "LogStoreName": "", "MessageTraceEnabled": True, "ProjectName": "",
        }  # fmt: skip
        assert site.service.queue_store.account(site.tenant).trace_enabled


async def test_the_access_list_of_the_public_endpoint_is_kept(new_site):
    """Each network once, as it was written the first time; nothing depends on them."""

    async with new_site() as site:

        def endpoint():
            data = body(site.act("GetEndpointAttribute", EndpointType="public"))["Data"]
            return data["EndpointEnabled"], [each["Cidr"] for each in data["CidrList"]]

        assert endpoint() == (True, [])
        body(site.act("DisableEndpoint", EndpointType="public"))
        body(site.act("AuthorizeEndpointAcl", **ACL, AclStrategy="allow", CidrList="10.0.0.1,192.168.1.5/24"))
        body(site.act("AuthorizeEndpointAcl", **ACL, AclStrategy="allow", CidrList="10.0.0.1/32"))
        assert endpoint() == (False, ["10.0.0.1", "192.168.1.5/24"])
        body(site.act("RevokeEndpointAcl", **ACL, AclStrategy="allow", CidrList="192.168.1.0/24"))
        body(site.act("EnableEndpoint", EndpointType="public"))
        assert endpoint() == (True, ["10.0.0.1"])


async def test_a_rule_to_a_topic_has_its_subscribers(new_site):
    """Those that the topic has when the rule is asked for."""

    async with new_site() as site:
        site.topic()
        endpoint = '{"EndpointType":"topic","EndpointValue":"t"}'
        body(site.act("CreateEventRule", **RULE, EventTypes='["a"]', MatchRules="[]", Endpoint=endpoint))
        body(site.act("Subscribe", TopicName="t", SubscriptionName="s", PushType="queue", Endpoint="q"))
        data = body(site.act("GetEventRule", **RULE))["Data"]

        (subscriber,) = data["Subscriptions"]
        assert (data["TopicName"], subscriber["EndpointType"]) == ("t", "queue")
        assert subscriber["EndpointValue"].endswith(":queues/q")


@pytest.mark.parametrize("total", [13, 40])
async def test_a_page_of_queues_or_topics_reads_what_is_on_it(new_site, monkeypatch, total):
    """However many there are; the numbers are of all that begin with the name."""
    async with new_site() as site:
        for number in range(total):
            site.act("CreateQueue", QueueName=f"q{number:02}")
            site.topic(f"t{number:02}")
        site.topic("other")
        viewed = []
        for resources in (site.service.queues, site.service.topics):
            view = resources._view
            monkeypatch.setattr(
                resources, "_view", lambda *given, view=view: (viewed.append(given[0]), view(*given))[1]
            )

        asked = []
        site.database._connection.set_trace_callback(asked.append)
        queues = body(site.act("ListQueue", QueueName="q", PageNum="2", PageSize="10"))["Data"]
        topics = body(site.act("ListTopic", TopicName="t", PageNum="2", PageSize="10"))["Data"]
        site.database._connection.set_trace_callback(None)

    names = range(10, min(20, total))
    assert [each["QueueName"] for each in queues["PageData"]] == [f"q{number:02}" for number in names]
    assert [each["TopicName"] for each in topics["PageData"]] == [f"t{number:02}" for number in names]
    assert (queues["Total"], queues["Pages"], topics["Total"]) == (total, -(-total // 10), total)
    assert len(viewed) == 2 * len(names)
    assert sum("mns_publications" in sql for sql in asked) == 1


@pytest.mark.parametrize("kind", ["Queue", "Topic"])
async def test_a_list_by_type_and_tags_views_what_is_on_its_page(new_site, monkeypatch, kind):
    """However many queues or topics there are: what is not asked for is left out by the database."""
    async with new_site() as site:
        for number in range(60):
            site.act(
                f"Create{kind}", **{f"{kind}Name": f"n{number:02}", f"{kind}Type": "fifo" if number % 2 else "normal"},
                **({"Tag.1.Key": "team", "Tag.1.Value": "tee \u8336"} if number % 3 == 0 else {}),
            )  # fmt: skip
        viewed = []
        resources = site.service.queues if kind == "Queue" else site.service.topics
        view = resources._view
        monkeypatch.setattr(resources, "_view", lambda *given: (viewed.append(given[0]), view(*given))[1])

        fifo = body(site.act(f"List{kind}", **{f"{kind}Name": "n", f"{kind}Type": "fifo", "PageNum": "2"}))["Data"]
        tag = {"Tag.1.Key": "team", "Tag.1.Value": "tee \u8336"}
        tagged = body(site.act(f"List{kind}", **{f"{kind}Type": "normal"}, **tag))["Data"]
        other = body(site.act(f"List{kind}", **tag | {"Tag.1.Value": "tee"}))["Data"]

    name = f"{kind}Name"
    assert [each[name] for each in fifo["PageData"]] == [f"n{number}" for number in range(21, 41, 2)]
    assert [each[name] for each in tagged["PageData"]] == [f"n{number:02}" for number in range(0, 60, 6)]
    assert (fifo["Total"], tagged["Total"], other["Total"], other["PageData"]) == (30, 10, 0, [])
    assert len(viewed) == 20
