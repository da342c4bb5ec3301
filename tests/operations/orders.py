"""Operations that arrive together, in every order of arrival: each outcome is one that some sequence would have had.

A group of operations is performed one after the other in each order first, from the same state. What is answered then,
with the state that is left, is what may come of the group. Then the operations are sent at once, shuffled, on a
connection each; whatever they wait for within, no other outcome may come of it.
"""

import asyncio
import json
import random
import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any, NamedTuple

from tests.operations import samples
from tests.operations.calling import Answer, Site
from tests.operations.recording import Operation

BASE = "base"

STATE = {
    "queues": "SELECT name, fifo FROM mns_queues",
    "messages": "SELECT q.name, m.body, m.dequeue_count FROM mns_messages m JOIN mns_queues q ON q.id = m.queue",
    "topics": "SELECT name FROM mns_topics",
    "subscriptions": "SELECT t.name, s.name FROM mns_subscriptions s JOIN mns_topics t ON t.id = s.topic",
    "functions": "SELECT service, name, version, json_extract(config, '$.description') FROM fc_functions",
    "versions": "SELECT scope_function, number FROM fc_versions",
    "aliases": "SELECT scope_function, name, version_id FROM fc_aliases",
    "triggers": "SELECT function, name FROM fc_triggers",
    "flows": "SELECT name, description FROM workflow_flows WHERE NOT deleted",
    "executions": "SELECT f.name, e.name, e.status FROM workflow_executions e JOIN workflow_flows f ON f.id = e.flow"
    " WHERE NOT f.deleted",
    "schedules": "SELECT name FROM workflow_schedules",
    "roles": "SELECT name FROM ram_roles",
    "users": "SELECT name FROM ram_users",
    "members": "SELECT user, group_name FROM ram_members",
    "accounts": "SELECT account FROM ram_accounts",
    "objects": "SELECT bucket, key, crc FROM oss_objects",
    "clock": "SELECT frozen_at FROM lab_clock",
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
}
"""Queries that find nothing once all has come to rest."""


class Outcome(NamedTuple):
    """What was answered, in the order of the group, and what is left."""

    answers: tuple[str, ...]
    left: str


def _mns(method: str, path: str, body: str = "") -> Operation:
    path, _, query = path.partition("?")
    items = dict(item.partition("=")[::2] for item in query.split("&") if item)
    return Operation("mns", f"{method} {path}", "mns", "", method, path, items, {"x-mns-version": "2015-06-06"},
                     body.encode(), "xml")  # fmt: skip


def _fc(name: str, method: str, path: str, body: Any = None) -> Operation:
    kind = "bytes" if isinstance(body, bytes) else "json"
    return Operation("fc3", name, "fc", "2023-03-30", method, f"/2023-03-30{path}", {}, {}, body, kind)


def _fnf(name: str, **given: str) -> Operation:
    return Operation("aliyunsdkfnf", name, "rpc", "2019-03-15", "POST", "/", {}, {}, given, "form")


def _ram(name: str, **given: str) -> Operation:
    return Operation("ram", name, "rpc", "2015-05-01", "POST", "/", given, {}, None, "form")


def _oss(method: str, path: str, body: bytes = b"") -> Operation:
    return Operation("oss", f"{method} {path}", "oss", "", method, path, {}, {}, body, "bytes")


def _admin(method: str, path: str, **given: Any) -> Operation:
    return Operation("admin", f"{method} {path}", "admin", "", method, f"/_localyun/{path}", {}, {},
                     given if method == "POST" else None, "json")  # fmt: skip


def _function(name: str, **more: Any) -> dict[str, Any]:
    code = {"zipFile": samples.text("zipFile")}
    return {"functionName": name, "runtime": "python3.10", "handler": "index.handler", "code": code, **more}


_TRUST = '{"Version":"1","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":["a"]}}]}'
_REST = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: rest, duration: 3600}\n"
_TIMER = {"triggerName": "t", "triggerType": "timer",
          "triggerConfig": '{"cronExpression": "@every 5m", "enable": true}'}  # fmt: skip


def _send(queue: str, body: str) -> Operation:
    return _mns("POST", f"/queues/{queue}/messages", f"<Message><MessageBody>{body}</MessageBody></Message>")


THEMES: dict[str, list[Operation]] = {
    "a queue": [
        _mns("PUT", "/queues/q", "<Queue/>"),
        _mns("PUT", "/queues/q", "<Queue><DelaySeconds>7</DelaySeconds></Queue>"),
        _mns("DELETE", "/queues/q"),
        _send("q", "one"), _send("q", "two"),
        _mns("GET", "/queues/q/messages"), _mns("GET", "/queues/q/messages?numOfMessages=3"),
        _admin("POST", "purge-queue", queue="q"),
        _admin("POST", "move-messages", queue="q", to="other"),
        _admin("POST", "reset", queue="q"),
    ],
    "a topic": [
        _mns("PUT", "/topics/t", "<Topic/>"), _mns("DELETE", "/topics/t"),
        _mns("PUT", "/topics/t/subscriptions/s",
             "<Subscription><Endpoint>http://127.0.0.1:9/</Endpoint></Subscription>"),
        _mns("DELETE", "/topics/t/subscriptions/s"),
        _admin("POST", "reset", topic="t"),
        _admin("POST", "reset", service="mns"),
    ],
    "a function": [
        _fc("CreateFunction", "POST", "/functions", _function("f")),
        _fc("CreateFunction", "POST", "/functions", _function("g")),
        _fc("UpdateFunction", "PUT", "/functions/f", {"description": "changed"}),
        _fc("UpdateFunction", "PUT", "/functions/f", {"code": {"zipFile": samples.text("zipFile")}}),
        _fc("DeleteFunction", "DELETE", "/functions/f"),
        _fc("PublishFunctionVersion", "POST", "/functions/f/versions", {}),
        _fc("CreateAlias", "POST", "/functions/f/aliases", {"aliasName": "live", "versionId": "1"}),
        _fc("DeleteFunctionVersion", "DELETE", "/functions/f/versions/1"),
        _fc("CreateTrigger", "POST", "/functions/f/triggers", _TIMER),
        _fc("DeleteTrigger", "DELETE", "/functions/f/triggers/t"),
        _fc("InvokeFunction", "POST", "/functions/f/invocations", b"{}"),
        _admin("POST", "fire-trigger", function="f", trigger="t"),
    ],
    "a flow": [
        _fnf("CreateFlow", Name="g", Definition=_REST, Description="", Type="FDL"),
        _fnf("UpdateFlow", Name="f", Description="changed"),
        _fnf("DeleteFlow", Name="f"),
        _fnf("StartExecution", FlowName="f", ExecutionName="e"),
        _fnf("StartExecution", FlowName="f", ExecutionName="d"),
        _fnf("StopExecution", FlowName="f", ExecutionName="e"),
        _fnf("DescribeExecution", FlowName="f", ExecutionName="e"),
        _fnf("CreateSchedule", FlowName="f", ScheduleName="s", CronExpression=samples.CRON),
        _fnf("DeleteSchedule", FlowName="f", ScheduleName="s"),
        _admin("POST", "reset", flow="f"),
        _admin("POST", "reset", service="fnf"),
    ],
    "rights": [
        _ram("CreateRole", RoleName="r", AssumeRolePolicyDocument=_TRUST),
        _ram("DeleteRole", RoleName="r"), _ram("GetRole", RoleName="r"),
        _ram("CreateUser", UserName="u"), _ram("DeleteUser", UserName="u"),
        _ram("CreateGroup", GroupName="g"), _ram("AddUserToGroup", UserName="u", GroupName="g"),
        _ram("RemoveUserFromGroup", UserName="u", GroupName="g"),
        _admin("POST", "accounts", accountId="99"), _admin("DELETE", "accounts/99"),
    ],
    "the clock": [
        *[_admin("POST", "skip", until={"queue": "q", "visible": 1}, limit="1h", timeout="5s")] * 2,
        _admin("POST", "clock", advance="7s"), _admin("POST", "clock", next=1),
        _admin("POST", "settle", timeout="5s"), _admin("GET", "clock"),
        _send("q", "sent meanwhile"), _mns("GET", "/queues/q/messages"),
    ],
    "checkpoints": [
        _admin("POST", "checkpoints/c"), _admin("POST", "checkpoints/c/restore"), _admin("DELETE", "checkpoints/c"),
        _admin("POST", f"checkpoints/{BASE}/restore"),
        _send("q", "sent meanwhile"), _fnf("StartExecution", FlowName="f", ExecutionName="e"),
        _fc("CreateFunction", "POST", "/functions", _function("g")),
        _admin("POST", "reset", service="fc"), _admin("POST", "reset"),
    ],
    "files": [
        *[_admin("POST", f"checkpoints/{BASE}/restore")] * 2, _admin("POST", "checkpoints/c"),
        _admin("POST", "checkpoints/c/restore"),
        _oss("PUT", "/files/name", b"new"), _oss("DELETE", "/files/name"), _oss("GET", "/files/name"),
        _fc("CreateFunction", "POST", "/functions", _function("g")),
        _fc("DeleteFunctionVersion", "DELETE", "/functions/f/versions/1"),
        _fc("DeleteFunction", "DELETE", "/functions/f"),
        _admin("POST", "reset", service="fc"), _admin("POST", "reset", service="oss"), _admin("POST", "reset"),
    ],
}  # fmt: skip


def groups(seed: int, count: int, size: int) -> Iterator[tuple[str, list[Operation]]]:
    """Yield *count* groups of *size* operations on each theme, drawn by *seed*; an operation may be in one twice."""
    for theme, pool in THEMES.items():
        chance = random.Random(f"{seed}/{theme}")
        for _ in range(count):
            yield theme, chance.choices(pool, k=size)


async def furnish(site: Site) -> None:
    """Make what the themes are about, stop the time, and keep all of it as a checkpoint."""
    for operation in (
        _mns("PUT", "/queues/q", "<Queue/>"), _mns("PUT", "/queues/other", "<Queue/>"), _send("q", "first"),
        _mns("PUT", "/topics/t", "<Topic/>"),
        _fc("CreateFunction", "POST", "/functions", _function("f")),
        _fc("PublishFunctionVersion", "POST", "/functions/f/versions", {}),
        _oss("PUT", "/files"), _oss("PUT", "/files/name", b"content"),
        _fnf("CreateFlow", Name="f", Definition=_REST, Description="", Type="FDL"),
        _ram("CreateUser", UserName="u"), _ram("CreateGroup", GroupName="g"),
        _admin("POST", "clock", freeze=True), _admin("POST", "settle"), _admin("POST", f"checkpoints/{BASE}"),
    ):  # fmt: skip
        answer = await site.call(operation)
        assert answer is not None
        assert answer.status < 300, (operation, answer)


class Orders:
    """Performs groups on a furnished *site*."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.runs = 0

    async def wrong(self, group: Sequence[Operation], shuffles: int, chance: random.Random) -> list[str]:
        """Return what came of *group* that no sequence explains, and whatever else is wrong."""
        allowed = set()
        for order in set(permutations(range(len(group)))):
            allowed.add(await self._outcome(group, order, None))
        complaints = []
        for _ in range(shuffles):
            order = chance.sample(range(len(group)), len(group))
            pauses = [chance.choice((0, 0, 1, 3, 10)) for _ in order]
            outcome = await self._outcome(group, order, pauses)
            if outcome not in allowed:
                complaints.append(_told(group, order, outcome, allowed))
        return [*complaints, *self._site.trouble.texts]

    async def _outcome(self, group: Sequence[Operation], order: Sequence[int], pauses: list[int] | None) -> Outcome:
        """Perform *group* from the base in *order*: one after the other, or with so many turns of the loop between."""
        self.runs += 1
        await self._site.call(_admin("DELETE", "checkpoints/c"))
        await self._must(_admin("POST", f"checkpoints/{BASE}/restore"))
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
        await self._must(_admin("POST", "settle", timeout="10s"))
        answers = tuple(_shown(found[at]) for at in range(len(group)))
        broken = {name: rows for name, sql in INVARIANTS.items() if (rows := self._site.rows(sql))}
        work = self._site.emulator.config.state
        if missing := [each for each in self._site.emulator.services.files() if not (work / each).is_file()]:
            broken["rows whose files are missing"] = missing
        self._site.trouble.texts += [f"after {[str(each) for each in group]}: {broken}"] if broken else []
        self._site.trouble.texts += [f"{group[at]}: {each}" for at, each in found.items() if each.status >= 500]
        left = {name: sorted(map(repr, self._site.rows(sql))) for name, sql in STATE.items()}
        return Outcome(answers, json.dumps(left))

    async def _must(self, operation: Operation) -> None:
        answer = await self._site.call(operation)
        assert answer is not None
        assert answer.status == 200, (operation, answer)


_BODY = re.compile(rb"<MessageBody>(.*?)</MessageBody>")
_CODE = re.compile(rb'(?:"(?:Code|ErrorCode)": ?"|<Code>)([A-Za-z.]+)')


def _shown(answer: Answer) -> str:
    """Return what of an answer depends on the order: status, code of an error, messages received."""
    code = _CODE.search(answer.body)
    parts = [str(answer.status), *([code[1].decode()] if code else []), *map(bytes.decode, _BODY.findall(answer.body))]
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
