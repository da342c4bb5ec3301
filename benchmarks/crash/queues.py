"""Messages: each client has a queue of its own, so that after a kill at most one of its operations is in doubt.

The model knows of every message when it becomes visible and how often it was received; after a start the queue must
hold exactly these, give or take the whole of the operation in doubt.
"""

from collections.abc import Coroutine
from typing import Any
from urllib.parse import quote

from benchmarks.crash.dead_letters import DeadLetters
from benchmarks.crash.draining import handles_of
from benchmarks.crash.record import now_ms
from benchmarks.crash.site import Link, Reply, Site, Unanswered

VISIBILITY_S = 2
_ROWS = (
    "SELECT m.body, m.visible_from, m.dequeue_count, m.enqueued_at FROM mns_messages m JOIN mns_queues q "
    "ON q.id = m.queue WHERE q.name = ?"
)


class Held:
    """A message as the model knows it; *handle* is "" once it may have been superseded."""

    __slots__ = ("count", "handle", "visible_from")

    def __init__(self, visible_from: int, count: int, handle: str) -> None:
        self.visible_from, self.count, self.handle = visible_from, count, handle

    def __str__(self) -> str:
        return f"visible from {self.visible_from}, received {self.count} times"


class OwnQueue:
    """One queue and its only client."""

    def __init__(self, site: Site, name: str) -> None:
        self._site = site
        self._record = site.record
        self.name = name
        self._random = site.random(name)
        self._held: dict[str, Held] = {}
        self._doubt: tuple[str, dict[str, Any]] | None = None
        self._link = Link(site)

    @property
    def _path(self) -> str:
        return f"/queues/{self.name}/messages"

    async def run(self) -> None:
        """Work until the load is over."""
        self._link.close()
        ways = [self._send, self._send_batch, self._receive, self._delete, self._delete_batch, self._change]
        weights = [5, 1, 5, 4, 1, 2] if len(self._held) < 150 else [1, 0, 8, 8, 4, 2]
        try:
            while not self._site.over.is_set():
                await self._random.choices(ways, weights)[0]()
        except Unanswered:
            pass
        finally:
            self._link.close()

    async def _ask(self, kind: str, request: bytes, about: dict[str, Any]) -> Reply:
        """Ask with the operation in doubt until its answer is there."""
        self._doubt = (kind, {**about, "asked": now_ms()})
        self._record.note(kind, "asked", queue=self.name, **about)
        try:
            reply = await self._link.ask(request)
        except Unanswered:
            self._record.note(kind, "unanswered", queue=self.name)
            raise
        self._doubt = None
        self._record.note(kind, "acknowledged", queue=self.name, status=reply.status)
        return reply

    def _draft(self) -> tuple[str, int, str]:
        body = self._site.fresh(self.name)
        delay = self._random.choice((0, 0, 0, 1, 3))
        priority = self._random.randint(1, 16)
        text = f"<MessageBody>{body}</MessageBody><DelaySeconds>{delay}</DelaySeconds><Priority>{priority}</Priority>"
        return body, delay, f"<Message>{text}</Message>"

    async def _send(self) -> None:
        body, delay, text = self._draft()
        began = now_ms()
        reply = await self._ask("SendMessage", self._site.mns("POST", self._path, text), {"delays": {body: delay}})
        self._expect(reply, 201, "SendMessage")
        handles = reply.elements("ReceiptHandle")
        self._held[body] = Held(-(began + delay * 1000), 0, handles[0] if handles else "")

    async def _send_batch(self) -> None:
        drafts = [self._draft() for _ in range(self._random.randint(2, 16))]
        text = "<Messages>" + "".join(draft[2] for draft in drafts) + "</Messages>"
        began = now_ms()
        delays = {body: delay for body, delay, _ in drafts}
        reply = await self._ask("BatchSendMessage", self._site.mns("POST", self._path, text), {"delays": delays})
        self._expect(reply, 201, "BatchSendMessage")
        for (body, delay, _), block in zip(drafts, reply.blocks("Message"), strict=True):
            handles = block.elements("ReceiptHandle")
            self._held[body] = Held(-(began + delay * 1000), 0, handles[0] if handles else "")

    async def _receive(self) -> None:
        number = self._random.choice((1, 4, 16))
        began = now_ms()
        kind = "BatchReceiveMessage"
        reply = await self._ask(kind, self._site.mns("GET", f"{self._path}?numOfMessages={number}"), {"number": number})
        ended = now_ms()
        visible = [
            body for body, held in self._held.items() if abs(held.visible_from) < began - 1 and held.visible_from > 0
        ]
        if reply.status == 404:
            if visible:
                self._record.find("visible messages were not given out", queue=self.name, bodies=visible[:5])
            return
        self._expect(reply, 200, kind)
        for block in reply.blocks("Message"):
            self._received(block, ended)

    def _received(self, block: Reply, ended: int) -> None:
        (body,), (count,), (until,) = (
            block.elements(name) for name in ("MessageBody", "DequeueCount", "NextVisibleTime")
        )
        held = self._held.get(body)
        if held is None:
            self._record.find("a message came that was deleted or never sent", queue=self.name, body=body)
            return
        if held.visible_from > ended:
            self._record.find(
                "a hidden message was given out", queue=self.name, body=body, early_ms=held.visible_from - ended
            )
        if int(count) != held.count + 1:
            self._record.find("DequeueCount is wrong", queue=self.name, body=body, told=count, expected=held.count + 1)
        self._held[body] = Held(int(until), int(count), block.elements("ReceiptHandle")[0])

    def _with_handle(self, number: int) -> list[str]:
        """Return messages whose handles are good for some time yet."""
        soon = now_ms() + 1000
        good = [body for body, held in self._held.items() if held.handle and held.visible_from > soon]
        return self._random.sample(good, min(number, len(good)))

    async def _delete(self) -> None:
        for body in self._with_handle(1):
            held = self._held[body]
            target = f"{self._path}?ReceiptHandle={quote(held.handle, safe='')}"
            reply = await self._ask("DeleteMessage", self._site.mns("DELETE", target), {"bodies": [body]})
            if self._valid(reply, 204, held, "DeleteMessage"):
                del self._held[body]

    async def _delete_batch(self) -> None:
        bodies = self._with_handle(self._random.randint(2, 16))
        if not bodies:
            return
        handles = "".join(f"<ReceiptHandle>{self._held[body].handle}</ReceiptHandle>" for body in bodies)
        text = f"<ReceiptHandles>{handles}</ReceiptHandles>"
        reply = await self._ask("BatchDeleteMessage", self._site.mns("DELETE", self._path, text), {"bodies": bodies})
        failed = set() if reply.status == 204 else set(reply.elements("ReceiptHandle"))
        for body in bodies:
            held = self._held[body]
            if held.handle in failed:
                self._valid(reply, 204, held, "BatchDeleteMessage")
            else:
                del self._held[body]

    async def _change(self) -> None:
        for body in self._with_handle(1):
            held = self._held[body]
            seconds = self._random.randint(1, 5)
            target = f"{self._path}?receiptHandle={quote(held.handle, safe='')}&visibilityTimeout={seconds}"
            kind = "ChangeMessageVisibility"
            reply = await self._ask(kind, self._site.mns("PUT", target), {"body": body, "seconds": seconds})
            if self._valid(reply, 200, held, kind):
                (handle,), (until,) = reply.elements("ReceiptHandle"), reply.elements("NextVisibleTime")
                self._held[body] = Held(int(until), held.count, handle)

    def _valid(self, reply: Reply, status: int, held: Held, kind: str) -> bool:
        """Tell whether an operation by handle succeeded; it may fail only where the handle has run out meanwhile."""
        if reply.status != status and held.visible_from <= now_ms():
            held.handle = ""
            return False
        return self._expect(reply, status, kind)

    def _expect(self, reply: Reply, status: int, kind: str) -> bool:
        if reply.status != status:
            self._record.find(f"{kind} was refused", queue=self.name, answer=reply.body[:300].decode())
        return reply.status == status

    async def audit(self) -> None:
        """Compare the queue with the model, counters included."""
        before = now_ms()
        rows = {body: Held(visible, count, "") for body, visible, count, _ in self._site.rows(_ROWS, (self.name,))}
        reply = await self._link.ask(self._site.mns("GET", f"/queues/{self.name}"))
        self._check_counters(reply, rows, before, now_ms())
        lost = self._held.keys() - rows.keys()
        more = rows.keys() - self._held.keys()
        changed = [body for body in self._held.keys() & rows.keys() if not _alike(self._held[body], rows[body])]
        wrong = self._beyond_doubt(lost, more, changed, rows)
        if wrong:
            self._record.find(
                f"queue {self.name}: {wrong}",
                doubt=self._doubt,
                lost=sorted(lost),
                more=sorted(more),
                changed={body: (str(self._held[body]), str(rows[body])) for body in changed},
            )
        for body, row in rows.items():
            known = self._held.get(body)
            if known is not None and body not in changed:
                row.handle = known.handle
        self._held = rows
        self._doubt = None

    def _beyond_doubt(self, lost: set[str], more: set[str], changed: list[str], rows: dict[str, Held]) -> str:
        """Return what the operation in doubt does not explain, "" when nothing is left."""
        kind, about = self._doubt or ("", {})
        if kind in {"SendMessage", "BatchSendMessage"} and more == about["delays"].keys():
            more = set()
        if kind in {"DeleteMessage", "BatchDeleteMessage"} and lost == set(about["bodies"]):
            lost = set()
        if kind == "ChangeMessageVisibility" and changed == [about["body"]]:
            row = rows[about["body"]]
            if (
                row.count == self._held[about["body"]].count
                and row.visible_from >= about["asked"] + about["seconds"] * 1000 - 1
            ):
                changed = []
        if kind == "BatchReceiveMessage" and changed and self._received_whole(about, changed, rows):
            changed = []
        return ", ".join(
            text
            for text, bodies in (("messages lost", lost), ("messages back", more), ("messages changed", changed))
            if bodies
        )

    def _received_whole(self, about: dict[str, Any], changed: list[str], rows: dict[str, Held]) -> bool:
        once_more = all(rows[body].count == self._held[body].count + 1 for body in changed)
        hidden_together = len({rows[body].visible_from for body in changed}) == 1
        asked = about["asked"]
        surely = sum(1 for held in self._held.values() if 0 < held.visible_from < asked)
        return once_more and hidden_together and min(surely, about["number"]) <= len(changed) <= about["number"]

    def _check_counters(self, reply: Reply, rows: dict[str, Held], before: int, after: int) -> None:
        told = [int(reply.elements(name)[0]) for name in ("ActiveMessages", "InactiveMessages", "DelayMessages")]
        bounds = [sorted(pair) for pair in zip(_counters(rows, before), _counters(rows, after), strict=True)]
        if sum(told) != len(rows) or not all(low <= n <= high for n, (low, high) in zip(told, bounds, strict=True)):
            self._record.find(
                "counters differ from contents", queue=self.name, told=told, bounds=bounds, rows=len(rows)
            )

    async def settle(self) -> None:
        """Receive and delete everything through the API: exactly the messages of the model come, each once."""
        left = set(self._held)
        deadline = now_ms() + 30_000
        while left and now_ms() < deadline:
            reply = await self._link.ask(self._site.mns("GET", f"{self._path}?numOfMessages=16&waitseconds=1"))
            blocks = reply.blocks("Message") if reply.status == 200 else []
            for block in blocks:
                body = block.elements("MessageBody")[0]
                if body not in left:
                    self._record.find("a message came twice or from nowhere", queue=self.name, body=body)
                left.discard(body)
            if blocks:
                deleted = await self._link.ask(self._site.mns("DELETE", self._path, handles_of(blocks)))
                self._expect(deleted, 204, "BatchDeleteMessage")
        if left:
            self._record.find("messages never came", queue=self.name, bodies=sorted(left)[:10])
        self._held = {}
        self._link.close()


def _alike(held: Held, row: Held) -> bool:
    """Compare the model with a row; of a message just sent the model knows the earliest instant only, as a negative."""
    if held.visible_from < 0:
        return row.count == held.count and -held.visible_from - 1 <= row.visible_from <= -held.visible_from + 60_000
    return (held.visible_from, held.count) == (row.visible_from, row.count)


def _counters(rows: dict[str, Held], now: int) -> list[int]:
    hidden = [row for row in rows.values() if row.visible_from > now]
    delayed = sum(1 for row in hidden if row.count == 0)
    return [len(rows) - len(hidden), len(hidden) - delayed, delayed]


class Queues:
    """The load of all queue clients."""

    def __init__(self, site: Site, clients: int = 3) -> None:
        self._site = site
        self._own = [OwnQueue(site, f"own-{number}") for number in range(clients)]
        self._dead_letters = DeadLetters(site)

    async def prepare(self) -> None:
        """Make the queues."""
        link = Link(self._site)
        for own in self._own:
            text = f"<Queue><VisibilityTimeout>{VISIBILITY_S}</VisibilityTimeout></Queue>"
            await link.ask(self._site.mns("PUT", f"/queues/{own.name}", text))
        link.close()
        await self._dead_letters.prepare()

    def clients(self) -> list[Coroutine[Any, Any, None]]:
        """Return one client per queue."""
        return [*(own.run() for own in self._own), self._dead_letters.run()]

    async def audit(self) -> None:
        """Compare every queue."""
        for own in self._own:
            await own.audit()
        await self._dead_letters.audit()

    async def settle(self) -> None:
        """Empty every queue through the API."""
        for own in self._own:
            await own.settle()
        await self._dead_letters.settle()
