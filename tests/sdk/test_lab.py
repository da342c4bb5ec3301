"""Faults, mocks, sinks and recorded calls through a running emulator, with the official clients and the test kit."""

import json
import sys

import pytest
from mns.mns_exception import MNSServerException
from mns.queue import Message as MnsMessage

from emulator.testing import ApiError, Emulator, NotInstalled

pytestmark = pytest.mark.sdk

CODE = """
def handler(event, context):
    print("at work")
    return "real"
"""

FLOW = """
version: v1
type: flow
steps:
  - type: task
    name: call
    resourceArn: acs:fc:::services/none/functions/missing
  - type: task
    name: send
    resourceArn: acs:mns:::/queues/lab/messages
    serviceParams: {MessageBody: hello}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """One emulator with a function of two seconds."""
    folder = tmp_path_factory.mktemp("functions")
    (folder / "plain").mkdir()
    (folder / "plain" / "index.py").write_text(
        "def handler(event, context):\n    print('at work')\n    return 'real'\n"
    )
    (folder / "plain" / "function.yml").write_text("timeout: 1\n")
    with Emulator(functions=folder) as localyun:
        yield localyun


@pytest.fixture
def lab(served):
    """The kit, with nothing left of other tests."""
    for what in ("faults", "mocks", "sinks", "calls"):
        served.api.admin("DELETE", what)
    return served


def test_a_fault_is_the_sdks_own_error(lab):
    """Code and status arrive in the client's exception; the next call works."""
    lab.queue("lab")
    queue = lab.mns.get_queue("lab")
    lab.faults.add(service="mns", operation="SendMessage", resource="lab", error="QueueNotExist", times=1)

    with pytest.raises(MNSServerException) as caught:
        queue.send_message(MnsMessage("one"))

    assert caught.value.type == "QueueNotExist"
    assert queue.send_message(MnsMessage("two")).message_id


def test_throttling_reaches_the_workflow_client(lab):
    """In the dialect of that service."""
    lab.faults.add(service="fnf", operation="ListFlows", throttle=True)

    with pytest.raises(ApiError) as caught:
        lab.api.fnf("ListFlows")

    assert (caught.value.status, caught.value.code) == (429, "ResourceThrottled")


@pytest.mark.parametrize(("drop", "arrived"), [(True, 0), ("after", 1)])
def test_a_dropped_call_closes_the_connection(lab, drop, arrived):
    """Before the work, or after it was done: then the message is there."""
    import requests

    queue = lab.queue(f"drop-{arrived}")
    lab.faults.add(service="mns", operation="SendMessage", drop=drop, times=1)

    with pytest.raises(requests.ConnectionError):
        queue.send("one")

    assert len(queue) == arrived


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("exception", "a fault was injected"),
        ("crash", "Process exited unexpectedly"),
        ("oom", "Process exited unexpectedly"),
        ("timeout", "Function timed out after 1 second"),
    ],
)
def test_a_function_breaks_in_the_true_way(lab, how, told):
    """The answer and the log are those of a function that does so by itself."""
    lab.faults.add(service="fc", resource="plain", function=how, times=1)

    broken = lab.invoke("plain")

    assert broken.error_type == "UnhandledInvocationError"
    assert told in broken.text
    assert lab.invoke("plain").text == "real"


def test_the_kit_is_loaded_while_the_emulator_starts(monkeypatch):
    """What it lacks is told before the emulator answers, whose process ends."""
    monkeypatch.setattr(Emulator, "_wait", lambda *_: pytest.fail("it waited first"))
    monkeypatch.setitem(sys.modules, "requests", None)
    emulator = Emulator()

    with pytest.raises(NotInstalled):
        emulator.start()

    assert emulator._process is None


@pytest.mark.parametrize(
    ("client", "package", "command"),
    [("oss", "oss2", "pip install 'localyun[oss]' oss2"), ("fc2", "fc2", "pip install 'localyun[sdk]'")],
)
def test_a_client_without_its_package_names_what_to_install(lab, monkeypatch, client, package, command):
    """Object storage has an extra of its own, and its SDK stands beside that."""
    monkeypatch.delitem(vars(lab), client, raising=False)
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(NotInstalled) as missing:
        getattr(lab, client)

    assert str(missing.value) == f"the package of {package} is missing: {command}"


@pytest.mark.parametrize(
    ("service", "operation", "told"),
    [
        ("mns", "SendMesage", "mns has no operation 'SendMesage'; did you mean SendMessage?"),
        ("fc", "InvokeFuncton", "did you mean InvokeFunction?"),
        ("fnf", "Qu?x*", "fnf has no operation 'Qu?x*'"),
    ],
)
def test_an_operation_that_no_service_has_cannot_fail(lab, service, operation, told):
    """A test with a slip in it would test nothing; resources may be made later."""
    with pytest.raises(ApiError) as refused:
        lab.faults.add(service=service, operation=operation, throttle=True)

    assert told in str(refused.value)
    assert lab.faults.list() == []


@pytest.mark.parametrize(
    ("service", "operation"),
    [("mns", "peekmessage"), ("mns", "Push"), ("mns", "*Queue*"), ("fnf", "Report*"), ("oss", "GetObject")],
)
def test_operations_are_named_in_any_case_and_by_patterns(lab, service, operation):
    """Those that no table has are among them, and any of a service without a table."""
    lab.faults.add(service=service, operation=operation, resource="not-there-yet", throttle=True)

    assert lab.faults.list()[0]["match"]["operation"] == operation


def test_a_fault_for_flows_leaves_the_tests_own_calls_alone(lab):
    """Matching by caller."""
    queue = lab.queue("lab")
    lab.mock("none/missing", returns={})
    lab.faults.add(service="mns", operation="SendMessage", source="flow", error="QueueNotExist")

    run = lab.flow("faulty", FLOW).start({})
    lab.settle()
    queue.send("mine")

    assert run.status == "Failed"
    assert "MNS.QueueNotExist" in run.history[-1]["EventDetail"]


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        ({"errror": "X"}, "there is no argument errror; did you mean error?"),
        ({"drop": "before", "error": "X"}, "faults.add takes exactly one of error, drop, throttle, function, or delay"),
        ({}, "faults.add takes exactly one of"),
        ({"status": 500}, "faults.add takes exactly one of"),
    ],
)
def test_keywords_that_are_no_effect_are_refused_in_the_words_of_the_kit(lab, effect, said):
    """Nothing is injected; one effect, and a delay with it or alone, is taken."""
    with pytest.raises(TypeError, match=said):
        lab.faults.add(service="mns", **effect)

    assert lab.faults.list() == []
    for taken in ({"error": "InternalError", "status": 500, "delay": "1s"}, {"delay": "1s"}):
        lab.faults.remove(lab.faults.add(service="mns", **taken))


WAITING = """
version: v1
type: flow
steps:
  - type: task
    name: ask
    resourceArn: acs:mns:::/queues/lab/messages
    pattern: waitForCallback
    serviceParams: {MessageBody: hello}
"""


def test_a_flow_that_waits_for_a_token_is_quiet_and_named(lab):
    """By settle and by its command; a skip that cannot end names it too."""
    lab.queue("lab")
    run = lab.flow("asking", WAITING).start({}, name="one")
    token = {
        "kind": "waiting", "resource": "asking/one", "since": None, "for": "a report of the task token of step ask",
    }  # fmt: skip

    answer = lab.api.admin("POST", "settle", {})
    shown = lab.command("settle", "--json")
    with pytest.raises(ApiError) as stuck:
        lab.skip_until(execution=run)

    assert (answer["settled"], answer["active"], answer["waiting"]) == (True, [], [token])
    assert json.loads(shown)["waiting"] == [token]
    assert token in stuck.value.body["active"]


SLEEPING = """
version: v1
type: flow
steps: [{type: wait, name: rest, duration: 600}]
"""


def test_a_skip_names_the_breakpoint_at_which_its_execution_stands(lab):
    """By execution or by flow; one that a debugger has let go ends."""
    flow = lab.flow("stopping", SLEEPING)
    flow.start({}, name="other")
    lab.skip_until(execution="stopping")
    breakpoints = [{"when": "before", "step": "rest"}]
    lab.api.admin("POST", "flows/stopping/debug", {"name": "held", "input": {}, "breakpoints": breakpoints})
    stop = {
        "kind": "waiting", "resource": "stopping/held", "since": None,
        "for": "a debugger, which has stopped it at step rest",
    }  # fmt: skip

    for name in ("stopping/held", "stopping"):
        with pytest.raises(ApiError) as stuck:
            lab.skip_until(execution=name)
        assert stuck.value.body["active"][0] == stop
    lab.api.admin("POST", "flows/stopping/executions/held/debug/continue", {})
    lab.skip_until(execution="stopping/held")

    assert {each.name: each.status for each in flow.executions} == {"other": "Succeeded", "held": "Succeeded"}


def test_a_skip_to_the_end_of_a_flow_means_its_latest_execution(lab):
    """As the commands on flows do; a flow that has not been executed is named."""
    flow = lab.flow("sleeping", SLEEPING)
    with pytest.raises(ApiError, match="flow sleeping has not been executed yet"):
        lab.skip_until(execution="sleeping")
    first = flow.start({}, name="first")
    lab.skip_until(execution="sleeping")
    second = flow.start({}, name="second")
    with pytest.raises(
        ApiError, match="visible must be a whole number, at least 1; to wait for an empty queue, settle"
    ):
        lab.skip_until(queue="any", visible=0)
    with pytest.raises(ApiError, match="count must be a whole number, at least 1"):
        lab.skip_until(calls="any", count=0)

    lab.skip_until(execution="sleeping")

    assert (first.status, second.status) == ("Succeeded", "Succeeded")


def test_a_flow_runs_with_all_functions_mocked_and_none_deployed(lab):
    """The mock knows event and caller."""
    lab.queue("lab")
    mock = lab.mock("none/missing", returns={"n": 1})

    run = lab.flow("mocked", FLOW).start({"k": 2})
    lab.settle()

    assert run.status == "Succeeded"
    assert run.output["n"] == 1
    assert [(call.event, call.caller) for call in mock.calls] == [({"k": 2}, "flow")]
    assert mock.calls[0].cause


def test_a_mock_that_takes_an_hour_is_skipped_over(lab):
    """Its delay passes by the emulator's clock."""
    lab.queue("lab")
    lab.mock("none/missing", answers=[{"return": {}, "delay": "1h"}])
    run = lab.flow("slow", FLOW).start({})
    lab.settle()
    assert run.status == "Running"

    lab.clock.advance("1h")

    assert run.status == "Succeeded"


def test_calls_of_real_functions_are_recorded(lab):
    """With event, caller, answer and log."""
    lab.invoke("plain", {"a": 1})

    (call,) = lab.calls("plain")

    assert (call.event, call.caller, call.answer, call.error) == ({"a": 1}, "client", "real", None)
    assert "at work" in call.log
    assert call.request_id in call.log


def test_an_asynchronous_call_is_mocked_and_recorded_as_such(lab):
    """The function need not exist."""
    mock = lab.mock("nobody", returns=None)

    lab.api.fc("POST", "/2023-03-30/functions/nobody/invocations", b"1", **{"X-Fc-Invocation-Type": "Async"})
    lab.settle()

    assert [(call.event, call.caller) for call in mock.calls] == [(1, "async")]


def test_a_sink_takes_signed_pushes_and_answers_in_turn(lab):
    """The second attempt comes at its time and is taken."""
    sink = lab.sink([{"status": 500}, {"status": 204}])
    lab.topic("sunk").subscribe(sink.url)

    lab.topic("sunk").publish("hello")
    lab.settle()
    lab.clock.advance("30s")

    assert [(each.status, each.text, each.signature_valid) for each in sink] == [
        (500, "hello", True),
        (204, "hello", True),
    ]


def test_a_push_that_is_made_to_fail_is_tried_again(lab):
    """Without the endpoint having seen it."""
    sink = lab.sink()
    lab.topic("pushed").subscribe(sink.url)
    lab.faults.add(source="push", error="InternalError", times=1)
    lab.topic("pushed").publish("hello")
    lab.settle()
    assert len(sink) == 0

    lab.clock.advance("30s")

    assert sink.only().text == "hello"


def test_a_fault_survives_neither_its_removal_nor_a_reset(lab):
    """After that every call is let through."""
    lab.queue("lab")
    fault = lab.faults.add(service="mns", throttle=True)
    assert [each["id"] for each in lab.faults.list()] == [fault]

    lab.reset()

    assert lab.faults.list() == []
    lab.queue("lab").send("fine")
