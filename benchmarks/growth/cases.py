"""What is measured over a state of some size: operations, pages, commands; and what each of them works on.

Work that touches everything of a kind stands in `ALL`; all else is to cost the same however much there is.
"""

import copy
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.growth.recorded import Recorded
from benchmarks.growth.site import Site
from tests.operations.recording import Operation
from tests.operations.running import turn

Act = Callable[[Site, int], str]
"""Does it once; the number is another one each time."""


class Case(NamedTuple):
    """One thing that is measured. ``again``: how often, of which the least counts."""

    name: str
    act: Act
    touches_all: bool = False
    again: int = 4


ALL = frozenset({
    "POST purge-queue", "POST move-messages", "POST reset", "POST save-checkpoint", "POST restore-checkpoint",
    "GET read-archive", "PUT write-archive", "DELETE remove-account",
    "localyun queue list", "localyun topic list", "localyun topic subscriptions", "localyun flow list",
    "localyun flow schedules", "localyun function list", "localyun export", "localyun trigger list", "localyun doctor",
    "GET triggers", "DELETE delete-checkpoint", "GET status", "localyun status", "localyun list",
    "GET usage", "localyun usage", "page /usage", "page /search?q=f5", "page /search?q=zz",
    "fc2 publish_version", "fc2 update_service", "fc ListVpcBindings", "rpc ListQueue", "rpc ListTopic",
    "POST reset-usage",
})  # fmt: skip
"""Work on everything of a kind: every message of a queue, every function of a service, every count of usage, the whole
state; and answers with all of them, which no page bounds, or with the number of all that fit, as ListQueue and
ListTopic of 2022 have it."""

_LAST = (
    "move-messages", "purge-queue", "skip", "settle", "clock", "archive", "reset", "restore-checkpoint",
    "delete-checkpoint", "remove-",
)  # fmt: skip
"""Admin operations that come at the end, in this order: each changes what others work on."""

_NUMBERED = 7
"""The copies that are removed one after the other are numbered from here."""


def operations(recorded: Recorded) -> Iterator[Case]:
    """Yield a case for every operation: what makes and looks first, what removes or turns everything round last."""
    for call in sorted(recorded.calls, key=_turn):
        name = f"{call.method} {call.name}" if call.dialect == "admin" else f"{call.dialect} {call.name}"
        yield Case(
            name,
            lambda site, number, call=call: site.call(_numbered(call, number)),  # type: ignore[misc]  # bound now
            name in ALL,
            1 if name in ALL or _last(call) else 4,
        )


def _turn(call: Operation) -> tuple[int, bool, int, str]:
    return _last(call), "remove-account" in call.name, turn(call)[0], call.name


def _last(call: Operation) -> int:
    """Return the place among those at the end, from one; 0 for all others."""
    if call.name in _PUBLISHING:
        return 1
    found = [place for place, word in enumerate(_LAST, 2) if word in call.name]
    return max(found) if found and call.dialect == "admin" else 0


_PUBLISHING = frozenset({"PublishMessage"})
"""To every subscription of a topic, none of which can be reached: attempts go on beside what comes next."""


def _numbered(call: Operation, number: int) -> Operation:
    """Return a call that makes something new, or removes one of the copies, each time."""
    made = re.fullmatch(r"(?:Create|Delete|create|delete|Un?[Ss]ubscribe)_?(\w*)", call.name)
    if made is None or call.dialect == "admin":
        return call
    suffix = str(_NUMBERED + number) if turn(call)[0] == 2 else f"x{number}"
    noun = made[1].lower().replace("_", "")
    if call.dialect in {"mns", "oss"}:
        return call._replace(path=call.path.rstrip("/") + suffix)
    changed = copy.deepcopy(call)
    for part in (changed.body, changed.query):
        if isinstance(part, dict):
            for key, value in part.items():
                if key.lower().replace("_", "") in {f"{noun}name", "name", noun} and isinstance(value, str):
                    part[key] = value + suffix
    if turn(call)[0] == 2 and call.dialect in {"fc", "fc2"}:
        changed = changed._replace(path=changed.path.rstrip("/") + suffix)
    return changed


PAGES = (
    "/", "/messages", "/flows", "/flows/flow", "/flows/flow/executions/run", "/flows/flow/executions/run?at=2",
    "/flows/flow/executions/run/frames", "/flows/flow/executions/run/compare?with=run7", "/flows?from=flow1",
    "/queues", "/queues?from=q1", "/queues/q", "/topics", "/topics/t", "/functions", "/functions/f", "/functions/s/f",
    "/functions?from=s/f1", "/triggers", "/schedules", "/requests", "/clock", "/search?q=f5", "/search?q=zz",
    "/usage", "/buckets", "/buckets/bucket", "/design", "/design/flow", "/histories", "/start", "/faults", "/mocks",
    "/checkpoints", "/accounts", "/roles", "/new/queue", "/new/function", "/edit/queue/q",
    "/edit/function/f",
)  # fmt: skip


def pages() -> Iterator[Case]:
    """Yield a case for every page of the console."""
    for path in PAGES:
        name = f"page {path}"
        yield Case(name, lambda site, _, path=path: site.page(path), name in ALL)  # type: ignore[misc]  # bound now


COMMANDS: dict[str, str] = {
    "status": "",
    "list": "",
    "env": "",
    "doctor": "",
    "logs": "-n 10",
    "function list": "",
    "function sessions": "f",
    "trigger list": "",
    "flow history": "flow run",
    "flow graph": "flow",
    "flow list": "",
    "flow describe": "flow",
    "flow schedules": "flow",
    "flow start": "flow",
    "queue list": "",
    "queue send": "q hello",
    "queue receive": "q",
    "queue peek": "q",
    "queue attributes": "q",
    "topic list": "",
    "topic subscriptions": "t",
    "topic deliveries": "t sub",
    "topic outbox": "",
    "clock": "",
    "settle": "",
    "usage": "",
    "fault list": "",
    "mock list": "",
    "mock calls": "s/mocked",
    "sink list": "",
    "checkpoint list": "",
    "account list": "",
    "export": "--format template.yml --output {folder} --overwrite",
    "deployments": "",
    "invoke": "f --event 1",
    "queue create": "fresh{number}",
    "queue delete": "q7{number}",
    "topic create": "fresh{number}",
    "topic delete": "t7{number}",
    "flow delete": "flow7{number}",
}
"""What each command is given; those that only read files or wait for a person are named in `NO_COMMANDS`.

``number`` is another one each time, ``folder`` an empty one.
"""

NO_COMMANDS = {
    "start": "measured as a start", "stop": "ends it", "completion": "no server", "version": "no server",
    "config": "no server",
    "support": "writes files of the machine", "init": "no server", "tutorial list": "no server",
    "tutorial run": "waits",
    "docs": "no server", "explain": "no server", "mcp": "a session", "exec": "runs a program", "console": "a browser",
    "record": "runs a program", "compare": "recordings", "explore": "bounded by its budget", "trace": "one call",
    "reset": "measured as POST reset", "skip": "measured as POST skip", "flow step": "one step",
    "flow check": "no server", "flow convert": "no server", "flow test": "no server", "flow cases": "no server",
    "flow replay": "one history",
    "flow show": "one history", "flow debug": "a person", "flow fork": "one execution", "flow rerun": "flow start",
    "flow fire": "flow start", "flow stop": "see the family of executions", "flow create": "a file",
    "trigger fire": "one event", "queue purge": "measured as POST purge-queue", "topic publish": "PublishMessage",
    "topic subscribe": "Subscribe", "topic unsubscribe": "Unsubscribe", "fault add": "POST", "fault remove": "POST",
    "mock add": "POST", "mock remove": "POST", "sink add": "POST", "sink show": "GET", "sink remove": "POST",
    "checkpoint save": "measured as POST save-checkpoint", "checkpoint restore": "measured as restore-checkpoint",
    "checkpoint delete": "one file", "checkpoint export": "measured as write-archive",
    "checkpoint import": "measured as read-archive", "account add": "POST", "account remove": "DELETE",
    "deploy": "measured as a deployment", "diff": "measured as a deployment",
}  # fmt: skip


def commands() -> Iterator[Case]:
    """Yield a case for every command that asks a server."""
    for name, rest in COMMANDS.items():
        yield Case(
            f"localyun {name}",
            lambda site, number, words=f"{name} {rest}": site.command(  # type: ignore[misc]  # bound now
                words.format(number=number, folder=f"{site.server.state}/exported").split()
            ),
            f"localyun {name}" in ALL,
            2,
        )
