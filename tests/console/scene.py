"""Something of everything, for pages to show."""

from email.utils import formatdate
from http.client import HTTPConnection
from urllib.parse import urlsplit

from emulator.auth import mns
from emulator.http.message import Headers, Request

FLOW = """
version: v1
type: flow
steps:
- type: pass
  name: prepare
- type: parallel
  name: both
  branches:
  - steps:
    - type: wait
      name: rest
      duration: 1
  - steps:
    - type: pass
      name: quick
- type: foreach
  name: each
  iterationMapping:
    collection: $.items
    item: one
  steps:
  - type: pass
    name: inner
- type: wait
  name: long
  duration: 3000
- type: pass
  name: done
"""

PAGES = {
    "overview": "/",
    "flows": "/flows",
    "flow": "/flows/approve",
    "execution": "/flows/approve/executions/first",
    "step": "/flows/approve/executions/first?step=2",
    "histories": "/histories",
    "queues": "/queues",
    "queue": "/queues/orders",
    "messages": "/messages",
    "message": "/messages/{failing}",
    "topics": "/topics",
    "topic": "/topics/reminders",
    "functions": "/functions",
    "function": "/functions/hello",
    "requests": "/requests",
    "delivery": "/topics/reminders/deliveries/inbox/{message}",
    "request": "/requests/approve/first",
    "refused": "/requests/{refused}",
    "compare": "/flows/approve/executions/first/compare?with=second",
    "schedules": "/schedules",
    "triggers": "/triggers",
    "buckets": "/buckets",
    "clock": "/clock",
    "faults": "/faults",
    "mocks": "/mocks",
    "checkpoints": "/checkpoints",
    "explorations": "/explorations",
    "exploration": "/explorations/1",
    "outcomes": "/explorations/1/compare?one=0&other=1",
    "accounts": "/accounts",
    "usage": "/usage",
    "search": "/search?q=o",
    "start": "/start",
    "tutorial": "/start/callback",
    "roles": "/roles",
    "new-queue": "/new/queue",
    "new-function": "/new/function",
    "new-alias": "/new/alias?in=hello",
    "edit-subscription": "/edit/subscription/reminders/inbox",
    "design": "/design/approve",
}


CODE = {
    "hello/index.py": "def handler(event, context):\n    print('<b>seen</b>')\n    return event\n",
    "hello/function.yml": (
        "triggers:\n- triggerName: nightly\n  triggerType: timer\n"
        "  triggerConfig: {cronExpression: '0 0 2 * * *', enable: true, payload: tea}\n"
    ),
    "loud/index.py": "import json\n\n\ndef handler(event, context):\n    print(json.loads(event)['text'])\n",
    "fragile/index.py": "def handler(event, context):\n    raise ValueError('no tea left')\n",
}


def write_functions(folder):
    """Write the functions that the scene calls."""
    for name, text in CODE.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def build(localyun):
    """Make something for every page; return what the addresses of some pages need: see `address`."""
    _messages(localyun)
    sink = localyun.sink()
    topic = localyun.topic("reminders")
    topic.subscribe(sink.url, name="inbox")
    message = topic.publish("hello")
    localyun.invoke("hello", {"name": "you"})
    localyun.invoke("fragile")
    complaints = localyun.topic("complaints")
    complaints.subscribe(localyun.sink([{"status": 503}] * 9).url, name="office")
    failing = complaints.publish("the tea is gone")
    localyun.mock("payment/charge", returns={"ok": True})
    localyun.invoke("payment/charge", {"amount": 7})
    localyun.faults.add(service="oss", error="InternalError", status=500, times=2)
    localyun.checkpoint("before")
    localyun.account()
    flow = localyun.flow("approve", FLOW)
    flow.start({"items": list(range(50))}, name="first")
    flow.start({"items": list(range(3))}, name="second")
    localyun.api.admin("POST", "explorations", explored(localyun))
    schedule = {"FlowName": "approve", "ScheduleName": "nightly", "CronExpression": "0 0 2 * * *", "Enable": "true"}
    localyun.api.fnf("CreateSchedule", **schedule, Payload='{"items": []}')
    return {"message": message, "failing": failing, "refused": refused(localyun)}


def explored(localyun):
    """Return what ``localyun explore`` tells, with the histories of two executions, and a third way without one."""

    def way(execution, schedule, *deviations, status="Succeeded", steps=("call approve/x/ask#1",)):
        names = {"FlowName": "approve", "ExecutionName": execution}
        events = localyun.api.fnf("GetExecutionHistory", **names)["Events"] if execution else []
        told = {"status": status, "output": "{}", "calls": ["shop/ask succeeded"] * 2, "messages": [], "runs": 2}
        return {**told, "schedule": schedule, "deviations": deviations, "steps": steps, "events": events}

    outcomes = [
        way("first", "first"),
        way(
            "second", "0:1", {"kind": "fault", "option": "call approve/x/ask#1: lost-after", "first": "nothing"},
            status="Failed",
        ),
        way(
            "", "1:1", {"kind": "order", "option": "push page#1 'b'", "first": "push page#1 'a'"},
            steps=("call approve/x/ask#1", "push page#1 'b'"),
        ),
    ]  # fmt: skip
    return {"flow": "approve", "definition": FLOW, "input": "{}", "tried": 6, "known": 9, "outcomes": outcomes}


def _messages(localyun):
    queue = localyun.queue("orders")
    queue.send({"id": 7, "what": "tea", "parts": [{"leaf": "green", "grams": 20}, {"leaf": "black", "grams": 30}]})
    queue.send("in somebody's hands", priority=1)
    queue.send("later", delay_s=600)
    queue.receive()


def refused(localyun):
    """Send a request whose path was encoded after signing; return its id."""
    address = urlsplit(localyun.endpoint)
    headers = {"Host": address.netloc, "Date": formatdate(usegmt=True), "x-mns-version": "2015-06-06"}
    meant = Request("GET", "/queues/a,b", Headers(headers.items()))
    headers["Authorization"] = mns.authorization(meant, localyun.access_key_id, localyun.access_key_secret)
    connection = HTTPConnection(address.hostname, address.port, timeout=20)
    try:
        connection.request("GET", "/queues/a%2Cb", headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.headers["x-mns-request-id"]
    finally:
        connection.close()
