"""The run: start, audit, load, kill, again; from time to time everything is let come to its end and compared."""

import asyncio
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.crash.flows import Flows
from benchmarks.crash.functions import Functions
from benchmarks.crash.load import Load
from benchmarks.crash.process import NotStarted, Subject, adopt_orphans
from benchmarks.crash.queues import Queues
from benchmarks.crash.record import Record
from benchmarks.crash.resources import Resources
from benchmarks.crash.site import Site, Unanswered
from benchmarks.crash.states import States
from benchmarks.crash.topics import Topics

LOAD_S = (0.05, 0.9)
WITHIN_START = 0.15
"""How many kills come while the emulator starts; the others come under load."""

YOUNG = 0.03
"""How many come while it starts on an empty folder, which is then started once more."""

GRACEFUL = 0.05
"""How many stretches of load end before the kill, so that counters kept in memory are compared too."""


class Run:
    """One run of *kills* kills; *tell* prints progress."""

    def __init__(self, folder: Path, *, kills: int, seed: int, settle_every: int, tell: Callable[[str], None]) -> None:
        self.folder = folder
        self.kills = kills
        self.record = Record(folder / "record.jsonl")
        self.subject = Subject(folder)
        self._site = Site(self.subject, self.record, seed)
        self._random = random.Random(seed)
        self._settle_every = settle_every
        self._tell = tell
        self.flows, self.functions, self.topics = Flows(self._site), Functions(self._site), Topics(self._site)
        self._loads: tuple[Load, ...] = (
            States(self._site),  # first: the others go by the clock that it reads after a start
            Queues(self._site), self.topics, self.functions, Resources(self._site), self.flows,
        )  # fmt: skip
        self.within_start = self.young = 0
        self.spent_s = 0.0

    async def run(self) -> bool:
        """Kill and compare; True when nothing was found."""
        began = time.monotonic()
        self._reaper = adopt_orphans()
        try:
            await self._start()
            for load in self._loads:
                await load.prepare()
            while self.record.kill < self.kills and not self.record.findings:
                await self._stretch()
            if not self.record.findings:
                if await self.subject.stop() != 0:
                    self.record.find("a SIGTERM did not end it with exit code 0")
                await self._check_remains()
            self._read_log()
        except (NotStarted, Unanswered) as error:
            self.record.find(f"the emulator is not there: {error}", log=self._log()[-3000:])
        finally:
            if self.subject.alive:
                self.subject.kill()
            self.topics.close()
            self.spent_s = time.monotonic() - began
            self.record.close()
        return not self.record.findings

    async def _stretch(self) -> None:
        """From a running emulator without load to the next one, over one or more kills."""
        self._site.over.clear()
        clients = [asyncio.create_task(client) for load in self._loads for client in load.clients()]
        await asyncio.sleep(self._random.uniform(*LOAD_S))
        if self._random.random() < GRACEFUL:
            self._site.over.set()
            await asyncio.gather(*clients)
            await self._audit()
        self._site.over.set()
        await self._kill()
        await asyncio.gather(*clients)
        if self._random.random() < YOUNG:
            await self._kill_young()
        while self._random.random() < WITHIN_START and self.record.kill < self.kills:
            self.subject.spawn()
            await asyncio.sleep(self._random.uniform(0, 1.3) * self.subject.starts_s[-1])
            self.within_start += 1
            await self._kill()
        await self._start()
        await self._audit()
        if self.record.kill // self._settle_every > self._settled or self.record.kill >= self.kills:
            await self._settle()

    async def _start(self) -> None:
        self.subject.spawn()
        await self.subject.ready()

    async def _kill(self) -> None:
        if not self.subject.alive:
            raise NotStarted(f"it had ended by itself with exit code {self.subject.process.returncode}")
        self.subject.kill()
        self.record.kill += 1
        self.record.note("kill", "done")
        await self._check_remains()

    async def _kill_young(self) -> None:
        """Kill a first start on an empty folder; the next start there must work."""
        folder = Path(tempfile.mkdtemp(prefix="young-", dir=self.folder))
        young = Subject(folder)
        young.spawn()
        await asyncio.sleep(self._random.uniform(0, 1.3) * self.subject.starts_s[-1])
        self.young += 1
        young.kill()
        self.record.kill += 1
        try:
            young.spawn()
            await young.ready()
        except NotStarted as error:
            log = (folder / "server.log").read_text(encoding="utf-8", errors="replace")
            self.record.find(f"after a kill in its first start: {error}", folder=str(folder), log=log[-2000:])
        else:
            await young.stop()
            shutil.rmtree(folder)
        await self._check_remains()

    async def _check_remains(self) -> None:
        left = await self.subject.remains() if self._reaper else []
        if left:
            self.record.find("processes outlive the emulator", processes=left)

    async def _audit(self) -> None:
        for load in self._loads:
            await load.audit()

    _settled = 0

    async def _settle(self) -> None:
        self._settled = self.record.kill // self._settle_every
        for load in self._loads:
            await load.settle()
        self._read_log()
        size_mb = (self.subject.state / "state.db").stat().st_size / 2**20
        self._tell(
            f"{self.record.kill} kills, {self.record.acknowledged.total()} operations acknowledged, "
            f"{self.flows.ended} executions, {len(self.record.findings)} findings, "
            f"start {self.subject.starts_s[-1] * 1000:.0f} ms, state.db {size_mb:.0f} MB"
        )

    def _log(self) -> str:
        return (self.folder / "server.log").read_text(encoding="utf-8", errors="replace")

    def _read_log(self) -> None:
        """A traceback in the emulator's log is a finding."""
        text = self._log()
        at = text.find("Traceback (most recent call last)")
        if at >= 0:
            self.record.find("a traceback in the log", log=text[max(0, at - 500) : at + 3000])

    def summary(self) -> dict[str, Any]:
        """Return the numbers of the run."""
        starts = sorted(self.subject.starts_s)
        return {
            "kills": self.record.kill,
            "within a start": self.within_start,
            "within a first start": self.young,
            "minutes": round(self.spent_s / 60, 1),
            "operations (acknowledged, without answer)": self.record.counts(),
            "executions compared": self.flows.ended,
            "latest end of a wait, ms": self.flows.latest_ms,
            "pushes taken": self.topics.pushes,
            "of these more than once": self.topics.doubled,
            "asynchronous calls run": self.functions.runs,
            "runs more than one per call": self.functions.repeated,
            "start, median ms": round(starts[len(starts) // 2] * 1000) if starts else 0,
            "findings": self.record.findings,
        }
