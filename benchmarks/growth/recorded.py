"""Every operation of the APIs with a call that it accepts, and a state folder with one of everything.

The calls are those that the official clients make (`tests.operations`); which operations there are is read from the
tables of the fronts, so one that no call reaches is named.
"""

import asyncio
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.growth.given import NOT_CALLED, given, prepare, without_clients
from emulator.app import Emulator
from emulator.gateway.pipeline import Pipeline
from emulator.services.fc import front as fc
from emulator.services.mns import front as mns
from emulator.services.workflow import front as workflow
from tests.operations.calling import Complaint, Site, furnish, running
from tests.operations.mutating import attempts
from tests.operations.others import access_operations, admin_operations, object_operations
from tests.operations.recording import Operation, every_operation
from tests.operations.running import turn

EARLIER_API = "fc_open20210406"
"""The same operations in another version: their wire form is all that differs."""

_ATTEMPTS = 25


class Recorded(NamedTuple):
    """What was learnt: a call of each operation, and the operations that no call has reached, with the reason."""

    calls: list[Operation]
    unreached: dict[str, str]


def record(folder: Path) -> Recorded:
    """Make the state below *folder* and return the calls."""
    return asyncio.run(_record(folder))


async def _record(folder: Path) -> Recorded:
    async with running(folder) as site:
        reached: set[str] = set()
        finish = Pipeline._finish

        def noted(self: Any, front: Any, call: Any, *rest: Any) -> None:
            reached.add(call.operation)
            finish(self, front, call, *rest)

        Pipeline._finish = noted  # type: ignore[method-assign, assignment]  # this process has one emulator
        try:
            calls = await _learn(site)
            known = operations(site.emulator)
            further = list(without_clients(site.emulator, _unreached(known, reached)))
            for each in further:
                await _accepted(site, [each])
        finally:
            Pipeline._finish = finish  # type: ignore[method-assign]
        left = {each: NOT_CALLED.get(each, "no call reaches it") for each in _unreached(known, reached)}
        return Recorded([*calls, *further], left)


def _unreached(known: list[str], reached: set[str]) -> list[str]:
    return [each for each in known if each.partition(": ")[2] not in reached]


async def _learn(site: Site) -> list[Operation]:
    """Return a call of every operation, accepted where one of the attempts was, else as the client makes it."""
    recorded = sorted((each for each in every_operation() if each.sdk != EARLIER_API), key=turn)
    emulator = site.emulator
    others = [*access_operations(emulator), *object_operations(), *admin_operations(emulator)]
    chance = random.Random(1)
    await furnish(site, recorded)
    names = await prepare(site)
    calls = []
    for each in [*recorded, *others]:
        further = 0 if each in others or _removes(each) else _ATTEMPTS
        tried = (given(call, names) for call in attempts(each, further, chance))
        call = await _accepted(site, tried)
        calls.append(call or given(next(attempts(each, 0, chance)), names))
        if _removes(each):
            await furnish(site, recorded)
    names |= await prepare(site)
    calls = [given(each, names) for each in calls]
    for each in calls:  # again, so that what was removed is there
        if not _removes(each) and each.dialect != "admin":
            await _accepted(site, [each])
    return calls


async def _accepted(site: Site, calls: Iterable[Operation]) -> Operation | None:
    for call in calls:
        try:
            answer = await site.call(call)
        except Complaint:
            continue
        if answer is None or answer.status < 400:
            return call
    return None


def _removes(operation: Operation) -> bool:
    return turn(operation)[0] == 2


def operations(emulator: Emulator) -> list[str]:
    """Return the operations of every service, as ``front: name``."""
    tables: dict[str, Iterable[Any]] = {
        "mns": (*mns.OPERATIONS, *mns.ACTIONS), "workflow": workflow.OPERATIONS,
        "fc": (each for routes in fc.ROUTES.values() for each in routes),
    }  # fmt: skip
    for name, front in emulator._entrance.fronts.items():
        tables.setdefault(name, () if name == "admin" else getattr(front, "operations", ()))
    found = {f"{name}: {each.name}" for name, table in tables.items() for each in table}
    found |= {f"admin: {each.route.partition(' ')[0]} {each.name}" for each in emulator._admin.operations}
    return sorted(found)
