"""Queued calls in virtual time: acceptance, retries, age, concurrency, restarts."""

import asyncio
import sqlite3

import pytest

from emulator.services.fc import limits
from emulator.services.fc.asynchronous.model import Status
from emulator.services.fc.model import FunctionName
from emulator.services.fc.runtime.model import InstancesExhausted, RuntimeUnavailable

FAILED = b'{"errorMessage":"boom","errorType":"ValueError"}'
CALL = "/services/shop/functions/order/invocations"
CONFIG = "/services/shop.LATEST/functions/order/async-invoke-config"
TASKS = "/services/shop/functions/order/stateful-async-invocations"


async def call(site, event=b"{}", path=CALL, **headers):
    return await site.v1("POST", path, event, x_fc_invocation_type="Async", **headers)


def attempts(site):
    return [(invocation.retry_count, invocation.request_id) for invocation in site.instances.invocations]


def waiting(site):
    return site.database.read("SELECT count(*) FROM fc_async_calls").fetchone()[0]


@pytest.mark.parametrize(
    ("version", "path"),
    [
        ("2016-08-15", CALL),
        ("2021-04-06", CALL + "?qualifier=LATEST"),
        ("2023-03-30", "/functions/order/invocations"),
    ],
    ids=lambda value: value[:4],
)
async def test_call_is_accepted_with_an_empty_202_and_runs(site, pack, version, path):
    """In every dialect; nothing of an ordinary call is left afterwards."""
    await site.make_function()
    body = {"functionName": "order", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", body)

    accepted = await site.ask("POST", f"/{version}{path}", b"hi", X_Fc_Invocation_Type="async")
    await site.settle()

    assert (accepted.status, accepted.content) == (202, b"")
    assert [run.event for run in site.instances.invocations] == [b"hi"]
    assert site.instances.invocations[0].request_id == accepted.headers["x-fc-request-id"]
    assert not any("async" in name for name in accepted.headers)
    assert waiting(site) == 0


async def test_event_is_on_disk_before_the_answer(sites):
    """A second connection to the file sees the row of an accepted call."""

    site = sites()
    await site.fc.start()
    await site.make_function()
    site.hold_calls()

    await call(site, b"precious")

    other = sqlite3.connect(site.folder / "state.db")
    events = other.execute("SELECT event FROM fc_async_calls").fetchall()
    other.close()
    await site.fc.close()
    assert events == [(b"precious",)]


async def test_failing_function_is_tried_four_times_with_the_same_request_id(site):
    """After 1, 2 and 4 seconds; the function learns how often it was retried."""
    await site.make_function()
    site.answer_calls(FAILED, "UnhandledInvocationError")
    accepted = await call(site)
    request_id = accepted.headers["x-fc-request-id"]
    seen = []
    for pause in (0, 999, 1, 1999, 1, 3999, 1, 100_000):
        await site.after(pause)
        seen.append(len(site.instances.invocations))

    assert seen == [1, 1, 2, 2, 3, 3, 4, 4]
    assert attempts(site) == [(count, request_id) for count in range(4)]
    assert waiting(site) == 0


@pytest.mark.parametrize(("retries", "tried"), [(0, 1), (1, 2), (8, 9)], ids=str)
async def test_number_of_retries_is_configurable(site, retries, tried):
    """From none to eight."""
    await site.make_function()
    await site.v1("PUT", CONFIG, {"maxAsyncRetryAttempts": retries})
    site.answer_calls(FAILED, "UnhandledInvocationError")

    await call(site)
    await site.after(3_600_000)

    assert len(site.instances.invocations) == tried


async def test_throttled_call_is_tried_with_growing_pauses_for_five_hours(site):
    """The first attempt after half a second; the end comes after 18000 seconds."""
    await site.make_function()
    await site.v1("PUT", CONFIG, {"statefulInvocation": True})

    def exhausted(image, run):
        tried.append(site.clock.now())
        raise InstancesExhausted(1)

    tried = []
    site.instances.answer = exhausted
    started = site.clock.now()
    await call(site)
    await site.after(24 * 3_600_000)
    task = (await site.v1("GET", TASKS)).body["invocations"][0]

    assert [moment - started for moment in tried[:5]] == [0, 500, 1500, 3500, 7500]
    assert tried[-1] - started == 18_000_000
    assert (task["status"], task["invocationErrorMessage"]) == (
        "Failed",
        "the concurrency limit of the function is reached",
    )


async def test_program_that_cannot_start_counts_as_a_failure_of_the_function(site):
    """There is no use in trying that for hours."""
    await site.make_function()

    def unavailable(image, run):
        tried.append(run.retry_count)
        raise RuntimeUnavailable("go1", "nothing here can run it")

    tried = []
    site.instances.answer = unavailable
    await call(site)
    await site.after(60_000)

    assert tried == [0, 1, 2, 3]


async def test_event_that_is_too_old_is_given_up(site):
    """Its record says so, and at which instant."""
    await site.make_function()
    config = {"maxAsyncEventAgeInSeconds": 2, "maxAsyncRetryAttempts": 8, "statefulInvocation": True}
    await site.v1("PUT", CONFIG, config)
    site.answer_calls(FAILED, "UnhandledInvocationError")
    accepted_at = site.clock.now()

    await call(site)
    await site.after(100_000)
    task = (await site.v1("GET", TASKS)).body["invocations"][0]

    assert len(site.instances.invocations) == 2
    assert task["status"] == "Expired"
    assert task["endTime"] == accepted_at + 2000
    assert [event["status"] for event in task["events"]] == [
        "Enqueued", "Dequeued", "Running", "Retrying", "Running", "Retrying", "Expired",
    ]  # fmt: skip


async def test_payload_over_the_limit_is_refused(site):
    """128 KB pass, one byte more does not, and is no call."""
    await site.make_function()

    fits = await call(site, b"x" * limits.ASYNC_PAYLOAD_BYTES)
    too_large = await call(site, b"x" * (limits.ASYNC_PAYLOAD_BYTES + 1))
    await site.settle()

    assert fits.status == 202
    assert (too_large.status, too_large.code) == (400, "EntityTooLarge")
    assert len(site.instances.invocations) == 1


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/services/none/functions/order/invocations", "ServiceNotFound"),
        ("/services/shop/functions/none/invocations", "FunctionNotFound"),
        ("/services/shop.7/functions/order/invocations", "VersionNotFound"),
        ("/services/shop.none/functions/order/invocations", "AliasNotFound"),
    ],
    ids=lambda value: value.rpartition("/")[0],
)
async def test_target_that_does_not_exist_is_refused_at_once(site, path, code):
    """Nothing is queued for it."""
    await site.make_function()

    refused = await call(site, path=path)

    assert (refused.status, refused.code) == (404, code)
    assert waiting(site) == 0


async def test_configuration_is_that_of_the_qualifier_the_call_names(site):
    """An alias does not fall back to LATEST, and the other way round."""
    await site.make_function()
    await site.v1("POST", "/services/shop/versions", {})
    await site.v1("POST", "/services/shop/aliases", {"aliasName": "live", "versionId": "1"})
    await site.v1("PUT", CONFIG, {"maxAsyncRetryAttempts": 0})
    site.answer_calls(FAILED, "UnhandledInvocationError")

    await call(site, path="/services/shop.live/functions/order/invocations")
    await site.after(60_000)

    assert [run.qualifier for run in site.instances.invocations] == ["live"] * 4


async def alias(site, **fields):
    """A function with two versions, and an alias between them."""
    await site.make_function()
    await site.v1("POST", "/services/shop/versions", {})
    await site.v1("PUT", "/services/shop/functions/order", {"description": "second"})
    await site.v1("POST", "/services/shop/versions", {})
    await site.ask("POST", "/2021-04-06/services/shop/aliases", {"aliasName": "live", "versionId": "1", **fields})
    site.answer_calls(FAILED, "UnhandledInvocationError")
    return "/services/shop.live/functions/order/invocations"


async def test_weighted_alias_is_drawn_once_for_all_attempts(site):
    """The retries of one call run the version of its first attempt, the next call is drawn anew."""
    path = await alias(site, additionalVersionWeight={"2": 0.5})
    site.ids.fraction = iter([0.1, *[0.9] * 4, 0.9, *[0.1] * 4]).__next__

    await call(site, path=path)
    await site.after(60_000)
    await call(site, path=path)
    await site.after(60_000)

    assert [image.version for image in site.instances.images] == ["2"] * 4 + ["1"] * 4


async def test_attempts_follow_an_alias_that_leads_elsewhere(sites):
    """A call is not bound to a version that its alias does not know any more; the choice outlives a restart."""
    site = sites()
    path = await alias(site, additionalVersionWeight={"2": 0.5})
    site.ids.fraction = lambda: 0.1
    await call(site, path=path)
    await site.fc.close()

    site = sites()
    site.answer_calls(FAILED, "UnhandledInvocationError")
    site.ids.fraction = lambda: 0.9
    await site.fc.start(None)
    await site.after(1_500)
    await site.v1("PUT", "/services/shop/aliases/live", {"versionId": "1", "additionalVersionWeight": {}})
    await site.after(60_000)

    assert [image.version for image in site.instances.images] == ["2", "2", "1", "1"]


async def test_alias_that_routes_by_content_sees_the_request_of_a_queued_call(site):
    """The rules look at what the client has sent, for all attempts."""
    rules = {"condition": "AND", "policyItems": [{"type": "header", "key": "x-own", "operator": "=", "value": "beta"}]}
    path = await alias(site, additionalVersionWeight={"2": 0.0}, resolvePolicy="Content", routePolicy=rules)

    await call(site, path=path, X_Own="beta")
    await call(site, path=path)
    await site.after(60_000)

    assert sorted(image.version for image in site.instances.images) == ["1"] * 4 + ["2"] * 4


async def test_calls_of_one_queue_run_side_by_side_up_to_the_bound(site):
    """The rest waits and follows."""
    await site.make_function()
    gate = site.hold_calls()
    for _ in range(limits.ASYNC_CONCURRENCY + 5):
        await call(site)
    await site.settle()
    first = len(gate.calls)
    gate.open.set()
    await site.settle()

    assert first == gate.most == limits.ASYNC_CONCURRENCY
    assert len(gate.calls) == limits.ASYNC_CONCURRENCY + 5
    assert waiting(site) == 0


async def test_limit_of_the_function_bounds_its_queue_instead_of_failing_its_calls(site):
    """With one instance allowed, queued calls follow each other without a pause."""
    await site.make_function()
    await site.v1("PUT", "/services/shop.LATEST/functions/order/on-demand-config", {"maximumInstanceCount": 1})
    gate = site.hold_calls()
    for _ in range(3):
        await call(site)
    await site.settle()
    gate.open.set()
    await site.settle()

    assert (gate.most, [run.retry_count for run in gate.calls]) == (1, [0, 0, 0])


async def test_calls_that_wait_for_room_go_on_after_the_clock_was_set_back(site):
    """They were due and stay so; otherwise they would rest until the old time has come again."""
    await site.make_function()
    await site.v1("PUT", "/services/shop.LATEST/functions/order/on-demand-config", {"maximumInstanceCount": 1})
    gate = site.hold_calls()
    for _ in range(3):
        await call(site)
    await site.settle()
    before = site.clock.now()
    site.clock._now -= 3 * 3_600_000
    for notice in site.timers._step_listeners:
        notice(before)
    gate.open.set()
    await site.settle()

    assert len(gate.calls) == 3


async def test_deleting_the_function_makes_waiting_calls_invalid(site):
    """They do not run when a function of that name is made anew; the running one ends as it will."""
    await site.make_function()
    await site.v1("PUT", CONFIG, {"statefulInvocation": True})
    site.answer_calls(FAILED, "UnhandledInvocationError")
    await call(site, X_Fc_Stateful_Async_Invocation_Id="job")
    await site.settle()

    deleted = await site.v1("DELETE", "/services/shop/functions/order")
    await site.make_function()
    await site.after(3_600_000)
    task = await site.v1("GET", TASKS + "/job")
    config = await site.v1("GET", CONFIG)

    assert deleted.status == 204
    assert len(site.instances.invocations) == 1
    assert task.body["status"] == "Invalid"
    assert (config.status, config.code) == (404, "AsyncConfigNotExists")


async def test_alias_that_goes_makes_its_calls_invalid_at_their_next_attempt(site):
    """There is nothing left to run."""
    await site.make_function()
    await site.v1("POST", "/services/shop/versions", {})
    await site.v1("POST", "/services/shop/aliases", {"aliasName": "live", "versionId": "1"})
    site.answer_calls(FAILED, "UnhandledInvocationError")
    await call(
        site,
        path="/services/shop.live/functions/order/invocations",
        X_Fc_Stateful_Async_Invocation_Enable="true",
        X_Fc_Stateful_Async_Invocation_Id="job",
    )
    await site.settle()

    await site.v1("DELETE", "/services/shop/aliases/live")
    await site.after(60_000)
    task = await site.v1("GET", TASKS + "/job")

    assert (task.body["status"], len(site.instances.invocations)) == ("Invalid", 1)


async def test_restart_in_the_middle_of_a_pause_keeps_the_instant(sites):
    """The retry comes when it would have come, with the count it would have had."""

    async def before(site):
        await site.fc.start()
        await site.make_function()
        site.answer_calls(FAILED, "UnhandledInvocationError")
        accepted = await call(site)
        await site.after(1000)
        await site.after(500)
        await site.fc.close()
        return accepted.headers["x-fc-request-id"]

    async def afterwards(site):
        await site.fc.start()
        await site.after(1499)
        early = len(site.instances.invocations)
        await site.after(1)
        await site.fc.close()
        return early, attempts(site), waiting(site)

    request_id = await before(sites())
    early, seen, left = await afterwards(sites())

    assert early == 0
    assert (seen, left) == ([(2, request_id)], 0)


async def test_call_that_was_running_when_the_emulator_ended_runs_again(sites):
    """At the same retry count; its end is its end."""

    async def before(site):
        await site.fc.start()
        await site.make_function()
        gate = site.hold_calls()
        accepted = await call(site, b"again")
        await site.settle()
        await site.fc.close()
        return accepted.headers["x-fc-request-id"], len(gate.calls)

    async def afterwards(site):
        await site.fc.start()
        await site.settle()
        await site.fc.close()
        return attempts(site), [run.event for run in site.instances.invocations], waiting(site)

    request_id, ran = await before(sites())
    seen, events, left = await afterwards(sites())

    assert ran == 1
    assert (seen, events, left) == ([(0, request_id)], [b"again"], 0)


async def test_order_with_a_known_key_is_queued_once(site):
    """Also after the call has ended, and only then with its result."""
    await site.make_function()
    fc, tenant = site.fc, site.tenant

    first = await fc.invoke_async(tenant, FunctionName("shop", "order", None), b"one", key="k")
    second = await fc.invoke_async(tenant, FunctionName("shop", "order", None), b"two", key="k")
    outcome = await fc.completion(tenant, first)
    third = await fc.invoke_async(tenant, FunctionName("shop", "order", None), b"three", key="k")
    known = await fc.completion(tenant, third)
    await site.settle()

    assert first == second == third
    assert (outcome.status, outcome.body) == (Status.SUCCEEDED, b"one")
    assert known == outcome
    assert len(site.instances.invocations) == 1


async def test_whoever_waits_learns_the_end_after_all_retries(site):
    """The last error and its body, or that the function is gone."""
    await site.make_function()
    fc, tenant = site.fc, site.tenant
    site.answer_calls(FAILED, "UnhandledInvocationError")

    failing = await fc.invoke_async(tenant, FunctionName("shop", "order", None), b"", key="")
    waiter = asyncio.ensure_future(fc.completion(tenant, failing))
    await site.after(10_000)
    deleted = await fc.invoke_async(tenant, FunctionName("shop", "order", None), b"", key="")
    await site.settle()
    other = asyncio.ensure_future(fc.completion(tenant, deleted))
    await site.settle()
    await site.v1("DELETE", "/services/shop/functions/order")
    await site.settle()
    outcome, gone = await waiter, await other

    assert (outcome.status, outcome.error, outcome.body) == (Status.FAILED, "UnhandledInvocationError", FAILED)
    assert gone.status is Status.INVALID
    with pytest.raises(LookupError):
        await fc.completion(tenant, "never queued")


async def test_records_are_removed_after_their_time(site):
    """A week for tasks, a day for the memory of keys."""
    await site.make_function()
    await site.fc.invoke_async(site.tenant, FunctionName("shop", "order", None), b"", key="k")
    await call(site, X_Fc_Stateful_Async_Invocation_Enable="true")
    counts = []
    for pause in (0, limits.KEYED_CALL_KEPT_MS, 3_600_000, limits.TASK_KEPT_MS):
        await site.after(pause)
        counts.append(waiting(site))

    assert counts == [2, 2, 1, 0]
    assert site.database.read("SELECT count(*) FROM fc_task_events").fetchone()[0] == 0


async def test_reset_forgets_calls_and_configurations(site):
    """Running attempts are broken off."""
    await site.make_function()
    await site.v1("PUT", CONFIG, {"maxAsyncRetryAttempts": 0})
    gate = site.hold_calls()
    await call(site)
    await site.settle()

    await site.fc.reset()
    await site.make_function()

    assert (gate.cancelled, waiting(site)) == (1, 0)
    assert (await site.v1("GET", CONFIG)).status == 404


async def test_reset_forgets_a_call_that_is_about_to_begin(site, monkeypatch, caplog):
    """It comes after the row says that the call runs, and before that is committed."""
    await site.make_function()
    due, resets = site.fc.async_store.due, []

    def reset_next(*arguments):
        if not resets:
            resets.append(asyncio.get_running_loop().create_task(site.fc.reset()))
        return due(*arguments)

    monkeypatch.setattr(site.fc.async_store, "due", reset_next)
    await call(site)
    await resets[0]
    await site.settle()

    assert (site.instances.invocations, waiting(site)) == ([], 0)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_reset_forgets_a_call_that_comes_while_it_waits(site, monkeypatch):
    """Provisioned instances take a while to be called off; the function is still there and accepts calls."""
    await site.make_function()
    close, accepted = site.fc.provisioner.close, []

    async def closed():
        accepted.append(await call(site, x_fc_stateful_async_invocation_enable="true"))
        await close()

    monkeypatch.setattr(site.fc.provisioner, "close", closed)
    await site.fc.reset()
    await site.settle()

    assert [answer.status for answer in accepted] == [202]
    assert (site.instances.invocations, waiting(site)) == ([], 0)
