"""Messages received too often: each is in exactly one of two queues, whenever the emulator is killed."""

from benchmarks.crash.draining import take_all
from benchmarks.crash.site import Link, Site, Unanswered


class DeadLetters:
    """A queue whose messages are never deleted: each ends in the dead-letter queue, and is in one of the two always."""

    SOURCE, TARGET = "dying", "dead"

    def __init__(self, site: Site) -> None:
        self._site = site
        self._link = Link(site)
        self._random = site.random("dying")
        self._sent: set[str] = set()
        self._doubt = ""

    async def prepare(self) -> None:
        """Make both queues."""
        await self._link.ask(self._site.rpc("CreateQueue", "2022-01-19", QueueName=self.TARGET))
        policy = f'{{"Enabled":true,"DeadLetterTargetQueue":"{self.TARGET}","MaxReceiveCount":2}}'
        request = self._site.rpc(
            "CreateQueue", "2022-01-19", QueueName=self.SOURCE, VisibilityTimeout="1", DlqPolicy=policy
        )
        reply = await self._link.ask(request)
        if reply.status != 200:
            raise RuntimeError(reply.body)
        self._link.close()

    async def run(self) -> None:
        """Send and receive until the load is over."""
        self._link.close()
        try:
            while not self._site.over.is_set():
                if self._random.random() < 0.4:
                    self._doubt = self._site.fresh("dying")
                    text = f"<Message><MessageBody>{self._doubt}</MessageBody></Message>"
                    await self._link.ask(self._site.mns("POST", f"/queues/{self.SOURCE}/messages", text))
                    self._sent.add(self._doubt)
                    self._doubt = ""
                    self._site.record.note("SendMessage", "acknowledged", queue=self.SOURCE)
                else:
                    await self._link.ask(self._site.mns("GET", f"/queues/{self.SOURCE}/messages?numOfMessages=16"))
                    await self._site.rest(0.05)
        except Unanswered:
            pass
        finally:
            self._link.close()

    async def audit(self) -> None:
        """Each message acknowledged is in exactly one of the queues."""
        rows = self._site.rows(
            "SELECT m.body FROM mns_messages m JOIN mns_queues q ON q.id = m.queue WHERE q.name IN (?, ?)",
            (self.SOURCE, self.TARGET),
        )
        bodies = [body for (body,) in rows]
        if self._doubt in bodies:
            self._sent.add(self._doubt)
        self._doubt = ""
        if sorted(bodies) != sorted(self._sent):
            self._site.record.find(
                "dead letters were lost or doubled",
                lost=sorted(self._sent - set(bodies))[:10],
                doubled=sorted({body for body in bodies if bodies.count(body) > 1})[:10],
                unknown=sorted(set(bodies) - self._sent)[:10],
            )

    async def settle(self) -> None:
        """Check once more and forget what has arrived in the dead-letter queue."""
        await self.audit()
        arrived = await take_all(self._link, self._site, self.TARGET)
        self._sent -= {block.elements("MessageBody")[0] for block in arrived}
        self._link.close()
