"""Emulators whose ids follow from a seed and whose time stands still, for tests of order."""

import json
import os

import pytest

from emulator.testing import Emulator

START_AT = "2027-01-01T00:00:00Z"
PATIENCE = "20s"
"""A machine that is busy may let a function take its time; here that must not change the order."""

RUNS = int(os.environ.get("LOCALYUN_EXPLORATION_RUNS", "6"))
"""How often each history is made; the ordinary suite has no time for hundreds."""

FLOW = """
version: v1
type: flow
steps:
  - type: parallel
    name: both
    branches:
      - steps:
          - {type: task, name: charge, resourceArn: 'acs:fc:::services/shop/functions/charge'}
      - steps:
          - {type: task, name: ship, resourceArn: 'acs:fc:::services/shop/functions/ship',
             retry: [{errors: [FC.Unknown, Busy, FnF.ALL], intervalSeconds: 5, maxAttempts: 3}]}
  - type: wait
    name: rest
    duration: 30
  - type: task
    name: tell
    resourceArn: 'acs:mns:::/topics/orders/messages'
    pattern: requestComplete
    inputMappings: [{target: messageBody, source: told}]
    serviceParams: {MessageBody: told}
"""

FUNCTIONS = {
    "shop/charge/index.py": (
        "n = 0\ndef handler(event, context):\n    global n\n    n += 1\n    return {'charged': n}\n"
    ),
    "shop/ship/index.py": (
        "n = 0\ndef handler(event, context):\n    global n\n    n += 1\n"
        "    if n % 2:\n        raise RuntimeError('busy')\n    return {'shipped': n, 'for': context.request_id}\n"
    ),
    "shop/worker/index.py": "def handler(event, context):\n    return event\n",
    "shop/worker/function.yml": "triggers:\n  - {name: jobs, type: mns_queue, queue: jobs}\n",
    "shop/news/index.py": "def handler(event, context):\n    return event\n",
    "shop/news/function.yml": (
        "triggers:\n  - {name: news, type: mns_topic, sourceArn: 'acs:mns:cn-hangzhou:1:/topics/orders'}\n"
        "  - {name: tick, type: timer, config: {cronExpression: '@every 1m', payload: tick}}\n"
    ),
}


class Application:
    """Functions that keep state, pushes with retries, queues, triggers, asynchronous calls, branches, schedules."""

    def __init__(self, localyun, folder):
        self.localyun = localyun
        self.folder = folder
        localyun.queue("jobs")
        self.topic = localyun.topic("orders")
        self.page = localyun.sink([{"status": 500}, {"status": 200}, {"status": 500}, {"status": 200}])
        self.topic.subscribe(self.page.url, name="page", content_format="SIMPLIFIED")
        mail = localyun.queue("mail")
        self.topic.subscribe(f"acs:mns:cn-hangzhou:{localyun.account_id}:queues/{mail.name}", name="mail")
        self.flow = localyun.flow("order", FLOW)
        localyun.api.fnf(
            "CreateSchedule",
            FlowName="order",
            ScheduleName="often",
            CronExpression="@every 1m",
            Enable=True,
            Payload="{}",
        )
        localyun.settle("60s")
        self.base = localyun.checkpoint("base")

    def run(self, schedule):
        """Return all that can be seen of a run: bytes that are to be the same every time."""
        localyun = self.localyun
        self.base.restore()
        localyun.api.admin("POST", "schedule", {"patience": PATIENCE, **schedule})
        for number in range(2):
            self.flow.start({"number": number})
            self.topic.publish(f"paid {number}")
            localyun.queue("jobs").send(f"job {number}")
        localyun.settle("60s")
        localyun.clock.advance("150s")
        localyun.settle("60s")
        return self._seen()

    def _seen(self):
        localyun = self.localyun
        view = localyun.api.admin("GET", "schedule")
        assert view["strayed"] == 0
        seen = {"schedule": view}
        for run in self.flow.executions:
            seen[f"history {run.name}"] = run.history
            seen[f"trace {run.name}"] = localyun.trace(f"order/{run.name}")
        seen["page"] = [[each.body, sorted(dict(each.headers).items())] for each in self.page.requests]
        for name in ("charge", "ship", "worker", "news"):
            calls = localyun.api.admin("GET", f"calls/shop/{name}")["calls"]
            seen[f"calls {name}"] = [{**each, "log": ""} for each in calls]
        seen["mail"] = [[each.id, each.body] for each in localyun.queue("mail").peek()]
        return json.dumps(seen, sort_keys=True, default=str), view


@pytest.fixture(scope="module")
def application(tmp_path_factory):
    folder = tmp_path_factory.mktemp("functions")
    for name, text in FUNCTIONS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    options = ["--seed", "0", "--start-at", START_AT, "--freeze"]
    with Emulator(
        functions=folder, options=options, environment={"LOCALYUN_ACCOUNT_ID": "1000000000000001"}
    ) as localyun:
        yield Application(localyun, folder)


@pytest.fixture(scope="module")
def emulator_of_module():
    with Emulator(options=["--seed", "0", "--start-at", START_AT, "--freeze"]) as localyun:
        localyun.settle()
        localyun.checkpoint("empty")
        yield localyun


@pytest.fixture
def bare(emulator_of_module):
    """An emulator without functions: their place is taken by mocks."""
    emulator_of_module.api.admin("POST", "checkpoints/empty/restore")
    return emulator_of_module
