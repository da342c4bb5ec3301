"""Publishing to two web subscribers and a queue; the receiver lives in the harness and survives every kill."""

import asyncio
import random
from collections import Counter
from collections.abc import Coroutine
from typing import Any

from benchmarks.crash.draining import take_all
from benchmarks.crash.record import now_ms
from benchmarks.crash.site import Link, Site, Unanswered

TOPIC, INBOX = "news", "inbox"
SUBSCRIBERS = ("a", "b")
PUSH_LIMIT_MS = 60_000


class Receiver:
    """A web server that counts the bodies it has said yes to, by path; it says no to one in ten."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.taken: dict[str, Counter[str]] = {name: Counter() for name in SUBSCRIBERS}
        self.port = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                lines = head.split("\r\n")
                length = next(int(line[15:]) for line in lines if line.lower().startswith("content-length:"))
                body = (await reader.readexactly(length)).decode()
                refuse = self._chance.random() < 0.1
                if not refuse:
                    self.taken[lines[0].split(" ")[1].strip("/")][body] += 1
                status = "500 Not Now" if refuse else "204 No Content"
                writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode("ascii"))
                await writer.drain()
        except (OSError, EOFError):
            pass
        finally:
            writer.close()


class Topics:
    """One topic, three subscribers, one publisher."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._random = site.random("topics")
        self._receiver = Receiver(site.random("receiver"))
        self._link = Link(site)
        self._published: set[str] = set()
        self._earlier: set[str] = set()
        self._doubt = ""
        self.pushes = self.doubled = 0

    async def prepare(self) -> None:
        """Make the topic and its subscriptions."""
        await self._receiver.start()
        region = "cn-hangzhou"
        ends = {name: f"http://127.0.0.1:{self._receiver.port}/{name}" for name in SUBSCRIBERS}
        ends["queue"] = f"acs:mns:{region}:{self._site.subject.account}:queues/{INBOX}"
        await self._link.ask(
            self._site.mns("PUT", f"/queues/{INBOX}", "<Queue><VisibilityTimeout>60</VisibilityTimeout></Queue>")
        )
        await self._link.ask(self._site.mns("PUT", f"/topics/{TOPIC}", "<Topic></Topic>"))
        for name, end in ends.items():
            text = (
                f"<Subscription><Endpoint>{end}</Endpoint><NotifyStrategy>EXPONENTIAL_DECAY_RETRY</NotifyStrategy>"
                "<NotifyContentFormat>SIMPLIFIED</NotifyContentFormat></Subscription>"
            )
            reply = await self._link.ask(self._site.mns("PUT", f"/topics/{TOPIC}/subscriptions/{name}", text))
            if reply.status != 201:
                raise RuntimeError(reply.body)
        self._link.close()

    def clients(self) -> list[Coroutine[Any, Any, None]]:
        """Return the publisher."""
        return [self._publish()]

    async def _publish(self) -> None:
        self._link.close()
        record = self._site.record
        try:
            while not self._site.over.is_set():
                self._doubt = self._site.fresh("news")
                text = f"<Message><MessageBody>{self._doubt}</MessageBody></Message>"
                record.note("PublishMessage", "asked", body=self._doubt)
                reply = await self._link.ask(self._site.mns("POST", f"/topics/{TOPIC}/messages", text))
                if reply.status != 201:
                    record.find("PublishMessage was refused", answer=reply.body[:300].decode())
                self._published.add(self._doubt)
                self._doubt = ""
                record.note("PublishMessage", "acknowledged")
                await self._site.rest(self._random.uniform(0, 0.02))
        except Unanswered:
            record.note("PublishMessage", "unanswered", body=self._doubt)
        finally:
            self._link.close()

    async def audit(self) -> None:
        """The queue has every message published, once; whether the one in doubt was published shows there."""
        rows = self._site.rows(
            "SELECT m.body FROM mns_messages m JOIN mns_queues q ON q.id = m.queue WHERE q.name = ?", (INBOX,)
        )
        bodies = Counter(body for (body,) in rows)
        if self._doubt in bodies:
            self._published.add(self._doubt)
        self._doubt = ""
        lost = self._published - bodies.keys()
        wrong = {body: count for body, count in bodies.items() if count > 1 or body not in self._published}
        if lost or wrong:
            self._site.record.find("the subscribed queue differs", lost=sorted(lost)[:10], wrong=wrong)

    async def settle(self) -> None:
        """Every message published reaches every subscriber; nothing else does."""
        record = self._site.record
        deadline = now_ms() + PUSH_LIMIT_MS
        while any(self._published - taken.keys() for taken in self._receiver.taken.values()) and now_ms() < deadline:
            await asyncio.sleep(0.05)
        for name, taken in self._receiver.taken.items():
            # A push whose answer was late is made again, maybe after what it brought has been settled.
            lost, unknown = self._published - taken.keys(), taken.keys() - self._published - self._earlier
            if lost:
                record.find(f"pushes never came to subscriber {name}", bodies=sorted(lost)[:10], number=len(lost))
            if unknown:
                record.find(f"subscriber {name} got what was not published", bodies=sorted(unknown)[:10])
            self.pushes += taken.total()
            self.doubled += taken.total() - len(taken)
            taken.clear()
        await self._empty_inbox()
        self._earlier |= self._published
        self._published.clear()
        self._link.close()

    async def _empty_inbox(self) -> None:
        taken = await take_all(self._link, self._site, INBOX)
        left = self._published - {block.elements("MessageBody")[0] for block in taken}
        if left:
            self._site.record.find("the subscribed queue did not give out messages", bodies=sorted(left)[:10])

    def close(self) -> None:
        """Stop receiving."""
        self._receiver.close()
