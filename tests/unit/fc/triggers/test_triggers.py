"""Triggers as resources, in the three APIs and in the functions folder."""

import asyncio
import json
import sys

import pytest

from emulator.kernel.frozen import replace
from emulator.services.fc import administration

HTTP = {"authType": "anonymous", "methods": ["GET", "post"]}
TIMER = {"cronExpression": "0 0 4 * * *", "payload": "tea"}
V1 = "/services/shop/functions/order/triggers"
V2 = "/2021-04-06/services/shop/functions/order/triggers"
V3 = "/functions/solo/triggers"


async def make_solo(site, pack):
    """Make the 3.0 function ``solo``."""
    body = {"functionName": "solo", "runtime": "python3.12", "handler": "index.handler", "code": pack()}
    assert (await site.v3("POST", "/functions", body)).status == 200


async def make_trigger(site, **fields):
    """Create a timer trigger with other fields on top."""
    body = {"triggerName": "t", "triggerType": "timer", "triggerConfig": TIMER, **fields}
    return await site.v1("POST", V1, {key: value for key, value in body.items() if value != "absent"})


async def test_trigger_is_created_got_updated_listed_and_deleted(site):
    """The five operations agree with each other; the ETag changes with an update."""
    await site.make_function()

    made = await site.v1(
        "POST", V1, {"triggerName": "t", "triggerType": "timer", "triggerConfig": TIMER, "qualifier": None}
    )
    got = await site.v1("GET", f"{V1}/t")
    changed = await site.v1(
        "PUT", f"{V1}/t", {"triggerConfig": {"CronExpression": "@every 4m", "Enable": False}, "description": "d"}
    )
    listed = await site.v1("GET", V1)
    gone = await site.v1("DELETE", f"{V1}/t")

    assert made.status == 200
    assert made.body["triggerConfig"] == {"cronExpression": "0 0 4 * * *", "payload": "tea", "enable": True}
    assert made.body["qualifier"] == "LATEST"
    assert made.body["triggerId"]
    assert got.body == made.body
    assert changed.body["triggerConfig"] == {"cronExpression": "@every 4m", "enable": False, "payload": ""}
    assert changed.headers["etag"] != made.headers["etag"] == got.headers["etag"]
    assert [row["triggerName"] for row in listed.body["triggers"]] == ["t"]
    assert gone.status == 204
    assert (await site.v1("GET", f"{V1}/t")).code == "TriggerNotFound"


async def test_configuration_is_an_object_in_the_first_api_and_text_in_the_later_ones(site, pack):
    """The same trigger reads differently through each API; both forms are taken."""
    await site.make_function()
    await make_solo(site, pack)
    body = {"triggerName": "h", "triggerType": "http", "triggerConfig": json.dumps(HTTP)}

    two = await site.ask("POST", V2, body)
    one = await site.v1("GET", f"{V1}/h")
    three = await site.v3("POST", V3, body)

    assert json.loads(two.body["triggerConfig"]) == {"authType": "anonymous", "methods": ["GET", "POST"]}
    assert one.body["triggerConfig"] == {"authType": "anonymous", "methods": ["GET", "POST"]}
    assert two.body["urlInternet"] == "http://127.0.0.1:8868/2016-08-15/proxy/shop/order"
    assert two.body["domainName"].startswith("order-shop-")
    assert two.body["domainName"].endswith(".cn-hangzhou.fcapp.run")
    assert json.loads(three.body["triggerConfig"])["methods"] == ["GET", "POST"]
    assert three.body["httpTrigger"]["urlInternet"] == "http://127.0.0.1:8868/2023-03-30/proxy/solo"
    assert three.body["targetArn"] == "acs:fc:cn-hangzhou:123456789012:functions/solo"


async def test_configuration_keeps_the_order_in_which_it_was_sent(site):
    """What was not said comes after it; Terraform compares the text."""
    await site.make_function()
    sent = {"filterTag": "t", "notifyStrategy": "BACKOFF_RETRY"}
    body = {
        "triggerName": "m", "triggerType": "mns_topic", "triggerConfig": sent,
        "sourceArn": "acs:mns:cn-hangzhou:123456789012:/topics/t", "invocationRole": "acs:ram::123456789012:role/r",
    }  # fmt: skip

    made = await site.v1("POST", V1, body)

    assert list(made.body["triggerConfig"].items()) == [*sent.items(), ("notifyContentFormat", "STREAM")]


STORED = [
    (
        "log",
        {
            "sourceConfig": {"logstore": "l"},
            "jobConfig": {"maxRetryTime": 1, "triggerInterval": 60},
            "logConfig": {"project": "p", "logstore": "l"},
            "functionParameter": {"Enable": "own", "LogStore": {"Retry": 1}},
            "enable": False,
        },
    ),
    ("cdn_events", {"eventName": "LogFileCreated", "notes": "n", "filter": {"domain": ["a.example"], "Other": ["b"]}}),
    ("rds", {"subscriptionObjects": ["db.t"], "retry": 1, "concurrency": 2, "eventFormat": "json", "Newer": 1}),
    (
        "eventbridge",
        {
            "triggerEnable": False,
            "asyncInvocationType": False,
            "eventRuleFilterPattern": "{}",
            "eventSinkConfig": {"deliveryOption": {"Mode": "event-streaming"}},
            "eventSourceConfig": {"eventSourceType": "Default", "eventSourceParameters": {"RegionId": "r"}},
        },
    ),
]


@pytest.mark.parametrize(("kind", "config"), STORED, ids=[kind for kind, _ in STORED])
async def test_capital_members_of_a_configuration_are_the_members_of_the_api(site, kind, config):
    """Also in an update; what the API has no name for, and what is the function's own, stays as it is written."""
    await site.make_function()
    capital = {name[0].upper() + name[1:]: value for name, value in config.items()}
    for name in ("sourceConfig", "jobConfig", "logConfig", "eventSourceConfig"):
        if name in config:
            capital[name[0].upper() + name[1:]] = {key[0].upper() + key[1:]: config[name][key] for key in config[name]}
    body = {"triggerName": "t", "triggerType": kind, "sourceArn": "acs:x:::y", "invocationRole": "r"}

    made = await site.v1("POST", V1, {**body, "triggerConfig": capital})
    changed = await site.v1("PUT", f"{V1}/t", {"triggerConfig": capital})

    assert (made.status, made.body["triggerConfig"]) == (200, config)
    assert changed.body["triggerConfig"] == config


async def test_a_trigger_of_the_newest_api_has_an_object_of_addresses(site, pack):
    """An empty one when its type has no address."""
    await make_solo(site, pack)
    body = {"triggerName": "t", "triggerType": "timer", "triggerConfig": json.dumps({"cronExpression": "@every 4m"})}

    made = await site.v3("POST", V3, body)

    assert made.body["httpTrigger"] == {}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"triggerName": "1st"}, "triggerName"),
        ({"triggerType": "carrier pigeon"}, "triggerType"),
        ({"triggerType": None}, "triggerType"),
        ({"triggerConfig": {"cronExpression": "every day"}}, "cronExpression"),
        ({"triggerConfig": {"cronExpression": "@every 1m", "payload": "x" * 131_073}}, "131072"),
        ({"triggerConfig": {}}, "cronExpression is required"),
        ({"triggerConfig": "{"}, "holds JSON"),
        ({"triggerConfig": [1]}, "must be an object"),
        ({"triggerType": "http", "triggerConfig": {"methods": []}}, "methods is required"),
        ({"triggerType": "http", "triggerConfig": {"methods": ["TRACE"]}}, "TRACE"),
        ({"triggerType": "http", "triggerConfig": {"methods": ["GET"], "authType": "x"}}, "authType"),
        ({"triggerType": "oss", "triggerConfig": {"events": ["oss:ObjectCreated:*"]}}, "sourceArn is required"),
        (
            {"triggerType": "oss", "triggerConfig": {"events": ["x"]}, "sourceArn": "acs:oss:cn:1:b"},
            "object event",
        ),
        ({"triggerType": "mns_topic", "triggerConfig": {}, "sourceArn": "acs:mns:r:1:/queues/q"}, "name a topic"),
        ({"triggerType": "mns_topic", "triggerConfig": {}, "sourceArn": "acs:mns:r:1:/topics/t"}, "invocationRole"),
        ({"triggerType": "mns_topic", "triggerConfig": {"FilterTag": "x" * 17}}, "filterTag"),
        ({"qualifier": 3}, "qualifier must be a string"),
    ],
)
async def test_bad_trigger_is_refused_by_name_of_the_field(site, fields, says):
    """What is wrong with a trigger is told; nothing is stored."""
    await site.make_function()

    answer = await make_trigger(site, **fields)

    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert says in answer.body["ErrorMessage"]
    assert (await site.v1("GET", V1)).body["triggers"] == []


async def test_trigger_needs_its_function_and_its_qualifier(site):
    """A service, function, version or alias that is not there is told as such."""
    await site.make_function()

    assert (await make_trigger(site, qualifier="7")).code == "VersionNotFound"
    assert (await make_trigger(site, qualifier="online")).code == "AliasNotFound"
    assert (await site.v1("GET", "/services/shop/functions/none/triggers")).code == "FunctionNotFound"
    assert (await site.v1("GET", "/services/none/functions/order/triggers/t")).code == "ServiceNotFound"


async def test_version_or_alias_has_one_http_trigger(site):
    """A second one for the same qualifier is refused, one for another qualifier is not."""
    await site.make_function()
    await site.v1("POST", "/services/shop/versions", {})
    http = {"triggerType": "http", "triggerConfig": HTTP}

    first = await make_trigger(site, triggerName="a", **http)
    second = await make_trigger(site, triggerName="b", **http)
    other = await make_trigger(site, triggerName="c", qualifier="1", **http)
    moved = await site.v1("PUT", f"{V1}/c", {"qualifier": "LATEST"})

    assert [first.status, second.status, other.status, moved.status] == [200, 409, 200, 409]
    assert second.code == "TriggerAlreadyExists"


async def test_function_with_triggers_is_not_deleted(site):
    """The refusal says that triggers hold it back; without them it goes."""
    await site.make_function()
    await make_trigger(site)

    held = await site.v1("DELETE", "/services/shop/functions/order")
    await site.v1("DELETE", f"{V1}/t")
    gone = await site.v1("DELETE", "/services/shop/functions/order")

    assert (held.status, held.code) == (409, "FunctionNotEmpty")
    assert held.body["ErrorMessage"] == "function 'order' has active triggers"
    assert gone.status == 204


async def test_update_goes_by_if_match(site):
    """A stale ETag changes nothing."""
    await site.make_function()
    made = await make_trigger(site)
    await site.v1("PUT", f"{V1}/t", {"description": "a"}, If_Match=made.headers["etag"])

    stale = await site.v1("PUT", f"{V1}/t", {"description": "b"}, If_Match=made.headers["etag"])

    assert (stale.status, stale.code) == (412, "PreconditionFailed")
    assert (await site.v1("GET", f"{V1}/t")).body["description"] == "a"


FOLDER = {
    "web/index.py": "def handler(event, context): return event",
    "web/function.yml": """
triggers:
  - {name: http, type: http, config: {authType: anonymous, methods: [GET]}}
  - {triggerName: tick, triggerType: timer, triggerConfig: {cronExpression: "@every 1m"}}
  - {name: bad, type: timer, config: {cronExpression: nonsense}}
  - {name: topic, type: mns_topic, sourceArn: "acs:mns:cn-hangzhou:1:/topics/t"}
""",
}


async def test_triggers_of_the_folder_follow_its_files(open_site, tmp_path, caplog):
    """Those that can be used are there, the others are warned of; the files own them, and their ids last."""
    root = tmp_path / "functions"
    for name, content in FOLDER.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)

    async with open_site(root) as site:
        listed = (await site.v3("GET", "/functions/web/triggers")).body["triggers"]
        refused = await site.v3("DELETE", "/functions/web/triggers/http")
        await site.fc.reset()
        again = (await site.v3("GET", "/functions/web/triggers")).body["triggers"]

        assert [row["triggerName"] for row in listed] == ["http", "tick", "topic"]
        assert refused.status == 400
        assert "function.yml" in refused.body["Message"] or "web" in refused.body["Message"]
        assert [row["triggerName"] for row in again] == ["http", "tick", "topic"]
        assert "nonsense" in caplog.text


async def test_mistakes_in_triggers_are_told_with_place_and_remedy(open_site, tmp_path):
    """Each names file and line; what is near a name that means nothing is offered; nothing else suffers."""
    file = tmp_path / "functions" / "web" / "function.yml"
    file.parent.mkdir(parents=True)
    (file.parent / "index.py").write_text("def handler(event, context): return event")
    file.write_text("""
timeout: 5
triggers:
  - {name: orders, type: mns_queue, queue: orders, coment: x}
  - name: tick
    type: timmer
  - {name: daily, type: timer, config: {cronExpression: "every day"}}
  - {name: web, type: http, config: {methods: [GET], authTyp: anonymous}}
  - {name: nowhere, type: mns_queue}
  - {name: list, type: [timer]}
  - {type: carrier-pigeon, name: bird}
  - {name: spelt, type: mns_queue, queue: my_orders}
  - {name: news, type: mns_topic, sourceArn: "acs:mns:::/topics/order_news"}
""")

    async with open_site(tmp_path / "functions") as site:
        listed = (await site.v3("GET", "/functions/web/triggers")).body["triggers"]
        problems = [problem.removeprefix(f"{file}:") for problem in site.fc.problems]

    assert [row["triggerName"] for row in listed] == ["orders", "web"]
    assert listed[0]["triggerType"] == "eventbridge"
    assert '"QueueName":"orders"' in listed[0]["triggerConfig"].replace(" ", "")
    assert problems[:6] == [
        "4:5: the trigger 'orders': the field 'coment' is not known and ignored",
        "5:5: the trigger 'tick' is left out: there is no type 'timmer'; did you mean timer?",
        "7:5: the trigger 'daily' is left out: triggerConfig.cronExpression 'every day' is invalid: "
        "a cron expression has six fields, seconds first; here are 2",
        "8:5: the trigger 'web': the field 'authTyp' is not known and ignored; did you mean authType?",
        "9:5: the trigger 'nowhere' is left out: "
        "queue is required for a trigger of type mns_queue: the name of the queue",
        "10:5: the trigger 'list' is left out: there is no type '['timer']'; did you mean timer?",
    ]
    assert problems[6].startswith(
        "11:5: the trigger 'bird' is left out: there is no type 'carrier-pigeon'; the types are "
    )
    assert "mns_queue, mns_topic" in problems[6]
    assert problems[7:] == [
        "12:5: the trigger 'spelt' is left out: queue 'my_orders' is invalid: "
        "a queue is named in letters, digits and '-'",
        "13:5: the trigger 'news' is left out: sourceArn 'acs:mns:::/topics/order_news' is invalid: "
        "it must name a topic, in letters, digits and '-'",
    ]


async def test_the_first_time_of_a_process_is_busy_until_it_is_counted(site, monkeypatch):
    """An advance right after the answer waits for it: the first cron expression loads its library beside the loop."""
    monkeypatch.delitem(sys.modules, "apscheduler.triggers.cron", raising=False)
    timers = site.fc.sources.timer_triggers
    await site.make_function()
    armed = asyncio.Event()
    stop = site.database.watchers.add(lambda: None if list(timers.counted()) else armed.set())

    await make_trigger(site)

    assert [trigger.name for trigger in timers.counted()] == ["t"]
    assert list(timers.upcoming()) == []
    await asyncio.wait_for(armed.wait(), 30)
    stop()
    assert [trigger.name for trigger, _ in timers.upcoming()] == ["t"]


async def test_a_first_time_that_was_not_counted_before_all_was_suspended_keeps_nobody_waiting(site, monkeypatch):
    """A restore can come right after the trigger was made; the clock can be moved afterwards."""
    await site.make_function()
    await make_trigger(site, triggerConfig={"cronExpression": "@every 1m"})
    timers = site.fc.sources.timer_triggers
    [(tenant, trigger)] = site.fc.sources.store.enabled_of_kind("timer")
    monkeypatch.delitem(sys.modules, "apscheduler.triggers.cron", raising=False)

    timers.changed(tenant, replace(trigger, config=TIMER))
    counted = len(list(timers.counted()))
    await site.fc.suspend()
    await site.fc.resume()

    assert (counted, list(timers.counted())) == (1, [])


async def test_a_page_of_triggers_costs_what_is_on_it(site, monkeypatch):
    """However many there are: neither a page of the console nor a function's own reads all of them."""
    await site.make_function()
    for number in range(30):
        await make_trigger(site, triggerName=f"t{number:02}")
    asked = []
    monkeypatch.setattr(
        site.fc.sources.triggers, "waits_for", lambda tenant, trigger: (asked.append(trigger.name), "")[1]
    )

    page = site.admin.triggers(5, 10)
    own = site.admin.triggers_of("shop", "order", 4)

    assert [row["trigger"] for row in page] == [f"t{number:02}" for number in range(5, 15)]
    assert [row["trigger"] for row, _ in own] == ["t00", "t01", "t02", "t03"]
    assert all(b"triggerTime" in event for _, event in own)
    assert len(asked) == 14
    assert site.admin.triggers_named("T1", 3) == [("shop/order", "t10"), ("shop/order", "t11"), ("shop/order", "t12")]


@pytest.mark.parametrize("number", [0, 1, 7])
async def test_all_triggers_come_some_at_a_time(site, monkeypatch, number):
    """In their order, each once, read in as many statements as there are pages, and one more."""
    monkeypatch.setattr(administration, "_AT_ONCE", 3)
    await site.make_function()
    for each in range(number):
        await make_trigger(site, triggerName=f"t{each}")
    asked = []
    site.database._connection.set_trace_callback(asked.append)

    pages = list(site.admin.every_trigger())

    site.database._connection.set_trace_callback(None)
    assert [row["trigger"] for page in pages for row in page] == [f"t{each}" for each in range(number)]
    assert max(map(len, pages), default=0) <= 3
    assert len(asked) == len(pages) + 1


async def test_triggers_that_do_nothing_are_found_without_those_that_work(site):
    """They are switched off, or what they wait for is not there; no more are read than are shown."""
    await site.make_function()
    await make_trigger(site, triggerName="works")
    for number in range(3):
        await make_trigger(site, triggerName=f"off{number}", triggerConfig={**TIMER, "enable": False})

    assert [row["trigger"] for row in site.admin.idle_triggers(2)] == ["off0", "off1"]
    assert len(site.admin.idle_triggers(9)) == 3


async def test_status_looks_only_at_triggers_that_may_wait(site, monkeypatch):
    """A timer works by itself, switched off or not: it is not read."""
    await site.make_function()
    await make_trigger(site, triggerConfig={**TIMER, "enable": False})
    asked = []
    monkeypatch.setattr(
        site.fc.sources.triggers, "waits_for", lambda tenant, trigger: (asked.append(trigger.name), "")[1]
    )

    assert site.admin.waiting_triggers() == []
    assert asked == []
