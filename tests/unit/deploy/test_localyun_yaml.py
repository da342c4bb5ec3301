"""Declared queues and topics: made once, changed when the file changes, refused with a line when they cannot be."""

import pytest

from emulator.config import ConfigError, load
from emulator.deploy.localyun_yaml import Declarations, check, root_of
from emulator.kernel.clock import VirtualClock
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import CountingIds
from emulator.kernel.timers import VirtualTimers
from emulator.services.mns.service import SCHEMA, MessageService
from emulator.services.mns.topics.model import ContentFormat, NotifyStrategy
from emulator.services.mns.topics.push import Pusher, PushPolicy
from emulator.storage.database import Database
from emulator.storage.migration import migrate

WORLD = Tenant(AccountId("1234567890123456"), Region("cn-hangzhou"))


class NoSigner:
    """Nothing is pushed in these tests."""

    def warm(self):
        pass


class Messaging:
    """Both services over one database, and the file they are declared in."""

    def __init__(self, folder):
        self.folder = folder
        self.clock = VirtualClock()
        self.timers = VirtualTimers(self.clock)
        self.database = Database(None)
        migrate(self.database, [SCHEMA])
        parts = (self.database, self.clock, CountingIds(), self.timers)
        pusher = Pusher(NoSigner(), self.clock, CountingIds(), PushPolicy(), certificate_url=str)
        self.service = MessageService(*parts, pusher=pusher)

    def declare(self, text):
        """Do what a start does with this file."""
        (self.folder / "localyun.yaml").write_text(text, encoding="utf-8")
        root = root_of(load({}, {}, self.folder).config)
        declarations = Declarations(root, WORLD)
        check(root.findings)
        declarations.apply(self.service)
        self.database.commit()
        self.timers.advance(1000)

    def queue(self, name):
        return self.service.queues.view(WORLD, name).queue

    def topic(self, name):
        return self.service.topics.view(WORLD, name).topic

    def subscription(self, topic, name):
        return self.service.subscriptions.get(WORLD, topic, name)

    async def close(self):
        await self.service.aclose()
        self.database.close()


@pytest.fixture
async def messaging(tmp_path):
    made = Messaging(tmp_path)
    yield made
    await made.close()


def test_declared_queue_has_the_attributes_of_the_file(messaging):
    """Attributes go by their names in the API; a name alone makes a queue with the defaults."""
    messaging.declare(
        "queues:\n"
        "  plain:\n"
        "  full:\n"
        "    DelaySeconds: 1\n"
        "    MaximumMessageSize: 2048\n"
        "    MessageRetentionPeriod: 3600\n"
        "    VisibilityTimeout: 45\n"
        "    PollingWaitSeconds: 5\n"
        "    LoggingEnabled: true\n"
        "    QueueType: fifo\n"
        "    DlqPolicy: {DeadLetterTargetQueue: plain, MaxReceiveCount: 3}\n"
    )

    assert messaging.queue("plain").settings.visibility_timeout_s == 30
    full = messaging.queue("full").settings
    assert (full.delay_s, full.maximum_message_size, full.retention_s) == (1, 2048, 3600)
    assert (full.visibility_timeout_s, full.polling_wait_s, full.logging_enabled, full.fifo) == (45, 5, True, True)
    assert (full.dead_letter.enabled, full.dead_letter.target, full.dead_letter.max_receives) == (True, "plain", 3)


def test_declared_topic_has_its_subscriptions(messaging):
    """queue:NAME is short for the endpoint of a queue here."""
    messaging.declare(
        "queues: {orders: }\n"
        "topics:\n"
        "  bare:\n"
        "  news:\n"
        "    MaximumMessageSize: 4096\n"
        "    LoggingEnabled: true\n"
        "    TopicType: fifo\n"
        "    subscriptions:\n"
        "      archive: {Endpoint: 'queue:orders', FilterTag: a, NotifyContentFormat: SIMPLIFIED}\n"
        "      web:\n"
        "        Endpoint: http://127.0.0.1:9/x\n"
        "        NotifyStrategy: EXPONENTIAL_DECAY_RETRY\n"
        "        DlqPolicy: {DeadLetterTargetQueue: orders}\n"
    )

    assert messaging.topic("bare").settings.maximum_message_size == 65536
    news = messaging.topic("news").settings
    assert (news.maximum_message_size, news.logging_enabled, news.fifo) == (4096, True, True)
    archive = messaging.subscription("news", "archive").settings
    assert archive.endpoint == "acs:mns:cn-hangzhou:1234567890123456:queues/orders"
    assert (archive.filter_tag, archive.content_format) == ("a", ContentFormat.SIMPLIFIED)
    web = messaging.subscription("news", "web").settings
    assert (web.strategy, web.dead_letters.enabled) == (NotifyStrategy.DECAY, True)


def test_declaring_again_changes_nothing(messaging):
    """A restart leaves ids and instants of change as they are."""
    text = (
        "queues: {q: {VisibilityTimeout: 45}}\n"
        "topics: {t: {LoggingEnabled: true, subscriptions: {s: {Endpoint: 'queue:q', FilterTag: a}}}}\n"
    )
    messaging.declare(text)
    before = (messaging.queue("q"), messaging.topic("t"), messaging.subscription("t", "s"))

    messaging.declare(text)

    assert (messaging.queue("q"), messaging.topic("t"), messaging.subscription("t", "s")) == before


def test_attribute_changed_in_the_file_is_applied(messaging):
    """The file wins at every start, for what it names."""
    messaging.declare(
        "queues: {q: {VisibilityTimeout: 45, DelaySeconds: 3}}\n"
        "topics: {t: {subscriptions: {s: {Endpoint: 'queue:q', FilterTag: a}}}}\n"
    )
    first = messaging.subscription("t", "s").subscription_id

    messaging.declare(
        "queues: {q: {VisibilityTimeout: 46}}\n"
        "topics: {t: {MaximumMessageSize: 2048, subscriptions: {s: {Endpoint: 'queue:q', FilterTag: b}}}}\n"
    )

    settings = messaging.queue("q").settings
    assert (settings.visibility_timeout_s, settings.delay_s) == (46, 3)
    assert messaging.topic("t").settings.maximum_message_size == 2048
    assert messaging.subscription("t", "s").settings.filter_tag == "b"
    assert messaging.subscription("t", "s").subscription_id == first


def test_new_endpoint_or_format_subscribes_anew(messaging):
    """The API cannot change these two, so the subscription is replaced."""
    messaging.declare("queues: {q: , p: }\ntopics: {t: {subscriptions: {s: {Endpoint: 'queue:q', FilterTag: a}}}}")
    first = messaging.subscription("t", "s").subscription_id

    messaging.declare("topics: {t: {subscriptions: {s: {Endpoint: 'queue:p', FilterTag: a}}}}")

    now = messaging.subscription("t", "s")
    assert now.settings.endpoint.endswith("queues/p")
    assert now.settings.filter_tag == "a"
    assert now.subscription_id != first


def test_a_list_names_resources_as_well(messaging):
    """By their names alone, or with attributes; as a map does."""
    messaging.declare("""
queues: [a, {name: b, DelaySeconds: 7}]
topics:
  - name: t
    subscriptions:
      - {name: s, Endpoint: "queue:a"}
""")

    assert (messaging.queue("a").settings.delay_s, messaging.queue("b").settings.delay_s) == (0, 7)
    assert messaging.topic("t").name == "t"
    assert messaging.subscription("t", "s").settings.endpoint.endswith("queues/a")


def test_resource_the_file_does_not_know_stays(messaging):
    """Taking a name out of the file deletes nothing."""
    messaging.declare("queues: {q: , p: }\ntopics: {t: }")

    messaging.declare("queues: {q: }")

    assert messaging.queue("p").name == "p"
    assert messaging.topic("t").name == "t"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("queues: 5", "localyun.yaml:1:1: queues: must have queue names below it"),
        ("queues:\n  - a\n  - a", "localyun.yaml:3:5: queues.1: a is given twice"),
        ("queues:\n  - a\n  - {DelaySeconds: 1}", "localyun.yaml:3:5: queues.1: must be a name, or a map with a name"),
        ("queues:\n  - [a]", "localyun.yaml:2:5: queues.0: must be a name, or a map with a name"),
        ("queues:\n  - a\n  - name: b\n    DelaySecs: 1", "localyun.yaml:4:5: queues.b.DelaySecs: there is no such"),
        ("queues:\n  - a b", "localyun.yaml:2:5: queues.a b: a name consists of letters"),
        (
            "queues: {a: 5}",
            "localyun.yaml:1:10: queues.a: must have attributes below it, each followed by ': ' and a value",
        ),
        ("queues:\n  'a b':", "localyun.yaml:2:3: queues.a b: a name consists of letters"),
        ("queues:\n  a:\n  a:", "localyun.yaml:3:3: queues.a is given twice"),
        (
            "queues:\n  a:\n    VisibilityTimout: 1",
            "localyun.yaml:3:5: queues.a.VisibilityTimout: there is no such attribute; did you mean VisibilityTimeout?",
        ),
        (
            "queues:\n  a:\n    DelaySeconds: 1\n    VisibilityTimeout: 0",
            "localyun.yaml:4:5: queues.a.VisibilityTimeout: The value of VisibilityTimeout should between 1 and 43200",
        ),
        (
            "queues: {a: {DelaySeconds: soon}}",
            "localyun.yaml:1:14: queues.a.DelaySeconds: must be a whole number from 0 to 604800",
        ),
        ("queues: {a: {DelaySeconds: 1.5}}", "localyun.yaml:1:14: queues.a.DelaySeconds: must be a whole number"),
        ("queues: {a: {DelaySeconds: }}", "localyun.yaml:1:14: queues.a.DelaySeconds: needs a value"),
        ("queues: {a: {QueueType: odd}}", "localyun.yaml:1:14: queues.a.QueueType: odd is not a value for"),
        ("queues: {a: {DlqPolicy: {Target: b}}}", "localyun.yaml:1:26: queues.a.DlqPolicy.Target: there is no such"),
        (
            "queues: {a: {DlqPolicy: {DeadLetterTargetQueue: a}}}",
            "localyun.yaml:1:14: queues.a.DlqPolicy: The value of",
        ),
        (
            "queues:\n  a: &d\n    DelaySeconds: 1\n  b:\n    <<: *d\n    VisibilityTimeout: 0",
            "localyun.yaml:6:5: queues.b.VisibilityTimeout:",
        ),
        ("queues:\n  a: {DelaySeconds: &d -1}\n  b: {DelaySeconds: *d}", "localyun.yaml:2:7: queues.a.DelaySeconds:"),
        ("topics: {t: {MaximumMessageSize: 5}}", "localyun.yaml:1:14: topics.t.MaximumMessageSize: The value of"),
        ("topics: {t: {LoggingEnabled: maybe}}", "localyun.yaml:1:14: topics.t.LoggingEnabled: maybe is not a value"),
        ("topics: {t: {subscriptions: {s: }}}", "localyun.yaml:1:30: topics.t.subscriptions.s: needs an Endpoint"),
        (
            "topics:\n  t:\n    subscriptions:\n      s:\n        Endpoint: nowhere",
            "localyun.yaml:5:9: topics.t.subscriptions.s.Endpoint: ",
        ),
        (
            "topics: {t: {subscriptions: {s: {Endpoint: 'queue:q', NotifyStrategy: never}}}}",
            "localyun.yaml:1:55: topics.t.subscriptions.s.NotifyStrategy: ",
        ),
        (
            "topics: {t: {subscriptions: {s: {Endpoint: 'queue:q', NotifyContentFormat: TOML}}}}",
            "localyun.yaml:1:55: topics.t.subscriptions.s.NotifyContentFormat: ",
        ),
        (
            "topics: {t: {subscriptions: {s: {Endpoint: 'queue:q', FilterTag: longer-than-sixteen}}}}",
            "localyun.yaml:1:30: topics.t.subscriptions.s: The value of FilterTag",
        ),
    ],
)
def test_mistake_is_told_with_file_and_line(messaging, text, message):
    """What cannot be made names its place."""
    with pytest.raises(ConfigError) as caught:
        messaging.declare(text)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("queues: {a: }", "queues: {a: {QueueType: fifo}}"),
        ("topics: {a: }", "topics: {a: {TopicType: fifo}}"),
    ],
    ids=["queue", "topic"],
)
def test_type_of_what_exists_cannot_be_changed(messaging, first, second):
    """Messages are in it already; the user has to decide."""
    messaging.declare(first)

    with pytest.raises(
        ConfigError, match=r"cannot be changed: start without these lines, delete the (queue|topic), and"
    ):
        messaging.declare(second)


def test_nothing_is_made_when_a_later_part_is_wrong(messaging):
    """The file is checked as a whole first."""
    with pytest.raises(ConfigError):
        messaging.declare("queues: {good: }\ntopics: {t: {LoggingEnabled: maybe}}")

    assert messaging.service.queues.names(WORLD).items == []
