"""The run: every operation with its variations, and what is wrong with the answers."""

import asyncio
import random
from typing import NamedTuple

from tests.operations.calling import Complaint, Site, check, furnish
from tests.operations.mutating import as_meant, attempts, variations
from tests.operations.recording import Operation


class Findings(NamedTuple):
    """How many calls were accepted, refused and left waiting, what was wrong, and which operations always refused."""

    accepted: int
    refused: int
    waiting: int
    complaints: list[str]
    never_accepted: list[str]


ATTEMPTS = 5
"""How often fewer parameters are tried until an operation is accepted."""

_PARTLY = ("BatchDelete", "BatchSend")
"""Operations that do what they can and answer with what they could not."""


_TURNS = ("create", "put", "register", "subscribe", "publish", "send", "set", "update", "invoke", "start")


def turn(operation: Operation) -> tuple[int, str]:
    """Return when an operation has its turn: first what makes things, then what looks at them, what removes them last.

    The clients' names differ, and within a turn those of one kind come together.
    """
    name = operation.name.lower()
    if name.startswith(("delete", "batchdelete", "unsubscribe", "stop", "deregister", "untag", "revoke", "disable")):
        return 2, name
    return int(not name.startswith(_TURNS)), name


class _Run:
    """Counts what comes of the calls."""

    def __init__(self, site: Site, operations: list[Operation]) -> None:
        self._site = site
        self._operations = operations
        self.accepted = self.refused = self.waiting = 0
        self.complaints: list[str] = []
        self.never_accepted = {str(operation) for operation in operations}

    async def call(self, call: Operation) -> bool:
        """Make one call and return whether it was accepted; what it deleted is made again."""
        try:
            status = await _one(self._site, call)
        except Complaint as complaint:
            self.complaints.append(f"{call}: {complaint}; sent {_shown(call)}")
            return False
        if status is None:
            self.waiting += 1
            return False
        if status >= 400:
            self.refused += 1
            return False
        self.accepted += 1
        self.never_accepted.discard(str(call))
        if call.method == "DELETE" or call.name.startswith("Delete"):
            await furnish(self._site, self._operations)
        return True


async def torment(site: Site, operations: list[Operation], count: int, chance: random.Random) -> Findings:
    """Call each operation as it is meant, without parameters and *count* times with something wrong."""
    await furnish(site, operations)
    run = _Run(site, operations)
    for operation in sorted(operations, key=turn):
        base = as_meant(operation)
        for attempt in attempts(operation, ATTEMPTS, chance):
            if await run.call(attempt):
                base = attempt
                break
        for call in variations(operation, base, count, chance):
            await run.call(call)
    return Findings(run.accepted, run.refused, run.waiting, run.complaints, sorted(run.never_accepted))


def _shown(call: Operation) -> str:
    return repr(tuple(call._replace(body=repr(call.body)[:500])))[:1500]


async def _one(site: Site, call: Operation) -> int | None:
    """Make one call and hold it against the promises; a refusal that wrote something is tried again with a dump.

    Raises: Complaint.
    """
    before = site.changes
    answer = await site.call(call)
    if site.trouble.texts:
        found = "\n".join(site.trouble.texts)
        site.trouble.texts.clear()
        raise Complaint(f"the log tells of a failure: {found}")
    if answer is None:
        return None
    check(call, answer)
    if answer.status >= 400 and site.changes != before and not call.name.startswith(_PARTLY):
        await _must_change_nothing(site, call)
    return answer.status


async def _must_change_nothing(site: Site, call: Operation) -> None:
    """Pushes, retries and timers write too: a change counts when it comes with every call and never without one.

    Raises: Complaint.
    """
    changed: set[str] = set()
    for _ in range(4):
        before = site.dump()
        await asyncio.sleep(0.05)
        quiet = site.dump()
        answer = await site.call(call)
        after = site.dump()
        if quiet != before or after == quiet or answer is None or answer.status < 400:
            return
        changed = {table for table in after if after[table] != quiet[table]}
    raise Complaint(f"refused with {answer.status}, and the state has changed: {sorted(changed)}")
