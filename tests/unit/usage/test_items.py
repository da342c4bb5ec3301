"""What is counted where, by the documented examples of metering."""

import asyncio

import pytest

from emulator.gateway.traffic import Traffic
from emulator.kernel.metering import added
from emulator.services.fc.catalog.sizes import size_of
from emulator.services.fc.invoke import metering as calls
from emulator.services.fc.model import FunctionConfig
from emulator.services.mns.front import OPERATIONS
from emulator.services.workflow.executions import metering as flows
from emulator.usage import requests
from emulator.usage.items import BY_NAME, ITEMS
from emulator.usage.report import names_of, of_resources, shown


def of(amounts):
    return added(amounts)


def size(**given):
    return size_of(FunctionConfig(runtime="python3.10", handler="index.handler", **given))


def test_seconds_follow_from_what_an_instance_has():
    """The documented example: 512 MB and 0.25 vCPU for 200 ms, three million times."""
    small = size(memory_mb=512, cpu=0.25)

    amounts = of(calls.amounts({("s/f", small): (3_000_000, 600_000_000, 0)}, {}))

    assert amounts == {
        ("fc.calls", "s/f", "cpu"): 3_000_000,
        ("fc.memory_gb_seconds.active", "s/f", "cpu"): 300_000,
        ("fc.vcpu_seconds.active", "s/f", "cpu"): 150_000,
    }


def test_what_is_kept_ready_is_idle_while_it_serves_no_call():
    """Ten seconds were there, four of them at work."""
    large = size(memory_mb=1024, cpu=1, disk_mb=10_240, gpu_config={"gpuMemorySize": 8192, "gpuType": "fc.gpu.tesla.1"})
    kind = "fc.gpu.tesla.1"

    amounts = of(calls.amounts({("f", large): (2, 4_000, 4_000)}, {("f", large): 10_000}))

    assert amounts[("fc.memory_gb_seconds.idle", "f", kind)] == 6
    assert amounts[("fc.vcpu_seconds.idle", "f", kind)] == 6
    assert amounts[("fc.gpu_gb_seconds.active", "f", kind)] == 32
    assert amounts[("fc.gpu_gb_seconds.idle", "f", kind)] == 48


def test_a_mock_is_a_call_and_nothing_else():
    """Nothing is known of what would have run."""
    assert of(calls.amounts({("s/f", None): (2, 5, 0)}, {})) == {("fc.calls", "s/f", "mock"): 2}


@pytest.mark.parametrize(("memory", "cpu"), [(128, 0.06), (64, 0.05), (4096, 2)])
def test_vcpus_follow_from_memory_where_none_are_configured(memory, cpu):
    """Assumed, and marked so."""
    assert size(memory_mb=memory).cpu == cpu
    assert "2 GB" in BY_NAME["fc.vcpu_seconds.active"].assumed[0]


def test_transitions_are_steps_that_were_entered():
    """The documented example: a parallel step with three tasks is four."""
    entered = {("flow", 1): ("parallel", 1), ("flow", 2): ("task", 3)}

    assert sum(each.value for each in flows.amounts(entered, {})) == 4


def test_express_executions_are_metered_by_number_and_time():
    """Of 64 MB."""
    assert of(flows.amounts({}, {"flow": (2, 16_000)})) == {
        ("fnf.express.executions", "flow", ""): 2,
        ("fnf.express.gb_seconds", "flow", ""): 1.0,
    }


def test_requests_are_metered_by_queue_topic_and_bucket():
    """A batch is one request, a refused one of a queue too, and none of a bucket."""
    traffic = Traffic()
    traffic.count("mns", "SendMessage", 201, 0.1, "q", 300 * 1024, 100)
    traffic.count("mns", "ReceiveMessage", 404, 0.1, "q", 0, 200)
    traffic.count("mns", "PublishMessage", 201, 0.1, "t", 10, 10)
    traffic.count("oss", "PutObject", 200, 0.1, "b", 1000, 0)
    traffic.count("oss", "GetObject", 200, 0.1, "b", 0, 700)
    traffic.count("oss", "GetObject", 404, 0.1, "b", 0, 90)
    traffic.count("oss", "ListObjects", 200, 0.1, "b", 0, 10)
    traffic.count("fc", "InvokeFunction", 200, 0.1, "", 5, 6)
    traffic.count("admin", "GET status", 200, 0.1, "", 5, 6)

    amounts = of(requests.amounts(traffic.carried()))

    assert amounts == {
        ("mns.requests.queue", "queues/q", "SendMessage"): 5,
        ("mns.requests.queue", "queues/q", "ReceiveMessage"): 1,
        ("mns.requests.topic", "topics/t", "PublishMessage"): 1,
        ("net.bytes.out", "mns", ""): 310,
        ("oss.requests.put", "b", "PutObject"): 1,
        ("oss.requests.put", "b", "ListObjects"): 1,
        ("oss.requests.get", "b", "GetObject"): 1,
        ("oss.bytes.in", "b", ""): 1000,
        ("oss.bytes.out", "b", ""): 800,
        ("net.bytes.out", "fc", ""): 6,
    }


def test_names_that_clients_invent_do_not_grow_the_counters_without_end(monkeypatch):
    """Beyond a bound they are one."""
    monkeypatch.setattr("emulator.gateway.traffic.MOST_RESOURCES", 2)
    traffic = Traffic()

    for number in range(5):
        traffic.count("mns", "SendMessage", 404, 0.1, f"q{number}")

    assert {each.resource: each.requests for each in traffic.carried()} == {"q0": 1, "q1": 1, "other": 3}


async def test_a_report_has_sums_and_rows_in_the_order_of_the_items():
    """Numbers without a fraction are whole."""
    report = await shown(
        {("fnf.transitions", "a", "task"): 2.0, ("fc.calls", "s/f", "cpu"): 1, ("fnf.transitions", "b", "wait"): 0.5}
    )

    assert report["items"] == {"fc.calls": 1, "fnf.transitions": 2.5}
    assert [(row["item"], row["resource"], row["amount"]) for row in report["rows"]] == [
        ("fc.calls", "s/f", 1), ("fnf.transitions", "a", 2), ("fnf.transitions", "b", 0.5),
    ]  # fmt: skip


def test_a_deployment_is_its_queues_topics_functions_flows_and_buckets():
    """By the names that they are metered by."""
    kinds = {
        "mns.queue": ("q",), "mns.topic": ("t",), "fc.function": ("s", "f"), "fc3.function": ("g",), "fnf.flow": ("w",),
        "oss.bucket": ("b",), "fc.trigger": ("s", "f", "timer"),
    }  # fmt: skip
    names = names_of({"resources": [{"kind": kind, "identity": identity} for kind, identity in kinds.items()]})

    assert names == {("mns", "queues/q"), ("mns", "topics/t"), ("fc", "s/f"), ("fc", "g"), ("fnf", "w"), ("oss", "b")}
    totals = {("fc.calls", "s/f", ""): 1, ("fc.calls", "s/x", ""): 1}
    assert of_resources(totals, lambda *each: each in names) == {("fc.calls", "s/f", ""): 1}


def test_every_item_has_its_source_and_both_languages():
    """What is a guess is marked in both."""
    assert [item.name for item in ITEMS if not all((*item.source, *item.help))] == []
    assert [item.name for item in ITEMS if bool(item.assumed[0]) != bool(item.assumed[1])] == []


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_requests_to_topics_and_queues_are_told_apart(operation):
    """By the path, not by a letter of the name."""
    is_topic = operation.path.startswith("/topics")
    assert requests.of_messages(operation.name, "x", 1).resource == ("topics/x" if is_topic else "queues/x")


async def test_a_long_report_is_made_in_turns():
    """As many rows as there are counts, in order, with turns of the loop for others."""
    totals = {("mns.requests.queue", f"queues/q{number:04}", "SendMessage"): 2.0 for number in reversed(range(2_500))}
    turns = 0

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    report = await shown(totals)
    beside.cancel()

    assert turns == 4
    assert report["items"] == {"mns.requests.queue": 5_000}
    assert [row["resource"] for row in report["rows"]] == [f"queues/q{number:04}" for number in range(2_500)]
