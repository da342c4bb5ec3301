"""The mixed load: clients that each do one thing at a steady pace, as an application under development would.

A client that falls behind does not catch up: the load stays what the emulator can take, and the figures tell the pace.
"""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

from benchmarks.crash.site import Link, Reply, Site, encoded, package

QUEUES = 4
POLLS = 20
ROLE = "acs:ram::1:role/endurance"

ECHO = "def handler(event, context):\n    return event\n"
MOODY = (
    "import json, time\n\ndef handler(event, context):\n    print('working', flush=True)\n"
    "    n = json.loads(event)['n']\n    if n % 50 == 1:\n        raise RuntimeError('not today')\n"
    "    if n % 200 == 2:\n        import os; os._exit(1)\n    time.sleep(0.005)\n    return event\n"
)
FLOW = """version: v1
type: flow
steps:
  - type: pass
    name: prepare
    outputMappings: [{target: prepared, source: true}]
  - type: wait
    name: pause
    duration: 1
  - type: task
    name: work
    resourceArn: 'acs:fc:::services/endurance/functions/echo'
  - type: parallel
    name: both
    branches:
      - steps: [{type: pass, name: left}]
      - steps: [{type: task, name: right, resourceArn: 'acs:mns:::/queues/e0/messages',
                 serviceParams: {MessageBody: $}}]
  - type: foreach
    name: each
    iterationMapping: {collection: $.items, item: item}
    steps: [{type: pass, name: one}]
"""


class Clients:
    """All clients; ``done`` counts what they did, ``wrong`` the answers nobody expected."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._numbers = iter(range(1, 2**62))
        self._random = random.Random(1)
        self.done: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self._receiver = _Receiver()

    @staticmethod
    def write_functions(folder: Path) -> None:
        """Put the functions the clients call into *folder*."""
        for name, code in (("echo", ECHO), ("moody", MOODY)):
            place = folder / "endurance" / name
            place.mkdir(parents=True)
            (place / "index.py").write_text(code, encoding="ascii")

    async def prepare(self) -> None:
        """Make the queues, the topic with its subscribers and the flow."""
        link = Link(self.site)
        site = self.site
        for number in range(QUEUES):
            await self._expect(link, 201, "CreateQueue", site.mns("PUT", f"/queues/e{number}", "<Queue></Queue>"))
        await self._expect(link, 201, "CreateQueue", site.mns("PUT", "/queues/quiet", "<Queue></Queue>"))
        await self._expect(link, 201, "CreateTopic", site.mns("PUT", "/topics/news", "<Topic></Topic>"))
        ends = {
            "web": f"http://127.0.0.1:{self._receiver.port}/push",
            "queue": f"acs:mns:cn-hangzhou:{site.subject.account}:queues/e1",
        }
        for name, end in ends.items():
            body = f"<Subscription><Endpoint>{end}</Endpoint></Subscription>"
            await self._expect(link, 201, "Subscribe", site.mns("PUT", f"/topics/news/subscriptions/{name}", body))
        request = site.rpc("CreateFlow", Name="work", Definition=FLOW, Description="", Type="FDL", RoleArn=ROLE)
        await self._expect(link, 200, "CreateFlow", request)
        link.close()

    def running(self) -> list[Coroutine[Any, Any, None]]:
        """Return every client; each works until the site's load is over."""
        return [
            *(self._steadily(20, self._send) for _ in range(2)),
            *(self._steadily(20, self._take) for _ in range(3)),
            *(self._steadily(100, self._poll) for _ in range(POLLS)),
            self._steadily(3, self._publish),
            *(self._steadily(10, self._invoke) for _ in range(2)),
            self._steadily(3, self._invoke_later),
            self._steadily(5, self._start_flow),
            self._steadily(2, self._look),
            self._steadily(0.5, self._change_function),
            self._steadily(0.5, self._change_queue),
            self._steadily(0.2, self._refused),
        ]

    def close(self) -> None:
        """End the receiver of pushes."""
        self._receiver.close()

    @property
    def pushes(self) -> int:
        """How many pushes have come."""
        return self._receiver.taken

    async def _steadily(self, per_s: float, act: Callable[[Link], Awaitable[None]]) -> None:
        """Act so many times a second over one connection until the load is over."""
        link = Link(self.site)
        pause = 1 / per_s
        await self.site.rest(self._random.random() * pause)  # so that they do not all act in the same moment
        try:
            while not self.site.over.is_set():
                began = time.monotonic()
                await act(link)
                await self.site.rest(max(0.0, pause - (time.monotonic() - began)))
        finally:
            link.close()

    async def _expect(self, link: Link, status: int, operation: str, request: bytes) -> Reply:
        reply = await link.ask(request)
        self.done[operation] += 1
        if reply.status != status:
            self.wrong[f"{operation} {reply.status} {reply.body[:120]!r}"] += 1
        return reply

    def _queue(self) -> str:
        return f"/queues/e{self._random.randrange(QUEUES)}/messages"

    async def _send(self, link: Link) -> None:
        delay = self._random.choice((0, 0, 0, 2))
        text = (
            f"<Message><MessageBody>{'m' * self._random.randrange(10, 2000)}</MessageBody>"
            f"<DelaySeconds>{delay}</DelaySeconds></Message>"
        )
        await self._expect(link, 201, "SendMessage", self.site.mns("POST", self._queue(), text))

    async def _take(self, link: Link) -> None:
        queue = self._queue()
        reply = await link.ask(self.site.mns("GET", f"{queue}?numOfMessages=16"))
        self.done["BatchReceiveMessage"] += 1
        if reply.status == 404:
            return  # nothing there
        handles = "".join(f"<ReceiptHandle>{handle}</ReceiptHandle>" for handle in reply.elements("ReceiptHandle"))
        body = f"<ReceiptHandles>{handles}</ReceiptHandles>"
        await self._expect(link, 204, "BatchDeleteMessage", self.site.mns("DELETE", queue, body))

    async def _poll(self, link: Link) -> None:
        """Wait for a message where none comes."""
        await self._expect(
            link, 404, "ReceiveMessage (long poll)", self.site.mns("GET", "/queues/quiet/messages?waitseconds=10")
        )

    async def _publish(self, link: Link) -> None:
        body = f"<Message><MessageBody>{next(self._numbers)}</MessageBody></Message>"
        await self._expect(link, 201, "PublishMessage", self.site.mns("POST", "/topics/news/messages", body))

    async def _invoke(self, link: Link) -> None:
        name = self._random.choice(("echo", "moody"))
        event = json.dumps({"n": next(self._numbers)}).encode()
        path = f"/services/endurance/functions/{name}/invocations"
        await self._expect(link, 200, "InvokeFunction", self.site.fc("POST", path, event))

    async def _invoke_later(self, link: Link) -> None:
        event = json.dumps({"n": next(self._numbers)}).encode()
        path = "/services/endurance/functions/echo/invocations"
        request = self.site.fc("POST", path, event, x_fc_invocation_type="Async")
        await self._expect(link, 202, "InvokeFunction (async)", request)

    async def _start_flow(self, link: Link) -> None:
        given = json.dumps({"items": list(range(self._random.randrange(5)))})
        await self._expect(link, 200, "StartExecution", self.site.rpc("StartExecution", FlowName="work", Input=given))

    async def _look(self, link: Link) -> None:
        reply = await self._expect(
            link, 200, "ListExecutions", self.site.rpc("ListExecutions", FlowName="work", Limit="20")
        )
        for execution in reply.json()["Executions"][-1:]:
            request = self.site.rpc("GetExecutionHistory", FlowName="work", ExecutionName=execution["Name"], Limit="60")
            await self._expect(link, 200, "GetExecutionHistory", request)
        await self._expect(link, 200, "ListFunctions", self.site.fc("GET", "/services/endurance/functions"))

    async def _change_function(self, link: Link) -> None:
        """Make a function, call it once, remove it and its service."""
        service = self.site.fresh("service")
        body = {
            "functionName": "f",
            "runtime": "python3",
            "handler": "index.handler",
            "code": {"zipFile": encoded(package(f"def handler(event, context):\n    return b'{service}'\n"))},
        }
        made = json.dumps({"serviceName": service}).encode()
        await self._expect(link, 200, "CreateService", self.site.fc("POST", "/services", made))
        path = f"/services/{service}/functions"
        await self._expect(link, 200, "CreateFunction", self.site.fc("POST", path, json.dumps(body).encode()))
        await self._expect(link, 200, "InvokeFunction", self.site.fc("POST", f"{path}/f/invocations", b"{}"))
        await self._expect(link, 204, "DeleteFunction", self.site.fc("DELETE", f"{path}/f"))
        await self._expect(link, 204, "DeleteService", self.site.fc("DELETE", f"/services/{service}"))

    async def _change_queue(self, link: Link) -> None:
        name = self.site.fresh("queue")
        await self._expect(link, 201, "CreateQueue", self.site.mns("PUT", f"/queues/{name}", "<Queue></Queue>"))
        text = "<Message><MessageBody>left behind</MessageBody></Message>"
        await self._expect(link, 201, "SendMessage", self.site.mns("POST", f"/queues/{name}/messages", text))
        await self._expect(link, 204, "DeleteQueue", self.site.mns("DELETE", f"/queues/{name}"))

    async def _refused(self, link: Link) -> None:
        """Ask for what is not there."""
        await self._expect(
            link, 404, "DescribeFlow (missing)", self.site.rpc("DescribeFlow", Name=quote(self.site.fresh("none")))
        )


class _Receiver:
    """A web server that takes pushes, in threads of its own."""

    def __init__(self) -> None:
        self.taken = 0
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", "0")))
                receiver.taken += 1
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


async def let_run(clients: Clients, site: Site, seconds: float) -> None:
    """Let the clients work for so long.

    Raises: Unanswered, and whatever else ends a client.
    """
    tasks = [asyncio.create_task(client) for client in clients.running()]
    ended, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    site.over.set()
    for task in ended:
        task.result()
    await asyncio.gather(*tasks)
