"""Who hears of the end of a call, and what."""

import json

import pytest

CALL = "/services/shop/functions/order/invocations"
CONFIG = "/services/shop.LATEST/functions/order/async-invoke-config"
TASKS = "/services/shop/functions/order/stateful-async-invocations"
QUEUE = "acs:mns:::/queues/results/messages"
TOPIC = "acs:mns:cn-hangzhou:123456789012:/topics/news/messages"
FAILED = b'{"errorMessage":"boom"}'


async def configure(site, **said):
    sides = {side: {"destination": said.pop(side)} for side in ("onSuccess", "onFailure") if side in said}
    answer = await site.v1("PUT", CONFIG, {"destinationConfig": sides, "maxAsyncRetryAttempts": 0, **said})
    assert answer.status == 200


async def test_queue_hears_of_success_and_topic_of_failure(site):
    """With request id, payloads, status and error type in the documented form."""
    await site.make_function()
    site.receivers.known |= {"queue results", "topic news"}
    await configure(site, onSuccess=QUEUE, onFailure=TOPIC)

    good = await site.v1("POST", CALL, b"caf\xc3\xa9 \xff", x_fc_invocation_type="Async")
    await site.settle()
    site.answer_calls(FAILED, "UnhandledInvocationError")
    bad = await site.v1("POST", CALL, b"{}", x_fc_invocation_type="Async")
    await site.settle()

    (to_queue, success), (to_topic, failure) = site.receivers.got
    arn = "acs:fc:cn-hangzhou:123456789012:services/shop.LATEST/functions/order"
    assert (to_queue, to_topic) == ("queue results", "topic news")
    assert json.loads(success) == {
        "timestamp": site.clock.now(),
        "requestContext": {
            "requestId": good.headers["x-fc-request-id"],
            "functionArn": arn,
            "condition": "",
            "approximateInvokeCount": 1,
        },
        "requestPayload": "café �",
        "responseContext": {"statusCode": 200, "functionError": ""},
        "responsePayload": "café �",
    }
    assert json.loads(failure) == {
        "timestamp": site.clock.now(),
        "requestContext": {
            "requestId": bad.headers["x-fc-request-id"],
            "functionArn": arn,
            "condition": "UnhandledInvocationError",
            "approximateInvokeCount": 1,
        },
        "requestPayload": "{}",
        "responseContext": {"statusCode": 200, "functionError": "UnhandledInvocationError"},
        "responsePayload": FAILED.decode(),
    }


async def test_retried_call_says_how_often_it_was_tried(site):
    """Also when it succeeded in the end."""
    await site.make_function()
    site.receivers.known.add("queue results")
    await configure(site, onSuccess=QUEUE, maxAsyncRetryAttempts=3)
    site.answer_calls(FAILED, "UnhandledInvocationError")

    await site.v1("POST", CALL, b"{}", x_fc_invocation_type="Async")
    await site.after(1000)
    site.instances.answer = None
    await site.after(2000)

    assert json.loads(site.receivers.got[0][1])["requestContext"]["approximateInvokeCount"] == 3


async def test_failure_side_hears_of_events_that_grew_too_old(site):
    """With what the last attempt brought."""
    await site.make_function()
    site.receivers.known.add("queue results")
    await configure(site, onFailure=QUEUE, maxAsyncEventAgeInSeconds=1, maxAsyncRetryAttempts=8)
    site.answer_calls(FAILED, "UnhandledInvocationError")

    await site.v1("POST", CALL, b"{}", x_fc_invocation_type="Async")
    await site.after(60_000)

    told = json.loads(site.receivers.got[0][1])
    assert len(site.receivers.got) == 1
    assert told["requestContext"]["condition"] == "UnhandledInvocationError"
    assert told["responseContext"]["statusCode"] == 200
    assert json.loads(told["responsePayload"])["errorMessage"] == "boom"


@pytest.mark.parametrize(
    ("arn", "delivered"),
    [
        (QUEUE, "Succeeded"),
        ("acs:mns:::/queues/none/messages", "Failed"),
        ("acs:eventbridge:cn-hangzhou:1:eventbus/b/putEvents", "Failed"),
        ("acs:fc:::services/shop/functions/none", "Failed"),
        ("acs:fc:::functions/none", "Failed"),
    ],
    ids=["queue", "no such queue", "not served", "no such function", "no such 3.0 function"],
)
async def test_refused_result_leaves_the_call_as_it_ended(site, arn, delivered):
    """The task's record tells whether the result was taken."""
    await site.make_function()
    site.receivers.known.add("queue results")
    await configure(site, onSuccess=arn, statefulInvocation=True)

    await site.v1("POST", CALL, b"{}", x_fc_invocation_type="Async")
    await site.settle()
    task = (await site.v1("GET", TASKS)).body["invocations"][0]

    assert (task["status"], task["destinationStatus"]) == ("Succeeded", delivered)


@pytest.mark.parametrize(
    ("arn", "event_of"),
    [
        ("acs:fc:cn-hangzhou:123456789012:services/shop/functions/after", "after"),
        ("acs:fc:::services/shop.LATEST/functions/after", "after"),
        ("acs:fc:::functions/third", "third"),
        ("acs:fc:::functions/third/LATEST", "third"),
    ],
    ids=["2.0", "2.0 with a qualifier", "3.0", "3.0 with a qualifier"],
)
async def test_function_gets_the_message_as_its_event(site, pack, arn, event_of):
    """Asynchronously, with a request id of its own."""
    await site.make_function()
    await site.make_function(name="after")
    body = {"functionName": "third", "runtime": "python3.10", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", body)
    await configure(site, onSuccess=arn)

    first = await site.v1("POST", CALL, b"one", x_fc_invocation_type="Async")
    await site.settle()

    (_, second), image = site.instances.invocations, site.instances.images[1]
    assert image.function == event_of
    assert json.loads(second.event)["requestContext"]["requestId"] == first.headers["x-fc-request-id"]
    assert second.request_id != first.headers["x-fc-request-id"]


async def test_receiver_that_breaks_does_not_keep_the_call_open(site):
    """A fault of another service is logged; the call has ended all the same."""
    await site.make_function()
    site.receivers.broken = True
    await configure(site, onSuccess=QUEUE, statefulInvocation=True)

    await site.v1("POST", CALL, b"{}", x_fc_invocation_type="Async")
    await site.settle()
    task = (await site.v1("GET", TASKS)).body["invocations"][0]

    assert (task["status"], task["destinationStatus"]) == ("Succeeded", "Failed")
