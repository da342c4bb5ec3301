"""Checkpoints, restores and moves of the clock among everything else.

Saves go on under the full load. A restore puts everybody's state back, so the other clients rest while one is tried:
between the save and the restore only a mark is made, and after a kill everything is as it was but for the mark, which
is there or not. The mark says which of the two states it is; what the others know must hold in either.
"""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

from benchmarks.crash.record import set_offset
from benchmarks.crash.site import Link, Reply, Site, Unanswered

_MARKS = "marks"


class States:
    """The client of checkpoints and of the clock."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._record = site.record
        self._random = site.random("states")
        self._link = Link(site)
        self._marks: set[str] = set()
        self._doubt = ""

    async def prepare(self) -> None:
        """Make the queue of marks."""
        await self._link.ask(self._site.mns("PUT", f"/queues/{_MARKS}", "<Queue/>"))

    def clients(self) -> list[Coroutine[Any, Any, None]]:
        """Return the one client."""
        return [self._run()]

    async def audit(self) -> None:
        """Compare the marks, the checkpoints that are listed, and what lies beside them."""
        self._link.close()
        await self._read_clock()
        found = {body for (body,) in self._site.rows(
            "SELECT m.body FROM mns_messages m JOIN mns_queues q ON q.id = m.queue WHERE q.name = ?", (_MARKS,)
        )}  # fmt: skip
        if found - {self._doubt} != self._marks - {self._doubt}:
            self._record.find("marks differ", found=sorted(found), expected=sorted(self._marks), doubt=self._doubt)
        self._marks, self._doubt = found, ""
        listed = {each["name"] for each in (await self._admin("GET", "checkpoints")).json()["checkpoints"]}
        await asyncio.sleep(0.2)  # what a start finds goes beside the first calls
        beside: set[str] = set()
        for _ in range(50):
            beside = {each.name for each in (self._site.subject.state / "checkpoints").glob("*")} - listed
            beside |= {each.name for each in self._site.subject.state.glob("state.db.before*")}
            if not beside:
                return
            await asyncio.sleep(0.1)
        self._record.find("a start has left", files=sorted(beside))

    async def settle(self) -> None:
        """Nothing comes to an end later."""

    async def _run(self) -> None:
        self._link.close()
        try:
            while not self._site.over.is_set():
                kind = self._random.choice(["save", "save", "move", "restore"])
                if kind == "restore":
                    async with self._site.alone():
                        await self._mark_and_restore()
                elif kind == "save":
                    await self._told("save", "POST", f"checkpoints/c{self._random.randrange(3)}")
                else:
                    async with self._site.alone():  # the emulator's time stands still meanwhile
                        await self._told("move", "POST", "clock", {"advance": "50ms"})
                        await self._read_clock()
                await self._site.rest(self._random.uniform(0, 0.3))
        except Unanswered:
            pass

    async def _mark_and_restore(self) -> None:
        await self._told("save", "POST", "checkpoints/back")
        mark = self._doubt = self._site.fresh("mark")
        body = f"<Message><MessageBody>{mark}</MessageBody></Message>"
        await self._link.ask(self._site.mns("POST", f"/queues/{_MARKS}/messages", body))
        self._marks.add(mark)
        await self._told("restore", "POST", "checkpoints/back/restore")
        self._marks.discard(mark)
        self._doubt = ""

    async def _read_clock(self) -> None:
        set_offset((await self._admin("GET", "clock")).json()["offset_ms"])

    async def _told(self, kind: str, method: str, path: str, body: dict[str, str] | None = None) -> None:
        try:
            reply = await self._admin(method, path, body)
        except Unanswered:
            self._record.note(kind, "unanswered", path=path)
            raise
        self._record.note(kind, "acknowledged", path=path)
        if reply.status != 200:
            self._record.find(f"a {kind} was refused", status=reply.status, body=reply.body[:300].decode("latin-1"))

    async def _admin(self, method: str, path: str, body: dict[str, str] | None = None) -> Reply:
        keys = json.loads((self._site.subject.state / "keys.json").read_text(encoding="utf-8"))
        content = json.dumps(body or {}).encode()
        head = (
            f"{method} /_localyun/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Localyun-Token: {keys['adminToken']}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return await self._link.ask(head.encode("ascii") + content)
