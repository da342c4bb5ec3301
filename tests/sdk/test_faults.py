"""Faults in each dialect, for what is called from inside, and functions of other languages that break."""

import json
import shutil

import pytest
import requests

from emulator.auth import rpc
from emulator.kernel.clock import SystemClock
from emulator.kernel.ids import RandomIds
from emulator.testing import Emulator

pytestmark = pytest.mark.sdk

PASS = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p}\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("functions")
    for name, file, code, settings in (
        ("python", "index.py", "def handler(event, context):\n    return 'real'\n", ""),
        ("node", "index.js", "exports.handler = (event, context, callback) => callback(null, 'real');\n",
         "runtime: nodejs18\n"),
    ):  # fmt: skip
        (folder / name).mkdir()
        (folder / name / file).write_text(code)
        (folder / name / "function.yml").write_text(f"timeout: 1\n{settings}")
    with Emulator(functions=folder) as localyun:
        yield localyun


@pytest.fixture
def lab(served):
    """The kit, with nothing left of other tests."""
    served.reset()
    return served


def pop(kit, version, action, **parameters):
    """Call an operation of an RPC service; see what it answers."""
    signed = rpc.signed_parameters(
        "POST", {"Action": action, "Version": version, **parameters}, key_id=kit.access_key_id,
        secret=kit.access_key_secret, timestamp=SystemClock().now(), nonce=RandomIds().uuid(),
    )  # fmt: skip
    return requests.post(kit.endpoint, data=signed, timeout=60).json()


def _send(kit):
    kit.api.mns("PUT", "/queues/made")


def _sent(kit):
    return kit.api.mns("GET", "/queues").findtext(".//QueueURL") is not None


def _create_function(kit):
    code = {"zipFile": "UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA=="}
    body = {"functionName": "made", "runtime": "python3.10", "handler": "index.handler", "code": code}
    kit.api.fc("POST", "/2023-03-30/functions", json.dumps(body).encode())


def _function_created(kit):
    return kit.api.fc("GET", "/2023-03-30/functions/made").status_code == 200


def _create_service(kit):
    kit.api.fc("POST", "/2016-08-15/services", b'{"serviceName": "made"}')


def _service_created(kit):
    return kit.api.fc("GET", "/2016-08-15/services/made").status_code == 200


def _create_flow(kit):
    kit.api.fnf("CreateFlow", Name="made", Definition=PASS, Description="", Type="FDL")


def _flow_created(kit):
    return [flow["Name"] for flow in kit.api.fnf("ListFlows")["Flows"]] == ["made"]


def _create_user(kit):
    pop(kit, "2015-05-01", "CreateUser", UserName="made")


def _user_created(kit):
    return "User" in pop(kit, "2015-05-01", "GetUser", UserName="made")


def _create_bucket(kit):
    import oss2

    try:
        oss2.Bucket(kit.oss.auth, kit.endpoint, "made").create_bucket()
    except oss2.exceptions.RequestError as error:
        raise error.exception from None


def _bucket_created(kit):
    return [bucket.name for bucket in kit.oss.list_buckets().buckets] == ["made"]


@pytest.mark.parametrize(("when", "done"), [("before", False), ("after", True)])
@pytest.mark.parametrize(
    ("service", "operation", "call", "looks"),
    [
        ("mns", "CreateQueue", _send, _sent),
        ("fc", "CreateFunction", _create_function, _function_created),
        ("fc", "CreateService", _create_service, _service_created),
        ("fnf", "CreateFlow", _create_flow, _flow_created),
        ("ram", "CreateUser", _create_user, _user_created),
        ("oss", "PutBucket", _create_bucket, _bucket_created),
    ],
)
def test_a_connection_is_dropped_before_or_after_the_work(lab, service, operation, call, looks, when, done):
    """In every dialect the client gets no answer; whether the work was done is the difference."""
    lab.faults.add(service=service, operation=operation, drop=when, times=1)

    with pytest.raises(requests.ConnectionError):
        call(lab)

    assert looks(lab) == done


def machine(action, **parameters):
    state = {
        "Type": "Task", "Name": "call", "Action": action, "Parameters": parameters, "Next": "end",
        "Catch": [{
            "Errors": ["FnF.ALL"], "OutputConstructor": {"Code.$": "$Context.Current.Error.Code"}, "Next": "end",
        }],
    }  # fmt: skip
    states = [state, {"Type": "Succeed", "Name": "end"}]
    return json.dumps({"Type": "StateMachine", "Name": "m", "SpecVersion": "v1", "StartAt": "call", "States": states})


@pytest.mark.parametrize(
    ("effect", "code", "arrived"),
    [
        ({"error": "Down", "status": 503}, 503, 0),
        ({"throttle": True}, 429, 0),
        ({"drop": True}, "HTTP.Unknown", 0),
        ({"drop": "after"}, "HTTP.Unknown", 1),
    ],
    ids=["error", "throttle", "drop", "drop after"],
)
def test_calls_of_flows_over_http_go_wrong(lab, effect, code, arrived):
    """As an answer of the endpoint, or without one; the flow sees what it would."""
    sink = lab.sink()
    flow = lab.flow("m", machine("HTTP:Request", url=sink.url, method="POST", body={"n": 1}))
    lab.faults.add(service="http", operation="POST", resource=f"{lab.endpoint}/*", source="flow", times=1, **effect)

    broken, whole = (flow.start({}).wait() for _ in range(2))

    assert broken.output["Code"] == code
    assert whole.output["Code"] == 200
    assert len(sink) == arrived + 1


def test_objects_that_flows_read_go_wrong(lab):
    """With an error of the store's; a client reads the object all the same."""
    import oss2

    bucket = oss2.Bucket(lab.oss.auth, lab.endpoint, "read-by-flows")
    bucket.create_bucket()
    bucket.put_object("a.txt", "hello")
    flow = lab.flow("m", machine("OSS:GetObject", bucket="read-by-flows", key="a.txt"))
    lab.faults.add(
        service="oss", operation="GetObject", resource="read-by-flows/*", source="flow", error="NoSuchKey", times=1
    )

    mine = bucket.get_object("a.txt").read()
    broken, whole = (flow.start({}).wait() for _ in range(2))

    assert mine == b"hello"
    assert broken.output["Code"] == "OSS.NoSuchKey"
    assert whole.output["body"] == "hello"


def test_a_run_of_a_schedule_goes_wrong(lab):
    """The next one takes place."""
    lab.clock.freeze()
    flow = lab.flow("scheduled", PASS)
    lab.faults.add(service="fnf", operation="StartExecution", source="trigger", throttle=True, times=1)
    lab.api.fnf("CreateSchedule", FlowName="scheduled", ScheduleName="s", CronExpression="@every 1m", Enable=True)
    flow.start({})

    lab.clock.advance("2m")

    assert len(flow.executions) == 2


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("exception", "a fault was injected"),
        ("crash", "Process exited unexpectedly"),
        ("oom", "Process exited unexpectedly"),
        ("timeout", "Function timed out after 1 second"),
    ],
)
def test_a_function_of_node_breaks_in_the_true_way(lab, how, told):
    """And serves the next call."""
    lab.faults.add(service="fc", resource="node", function=how, times=1)

    broken = lab.invoke("node")

    assert broken.error_type == "UnhandledInvocationError"
    assert told in broken.text
    assert lab.invoke("node").text == "real"
