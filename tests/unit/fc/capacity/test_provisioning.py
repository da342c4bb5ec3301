"""Instances kept ready: what the pool is told, what is shown, what is refused."""

import pytest

from emulator.services.fc.runtime.model import RuntimeUnavailable
from emulator.storage.database import Database

PROVISION = "/services/shop.{}/functions/order/provision-config"


def kept(site):
    """What the pool was told last, by version."""
    return {image.version: count for image, count in site.instances.provisioned.values() if count}


async def with_versions(site, *aliases):
    """Make a function with versions 1 and 2, and aliases for version 1."""
    await site.make_function()
    await site.v1("POST", "/services/shop/versions", {})
    await site.v1("PUT", "/services/shop/functions/order", {"description": "second"})
    await site.v1("POST", "/services/shop/versions", {})
    for alias in aliases:
        await site.v1("POST", "/services/shop/aliases", {"aliasName": alias, "versionId": "1"})


async def test_instances_are_started_shown_and_ended(site):
    """A configuration with a target of 0 keeps none and stays readable."""
    await with_versions(site, "live")
    path = PROVISION.format("live")

    put = await site.v1("PUT", path, {"target": 2})
    await site.settle()
    started, shown = kept(site), await site.v1("GET", path)
    listed = await site.v1("GET", "/provision-configs?serviceName=shop&qualifier=live")
    others = await site.v1("GET", "/provision-configs?serviceName=shop&qualifier=LATEST")
    instances = await site.v1("GET", "/services/shop.live/functions/order/instances")
    removed = await site.v1("PUT", path, {"target": 0})
    await site.settle()
    kept_at_none = await site.v1("GET", path)

    assert put.body["resource"] == "123456789012#shop#live#order"
    assert (put.body["target"], put.body["current"]) == (2, 0)
    assert started == {"1": 2}
    assert (shown.body["target"], shown.body["current"], shown.body["currentError"]) == (2, 2, "")
    assert listed.body == {"provisionConfigs": [shown.body]}
    assert others.body["provisionConfigs"] == []
    assert [row["versionId"] for row in instances.body["instances"]] == ["1", "1"]
    assert (removed.body["target"], kept(site)) == (0, {})
    assert (kept_at_none.body["target"], kept_at_none.body["current"]) == (0, 0)


async def test_alias_that_moves_takes_its_instances_along(site):
    """And a weighted one shares them out."""
    await with_versions(site, "live")
    await site.v1("PUT", PROVISION.format("live"), {"target": 4})
    await site.settle()

    await site.v1("PUT", "/services/shop/aliases/live", {"versionId": "2"})
    await site.settle()
    moved = kept(site)
    weights = {"versionId": "1", "additionalVersionWeight": {"2": 0.25}}
    await site.v1("PUT", "/services/shop/aliases/live", weights)
    await site.settle()

    assert moved == {"2": 4}
    assert kept(site) == {"1": 3, "2": 1}


async def test_update_of_the_function_replaces_the_instances(site):
    """They have the new configuration; several configurations of one version add up."""
    await with_versions(site, "a", "b")
    for qualifier, target in (("a", 1), ("b", 2), ("LATEST", 1)):
        await site.v1("PUT", PROVISION.format(qualifier), {"target": target})
    await site.settle()
    before = kept(site)

    await site.v1("PUT", "/services/shop/functions/order", {"memorySize": 256})
    await site.settle()

    latest = [image for image, count in site.instances.provisioned.values() if image.version == "LATEST" and count]
    assert before == {"1": 3, "LATEST": 1}
    assert [image.memory_mb for image in latest] == [256]


async def test_instances_are_kept_ready_again_after_a_restart(site_of, tmp_path):
    """From what is stored."""

    async def before(site):
        await site.fc.start()
        await with_versions(site, "live")
        await site.v1("PUT", PROVISION.format("live"), {"target": 3})
        await site.fc.close()
        site.database.close()

    async def afterwards(site):
        await site.fc.start()
        await site.settle()
        await site.fc.close()
        site.database.close()
        return kept(site)

    await before(site_of(tmp_path, Database(tmp_path / "state.db")))

    assert await afterwards(site_of(tmp_path, Database(tmp_path / "state.db"))) == {"1": 3}


async def test_schedule_sets_the_target_and_its_end_brings_the_default_back(site):
    """By the emulator's clock, which stands at 2023-11-14T22:13:20Z."""
    await site.make_function()
    action = {
        "name": "rush", "scheduleExpression": "cron(0 0 23 * * *)", "target": 5,
        "startTime": "2023-11-01T00:00:00Z", "endTime": "2023-11-15T22:00:00Z",
    }  # fmt: skip
    body = {"target": 1, "scheduledActions": [action]}
    put = await site.ask("PUT", "/2021-04-06" + PROVISION.format("LATEST"), body)
    seen = []
    for hours in (0, 1, 24):
        await site.after(hours * 3_600_000)
        seen.append(kept(site))

    shown = await site.v1("GET", PROVISION.format("LATEST"))

    assert put.body["target"] == 1  # what was asked for, although the action has run yesterday
    assert put.body["scheduledActions"] == [action]
    assert seen == [{"LATEST": 5}, {"LATEST": 5}, {"LATEST": 1}]
    assert shown.body["target"] == 1


async def test_what_cannot_be_started_is_told_and_tried_again(site):
    """As currentError, until it works."""
    await site.make_function()
    works = site.instances.provision
    tried = []

    async def fails(image, count, credentials=None):
        tried.append(count)
        raise RuntimeUnavailable("go1", "nothing here can run it")

    site.instances.provision = fails
    await site.v1("PUT", PROVISION.format("LATEST"), {"target": 1})
    await site.settle()
    failing = await site.v1("GET", PROVISION.format("LATEST"))
    site.instances.provision = works
    await site.after(30_000)
    working = await site.v1("GET", PROVISION.format("LATEST"))

    assert tried == [1]
    assert (failing.body["current"], "go1" in failing.body["currentError"]) == (0, True)
    assert (working.body["current"], working.body["currentError"]) == (1, "")


async def test_more_than_this_machine_keeps_are_not_all_started(site):
    """The target stays what was asked for."""
    await site.make_function()

    await site.v1("PUT", PROVISION.format("LATEST"), {"target": 10_000})
    await site.settle()
    shown = (await site.v1("GET", PROVISION.format("LATEST"))).body

    assert (shown["target"], shown["current"]) == (10_000, 50)
    assert shown["currentError"]


async def test_provisioned_things_are_not_deleted(site, pack):
    """Function, alias and, in 3.0, version stay until the configuration is gone."""
    await with_versions(site, "live")
    await site.v1("PUT", PROVISION.format("live"), {"target": 1})
    body = {"functionName": "f", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", body)
    await site.v3("POST", "/functions/f/versions", {})
    await site.v3("PUT", "/functions/f/scaling-config?qualifier=1", {"minInstances": 1})

    refused = [
        await site.v1("DELETE", "/services/shop/functions/order"),
        await site.v1("DELETE", "/services/shop/aliases/live"),
    ]
    scaled = [
        await site.v3("DELETE", "/functions/f"),
        await site.v3("DELETE", "/functions/f/versions/1"),
    ]
    await site.v1("PUT", PROVISION.format("live"), {"target": 0})
    await site.v3("DELETE", "/functions/f/scaling-config?qualifier=1")
    allowed = [
        await site.v1("DELETE", "/services/shop/functions/order"),
        await site.v1("DELETE", "/services/shop/aliases/live"),
        await site.v3("DELETE", "/functions/f/versions/1"),
    ]

    assert {(answer.status, answer.code) for answer in refused} == {(409, "ProvisionConfigExist")}
    assert {(answer.status, answer.code) for answer in scaled} == {(409, "ResidentScalingConfigExists")}
    assert {answer.status for answer in allowed} == {204}


async def test_version_of_a_service_cannot_have_instances_kept_ready(site):
    """Only an alias or LATEST."""
    await with_versions(site)

    refused = await site.v1("PUT", PROVISION.format("1"), {"target": 1})

    assert (refused.status, refused.code) == (400, "InvalidArgument")


ACTION = {"name": "a", "target": 1, "scheduleExpression": "cron(0 0 0 * * *)"}
POLICY = {
    "name": "p", "metricType": "ProvisionedConcurrencyUtilization", "metricTarget": 0.6, "minCapacity": 1,
    "maxCapacity": 3, "startTime": "2024-01-01T00:00:00Z", "endTime": "2024-02-01T00:00:00Z",
}  # fmt: skip


@pytest.mark.parametrize(
    "more",
    [
        {"scheduledActions": [{**ACTION, "scheduleExpression": "daily"}]},
        {"scheduledActions": [{**ACTION, "target": 10_001}]},
        {"scheduledActions": [{"name": "a", "target": 1}]},
        {"scheduledActions": [ACTION, ACTION]},
        {"targetTrackingPolicies": [{**POLICY, "metricType": "Mood"}]},
        {"targetTrackingPolicies": [{**POLICY, "metricTarget": 0}]},
        {"targetTrackingPolicies": [{**POLICY, "minCapacity": 4}]},
        {"targetTrackingPolicies": [{**POLICY, "endTime": "2023-01-01T00:00:00Z"}]},
        {"targetTrackingPolicies": "all"},
        {"alwaysAllocateCPU": "yes"},
    ],
    ids=str,
)
async def test_bad_policies_are_refused(site, more):
    """Nothing is stored of them."""
    await site.make_function()

    refused = await site.v1("PUT", PROVISION.format("LATEST"), {"target": 1, **more})

    assert (refused.status, refused.code) == (400, "InvalidArgument")
    assert (await site.v1("GET", PROVISION.format("LATEST"))).status == 404


async def test_policies_are_kept_and_shown(site, pack):
    """In 3.0 those that go by a metric of instances need the function to report it."""
    body = {"functionName": "f", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", body)
    path = "/functions/f/provision-config"
    by_cpu = {**POLICY, "metricType": "CPUUtilization"}

    put = await site.v3("PUT", path, {"defaultTarget": 0, "targetTrackingPolicies": [POLICY]})
    refused = await site.v3("PUT", path, {"defaultTarget": 0, "targetTrackingPolicies": [by_cpu]})
    await site.v3("PUT", "/functions/f", {"logConfig": {"project": "p", "enableInstanceMetrics": True}})
    allowed = await site.v3("PUT", path, {"defaultTarget": 0, "targetTrackingPolicies": [by_cpu]})
    shown = (await site.v3("GET", path)).body
    conflicting = await site.v3("PUT", "/functions/f/scaling-config", {"minInstances": 1})

    assert put.body["targetTrackingPolicies"] == [POLICY]
    assert (refused.status, refused.code) == (400, "InstanceMetricsRequired")
    assert allowed.status == 200
    assert shown["functionArn"] == "acs:fc:cn-hangzhou:123456789012:functions/f/LATEST"
    assert (shown["defaultTarget"], shown["targetTrackingPolicies"]) == (0, [by_cpu])
    assert (conflicting.status, conflicting.code) == (409, "ProvisionConfigExist")


async def test_target_of_0_stays_readable_in_3_0_and_keeps_nothing_from_being_deleted(site, pack):
    """Terraform's provider reads the target; a scaling configuration may take its place."""
    body = {"functionName": "f", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", body)
    path = "/functions/f/provision-config"

    await site.v3("PUT", path, {"defaultTarget": 1})
    await site.settle()
    put = await site.v3("PUT", path, {"defaultTarget": 0})
    await site.settle()
    shown, listed = await site.v3("GET", path), await site.v3("GET", "/provision-configs")
    scaling = await site.v3("PUT", "/functions/f/scaling-config", {"minInstances": 0})
    await site.v3("DELETE", "/functions/f/scaling-config")
    deleted = await site.v3("DELETE", "/functions/f")

    assert (put.status, put.body["defaultTarget"], kept(site)) == (200, 0, {})
    assert (shown.status, shown.body["target"], shown.body["current"]) == (200, 0, 0)
    assert listed.body["provisionConfigs"] == [shown.body]
    assert (scaling.status, deleted.status) == (200, 204)


async def test_disabled_function_keeps_no_instances_ready(site, pack):
    """Those of other functions stay; enabling starts them again."""
    for name, target in (("f", 2), ("other", 1)):
        body = {"functionName": name, "runtime": "python3.10", "handler": "index.handler", "code": pack()}
        await site.v3("POST", "/functions", body)
        await site.v3("PUT", f"/functions/{name}/provision-config", {"defaultTarget": target})
    await site.settle()

    seen = []
    for switch in ("disable", "enable", "disable", "enable"):
        await site.v3("POST", f"/functions/f/invoke/{switch}", {})
        await site.settle()
        shown = await site.v3("GET", "/functions/f/provision-config")
        counts = {image.function: count for image, count in site.instances.provisioned.values() if count}
        seen.append((counts, shown.body["target"], shown.body["current"], shown.body["currentError"]))

    assert seen == [({"other": 1}, 2, 0, ""), ({"f": 2, "other": 1}, 2, 2, "")] * 2


async def test_instance_lists_take_ids_in_every_clients_form(site):
    """Repeated, numbered, or as JSON; limits and statuses too."""
    await site.make_function()
    await site.v1("PUT", PROVISION.format("LATEST"), {"target": 3})
    await site.settle()
    path = "/services/shop.LATEST/functions/order/instances"

    async def ids(query):
        return [row["instanceId"] for row in (await site.v1("GET", path + query)).body["instances"]]

    assert await ids("") == ["c-0", "c-1", "c-2"]
    assert await ids("?instanceIds=c-0&instanceIds=c-2") == ["c-0", "c-2"]
    assert await ids("?instanceIds.1=c-1&instanceIds.2=c-2") == ["c-1", "c-2"]
    assert await ids("?instanceIds=%5B%22c-1%22%5D") == ["c-1"]
    assert await ids("?limit=2") == ["c-0", "c-1"]
    assert (await site.v1("GET", path + "?limit=1001")).code == "InvalidArgument"


async def test_instance_list_of_the_newest_dialect(site, pack):
    """Of all versions unless a qualifier is named; with status, kind and times."""
    body = {"functionName": "f", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", body)
    await site.v3("POST", "/functions/f/versions", {})
    await site.v3("PUT", "/functions/f/provision-config?qualifier=1", {"target": 1})
    await site.v3("PUT", "/functions/f/provision-config", {"target": 2})
    await site.settle()

    async def rows(query):
        return (await site.v3("GET", "/functions/f/instances" + query)).body["instances"]

    everything = await rows("")
    assert [(row["instanceId"], row["versionId"]) for row in everything] == [
        ("c-0", "0"),
        ("c-0", "1"),
        ("c-1", "0"),
    ]
    assert everything[0] == {
        "instanceId": "c-0", "versionId": "0", "qualifier": "LATEST", "status": "Running",
        "resourceType": "Provisioned", "createdTimeMs": 0,
    }  # fmt: skip
    assert len(await rows("?qualifier=1")) == 1
    assert len(await rows("?qualifier=1&withAllActive=True")) == 3
    assert len(await rows("?startKey=c-1")) == 1
    assert await rows("?instanceStatus=%5B%22Stopping%22%5D") == []
    assert len(await rows("?instanceStatus=%5B%22running%22%5D&endTimeMs=1&startTimeMs=0")) == 3


async def test_instances_of_a_function_are_found_without_reading_its_versions(site, pack, monkeypatch):
    """However many there are: those that live say which versions they are of."""
    body = {"functionName": "f", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", body)
    await site.v3("POST", "/functions/f/versions", {})
    await site.v3("PUT", "/functions/f/provision-config?qualifier=1", {"target": 2})
    await site.settle()
    monkeypatch.setattr(site.fc.store, "versions", None)

    rows = (await site.v3("GET", "/functions/f/instances")).body["instances"]

    assert [row["versionId"] for row in rows] == ["1", "1"]
