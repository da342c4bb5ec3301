"""Flows that wait for somebody's report: through a queue, a topic and a function, as the guide's tutorials do it."""

import json
import logging
import threading

import pytest

pytest.importorskip("aliyunsdkfnf")
mns = pytest.importorskip("mns.account")

from mns.mns_exception import MNSExceptionBase  # noqa: E402
from mns.queue import QueueMeta  # noqa: E402
from mns.subscription import SubscriptionMeta  # noqa: E402
from mns.topic import TopicMeta  # noqa: E402

pytestmark = pytest.mark.sdk

QUEUE_FLOW = """
version: v1
type: flow
steps:
  - type: task
    name: Task_1
    resourceArn: acs:mns:::/queues/{queue}/messages
    pattern: waitForCallback
    inputMappings:
      - {{target: key, source: value}}
      - {{target: task_token, source: $context.task.token}}
    serviceParams:
      MessageBody: $
      Priority: 1
"""

TOPIC_FLOW = """
version: v1
type: flow
steps:
  - type: task
    name: mns-topic-task
    resourceArn: acs:mns:::/topics/{topic}/messages
    pattern: waitForCallback
    inputMappings:
      - {{target: messageBody, source: $input.messageBody}}
      - {{target: taskToken, source: $context.task.token}}
    outputMappings:
      - {{target: status, source: $local.status}}
    serviceParams:
      MessageBody: $
"""

CALLBACK_FLOW = """
version: v1
type: flow
steps:
  - type: task
    name: mytask
    resourceArn: acs:fc:::services/callbacks/functions/echo
    pattern: waitForCallback
    inputMappings:
      - {target: taskToken, source: $context.task.token}
    outputMappings:
      - {target: s, source: $local.status}
"""

ECHO = "def handler(event, context):\n    return event\n"

REPORTER = """
import json
import logging

from aliyunsdkcore.auth.credentials import StsTokenCredential
from aliyunsdkcore.client import AcsClient
from aliyunsdkfnf.request.v20190315 import ReportTaskSucceededRequest


def handler(environ, start_response):
    context = environ["fc.context"]
    body = json.loads(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))
    message = json.loads(body["Message"])
    keys = context.credentials
    credentials = StsTokenCredential(keys.access_key_id, keys.access_key_secret, keys.security_token)
    client = AcsClient(region_id=context.region, credential=credentials)
    request = ReportTaskSucceededRequest.ReportTaskSucceededRequest()
    request.set_Output(json.dumps({"status": "success"}))
    request.set_TaskToken(message["taskToken"])
    logging.getLogger().info(client.do_action_with_exception(request))
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"OK"]
"""
TRIGGER = "triggers:\n  - {name: push, type: http, config: {authType: anonymous, methods: [POST]}}\n"

TASK = ["StepEntered", "TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskSucceeded", "StepExited"]
ALL_EVENTS = ["ExecutionStarted", *TASK, "ExecutionSucceeded"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("functions")
    for name, code in (("echo", ECHO), ("reporter", REPORTER)):
        made = root / "callbacks" / name
        made.mkdir(parents=True)
        (made / "index.py").write_text(code)
    (root / "callbacks" / "reporter" / "function.yml").write_text(TRIGGER)
    return root


@pytest.fixture
def site(new_emulator, folder):
    return new_emulator(folder).start()


@pytest.fixture
def account(site):
    # without a logger of its own the client writes a log file into its package
    made = mns.Account(
        site.url, site.keys["accessKeyId"], site.keys["accessKeySecret"], logger=logging.getLogger("test.mns")
    )
    yield made
    made.get_client().close_connection()


class Tea:
    """The newer SDK with the calls of the classic one."""

    def __init__(self, site) -> None:
        from alibabacloud_fnf20190315 import models

        self._models = models
        self._client = site.fnf_tea()

    def send(self, name, **parameters):
        method = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]
        request = getattr(self._models, f"{name}Request")().from_map(parameters)
        return getattr(self._client, method)(request).body.to_map()


@pytest.fixture(params=["classic", "tea"])
def fnf(request, site):
    return site.fnf() if request.param == "classic" else Tea(site)


def run(fnf, definition, given):
    fnf.send("CreateFlow", Name="flow", Definition=definition, Description="", Type="FDL", RoleArn="acs:ram::1:role/r")
    fnf.send("StartExecution", FlowName="flow", ExecutionName="e", Input=json.dumps(given))


def end(fnf):
    """Wait for the end; return (status, output, events)."""
    ended = fnf.send("DescribeExecution", FlowName="flow", ExecutionName="e", WaitTimeSeconds=60)
    events = fnf.send("GetExecutionHistory", FlowName="flow", ExecutionName="e", Limit=100)["Events"]
    return ended["Status"], json.loads(ended["Output"] or "null"), events


def error_code(call, *arguments, **parameters):
    """Return the code of the refusal *call* meets with, in whichever SDK."""
    with pytest.raises(Exception) as caught:
        call(*arguments, **parameters)
    return getattr(caught.value, "error_code", None) or caught.value.code


def test_a_worker_reports_what_it_took_from_a_queue(site, account, fnf):
    """The message is raw JSON of the first priority; its second delivery finds the task completed."""
    queue = account.get_queue("jobs")
    queue.set_encoding(False)
    queue.create(QueueMeta(vis_timeout=1))
    seen = []

    def work():
        while len(seen) < 2:
            try:
                message = queue.receive_message(10)
            except MNSExceptionBase as error:
                if error.type != "MessageNotExist":
                    seen.extend([error.type] * 2)
                continue
            body = json.loads(message.message_body)
            report = {"TaskToken": body["task_token"], "Output": json.dumps({"key": "value"})}
            if not seen:
                seen.append((message.priority, body["key"], fnf.send("ReportTaskSucceeded", **report)["EventId"]))
                continue  # not deleted: it is delivered again
            seen.append(error_code(fnf.send, "ReportTaskSucceeded", **report))
            queue.delete_message(message.receipt_handle)

    worker = threading.Thread(target=work)
    worker.start()
    run(fnf, QUEUE_FLOW.format(queue="jobs"), {})

    status, output, events = end(fnf)
    worker.join(30)

    assert (status, output) == ("Succeeded", {"key": "value"})
    assert [event["Type"] for event in events] == ALL_EVENTS
    assert seen == [(1, "value", 6), "TaskAlreadyCompleted"]
    submitted = json.loads(events[4]["EventDetail"])["output"]
    assert set(submitted) == {"MessageId", "MessageBodyMD5", "RequestId"}


def test_a_function_behind_a_topic_reports(site, account, fnf):
    """Published, pushed as JSON to the function's address, reported with the function's own temporary keys."""
    topic = account.get_topic("news")
    topic.create(TopicMeta())
    address = f"{site.url}/2016-08-15/proxy/callbacks/reporter/"
    topic.get_subscription("push").subscribe(SubscriptionMeta(endpoint=address, notify_content_format="JSON"))
    run(fnf, TOPIC_FLOW.format(topic="news"), {"messageBody": "hello"})

    status, output, events = end(fnf)

    assert (status, output) == ("Succeeded", {"status": "success"})
    assert [event["Type"] for event in events] == ALL_EVENTS
    assert [event["EventId"] for event in events] == list(range(1, 9))
    assert set(json.loads(events[4]["EventDetail"])["output"]) == {"MessageId", "MessageBodyMD5", "RequestId"}


def test_a_script_reports_with_the_token_the_history_shows(site, fnf):
    """The echo function returns its event, which TaskSubmitted shows."""
    run(fnf, CALLBACK_FLOW, {})
    fnf.send("DescribeExecution", FlowName="flow", ExecutionName="e", WaitTimeSeconds=1)
    history = fnf.send("GetExecutionHistory", FlowName="flow", ExecutionName="e", Limit=10)["Events"]
    deadline = 50
    while history[-1]["Type"] != "TaskSubmitted" and deadline:
        fnf.send("DescribeExecution", FlowName="flow", ExecutionName="e", WaitTimeSeconds=1)
        history = fnf.send("GetExecutionHistory", FlowName="flow", ExecutionName="e", Limit=10)["Events"]
        deadline -= 1
    token = json.loads(history[4]["EventDetail"])["output"]["taskToken"]

    reported = fnf.send("ReportTaskSucceeded", TaskToken=token, Output=json.dumps({"status": "ok"}))
    status, output, events = end(fnf)

    assert reported["EventId"] == 6
    assert (status, output) == ("Succeeded", {"s": "ok"})
    assert [event["Type"] for event in events] == ALL_EVENTS
    assert error_code(fnf.send, "ReportTaskFailed", TaskToken=token, Error="E") == "TaskAlreadyCompleted"


def test_what_messages_refuse_has_their_codes(site, fnf):
    """A queue and a topic that are not there."""
    for number, (definition, code) in enumerate(
        (
            (QUEUE_FLOW.format(queue="nowhere"), "MNS.QueueNotExist"),
            (TOPIC_FLOW.format(topic="nowhere"), "MNS.TopicNotExist"),
        )
    ):
        name = f"refused{number}"
        fnf.send("CreateFlow", Name=name, Definition=definition, Description="", Type="FDL")
        fnf.send("StartExecution", FlowName=name, ExecutionName="e")
        ended = fnf.send("DescribeExecution", FlowName=name, ExecutionName="e", WaitTimeSeconds=30)
        events = fnf.send("GetExecutionHistory", FlowName=name, ExecutionName="e", Limit=10)["Events"]

        assert ended["Status"] == "Failed"
        assert events[4]["Type"] == "TaskSubmitFailed"
        assert json.loads(events[4]["EventDetail"])["error"] == code


def test_an_asynchronous_function_is_waited_for_with_sync(site, fnf):
    """Submitted at once, succeeded when the function ends."""
    definition = CALLBACK_FLOW.replace("waitForCallback", "sync\n    serviceParams: {InvocationType: Async}")
    definition = definition.replace("target: s, source: $local.status", "target: s, source: $local.taskToken")
    run(fnf, definition, {})

    status, output, events = end(fnf)

    assert status == "Succeeded"
    assert [event["Type"] for event in events] == ALL_EVENTS
    assert list(json.loads(events[4]["EventDetail"])["output"]) == ["RequestId"]
    assert output == {"s": json.loads(events[5]["EventDetail"])["output"]["taskToken"]}
