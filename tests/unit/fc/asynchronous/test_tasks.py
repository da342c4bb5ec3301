"""Task mode: ids, records, lists, stopping."""

import pytest

CALL = "/services/shop/functions/order/invocations"
CONFIG = "/services/shop.LATEST/functions/order/async-invoke-config"
TASKS = "/services/shop/functions/order/stateful-async-invocations"
FAILED = b'{"errorMessage":"boom"}'


async def task_mode(site, **said):
    await site.make_function()
    await site.v1("PUT", CONFIG, {"statefulInvocation": True, **said})


async def start(site, task_id="", event=b"{}", **headers):
    if task_id:
        headers["X_Fc_Stateful_Async_Invocation_Id"] = task_id
    return await site.v1("POST", CALL, event, X_Fc_Invocation_Type="Async", **headers)


async def listed(site, query=""):
    return [row["invocationId"] for row in (await site.v1("GET", TASKS + query)).body["invocations"]]


async def test_task_without_a_given_id_is_named_by_its_request(site):
    """The header of the 202 tells the id."""
    await task_mode(site)

    started = await start(site)

    assert started.headers["x-fc-stateful-async-invocation-id"] == started.headers["x-fc-request-id"]


@pytest.mark.parametrize(
    ("configured", "header", "is_task"),
    [(True, None, True), (True, "false", False), (False, "True", True), (False, None, False)],
    ids=["configured", "against it", "asked for", "plain"],
)
async def test_header_has_precedence_over_the_configuration(site, configured, header, is_task):
    """It turns task mode on or off for one call."""
    await site.make_function()
    await site.v1("PUT", CONFIG, {"statefulInvocation": configured})
    headers = {"X_Fc_Stateful_Async_Invocation_Enable": header} if header else {}

    started = await start(site, **headers)

    assert ("x-fc-stateful-async-invocation-id" in started.headers) is is_task
    assert len(await listed(site)) == is_task


@pytest.mark.parametrize("task_id", ["1st", "-x", "a b", "a/b", "x" * 129, "é"], ids=lambda value: value[:5])
async def test_malformed_id_is_refused(site, task_id):
    """Letters, digits, underscores and hyphens, a letter or underscore first, at most 128."""
    await task_mode(site)

    refused = await start(site, task_id)
    longest = await start(site, "_" + "x" * 127)

    assert (refused.status, refused.code) == (400, "InvalidArgument")
    assert longest.status == 202


async def test_id_without_task_mode_is_refused(site):
    """Nobody could ask for such a task later."""
    await site.make_function()

    refused = await start(site, "job")

    assert (refused.status, refused.code) == (400, "InvalidArgument")
    assert site.instances.invocations == []


async def test_id_is_taken_while_its_task_lives_and_free_afterwards(site):
    """The new task's record takes the place of the old one's."""
    await task_mode(site)
    held = site.hold_calls()
    await start(site, "job", b"1")
    await site.settle()
    taken = await start(site, "job", b"2")
    held.open.set()
    await site.settle()
    free = await start(site, "job", b"3")
    await site.settle()
    task = await site.v1("GET", TASKS + "/job?includePayload=true")

    assert (taken.status, taken.code) == (409, "StatefulAsyncInvocationAlreadyExists")
    assert free.status == 202
    assert await listed(site) == ["job"]
    assert (task.body["invocationPayload"], len(task.body["events"])) == ("3", 4)


async def test_record_follows_a_failing_task(site):
    """Counts, times, messages and the detail of every event."""
    await task_mode(site, maxAsyncRetryAttempts=1)
    site.answer_calls(FAILED, "UnhandledInvocationError")
    began = site.clock.now()

    started = await start(site, "job")
    await site.settle()
    between = (await site.v1("GET", TASKS + "/job")).body
    await site.after(1000)
    task = (await site.v1("GET", TASKS + "/job?includePayload=False")).body

    error = '{"Error":"UnhandledInvocationError"}'
    assert (between["status"], between["alreadyRetriedTimes"]) == ("Retrying", 0)
    assert "endTime" not in between
    assert task == {
        "serviceName": "shop",
        "functionName": "order",
        "qualifier": "LATEST",
        "invocationId": "job",
        "requestId": started.headers["x-fc-request-id"],
        "status": "Failed",
        "startedTime": began,
        "endTime": began + 1000,
        "durationMs": 1000,
        "alreadyRetriedTimes": 1,
        "destinationStatus": "",
        "invocationErrorMessage": "boom",
        "instanceId": "c-9",
        "returnPayload": FAILED.decode(),
        "events": [
            {"eventId": 1, "status": "Enqueued", "timestamp": began, "eventDetail": ""},
            {"eventId": 2, "status": "Dequeued", "timestamp": began, "eventDetail": ""},
            {"eventId": 3, "status": "Running", "timestamp": began, "eventDetail": ""},
            {"eventId": 4, "status": "Retrying", "timestamp": began, "eventDetail": error},
            {"eventId": 5, "status": "Running", "timestamp": began + 1000, "eventDetail": ""},
            {"eventId": 6, "status": "Failed", "timestamp": began + 1000, "eventDetail": error},
        ],
    }


async def test_list_filters_sorts_and_pages(site):
    """By status, qualifier, id prefix and time of acceptance; the newest first unless asked otherwise."""
    await task_mode(site, maxAsyncRetryAttempts=0)
    began = site.clock.now()
    for number in range(3):
        await start(site, f"a{number}")
        await site.after(1000)
    site.answer_calls(FAILED, "UnhandledInvocationError")
    await start(site, "b")
    await site.settle()

    first = await site.v1("GET", TASKS + "?limit=3&sortOrderByTime=asc")
    rest = await listed(site, f"?limit=3&sortOrderByTime=asc&nextToken={first.body['nextToken']}")

    assert await listed(site) == ["b", "a2", "a1", "a0"]
    assert ([row["invocationId"] for row in first.body["invocations"]], rest) == (["a0", "a1", "a2"], ["b"])
    assert await listed(site, "?status=failed") == ["b"]
    assert await listed(site, "?status=Running") == []
    assert await listed(site, "?invocationIdPrefix=a") == ["a2", "a1", "a0"]
    assert await listed(site, f"?startedTimeBegin={began + 1000}&startedTimeEnd={began + 2000}") == ["a2", "a1"]
    assert await listed(site, "?qualifier=LATEST&limit=1") == ["b"]
    assert await listed(site, "?qualifier=1") == []


@pytest.mark.parametrize(
    "query",
    ["status=Odd", "sortOrderByTime=up", "startedTimeBegin=soon", "limit=0", "limit=101", "nextToken=%21"],
)
async def test_odd_queries_are_refused(site, query):
    """With the dialect's own error."""
    await task_mode(site)

    refused = await site.v1("GET", f"{TASKS}?{query}")

    assert (refused.status, refused.code) == (400, "InvalidArgument")


async def test_payload_is_shown_on_demand(site):
    """In lists when asked for; bytes that are no text do not break the answer."""
    await task_mode(site)
    await start(site, "job", b"\xff")
    await site.settle()

    plain = (await site.v1("GET", TASKS)).body["invocations"][0]
    full = (await site.v1("GET", TASKS + "?includePayload=True")).body["invocations"][0]

    assert "invocationPayload" not in plain
    assert full["invocationPayload"] == "�"


async def test_waiting_task_is_stopped_at_once(site):
    """It never runs (again)."""
    await task_mode(site)
    site.answer_calls(FAILED, "UnhandledInvocationError")
    await start(site, "job")
    await site.settle()

    stopped = await site.v1("PUT", TASKS + "/job")
    again = await site.v1("PUT", TASKS + "/job")
    await site.after(60_000)
    task = (await site.v1("GET", TASKS + "/job")).body

    assert (stopped.status, again.status) == (204, 204)
    assert (task["status"], task["alreadyRetriedTimes"]) == ("Stopped", 0)
    assert len(site.instances.invocations) == 1


async def test_task_that_is_stopped_in_its_second_attempt_has_been_retried_once(site):
    """As while it ran; the attempt that was stopped counts."""
    await task_mode(site)
    site.answer_calls(FAILED, "UnhandledInvocationError")
    await start(site, "job")
    await site.settle()
    site.hold_calls()
    await site.after(1000)

    running = (await site.v1("GET", TASKS + "/job")).body
    await site.v1("PUT", TASKS + "/job")
    await site.settle()
    stopped = (await site.v1("GET", TASKS + "/job")).body

    assert [(task["status"], task["alreadyRetriedTimes"]) for task in (running, stopped)] == [
        ("Running", 1),
        ("Stopped", 1),
    ]


async def test_running_task_is_stopped_by_cancelling_its_call(site):
    """Stopping until the call is gone, then stopped; others go on."""
    await task_mode(site)
    held = site.hold_calls()
    await start(site, "job")
    await start(site, "other")
    await site.settle()

    await site.v1("PUT", TASKS + "/job")
    await site.settle()
    task = (await site.v1("GET", TASKS + "/job")).body
    other = (await site.v1("GET", TASKS + "/other")).body

    assert [event["status"] for event in task["events"]][2:] == ["Running", "Stopping", "Stopped"]
    assert (task["status"], other["status"], held.cancelled) == ("Stopped", "Running", 1)


async def test_task_that_is_stopped_before_its_first_step_is_stopped(site):
    """Also when both come in the same moment."""
    await task_mode(site)
    held = site.hold_calls()

    await start(site, "job")
    await site.v1("PUT", TASKS + "/job")
    await site.settle()
    task = (await site.v1("GET", TASKS + "/job")).body

    assert task["status"] == "Stopped"
    assert held.now == 0


async def test_task_that_was_being_stopped_is_stopped_after_a_restart(sites):
    """It does not run again."""

    async def before(site):
        await site.fc.start()
        await task_mode(site)
        site.hold_calls()
        await start(site, "job")
        await site.settle()
        site.database.write("UPDATE fc_async_calls SET status = 'Stopping'")
        await site.fc.close()

    async def afterwards(site):
        await site.fc.start()
        await site.settle()
        task = await site.v1("GET", TASKS + "/job")
        await site.fc.close()
        return task.body["status"], len(site.instances.invocations)

    await before(sites())

    assert await afterwards(sites()) == ("Stopped", 0)


async def test_unknown_tasks_are_not_found(site):
    """Get and stop, also with another qualifier than the task was started with."""
    await task_mode(site)
    await start(site, "job")

    answers = [
        await site.v1("GET", TASKS + "/none"),
        await site.v1("PUT", TASKS + "/none"),
        await site.v1("GET", TASKS + "/job?qualifier=7"),
    ]

    assert {(answer.status, answer.code) for answer in answers} == {(404, "StatefulAsyncInvocationNotFound")}


async def test_functions_that_run_tasks_are_listed(site):
    """Those configured for it, and those that have records."""
    await task_mode(site)
    await site.make_function(name="other")
    await site.make_function(name="plain")
    await site.v1(
        "POST",
        "/services/shop/functions/other/invocations",
        b"",
        X_Fc_Invocation_Type="Async",
        X_Fc_Stateful_Async_Invocation_Enable="true",
    )

    path = "/2021-04-06/stateful-async-invocation-functions"
    first = (await site.ask("GET", path + "?limit=1")).body
    rest = (await site.ask("GET", f"{path}?nextToken={first['nextToken']}")).body

    names = [row["functionName"] for row in first["data"] + rest["data"]]
    assert names == ["order", "other"]
    assert first["data"][0] == {"serviceName": "shop", "functionName": "order", "qualifier": "LATEST"}
