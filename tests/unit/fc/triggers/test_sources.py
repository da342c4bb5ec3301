"""Timers, objects, topics, host names and firing by hand, with a clock that jumps."""

import asyncio
import json
from base64 import b64decode

import pytest

from emulator.kernel.frozen import replace
from emulator.services.fc.errors import FcError
from emulator.services.fc.ports import TopicMissing
from emulator.services.fc.triggers import store
from emulator.services.fc.triggers.events import ObjectChange
from emulator.services.fc.triggers.timer_triggers import _AT_ONCE
from emulator.wire.dates import iso_seconds
from tests.waiting import until

V1 = "/services/shop/functions/order/triggers"


async def make(site, kind, config, name="t", **fields):
    body = {"triggerName": name, "triggerType": kind, "triggerConfig": config, **fields}
    return await site.v1("POST", V1, body)


async def settle(site, calls):
    """Wait until *calls* invocations have been made."""
    await until(lambda: len(site.instances.invocations) >= calls)
    await site.settle()


def events(site):
    return [json.loads(invocation.event) for invocation in site.instances.invocations]


async def test_interval_fires_at_its_beat_until_it_is_switched_off(site):
    """Each firing is an asynchronous call with the instant in its event."""
    await site.make_function()
    await make(site, "timer", {"cronExpression": "@every 1m", "payload": "tea"})

    await site.after(125000)
    await settle(site, 2)
    fired = events(site)
    await site.v1("PUT", f"{V1}/t", {"triggerConfig": {"cronExpression": "@every 1m", "enable": False}})
    await site.after(120000)

    assert [event["payload"] for event in fired] == ["tea", "tea"]
    assert fired[0]["triggerName"] == "t"
    assert fired[0]["triggerTime"] < fired[1]["triggerTime"]
    assert len(site.instances.invocations) == 2


async def test_cron_fires_at_the_instants_it_names(site):
    """A new schedule takes the old one's place at once; a deleted trigger fires no more."""
    await site.make_function()
    before = len(site.timers)
    await make(site, "timer", {"cronExpression": "0 * * * * *"})
    await until(lambda: len(site.timers) > before)  # the first cron expression loads its library in a thread

    await site.after(60000)
    await settle(site, 1)
    await site.v1("PUT", f"{V1}/t", {"triggerConfig": {"cronExpression": "30 * * * * *"}})
    await site.after(60000)
    await settle(site, 2)
    await site.v1("DELETE", f"{V1}/t")
    await site.after(120000)

    assert [event["triggerTime"][-4:] for event in events(site)] == [":00Z", ":30Z"]


async def test_timers_are_armed_anew_by_the_next_start(site_of, tmp_path):
    """What is stored is enough; an interval keeps its beat and missed instants stay missed."""

    first = site_of(tmp_path)
    await first.fc.start()
    await first.make_function()
    await make(first, "timer", {"cronExpression": "@every 1m"})
    made_at = first.clock.now()
    await first.fc.close()

    second = site_of(tmp_path, first.database)
    second.clock.move_to(made_at + 150_000)
    await second.fc.start()
    await second.after(35_000)
    await settle(second, 1)
    await second.fc.close()
    second.database.close()

    times = [event["triggerTime"] for event in events(second)]
    assert times == [iso_seconds(made_at + 180_000)]


async def test_clock_that_is_set_back_does_not_silence_an_interval(site):
    """The beat counts anew from the present."""
    await site.make_function()
    await make(site, "timer", {"cronExpression": "@every 1m"})
    before = site.clock.now()
    site.clock._now -= 86_400_000
    site.fc.sources.timer_triggers._clock_set_back(before)
    await asyncio.sleep(0)

    await site.after(61_000)
    await settle(site, 1)

    assert len(site.instances.invocations) == 1


async def test_times_are_counted_anew_some_in_each_turn_of_the_loop(site, monkeypatch):
    """When the clock is set back; a trigger that is removed meanwhile stays removed."""
    await site.make_function()
    number = 3 * _AT_ONCE
    for each in range(number):
        await make(site, "timer", {"cronExpression": "@every 1m"}, f"t{each:02}")
    timers, counted = site.fc.sources.timer_triggers, []
    arm = timers._arm
    monkeypatch.setattr(timers, "_arm", lambda *given: (counted.append(given[1].name), arm(*given))[1])

    timers._clock_set_back(site.clock.now())
    portions = []
    while not portions or portions[-1]:
        before = len(counted)
        await asyncio.sleep(0)
        portions.append(len(counted) - before)
        if len(portions) == 1:
            timers.removed(site.tenant, next(each for each, _ in timers.upcoming() if each.name == f"t{number - 1}"))

    assert max(portions) == _AT_ONCE
    assert counted == [f"t{each:02}" for each in range(number - 1)]


async def test_objects_fire_the_triggers_that_match(site):
    """Bucket, event and filter decide; the call is asynchronous."""
    await site.make_function()
    arn = "acs:oss:cn-hangzhou:123456789012:{}"
    config = {"events": ["oss:ObjectCreated:*"], "filter": {"Key": {"Prefix": "in/"}}}
    for name, bucket in (("a", "b"), ("other", "elsewhere")):
        made = await make(site, "oss", config, name, sourceArn=arn.format(bucket), invocationRole="acs:ram::1:role/r")
        assert made.status == 200, made.content
    change = {"bucket": "b", "size": 1, "etag": "E", "at": site.clock.now(), "request_id": "R", "metadata": {}}

    hit = site.fc.sources.object_changed(
        site.tenant, ObjectChange(event="ObjectCreated:PutObject", key="in/x", **change)
    )
    miss = site.fc.sources.object_changed(
        site.tenant, ObjectChange(event="ObjectCreated:PutObject", key="out/x", **change)
    )
    await site.database.committed()
    await settle(site, 1)

    assert (len(hit), miss) == (1, [])
    assert events(site)[0]["events"][0]["oss"]["object"]["key"] == "in/x"


@pytest.mark.parametrize("others", [1, 15])
async def test_an_object_looks_for_the_triggers_of_its_bucket(site, monkeypatch, others):
    """However many triggers other buckets have: their rows are passed over by the database."""
    await site.make_function()
    arn, role = "acs:oss:cn-hangzhou:123456789012:{}", "acs:ram::1:role/r"
    config = {"events": ["oss:ObjectCreated:*"], "filter": {"Key": {"Prefix": ""}}}
    for number in range(others):
        made = await make(site, "oss", config, f"t{number}", sourceArn=arn.format(f"x{number}"), invocationRole=role)
        assert made.status == 200, made.content
    await make(site, "oss", config, "own", sourceArn=arn.format("own"), invocationRole=role)
    change = ObjectChange(
        event="ObjectCreated:PutObject", key="k", bucket="own", size=1, etag="E", at=site.clock.now(), request_id="R",
        metadata={},
    )  # fmt: skip
    read, real = [], store._TRIGGERS.item
    monkeypatch.setattr(store._TRIGGERS, "item", lambda row: (read.append(real(row)), read[-1])[1])

    started = site.fc.sources.object_changed(site.tenant, change)

    assert len(started) == 1
    assert [trigger.name for trigger in read] == ["own"]


class Subscriptions:
    """Stands for the topics; remembers the subscriptions there are."""

    def __init__(self):
        self.there = {}
        self.missing = {"none"}

    def subscribe(self, tenant, topic, name, function_arn, **settings):
        if topic in self.missing:
            raise TopicMissing(topic)
        self.there[topic, name] = (function_arn, settings)

    def unsubscribe(self, tenant, topic, name):
        self.there.pop((topic, name), None)

    def exists(self, tenant, topic):
        return topic not in self.missing


async def test_a_bucket_has_ten_triggers_at_most(site):
    """The eleventh is refused, that of another bucket is not."""
    await site.make_function()
    config = {"events": ["oss:ObjectCreated:*"]}
    answers = []
    for name, bucket in [*((f"t{number}", "full") for number in range(11)), ("other", "b")]:
        arn = f"acs:oss:cn-hangzhou:123456789012:{bucket}"
        answers.append(await make(site, "oss", config, name, sourceArn=arn, invocationRole="acs:ram::1:role/r"))

    assert [answer.status for answer in answers] == [200] * 10 + [400, 200]
    assert answers[10].body["ErrorCode"] == "LimitExceeded"


async def test_topic_trigger_keeps_its_subscription_in_step(open_site):
    """It is made, changed and removed with the trigger; without the topic there is no trigger."""
    from emulator.services.fc.triggers.topic_triggers import TopicTriggers

    async with open_site() as site:
        topics = Subscriptions()
        site.fc.sources.triggers.watchers.append(TopicTriggers(site.fc.sources.store, topics))
        await site.make_function()
        arn = "acs:mns:cn-hangzhou:123456789012:/topics/{}"
        role = "acs:ram::1:role/r"

        refused = await make(site, "mns_topic", {}, sourceArn=arn.format("none"), invocationRole=role)
        await make(site, "mns_topic", {"FilterTag": "hot"}, sourceArn=arn.format("news"), invocationRole=role)
        ((function, settings),) = topics.there.values()
        await site.v1("PUT", f"{V1}/t", {"triggerConfig": {"notifyContentFormat": "JSON"}})
        ((_, changed),) = topics.there.values()
        await site.v1("DELETE", f"{V1}/t")

        assert refused.code == "InvalidArgument"
        assert function == "acs:fc:cn-hangzhou:123456789012:services/shop/functions/order"
        assert settings == {"filter_tag": "hot", "content_format": "STREAM", "strategy": "BACKOFF_RETRY"}
        assert changed["content_format"] == "JSON"
        assert topics.there == {}


SOURCE = {"eventSourceType": "MNS", "eventSourceParameters": {"sourceMNSParameters": {"QueueName": "orders"}}}
BUS = {"eventRuleFilterPattern": "{}", "eventSourceConfig": SOURCE}


@pytest.mark.parametrize(
    ("kind", "config", "more", "payload", "expected"),
    [
        ("timer", {"cronExpression": "@every 1h", "payload": "own", "enable": False}, {}, None, '"payload":"own"'),
        ("timer", {"cronExpression": "@every 1h", "payload": "own"}, {}, "other", '"payload":"other"'),
        ("mns_topic", {}, {"sourceArn": "acs:mns:r:1:/topics/t", "invocationRole": "r"}, "message", "message"),
        (
            "oss",
            {"events": ["oss:ObjectRemoved:*"], "filter": {"key": {"suffix": ".png"}}},
            {"sourceArn": "acs:oss:r:1:bucket", "invocationRole": "r"},
            None,
            '"ObjectRemoved:DeleteObject"',
        ),
        ("log", {"any": {"thing": 1}}, {"sourceArn": "acs:log:r:1:project/p", "invocationRole": "r"}, "raw", "raw"),
        ("eventbridge", BUS, {}, '{"id": 1}', r'"messageBody":"{\"id\": 1}"'),
        ("eventbridge", BUS | {"runOptions": {"mode": "event-streaming"}}, {}, "one", r'["{\"id\":'),
    ],
)
async def test_trigger_is_fired_by_hand(site, kind, config, more, payload, expected):
    """The function gets the event its source would bring; the result comes back."""
    await site.make_function()
    made = await make(site, kind, config, **more)
    assert made.status == 200, made.content

    fired = await site.admin.fire_trigger("shop/order", "t", payload, None)
    given = await site.admin.fire_trigger("shop/order", "t", None, b"\x00whole")

    assert expected in b64decode(fired["body"]).decode()
    assert (fired["status"], fired["error"]) == (200, None)
    assert b64decode(given["body"]) == b"\x00whole"
    with pytest.raises(FcError, match=r"^TriggerNotFound:"):
        await site.admin.fire_trigger("shop/order", "none", None, None)
    with pytest.raises(FcError):
        await site.admin.fire_trigger("shop/none", "t", None, None)


async def test_triggers_are_told_with_their_addresses(site):
    """A row for each; an HTTP trigger has its path and its name below localhost."""
    await site.make_function()
    await make(site, "http", {"authType": "anonymous", "methods": ["GET"]}, "web")

    (row,) = site.admin.triggers(0, 10)

    assert (row["function"], row["trigger"], row["type"], row["enabled"]) == ("shop/order", "web", "http", True)
    assert row["urls"][0] == "http://127.0.0.1:8868/2016-08-15/proxy/shop/order"
    assert row["urls"][1].endswith(".localhost:8868")


async def test_a_trigger_of_the_folder_waits_for_its_topic(open_site, tmp_path):
    """It is kept with the reason, bound in the transaction that makes the topic, and bound anew when made again."""
    from emulator.services.fc.triggers.topic_triggers import TopicTriggers

    folder = tmp_path / "functions" / "notify"
    folder.mkdir(parents=True)
    (folder / "index.py").write_text("def handler(event, context):\n    return event\n")
    arn = "acs:mns:cn-hangzhou:1:/topics/none"
    trigger = {"triggerName": "t", "triggerType": "mns_topic", "sourceArn": arn, "triggerConfig": {}}
    (folder / "function.yml").write_text(json.dumps({"triggers": [trigger]}))
    async with open_site() as site:
        topics = Subscriptions()
        sources = site.fc.sources
        sources._topic_triggers = TopicTriggers(sources.store, topics)
        sources.triggers.watchers.append(sources._topic_triggers)
        await site.fc.start(tmp_path / "functions")
        ((tenant, kept),) = sources.store.all()
        waits = sources.triggers.waits_for(tenant, kept)
        before = dict(topics.there)

        topics.missing.clear()
        sources.topic_made(tenant, "other")
        other = dict(topics.there)
        sources.topic_made(tenant, "none")

        assert waits == "the topic 'none' does not exist"
        assert before == other == {}
        assert [topic for topic, _ in topics.there] == ["none"]
        assert sources.triggers.waits_for(tenant, kept) == ""


SOURCE = {"sourceArn": "acs:oss:cn-hangzhou:1:pictures", "invocationRole": "acs:ram::1:role/r"}


async def test_an_object_trigger_waits_for_its_bucket(site):
    """Until it is made, and again when it is gone; other triggers wait for no bucket."""
    from emulator.services.fc.triggers.object_triggers import ObjectTriggers

    class Buckets:
        def __init__(self):
            self.there = set()

        def exists(self, tenant, bucket):
            return bucket in self.there

    buckets = Buckets()
    triggers = site.fc.sources.triggers
    triggers.watchers.append(ObjectTriggers(buckets))
    await site.make_function()
    await make(site, "oss", {"events": ["oss:ObjectCreated:*"]}, **SOURCE)
    await make(site, "timer", {"cronExpression": "@every 1m"}, "other")
    (tenant, trigger), (_, other) = sorted(site.fc.sources.store.all(), key=lambda each: each[1].kind)

    waits = [triggers.waits_for(tenant, trigger)]
    buckets.there.add("pictures")
    waits.append(triggers.waits_for(tenant, trigger))
    buckets.there.clear()
    waits.append(triggers.waits_for(tenant, trigger))

    assert waits == ["the bucket 'pictures' does not exist", "", "the bucket 'pictures' does not exist"]
    assert triggers.waits_for(tenant, other) == ""


CONFIGS = {
    "on": {"cronExpression": "@every 1m", "enable": True},
    "off": {"cronExpression": "@every 1m", "enable": False},
    "unsaid": {"cronExpression": "@every 1m"},
}


async def test_tables_say_which_triggers_are_on_as_the_triggers_do(site):
    """A start reads those alone."""
    await site.make_function()
    for name, config in CONFIGS.items():
        await make(site, "timer", config, name)
    store = site.fc.sources.store
    for name, config in (("old on", {"triggerEnable": True}), ("old off", {"triggerEnable": False}), ("none", {})):
        (_, some), *_ = store.of_kind("timer")
        store.put(site.tenant, replace(some, name=name, config=config))

    found = [trigger.name for _, trigger in store.enabled_of_kind("timer")]

    assert found == [trigger.name for _, trigger in store.of_kind("timer") if trigger.enabled]
    assert sorted(found) == ["none", "old on", "on", "unsaid"]


async def test_triggers_without_a_function_are_found_with_those_of_the_folder(site):
    """They are what an edit of the folder may have left behind."""
    await site.make_function()
    await make(site, "timer", CONFIGS["on"], "kept")
    store = site.fc.sources.store
    (kept,) = store.some(site.tenant, "shop", "order")
    store.put(site.tenant, replace(kept, name="of the folder", folder="/functions/order"))
    store.put(site.tenant, replace(kept, name="lost", function="gone"))

    assert sorted(trigger.name for trigger in store.loose(site.tenant)) == ["lost", "of the folder"]
