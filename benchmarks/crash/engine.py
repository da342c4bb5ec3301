"""The workflow engine alone, crashed thousands of times: ``python -m benchmarks.crash.engine --kills 5000``.

The service runs in this process, in virtual time, on a file. After a commit drawn at random, and a few turns of the
loop later, everything in memory is lost and the transaction under way with it; a new service then opens the file.
Because virtual time stands still meanwhile, the history of every execution must be the one of an undisturbed run to the
last byte: ids, order, instants, details.
"""

import argparse
import asyncio
import json
import logging
import random
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.crash.engine_flows import FLOWS, STARTED
from benchmarks.crash.outside import Outside
from emulator.kernel.clock import VirtualClock
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import CountingIds
from emulator.kernel.timers import VirtualTimers
from emulator.services.workflow.errors import ExecutionNotExists, WorkflowError
from emulator.services.workflow.model import FlowSettings, HistoryEvent
from emulator.services.workflow.service import Workflow
from emulator.storage.database import Database
from emulator.storage.migration import migrate

WORLD = Tenant(AccountId("1234567890123456"), Region("cn-hangzhou"))
BATCH = 24
LONGEST_LIFE = 24
"""Commits between two crashes, at most."""


class Crashed(Exception):
    """The process would be gone now."""


class MortalDatabase(Database):
    """A database that counts its commits and can be dropped without one."""

    def __init__(self, path: Path, lifetime: int | None) -> None:
        super().__init__(path)
        self.left = lifetime
        self.dead = False

    def commit(self) -> None:
        """Commit, if there still is a process to do it."""
        if self.dead:
            return
        counts = self.dirty
        super().commit()
        if self.left is not None and counts:
            self.left -= 1

    def die(self) -> None:
        """Lose the connection; what is not committed is lost with it."""
        self.dead = True
        self._connection.close()


class Batch:
    """Some executions on a file of their own, from their start to the end of the last one."""

    def __init__(self, path: Path, chance: random.Random, *, crashes: bool) -> None:
        self._path = path
        self._random = chance
        self._crashes = crashes
        self._clock = VirtualClock()
        self._ids = CountingIds()
        self._outside = Outside()
        self._acknowledged: set[str] = set()
        self._reported: dict[str, bool] = {}
        self._prepared = False
        self.wanted = {f"e{number}": STARTED[number % len(STARTED)] for number in range(BATCH)}
        self.kills = 0
        self.findings: list[str] = []

    async def run(self) -> dict[str, list[HistoryEvent]]:
        """Let everything end, over as many lives as it takes; return the histories."""
        while True:
            self._begin_life()
            try:
                await self._live()
            except Crashed:
                self.kills += 1
                await self._end_life()
                continue
            histories = {name: self._history(name) for name in self.wanted}
            histories |= {f"child of {name}": events for name, events in self._children()}
            await self._end_life()
            return histories

    def _begin_life(self) -> None:
        self._database = MortalDatabase(self._path, self._random.randint(1, LONGEST_LIFE) if self._crashes else None)
        migrate(self._database, [Workflow.SCHEMA])
        self._timers = VirtualTimers(self._clock)
        self._service = Workflow(
            database=self._database,
            clock=self._clock,
            ids=self._ids,
            timers=self._timers,
            functions=self._outside,
            messages=self._outside,
        )
        self._turns_left = self._random.randint(0, 8)

    async def _end_life(self) -> None:
        self._database.die()
        with suppress(Exception):  # it stumbles over its dead database
            await self._service.close()

    async def _live(self) -> None:
        await self._service.start()
        if not self._prepared:
            await self._prepare()
        self._check_acknowledged()
        while True:
            await self._settle()
            if await self._act():
                continue
            instant = self._timers.next_at()
            if instant is None:
                return
            self._timers.advance(max(0, instant - self._clock.now()))

    async def _settle(self) -> None:
        """Let everything happen that can happen at this instant."""
        quiet = 0
        while quiet < 6:
            await self._turn()
            quiet = quiet + 1 if self._service.is_idle else 0

    async def _turn(self) -> None:
        await asyncio.sleep(0)
        if self._database.left is not None and self._database.left <= 0:
            self._turns_left -= 1
            if self._turns_left < 0:
                raise Crashed

    async def _prepare(self) -> None:
        """Make the flows, once per file."""
        for name, definition in FLOWS.items():
            await self._service.flows.create(WORLD, name, definition, FlowSettings(type="FDL"))
        self._database.commit()
        self._prepared = True

    async def _act(self) -> bool:
        """Start what is not started, report what has been asked; False when there was nothing to do."""
        acted = False
        for name, flow in self.wanted.items():
            if name not in self._acknowledged:
                given = json.dumps({"n": name, "items": [1, 2, 3]})
                self._service.executions.start(WORLD, flow, name, given)
                await self._committed()
                self._acknowledged.add(name)
                acted = True
        for token, name in sorted(self._outside.asked.items()):
            if not self._reported.get(token):
                self._report(token, name)
                await self._committed()
                self._reported[token] = True
                acted = True
        return acted

    def _report(self, token: str, name: str) -> None:
        asked_before = token in self._reported
        self._reported[token] = False
        try:
            self._service.reports.succeeded(WORLD, token, json.dumps({"told": name}))
        except WorkflowError as error:
            if not asked_before:
                self.findings.append(f"{name}: its token was refused: {error.code}")

    async def _committed(self) -> None:
        while self._database.dirty:
            await self._turn()

    def _check_acknowledged(self) -> None:
        for name in self._acknowledged:
            try:
                self._service.executions.get(WORLD, self.wanted[name], name)
            except ExecutionNotExists:
                self.findings.append(f"{name}: an acknowledged start is lost")

    def _history(self, name: str, flow: str = "") -> list[HistoryEvent]:
        return list(self._service.executions.history(WORLD, flow or self.wanted[name], name, 1000, 1).items)

    def _children(self) -> Iterator[tuple[str, list[HistoryEvent]]]:
        rows = self._database.read(
            "SELECT e.name, e.input FROM workflow_executions e JOIN workflow_flows f ON f.id = e.flow "
            "WHERE f.name = 'child' ORDER BY e.input"
        ).fetchall()
        for name, given in rows:
            yield json.loads(given)["n"], self._history(name, "child")


class EngineRun:
    """Batches until *kills* crashes have been made."""

    def __init__(self, kills: int, seed: int) -> None:
        self.wanted_kills = kills
        self.seed = seed
        self.kills = self.executions = self.events = 0
        self.findings: list[str] = []

    async def run(self) -> bool:
        """Crash and compare; True when nothing was found."""
        with _quiet(), tempfile.TemporaryDirectory(prefix="localyun-engine-") as folder:
            chance = random.Random(self.seed)
            undisturbed = await Batch(Path(folder) / "undisturbed.db", chance, crashes=False).run()
            number = 0
            while self.kills < self.wanted_kills and not self.findings:
                number += 1
                path = Path(folder) / f"{number}.db"
                batch = Batch(path, chance, crashes=True)
                histories = await batch.run()
                self.findings += batch.findings
                self.kills += batch.kills
                self._compare(undisturbed, histories)
                for file in Path(folder).glob(f"{number}.db*"):
                    file.unlink()
        return not self.findings

    def _compare(self, expected: dict[str, list[HistoryEvent]], found: dict[str, list[HistoryEvent]]) -> None:
        if expected.keys() != found.keys():
            self.findings.append(f"executions differ: {sorted(expected.keys() ^ found.keys())}")
        for name, shown in found.items():
            self.executions += 1
            self.events += len(shown)
            events, other = [_settled(event) for event in shown], [_settled(event) for event in expected.get(name, [])]
            if events != other:
                at = next((n for n, pair in enumerate(zip(other, events, strict=False)) if pair[0] != pair[1]), -1)
                self.findings.append(
                    f"{name}: {len(events)} events instead of {len(other)}; event {at + 1}: "
                    f"expected {other[at : at + 2]}, found {events[at : at + 2]}"
                )


def _settled(event: HistoryEvent) -> HistoryEvent:
    """Return *event* without what may differ: a child that is started once more after a crash runs by then."""
    if event.type != "TaskSubmitted":
        return event
    return replace(event, detail=event.detail.replace('"Status":"Running"', '"Status":"Starting"'))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what dying services complain about out of sight."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(prog="crash.engine", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="how often to crash (default: 1000)")
    parser.add_argument("--seed", type=int, help="what decides the instants (default: a new one)")
    arguments = parser.parse_args()
    seed = secrets.randbelow(1_000_000) if arguments.seed is None else arguments.seed
    run = EngineRun(arguments.kills, seed)
    began = time.monotonic()
    passed = asyncio.run(run.run())
    told: dict[str, Any] = {
        "seed": seed,
        "crashes": run.kills,
        "executions compared": run.executions,
        "events compared": run.events,
        "seconds": round(time.monotonic() - began, 1),
        "findings": run.findings[:10],
    }
    print(json.dumps(told, indent=1))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
