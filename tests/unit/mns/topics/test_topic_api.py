"""Topics and subscriptions through the XML API."""

import pytest

from emulator.wire.xml import parse

SUBSCRIPTION = "/topics/t/subscriptions/s"


def topic_xml(**elements):
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in elements.items())
    return f'<Topic xmlns="http://mns.aliyuncs.com/doc/v1/">{inner}</Topic>'


def subscription_xml(endpoint="http://127.0.0.1:1/x", **elements):
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in elements.items())
    return f"<Subscription><Endpoint>{endpoint}</Endpoint>{inner}</Subscription>"


def names(element):
    return [child.name for child in element.children]


async def test_creating_a_topic_again_with_the_same_attributes_is_no_conflict(new_site):
    """201, then 204, both with the address; defaults are filled in."""
    async with new_site() as site:
        first = site.call("PUT", "/topics/t", topic_xml())
        again = site.call("PUT", "/topics/t", topic_xml(MaximumMessageSize=65536, LoggingEnabled="false"))
        empty = site.call("PUT", "/topics/t")

        assert (first.status, again.status, empty.status) == (201, 204, 204)
        assert {answer.header("location") for answer in (first, again, empty)} == {"http://127.0.0.1:8868/topics/t"}
        assert first.body == b""


@pytest.mark.parametrize(
    ("target", "body", "expected"),
    [
        ("/topics/t", topic_xml(MaximumMessageSize=2048), (409, "TopicAlreadyExist")),
        ("/topics/a_b", topic_xml(), (400, "TopicNameInvalid")),
        ("/topics/-a", topic_xml(), (400, "TopicNameInvalid")),
        ("/topics/" + "a" * 257, topic_xml(), (400, "TopicNameLengthError")),
        ("/topics/x", topic_xml(MaximumMessageSize=1023), (400, "InvalidArgument")),
        ("/topics/x", topic_xml(MaximumMessageSize=65537), (400, "InvalidArgument")),
        ("/topics/x", topic_xml(MaximumMessageSize="many"), (400, "InvalidArgument")),
        ("/topics/x", topic_xml(LoggingEnabled="maybe"), (400, "InvalidArgument")),
        ("/topics/x", "<Queue/>", (400, "InvalidArgument")),
        ("/topics/x", "<Topic", (400, "MalformedXML")),
    ],
)
async def test_topics_that_are_refused(new_site, target, body, expected):
    """And nothing is made."""
    async with new_site() as site:
        site.topic()
        before = site.service.topics.page(site.tenant).items

        assert site.error("PUT", target, body) == expected
        assert site.service.topics.page(site.tenant).items == before


async def test_attributes_are_flat_and_complete(new_site):
    """The Python client needs all seven, in one level."""
    async with new_site() as site:
        site.topic()
        root = site.xml("GET", "/topics/t")

        assert root.name == "Topic"
        assert {child.name: child.text for child in root.children} == {
            "TopicName": "t",
            "CreateTime": str(site.clock.now() // 1000),
            "LastModifyTime": str(site.clock.now() // 1000),
            "MaximumMessageSize": "65536",
            "MessageRetentionPeriod": "86400",
            "MessageCount": "0",
            "LoggingEnabled": "False",
        }


async def test_setting_attributes_changes_what_is_named(new_site):
    """And the instant of change."""
    async with new_site() as site:
        site.topic()
        await site.advance(10)
        answer = site.call("PUT", "/topics/t?metaoverride=true", topic_xml(LoggingEnabled="True"))
        root = site.xml("GET", "/topics/t")

        assert (answer.status, answer.body) == (204, b"")
        assert (root.text_of("LoggingEnabled"), root.text_of("MaximumMessageSize")) == ("True", "65536")
        assert int(root.text_of("LastModifyTime")) - int(root.text_of("CreateTime")) == 10


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("GET", "/topics/x", ""),
        ("PUT", "/topics/x?metaoverride=true", "<Topic"),
        ("POST", "/topics/x/messages", "<Message"),
        ("GET", "/topics/x/subscriptions", ""),
        ("GET", "/topics/x/subscriptions/s", ""),
        ("PUT", "/topics/x/subscriptions/s", "<Subscription"),
        ("PUT", "/topics/x/subscriptions/s?metaoverride=true", "<Subscription"),
    ],
)
async def test_a_missing_topic_is_complained_about_first(new_site, method, target, body):
    """Before the body is looked at."""
    async with new_site() as site:
        assert site.error(method, target, body) == (404, "TopicNotExist")


async def test_deleting_what_is_not_there_succeeds(new_site):
    """204, for topics and subscriptions, with or without their topic."""
    async with new_site() as site:
        targets = ["/topics/x", "/topics/x/subscriptions/s"]
        statuses = [site.call("DELETE", target).status for target in targets]
        site.topic()
        statuses.append(site.call("DELETE", SUBSCRIPTION).status)

        assert statuses == [204, 204, 204]


async def test_deleting_a_topic_ends_its_subscriptions(new_site):
    """A new topic of that name has none."""
    async with new_site() as site:
        site.topic()
        site.subscribe("http://127.0.0.1:1/")
        site.call("DELETE", "/topics/t")
        site.topic()

        assert names(site.xml("GET", "/topics/t/subscriptions")) == []


async def test_topics_are_listed_by_name_and_page(new_site):
    """Prefix, page size and marker; the marker is there only when there is more."""
    async with new_site() as site:
        for name in ("b", "a2", "a1", "a3"):
            site.topic(name)
        first = site.xml("GET", "/topics", x_mns_prefix="a", x_mns_ret_number="2")
        marker = first.text_of("NextMarker")
        second = site.xml("GET", "/topics", x_mns_prefix="a", x_mns_ret_number="2", x_mns_marker=marker)

        def listed(root):
            return [entry.text_of("TopicURL") for entry in root.all("Topic")]

        assert listed(first) == ["http://127.0.0.1:8868/topics/a1", "http://127.0.0.1:8868/topics/a2"]
        assert listed(second) == ["http://127.0.0.1:8868/topics/a3"]
        assert second.find("NextMarker") is None


async def test_a_list_with_attributes(new_site):
    """All of them, after the address, and no empty element."""
    async with new_site() as site:
        site.topic()
        site.subscribe("http://127.0.0.1:1/")
        (topic,) = site.xml("GET", "/topics", x_mns_with_meta="true").all("Topic")
        (entry,) = site.xml("GET", "/topics/t/subscriptions", x_mns_with_meta="true").all("Subscription")

        assert names(topic)[:2] == ["TopicURL", "TopicName"]
        assert names(entry) == [
            "SubscriptionURL", "TopicOwner", "TopicName", "Subscriber", "SubscriptionName", "Endpoint",
            "NotifyStrategy", "NotifyContentFormat", "CreateTime", "LastModifyTime",
        ]  # fmt: skip
        assert all(child.text for child in [*topic.children, *entry.children])


async def test_an_empty_list_is_an_empty_root(new_site):
    """With 200."""
    async with new_site() as site:
        answer = site.call("GET", "/topics")

        assert answer.status == 200
        assert parse(answer.body).children == []


@pytest.mark.parametrize("number", ["0", "1001", "x"])
@pytest.mark.parametrize("target", ["/topics", "/topics/t/subscriptions"])
async def test_a_page_size_out_of_range_is_refused(new_site, target, number):
    """1 to 1000."""
    async with new_site() as site:
        site.topic()

        assert site.error("GET", target, x_mns_ret_number=number) == (400, "InvalidArgument")


async def test_subscribing_again_with_the_same_attributes_is_no_conflict(new_site):
    """201, then 204, both with the address; defaults are filled in, a blank word names none."""
    async with new_site() as site:
        site.topic()
        first = site.call("PUT", SUBSCRIPTION, subscription_xml())
        again = site.call(
            "PUT", SUBSCRIPTION, subscription_xml(NotifyStrategy="BACKOFF_RETRY", NotifyContentFormat="XML")
        )
        blank = site.call("PUT", SUBSCRIPTION, subscription_xml(NotifyStrategy=" "))
        other = site.error("PUT", SUBSCRIPTION, subscription_xml(NotifyContentFormat="JSON"))

        assert (first.status, again.status, blank.status) == (201, 204, 204)
        assert first.header("location") == again.header("location") == f"http://127.0.0.1:8868{SUBSCRIPTION}"
        assert other == (409, "SubscriptionAlreadyExist")


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("a_b", subscription_xml(), (400, "SubscriptionNameInvalid")),
        ("a" * 256, subscription_xml(), (400, "SubscriptionNameLengthError")),
        ("s", subscription_xml("ftp://h/"), (400, "EndpointInvalid")),
        ("s", "<Subscription></Subscription>", (400, "InvalidArgument")),
        ("s", subscription_xml(FilterTag="a" * 17), (400, "InvalidArgument")),
        ("s", subscription_xml(NotifyStrategy="NEVER"), (400, "InvalidArgument")),
        ("s", subscription_xml(NotifyContentFormat="YAML"), (400, "InvalidArgument")),
        ("s", subscription_xml("acs:mns:a:b:queues/small"), (400, "EndpointInvalid")),
        ("s", "<Topic/>", (400, "InvalidArgument")),
        ("s", "", (400, "MalformedXML")),
    ],
)
async def test_subscriptions_that_are_refused(new_site, name, body, expected):
    """And nothing is made."""
    async with new_site() as site:
        site.topic()
        site.queue("small", maximum_message_size=1024)

        assert site.error("PUT", f"/topics/t/subscriptions/{name}", body) == expected
        assert site.service.subscriptions.all(site.tenant, "t") == []


async def test_a_topic_has_a_hundred_subscriptions_at_most(new_site):
    """One more is refused; making one of them again is not."""
    async with new_site() as site:
        site.topic()
        for number in range(100):
            site.subscribe("http://127.0.0.1:1/", name=f"s{number}")
        more = site.error("PUT", SUBSCRIPTION, subscription_xml())
        again = site.call(
            "PUT",
            "/topics/t/subscriptions/s7",
            subscription_xml("http://127.0.0.1:1/", NotifyContentFormat="SIMPLIFIED"),
        )

        assert more == (403, "SubscriptionNumExceededLimit")
        assert again.status == 204


async def test_attributes_of_a_subscription(new_site):
    """The filter is there only when there is one."""
    async with new_site() as site:
        site.topic()
        site.call("PUT", SUBSCRIPTION, subscription_xml("acs:mns:cn-x:1:queues/q", NotifyContentFormat="SIMPLIFIED"))
        before = site.xml("GET", SUBSCRIPTION)
        inner = "<NotifyStrategy>EXPONENTIAL_DECAY_RETRY</NotifyStrategy><FilterTag>red</FilterTag>"
        answer = site.call("PUT", f"{SUBSCRIPTION}?metaoverride=true", f"<Subscription>{inner}</Subscription>")
        after = site.xml("GET", SUBSCRIPTION)

        assert before.find("FilterTag") is None
        assert before.text_of("TopicOwner") == before.text_of("Subscriber") == "1234567890123456"
        assert before.text_of("Endpoint") == "acs:mns:cn-x:1:queues/q"
        assert answer.status == 204
        assert (after.text_of("NotifyStrategy"), after.text_of("FilterTag")) == ("EXPONENTIAL_DECAY_RETRY", "red")
        assert after.text_of("NotifyContentFormat") == "SIMPLIFIED"


@pytest.mark.parametrize("method", ["GET", "PUT"])
async def test_a_missing_subscription_is_named(new_site, method):
    """SubscriptionNotExist."""
    async with new_site() as site:
        site.topic()

        target = f"{SUBSCRIPTION}?metaoverride=true"
        assert site.error(method, target, "<Subscription/>") == (404, "SubscriptionNotExist")
