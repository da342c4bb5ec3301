"""Limits on running calls, and the switch that disables a function."""

import asyncio

import pytest

from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.fc.capacity import admission
from emulator.services.fc.capacity.admission import Admission
from emulator.services.fc.capacity.model import Kind, Setting
from emulator.services.fc.model import FunctionRef
from emulator.storage.rows import Rows

CALL = "/services/shop/functions/order/invocations"
ON_DEMAND = "/services/shop.LATEST/functions/order/on-demand-config"


async def third(site, pack, **fields):
    body = {"functionName": "f", "runtime": "python3.10", "handler": "index.handler", "code": pack(), **fields}
    assert (await site.v3("POST", "/functions", body)).status == 200


def calling(site, path, count):
    """Make *count* calls that do not end."""
    return [asyncio.ensure_future(site.ask("POST", path, b"")) for _ in range(count)]


@pytest.mark.parametrize(("maximum", "concurrency"), [(1, 1), (2, 1), (1, 3)], ids=str)
async def test_calls_over_the_maximum_of_instances_are_throttled(site, maximum, concurrency):
    """As many instances as allowed serve as many calls as they take; the next is refused until one has ended."""
    await site.make_function(instanceConcurrency=concurrency)
    put = await site.v1("PUT", ON_DEMAND, {"maximumInstanceCount": maximum})
    held = site.hold_calls()

    running = calling(site, "/2016-08-15" + CALL, maximum * concurrency)
    await site.settle()
    refused = await site.v1("POST", CALL, b"")
    held.open.set()
    answers = await asyncio.gather(*running)
    later = await site.v1("POST", CALL, b"")

    assert put.body == {"resource": "services/shop.LATEST/functions/order", "maximumInstanceCount": maximum}
    assert (refused.status, refused.code) == (429, "ResourceExhausted")
    assert {answer.status for answer in answers} == {200}
    assert later.status == 200


async def test_limit_is_one_of_the_qualifier_only(site):
    """Calls through an alias are not counted for LATEST."""
    await site.make_function()
    await site.v1("POST", "/services/shop/versions", {})
    await site.v1("POST", "/services/shop/aliases", {"aliasName": "live", "versionId": "1"})
    await site.v1("PUT", ON_DEMAND, {"maximumInstanceCount": 1})
    held = site.hold_calls()

    running = calling(site, "/2016-08-15/services/shop.live/functions/order/invocations", 3)
    running += calling(site, "/2016-08-15" + CALL, 1)
    await site.settle()
    held.open.set()

    assert {answer.status for answer in await asyncio.gather(*running)} == {200}


async def test_no_instance_on_demand_means_only_those_kept_ready(site):
    """Without any the platform says that it has none."""
    await site.make_function()
    await site.v1("PUT", ON_DEMAND, {"maximumInstanceCount": 0})

    none = await site.v1("POST", CALL, b"")
    await site.v1("PUT", "/services/shop.LATEST/functions/order/provision-config", {"target": 1})
    await site.settle()
    ready = await site.v1("POST", CALL, b"")

    assert (none.status, none.code) == (503, "ResourceThrottled")
    assert ready.status == 200


async def test_reserved_concurrency_is_one_of_the_whole_function(site, pack):
    """Whatever the qualifier; instances that are kept ready are part of it."""
    await third(site, pack)
    await site.v3("POST", "/functions/f/versions", {})
    put = await site.v3("PUT", "/functions/f/concurrency", {"reservedConcurrency": 1})
    await site.v3("PUT", "/functions/f/provision-config", {"defaultTarget": 1})
    await site.settle()
    held = site.hold_calls()

    (running,) = calling(site, "/2023-03-30/functions/f/invocations?qualifier=1", 1)
    await site.settle()
    refused = await site.v3("POST", "/functions/f/invocations", b"")
    held.open.set()
    await running

    assert put.body == {"functionArn": "acs:fc:cn-hangzhou:123456789012:functions/f", "reservedConcurrency": 1}
    assert (refused.status, refused.code) == (429, "ResourceExhausted")


async def test_scaling_configuration_can_switch_off_instances_on_demand(site, pack):
    """Then only the kept ones serve."""
    await third(site, pack)
    await site.v3("PUT", "/functions/f/scaling-config", {"minInstances": 0, "enableOnDemandScaling": False})

    refused = await site.v3("POST", "/functions/f/invocations", b"")

    assert (refused.status, refused.code) == (503, "ResourceThrottled")


async def test_limits_are_shown_listed_and_removed(site, pack):
    """Lists of 2.0 go by the resource's text; the newer dialect lists functions."""
    await site.make_function()
    await site.make_function(name="a")
    await third(site, pack)
    await site.v1("PUT", ON_DEMAND, {"maximumInstanceCount": 3})
    await site.v1("PUT", "/services/shop.LATEST/functions/a/on-demand-config", {"maximumInstanceCount": 4})
    await site.v3("PUT", "/functions/f/concurrency", {"reservedConcurrency": 5})

    first = await site.v1("GET", "/on-demand-configs?limit=1&prefix=services/shop")
    rest = await site.v1("GET", f"/on-demand-configs?nextToken={first.body['nextToken']}")
    start = await site.v1("GET", "/on-demand-configs?startKey=services/shop.LATEST/functions/b")
    reserved = await site.v3("GET", "/concurrency-configs?functionName=f")
    other = await site.v3("GET", "/concurrency-configs?functionName=g")
    deleted = await site.v1("DELETE", ON_DEMAND)
    gone = [await site.v1("GET", ON_DEMAND), await site.v1("DELETE", ON_DEMAND)]
    unlimited = await site.v3("DELETE", "/functions/f/concurrency")
    missing = await site.v3("GET", "/functions/f/concurrency")

    numbers = [row["maximumInstanceCount"] for row in first.body["configs"] + rest.body["configs"]]
    assert numbers == [4, 3]
    assert [row["maximumInstanceCount"] for row in start.body["configs"]] == [3]
    assert [row["reservedConcurrency"] for row in reserved.body["configs"]] == [5]
    assert other.body["configs"] == []
    assert (deleted.status, unlimited.status) == (204, 204)
    assert {(answer.status, answer.code) for answer in [*gone, missing]} == {(404, "OnDemandConfigNotFound")}


async def test_change_of_a_limit_can_be_made_conditional(site):
    """If-Match names the state it was seen in."""
    await site.make_function()
    first = await site.v1("PUT", ON_DEMAND, {"maximumInstanceCount": 3})
    etag = first.headers["etag"]

    second = await site.v1("PUT", ON_DEMAND, {"maximumInstanceCount": 4}, if_match=etag)
    stale = [
        await site.v1("PUT", ON_DEMAND, {"maximumInstanceCount": 5}, if_match=etag),
        await site.v1("DELETE", ON_DEMAND, if_match=etag),
    ]

    assert second.headers["etag"] != etag
    assert {(answer.status, answer.code) for answer in stale} == {(412, "PreconditionFailed")}
    assert (await site.v1("GET", ON_DEMAND)).body["maximumInstanceCount"] == 4


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (ON_DEMAND, {}),
        (ON_DEMAND, {"maximumInstanceCount": -1}),
        (ON_DEMAND, {"maximumInstanceCount": "1"}),
        ("/services/shop.LATEST/functions/order/provision-config", {}),
        ("/services/shop.LATEST/functions/order/provision-config", {"target": 10_001}),
    ],
    ids=str,
)
async def test_bad_limits_are_refused(site, path, body):
    """And nothing is limited."""
    await site.make_function()

    refused = await site.v1("PUT", path, body)

    assert (refused.status, refused.code) == (400, "InvalidArgument")
    assert (await site.v1("GET", path)).status == 404


async def test_disabled_function_refuses_calls_until_it_is_enabled(site, pack):
    """The reason is shown; queued calls run after that."""
    await third(site, pack)
    site.answer_calls(b"{}", "UnhandledInvocationError")
    await site.v3("POST", "/functions/f/invocations", b"", x_fc_invocation_type="Async")
    await site.settle()
    site.instances.answer = None

    disabled = await site.v3("POST", "/functions/f/invoke/disable", {"reason": "repairs"})
    shown = (await site.v3("GET", "/functions/f")).body["invocationRestriction"]
    refused = [
        await site.v3("POST", "/functions/f/invocations", b""),
        await site.v3("POST", "/functions/f/invocations", b"", x_fc_invocation_type="Async"),
    ]
    await site.after(1000)
    held_back = len(site.instances.invocations)
    enabled = await site.v3("POST", "/functions/f/invoke/enable")
    await site.after(10_000)
    answer = await site.v3("POST", "/functions/f/invocations", b"x")

    assert (disabled.body, enabled.body) == ({"success": True}, {"success": True})
    assert (shown["disable"], shown["reason"]) == (True, "repairs")
    assert {(each.status, each.code) for each in refused} == {(403, "AccessDenied")}
    assert "repairs" in refused[0].body["Message"]
    assert held_back == 1
    assert len(site.instances.invocations) == 3
    assert answer.status == 200
    assert (await site.v3("GET", "/functions/f")).body["invocationRestriction"]["disable"] is False


async def test_calls_under_way_can_be_ended_when_a_function_is_disabled(site, pack):
    """Their callers are told why; without being asked for they go on."""
    await third(site, pack)
    held = site.hold_calls()
    running = calling(site, "/2023-03-30/functions/f/invocations", 2)
    await site.settle()

    await site.v3("POST", "/functions/f/invoke/disable", {"reason": "first"})
    await site.settle()
    before = held.now
    await site.v3("POST", "/functions/f/invoke/disable", {"reason": "now", "abortOngoingRequest": True})
    answers = await asyncio.gather(*running)

    assert (before, held.cancelled) == (2, 2)
    assert {(answer.status, answer.code) for answer in answers} == {(403, "AccessDenied")}
    assert "aborted" in answers[0].body["Message"]


async def test_everything_configured_goes_with_the_function(site):
    """A function made anew under the name has no limit."""
    await site.make_function()
    await site.v1("PUT", ON_DEMAND, {"maximumInstanceCount": 0})

    await site.v1("DELETE", "/services/shop/functions/order")
    await site.make_function()

    assert (await site.v1("GET", ON_DEMAND)).status == 404
    assert (await site.v1("POST", CALL, b"")).status == 200


class Settings:
    """A store without settings that counts how often it is asked."""

    generation = 1

    def __init__(self) -> None:
        self.asked = 0

    def get(self, kind, place):
        self.asked += kind is Kind.SWITCH


def test_rules_of_functions_that_come_and_go_do_not_pile_up(monkeypatch):
    """Names are asked for once while they are remembered, and no more of them are remembered than allowed."""
    monkeypatch.setattr(admission, "_RULES_KEPT", 10)
    settings = Settings()
    gate = Admission(settings, None, lambda place: 0)
    tenant = Tenant(AccountId("1"), Region("cn-hangzhou"))

    for number in range(100):
        for _ in range(3):
            gate.check_enabled(tenant, "", f"f{number}")

    assert settings.asked == 100
    assert len(gate._rules) <= 10


@pytest.mark.parametrize("others", [1, 30])
async def test_a_call_reads_what_is_configured_for_its_own_qualifier(site, monkeypatch, others):
    """However much is configured for other qualifiers and functions."""
    await site.make_function()
    place = FunctionRef(site.tenant, "shop", "order", "LATEST")
    for number in range(others):
        for other in (place._replace(qualifier=f"q{number}"), place._replace(function=f"f{number}")):
            setting = Setting(kind=Kind.ON_DEMAND, place=other, config={"maximumInstanceCount": 0}, id="x",
                              created_at=0, modified_at=0)  # fmt: skip
            site.fc.capacity.put(setting)
    read = []
    item = Rows.item
    monkeypatch.setattr(Rows, "item", lambda rows, row: (read.append(rows.table), item(rows, row))[1])

    answer = await site.v1("POST", CALL, b"")

    assert answer.status == 200
    assert read.count("fc_capacity") == 0
