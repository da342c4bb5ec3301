"""Operations that arrive together, in every order of arrival: each outcome is one that some sequence would have had.

A group of operations is performed one after the other in each order first, from the same state. What is answered then,
with the state that is left, is what may come of the group. Then the operations are sent at once, shuffled, on a
connection each; whatever they wait for within, no other outcome may come of it.
"""

import asyncio
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from emulator.kernel.errors import BEGUN_BEFORE
from tests.operations.calling import Answer, Site
from tests.operations.recording import Operation
from tests.operations.themes import BASE, THEMES, WIDER, admin, named

STATE = {
    "queues": "SELECT name, fifo FROM mns_queues",
    "messages": "SELECT q.name, substr(m.body, 1, 9), m.dequeue_count FROM mns_messages m"
    " JOIN mns_queues q ON q.id = m.queue",
    "topics": "SELECT name FROM mns_topics",
    "subscriptions": "SELECT t.name, s.name FROM mns_subscriptions s JOIN mns_topics t ON t.id = s.topic",
    "functions": "SELECT service, name, version, json_extract(config, '$.description') FROM fc_functions",
    "versions": "SELECT scope_function, number FROM fc_versions",
    "aliases": "SELECT scope_function, name, version_id FROM fc_aliases",
    "triggers": "SELECT function, name FROM fc_triggers",
    "flows": "SELECT name, description FROM workflow_flows WHERE NOT deleted",
    "executions": "SELECT f.name, iif(instr(e.name, ':'), 'drawn', e.name), e.status FROM workflow_executions e"
    " JOIN workflow_flows f ON f.id = e.flow WHERE NOT f.deleted",
    "schedules": "SELECT name FROM workflow_schedules",
    "roles": "SELECT name FROM ram_roles",
    "users": "SELECT name FROM ram_users",
    "members": "SELECT user, group_name FROM ram_members",
    "accounts": "SELECT account FROM ram_accounts",
    "objects": "SELECT bucket, key, crc FROM oss_objects",
    "clock": "SELECT frozen_at FROM lab_clock",
    "layers": "SELECT name, version, deleted FROM fc_layer_versions",
    "tasks": "SELECT function, task_id, ended_at IS NULL FROM fc_async_calls",
    "calls configured": "SELECT function, config FROM fc_async_configs",
    "capacity": "SELECT kind, function, config FROM fc_capacity",
    "sessions": "SELECT function, iif(length(session_id) > 9, 'drawn', session_id), status FROM fc_sessions",
    "domains": "SELECT name FROM fc_domains",
    "deliveries": "SELECT subscription, attempts FROM mns_deliveries",
    "flow versions": "SELECT f.name, v.number FROM workflow_versions v JOIN workflow_flows f ON f.id = v.flow",
    "flow aliases": "SELECT f.name, a.name, a.version FROM workflow_aliases a JOIN workflow_flows f ON f.id = a.flow",
    "map runs": "SELECT status, at_once FROM workflow_map_runs",
    "enabled": "SELECT name, enabled FROM workflow_schedules",
    "buckets": "SELECT name FROM oss_buckets",
    "uploads": "SELECT u.key, p.number, p.etag FROM oss_uploads u LEFT JOIN oss_parts p ON p.upload = u.id",
    "attributes": "SELECT bucket, key, acl FROM oss_objects",
}
"""What is left, without ids and times."""

INVARIANTS = {
    "messages without a queue": "SELECT body FROM mns_messages WHERE queue NOT IN (SELECT id FROM mns_queues)",
    "wrong tallies": "SELECT t.queue FROM mns_tallies t WHERE t.number != (SELECT count(*) FROM mns_messages m"
    " WHERE m.queue = t.queue AND m.priority = t.priority)",
    "subscriptions without a topic": "SELECT name FROM mns_subscriptions WHERE topic NOT IN"
    " (SELECT id FROM mns_topics)",
    "triggers without a function": "SELECT t.name FROM fc_triggers t WHERE NOT EXISTS (SELECT 1 FROM fc_functions f"
    " WHERE f.service = t.service AND f.name = t.function)",
    "aliases without a version": "SELECT a.name FROM fc_aliases a WHERE a.version_id != 'LATEST' AND NOT EXISTS"
    " (SELECT 1 FROM fc_versions v WHERE v.scope_service = a.scope_service AND v.scope_function = a.scope_function"
    " AND v.number = a.version_id)",
    "open executions of deleted flows": "SELECT e.name FROM workflow_executions e JOIN workflow_flows f"
    " ON f.id = e.flow WHERE f.deleted AND e.stopped_at IS NULL",
    "schedules without a flow": "SELECT name FROM workflow_schedules WHERE flow NOT IN"
    " (SELECT id FROM workflow_flows WHERE NOT deleted)",
    "sessions without a function": "SELECT session_id FROM fc_sessions s WHERE NOT EXISTS"
    " (SELECT 1 FROM fc_functions f WHERE f.service = s.service AND f.name = s.function)",
    "capacity without a function": "SELECT c.function FROM fc_capacity c WHERE NOT EXISTS"
    " (SELECT 1 FROM fc_functions f WHERE f.service = c.service AND f.name = c.function)",
    "configurations without a function": "SELECT c.function FROM fc_async_configs c WHERE NOT EXISTS"
    " (SELECT 1 FROM fc_functions f WHERE f.service = c.service AND f.name = c.function)",
    "open calls without a function": "SELECT c.function FROM fc_async_calls c WHERE c.ended_at IS NULL AND NOT EXISTS"
    " (SELECT 1 FROM fc_functions f WHERE f.service = c.service AND f.name = c.function)",
    "functions with layers that never were": "SELECT f.name FROM fc_functions f, json_each(f.config, '$.layers') l"
    " WHERE NOT EXISTS (SELECT 1 FROM fc_layer_versions v WHERE l.value LIKE '%:layers/' || v.name || '/versions/'"
    " || v.version)",
    "objects without a bucket": "SELECT key FROM oss_objects WHERE bucket NOT IN (SELECT name FROM oss_buckets)",
    "content that nothing names": "SELECT id FROM oss_contents c WHERE NOT EXISTS (SELECT 1 FROM oss_objects o,"
    " json_each(o.pieces) p WHERE instr(p.value, c.id)) AND id NOT IN (SELECT content FROM oss_parts)",
    "deliveries without a subscription": "SELECT id FROM mns_deliveries WHERE subscription NOT IN"
    " (SELECT id FROM mns_subscriptions)",
    "publications without a delivery": "SELECT id FROM mns_publications WHERE id NOT IN"
    " (SELECT publication FROM mns_deliveries)",
    "flow aliases without a version": "SELECT a.name FROM workflow_aliases a WHERE NOT EXISTS"
    " (SELECT 1 FROM workflow_versions v WHERE v.flow = a.flow AND v.number = a.version)",
    "map runs without an execution": "SELECT id FROM workflow_map_runs WHERE execution NOT IN"
    " (SELECT id FROM workflow_executions)",
    "running map runs of ended executions": "SELECT m.id FROM workflow_map_runs m JOIN workflow_executions e"
    " ON e.id = m.execution WHERE m.stopped_at IS NULL AND e.stopped_at IS NOT NULL",
}
"""Queries that find nothing once all has come to rest."""


class Outcome(NamedTuple):
    """What was answered, in the order of the group, and what is left."""

    answers: tuple[str, ...]
    left: str


def groups(theme: str, seed: int, count: int, size: int) -> Iterator[list[Operation]]:
    """Yield *count* groups of *size* operations on a theme, drawn by *seed*; an operation may be in one twice."""
    chance = random.Random(f"{seed}/{theme}")
    for _ in range(count):
        yield chance.choices({**THEMES, **WIDER}[theme], k=size)


class Orders:
    """Performs groups on a furnished *site*, with the *names* that this has given to things."""

    def __init__(self, site: Site, names: Mapping[str, str]) -> None:
        self._site = site
        self._names = names
        self.runs = 0

    async def wrong(self, group: Sequence[Operation], shuffles: int, chance: random.Random) -> list[str]:
        """Return what came of *group* that no sequence explains, and whatever else is wrong."""
        group = [named(each, self._names) for each in group]
        allowed = await self._allowed(group, frozenset())
        complaints = []
        for _ in range(shuffles):
            order = chance.sample(range(len(group)), len(group))
            pauses = [chance.choice((0, 0, 1, 3, 10)) for _ in order]
            outcome = await self._outcome(group, order, pauses)
            overtaken = frozenset(at for at, answer in enumerate(outcome.answers) if answer == OVERTAKEN)
            stands_still = any(_STANDSTILL.match(each.name) for each in group)
            if outcome not in (await self._allowed(group, overtaken) if overtaken and stands_still else allowed):
                complaints.append(_told(group, order, outcome, allowed))
        return [*complaints, *self._site.trouble.texts]

    async def _allowed(self, group: Sequence[Operation], overtaken: frozenset[int]) -> set[Outcome]:
        """Return what comes of the sequences of *group* without those that were *overtaken*."""
        left = [at for at in range(len(group)) if at not in overtaken]
        return {await self._outcome(group, order, None) for order in set(permutations(left))}

    async def _outcome(self, group: Sequence[Operation], order: Sequence[int], pauses: list[int] | None) -> Outcome:
        """Perform *group* from the base in *order*: one after the other, or with so many turns of the loop between."""
        self.runs += 1
        await self._site.call(admin("DELETE", "checkpoints/c"))
        await self._must(admin("POST", f"checkpoints/{BASE}/restore"))
        found: dict[int, Answer] = {}
        if pauses is None:
            for at in order:
                found[at] = await self._site.apart(group[at])
        else:
            tasks = {}
            for at, turns in zip(order, pauses, strict=True):
                tasks[at] = asyncio.ensure_future(self._site.apart(group[at]))
                for _ in range(turns):
                    await asyncio.sleep(0)
            for at, task in tasks.items():
                found[at] = await task
        await self._must(admin("POST", "settle", timeout="10s"))
        answers = tuple(_shown(found[at]) if at in found else OVERTAKEN for at in range(len(group)))
        broken = {name: rows for name, sql in INVARIANTS.items() if (rows := self._site.rows(sql))}
        work = self._site.emulator.config.state
        if missing := [each for each in self._site.emulator.services.files() if not (work / each).is_file()]:
            broken["rows whose files are missing"] = missing
        self._site.trouble.texts += [f"after {[str(each) for each in group]}: {broken}"] if broken else []
        self._site.trouble.texts += [
            f"{group[at]}: {each}" for at, each in found.items() if each.status >= 500 and _shown(each) != OVERTAKEN
        ]
        left = {name: sorted(map(repr, self._site.rows(sql))) for name, sql in STATE.items()}
        return Outcome(answers, json.dumps(left))

    async def _must(self, operation: Operation) -> None:
        answer = await self._site.call(operation)
        assert answer is not None
        assert answer.status == 200, (operation, answer)


_BODY = re.compile(rb"<MessageBody>(.*?)</MessageBody>")
_CODE = re.compile(rb'(?:"(?:Code|ErrorCode)": ?"|<Code>)([A-Za-z.]+)')


OVERTAKEN = "503 everything stood still meanwhile"
_STANDSTILL = re.compile("POST checkpoints/.*/restore|POST reset|DELETE accounts/")


def _shown(answer: Answer) -> str:
    """Return what of an answer depends on the order: status, code of an error, messages received."""
    if answer.status == 503 and BEGUN_BEFORE.encode() in answer.body:
        return OVERTAKEN
    code = _CODE.search(answer.body)
    parts = [
        str(answer.status),
        *([code[1].decode()] if code else []),
        *(each[:9].decode() for each in _BODY.findall(answer.body)),
    ]
    return " ".join(parts)


def _distance(one: Outcome, other: Outcome) -> int:
    first, second = json.loads(one.left), json.loads(other.left)
    return sum(first[name] != second[name] for name in first)


def _told(group: Sequence[Operation], order: Sequence[int], outcome: Outcome, allowed: set[Outcome]) -> str:
    names = [f"{each.name} {each.body if each.dialect != 'fc' else ''}"[:120] for each in group]
    nearest = min(allowed, key=lambda each: (each.answers != outcome.answers, _distance(each, outcome)))
    left = {
        name: (value, json.loads(nearest.left)[name])
        for name, value in json.loads(outcome.left).items()
        if value != json.loads(nearest.left)[name]
    }
    sequences = sorted({each.answers for each in allowed})
    return (
        f"{names} arriving as {list(order)}: {outcome.answers}; in sequence {sequences};"
        f" left against the nearest: {left}"
    )
