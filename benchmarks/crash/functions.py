"""Asynchronous invocations: the function writes each event to a file, its result goes to a queue."""

import asyncio
import json
from collections import Counter
from collections.abc import Coroutine
from typing import Any

from benchmarks.crash.draining import take_all
from benchmarks.crash.record import now_ms
from benchmarks.crash.site import Link, Site, Unanswered, encoded, package

SERVICE, FUNCTION, RESULTS = "crash", "note", "results"
RUN_LIMIT_MS = 90_000
CALLS_OPEN = 60
CODE = """
import json, os

def handler(event, context):
    told = json.loads(event)
    file = os.open(told["file"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, (told["name"] + "\\n").encode())
    os.close(file)
    if told.get("fail"):
        raise ValueError(told["name"])
    return json.dumps({"name": told["name"]})
"""


class Functions:
    """One client that queues calls, and the notes its function leaves."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._random = site.random("functions")
        self._link = Link(site)
        self.notes = site.subject.folder / "notes"
        self._accepted: dict[str, str] = {}
        self._doubt: set[str] = set()
        self._seen: set[str] = set()
        self.runs = self.repeated = 0

    async def prepare(self) -> None:
        """Make the service, the function, and the queue for results."""
        ask, fc = self._link.ask, self._site.fc
        await ask(
            self._site.mns("PUT", f"/queues/{RESULTS}", "<Queue><VisibilityTimeout>60</VisibilityTimeout></Queue>")
        )
        replies = [
            await ask(fc("POST", "/services", json.dumps({"serviceName": SERVICE}).encode())),
            await ask(fc("POST", f"/services/{SERVICE}/functions", new_function(FUNCTION, CODE))),
        ]
        where = f"/services/{SERVICE}/functions/{FUNCTION}/async-invoke-config"
        config = {"destinationConfig": {"onSuccess": {"destination": f"acs:mns:::/queues/{RESULTS}/messages"}}}
        replies.append(await ask(fc("PUT", where, json.dumps(config).encode())))
        for reply in replies:
            if reply.status != 200:
                raise RuntimeError(reply.body)
        self._link.close()

    def clients(self) -> list[Coroutine[Any, Any, None]]:
        """Return the caller."""
        return [self._call()]

    async def _call(self) -> None:
        self._link.close()
        record = self._site.record
        name = ""
        try:
            while not self._site.over.is_set():
                await self._site.rest(self._random.uniform(0.02, 0.2))
                if len(self._accepted.keys() - self.noted()) > CALLS_OPEN:
                    continue
                name = self._site.fresh("call")
                event = json.dumps({"name": name, "file": str(self.notes)}).encode()
                record.note("InvokeFunction async", "asked", name=name)
                self._doubt.add(name)
                path = f"/services/{SERVICE}/functions/{FUNCTION}/invocations"
                reply = await self._link.ask(self._site.fc("POST", path, event, x_fc_invocation_type="Async"))
                if reply.status != 202:
                    record.find("InvokeFunction async was refused", answer=reply.body[:300].decode())
                self._doubt.discard(name)
                self._accepted[name] = name
                record.note("InvokeFunction async", "acknowledged", name=name)
        except Unanswered:
            record.note("InvokeFunction async", "unanswered", name=name)
        finally:
            self._link.close()

    def noted(self) -> set[str]:
        """Return the names the function has written so far."""
        return set(self.lines())

    def lines(self) -> list[str]:
        """Return every line the function has written."""
        return self.notes.read_text(encoding="ascii").splitlines() if self.notes.exists() else []

    async def audit(self) -> None:
        """Nothing is promised about the moment of a call."""

    async def settle(self) -> None:
        """Every call accepted ran and told its result once; the calls in doubt did both or neither."""
        record = self._site.record
        deadline = now_ms() + RUN_LIMIT_MS
        while (self._accepted.keys() - self.noted() or self._open_calls()) and now_ms() < deadline:
            await asyncio.sleep(0.05)
        lines = [line for line in self.lines() if line.startswith("call-")]
        ran = set(lines)
        results = await self._results()
        lost = self._accepted.keys() - ran
        unknown = ran - self._accepted.keys() - self._doubt - self._seen
        expected = ran - self._seen
        wrong = {name: results[name] for name in expected | results.keys() if results[name] != (name in expected)}
        if lost or unknown:
            record.find("asynchronous calls", lost=sorted(lost)[:10], unknown=sorted(unknown)[:10])
        if wrong:
            record.find("results of asynchronous calls did not come exactly once", results=wrong)
        self.runs += len(ran - self._seen)
        self.repeated += len(lines) - len(ran)
        self.notes.write_text("", encoding="ascii")
        self._seen |= ran
        self._accepted, self._doubt = {}, set()
        self._link.close()

    def _open_calls(self) -> int:
        """Return how many queued calls have not ended, by the state file."""
        return int(self._site.rows("SELECT count(*) FROM fc_async_calls WHERE ended_at IS NULL")[0][0])

    async def _results(self) -> Counter[str]:
        messages = await take_all(self._link, self._site, RESULTS)
        told = (json.loads(message.elements("MessageBody")[0]) for message in messages)
        return Counter(json.loads(result["requestPayload"])["name"] for result in told)


def new_function(name: str, source: str, description: str = "") -> bytes:
    """Return the body of CreateFunction; its time-out is long, so that a busy machine does not become an error."""
    return json.dumps(
        {
            "functionName": name,
            "timeout": 60,
            "description": description,
            "runtime": "python3.10",
            "handler": "index.handler",
            "code": {"zipFile": encoded(package(source))},
        }
    ).encode()
