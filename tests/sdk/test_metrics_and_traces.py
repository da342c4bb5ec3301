"""A running emulator seen from outside: its figures, and one request followed through every service."""

import json

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.waiting import eventually

pytest.importorskip("aliyunsdkfnf")
account = pytest.importorskip("mns.account")

pytestmark = pytest.mark.sdk

FLOW = """
version: v1
type: flow
steps:
  - type: task
    name: Charge
    resourceArn: acs:fc:::services/traced/functions/charge
  - type: task
    name: Receipt
    resourceArn: acs:mns:::/queues/traced/messages
    pattern: requestComplete
    serviceParams: {MessageBody: paid}
  - type: task
    name: News
    resourceArn: acs:mns:::/topics/traced/messages
    pattern: requestComplete
    serviceParams: {MessageBody: news}
"""
CODE = "def handler(event, context):\n    print('charging')\n    return '{}'\n"


def figures(emulator):
    """Return the value of every sample by name and labels."""
    status, headers, body = emulator.get("/_localyun/metrics")
    assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def lines(emulator):
    found = [line for line in emulator.output().splitlines() if line.startswith("{")]
    return [json.loads(line) for line in found]


def received_by(emulator):
    found = [line for line in lines(emulator) if line.get("operation") == "ReceiveMessage"]
    return [line for line in found if line["status"] == 200]


@pytest.fixture
def traced(new_emulator, tmp_path):
    """An emulator with a flow that calls a function, sends to a queue and publishes to a topic with that queue."""
    (tmp_path / "functions" / "traced" / "charge").mkdir(parents=True)
    (tmp_path / "functions" / "traced" / "charge" / "index.py").write_text(CODE)
    emulator = new_emulator(tmp_path / "functions", "--log-format", "json").start()
    from mns.queue import QueueMeta
    from mns.subscription import SubscriptionMeta
    from mns.topic import TopicMeta

    mns = account.Account(emulator.url, emulator.keys["accessKeyId"], emulator.keys["accessKeySecret"])
    queue = mns.get_queue("traced")
    queue.create(QueueMeta())
    queue.set_encoding(False)
    mns.get_topic("traced").create(TopicMeta())
    endpoint = f"acs:mns:cn-hangzhou:{emulator.keys['accountId']}:queues/traced"
    mns.get_topic("traced").get_subscription("to-queue").subscribe(
        SubscriptionMeta(endpoint, notify_content_format="SIMPLIFIED")
    )
    fnf = emulator.fnf()
    fnf.send("CreateFlow", Name="traced", Definition=FLOW, Description="d", Type="FDL")
    yield emulator, fnf, queue
    mns.get_client().close_connection()
    fnf.client.session.close()


def test_one_request_is_followed_through_flow_function_queue_and_topic(traced):
    """Each line of what StartExecution set off has its id as the trace, and so does the command that prints them."""
    emulator, fnf, queue = traced

    request = fnf.send("StartExecution", FlowName="traced", ExecutionName="e-1", Input="{}")["RequestId"]
    bodies = {queue.receive_message(20).message_body for _ in range(2)}
    eventually(lambda: [line for line in lines(emulator) if line.get("status") == "Succeeded"])
    eventually(lambda: len(received_by(emulator)) == 2)
    mine = [line for line in lines(emulator) if line.get("trace") == request]

    assert bodies == {"paid", "news"}
    assert {line["operation"] for line in mine if line["logger"] == "emulator.access"} == {"StartExecution"}
    assert [line["step"] for line in mine if "step" in line] == ["Charge", "Receipt", "News"]
    assert [line["function"] for line in mine if "function" in line] == ["traced/charge"]
    assert [line["topic"] for line in mine if "subscription" in line] == ["traced"]
    assert [line["status"] for line in mine if line.get("execution") and "status" in line] == ["Succeeded"]
    assert [line["cause"] for line in received_by(emulator)] == [request, request]
    told = emulator.get(f"/_localyun/trace?request={request}", X_Localyun_Token=emulator.keys["adminToken"])[2]
    printed = [line["message"] for line in json.loads(told)["lines"]]
    assert "charging" in "\n".join(printed)
    assert sum("ReceiveMessage" in text for text in printed) == 2


def test_a_trace_survives_kill_and_restart(traced):
    """What waits for its retry when the emulator is killed goes on under the same id."""
    emulator, fnf, _ = traced
    flow = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 2}\n" + FLOW.split("steps:\n")[1]
    fnf.send("CreateFlow", Name="late", Definition=flow, Description="d", Type="FDL")
    request = fnf.send("StartExecution", FlowName="late", ExecutionName="e-1", Input="{}")["RequestId"]
    fnf.client.session.close()
    emulator.kill()
    before = len(lines(emulator))

    emulator.start()

    def ended():
        found = [line for line in lines(emulator)[before:] if line.get("trace") == request]
        return found if any(line.get("status") == "Succeeded" for line in found) else None

    mine = eventually(ended)
    assert [line["step"] for line in mine if "step" in line] == ["Charge", "Receipt", "News"]


def test_figures_tell_what_was_done(traced):
    """Requests, calls, messages and executions are counted where they happen."""
    emulator, fnf, queue = traced

    fnf.send("StartExecution", FlowName="traced", ExecutionName="e-1", Input="{}")
    eventually(lambda: figures(emulator).get(("localyun_executions_ended_total", ("status", "Succeeded"))))
    queue.receive_message(20)
    found = figures(emulator)

    started = ("operation", "StartExecution"), ("service", "fnf"), ("status", "2xx")
    assert found[("localyun_requests_total", *started)] == 1
    assert found[("localyun_request_duration_seconds_count", *started[:2])] == 1
    assert found[("localyun_fc_invocations_total", ("result", "succeeded"), ("start", "cold"))] == 1
    of_queue = ("queue", "traced"), ("region", "cn-hangzhou")
    assert found[("localyun_mns_messages", *of_queue, ("state", "active"))] == 1
    assert found[("localyun_mns_messages", *of_queue, ("state", "inactive"))] == 1
    delivered = ("endpoint", "queue"), ("result", "delivered")
    assert found[("localyun_mns_delivery_attempts_total", *delivered)] == 1
    assert found[("localyun_executions_started_total",)] == 1
    assert found[("localyun_executions_open",)] == 0
    assert found[("localyun_fc_instances", ("state", "idle"))] == 1
    assert found[("localyun_commits_total",)] > 0
    assert found[("localyun_wal_bytes",)] > 0
    assert found[("process_threads",)] >= 1
    assert eventually(lambda: figures(emulator)[("localyun_loop_lag_seconds_count",)] > 0)


def test_figures_follow_the_rules_for_hosts_and_web_pages(emulator):
    """A page of the web, or a name that leads here by DNS, reads nothing."""
    assert emulator.get("/_localyun/metrics", Host="evil.example")[0] == 403
    assert emulator.get("/_localyun/metrics", Origin="https://evil.example")[0] == 403
    assert emulator.get("/_localyun/trace?request=x")[0] == 403


def test_figures_need_the_token_when_others_reach_the_emulator(new_emulator):
    """With an address beyond this machine the figures are for the token's holder only, as a bearer token too."""
    emulator = new_emulator(None, "--host", "0.0.0.0").start()

    refused = emulator.get("/_localyun/metrics")[0]
    granted = emulator.get("/_localyun/metrics", Authorization=f"Bearer {emulator.keys['adminToken']}")[0]

    assert (refused, granted) == (403, 200)
