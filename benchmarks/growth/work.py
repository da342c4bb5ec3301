"""Work whose amount grows: a map's children, a family of executions, a deployment, a start, a package, connections."""

import base64
import io
import json
import resource
import socket
import sqlite3
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from benchmarks.big_state import copy_rows, make_one
from benchmarks.growth.site import LONGEST_S, Site
from benchmarks.server import HEALTH, Connection
from benchmarks.standstill import spread

Measured = tuple[float, float]
"""Milliseconds of processor time, and of the longest turn of the loop."""


class Work(NamedTuple):
    """One thing that is measured; ``measure`` gets an empty folder and how much there is of it, at most ``most``."""

    name: str
    measure: Callable[[Path, int], Measured]
    touches_all: bool = True
    most: int = 10_000


def works() -> Iterator[Work]:
    """Yield all of it."""
    yield Work("a distributed map of so many children", _map)
    yield Work("an execution of so many events", _events, most=4_000)
    yield Work("stopping the root of so many executions", _family, most=9_000)
    yield Work("deleting a queue of so many messages", _delete("queue"))
    yield Work("deleting a topic of so many subscriptions", _delete("topic"))
    yield Work("deleting a flow of so many executions", _delete("flow"))
    yield Work("sending and receiving so many messages", _messages)
    yield Work("a deployment of so many queues (the server)", _deployment, most=3_000)
    yield Work("a deployment of so many queues (the command)", _deploying, most=3_000)
    yield Work("a function of so many files", _package)
    yield Work("a start with so many functions in the folder", _start)
    yield Work("an edit of one of so many functions in the folder", _edit, touches_all=False)
    yield Work("a request beside so many connections", _connections, touches_all=False, most=3_000)


def _served(folder: Path, prepare: Callable[[Site], None], act: Callable[[Site], None]) -> Measured:
    with closing(Site(folder / "state")) as site:
        prepare(site)
        site.quiet()
        site.standstill_ms()

        def acted() -> str:
            act(site)
            return ""

        spent = site.cost(acted).ms
        return spent, site.standstill_ms()


def _ask(site: Site, request: bytes) -> bytes:
    with Connection(site.server.port) as connection:
        status, body = connection.ask(request)
    if status >= 300:
        raise RuntimeError(f"{status}: {body[:300]!r}")
    return body


def _until(site: Site, sql: str, wanted: int) -> None:
    end = time.perf_counter() + LONGEST_S
    with closing(sqlite3.connect(f"file:{site.server.state}/state.db?mode=ro", uri=True)) as database:
        while database.execute(sql).fetchone()[0] != wanted:
            if time.perf_counter() > end:
                raise RuntimeError(f"not in time: {sql}")
            time.sleep(0.02)


_OPEN = "SELECT count(*) FROM workflow_executions WHERE stopped_at IS NULL"


def _flow(site: Site, name: str, text: str, given: str = "{}") -> None:
    _ask(site, site.server.rpc("CreateFlow", Name=name, Definition=text, Description="", Type="FDL"))
    _ask(site, site.server.rpc("StartExecution", FlowName=name, ExecutionName="root", Input=given))


def _map(folder: Path, size: int) -> Measured:
    def act(site: Site) -> None:
        _flow(site, "spread", spread(), json.dumps({"parts": [1] * size}))
        _until(site, "SELECT count(*) FROM workflow_executions WHERE status = 'Succeeded'", size + 1)

    return _served(folder, lambda _: None, act)


_EACH = (
    "version: v1\ntype: flow\nsteps:\n- type: foreach\n  name: each\n"
    "  iterationMapping: {collection: $.items, item: one}\n  steps:\n  - {type: pass, name: inner}\n"
)


def _events(folder: Path, size: int) -> Measured:
    def act(site: Site) -> None:
        _flow(site, "each", _EACH, json.dumps({"items": [0] * (size // 6)}))
        _until(site, "SELECT count(*) FROM workflow_executions WHERE status = 'Succeeded'", 1)

    return _served(folder, lambda _: None, act)


_PARENT = (
    "version: v1\ntype: flow\nsteps:\n- type: foreach\n  name: each\n"
    "  iterationMapping: {collection: $.items, item: one}\n  steps:\n"
    "  - {type: task, name: child, resourceArn: 'acs:fnf:::flow/child', pattern: sync}\n"
)
_REST = "version: v1\ntype: flow\nsteps:\n- {type: wait, name: rest, duration: 3600}\n"
_CHILDREN = 100
"""Children of one execution; the root has as many parents below it as that takes."""


def _family(folder: Path, size: int) -> Measured:
    def prepare(site: Site) -> None:
        _ask(site, site.server.rpc("CreateFlow", Name="child", Definition=_REST, Description="", Type="FDL"))
        parents = max(size // _CHILDREN, 1)
        if parents == 1:
            _flow(site, "root", _PARENT, json.dumps({"items": [0] * size}))
        else:
            middle = _PARENT.replace("items", "children")
            _ask(site, site.server.rpc("CreateFlow", Name="middle", Definition=middle, Description="", Type="FDL"))
            text = _PARENT.replace("flow/child', pattern: sync", _MIDDLE)
            _flow(site, "root", text, json.dumps({"items": [{"children": [0] * _CHILDREN}] * parents}))
        _until(site, _OPEN, size + 1 + (parents if parents > 1 else 0))

    def act(site: Site) -> None:
        _ask(site, site.server.rpc("StopExecution", FlowName="root", ExecutionName="root"))
        _until(site, _OPEN, 0)

    return _served(folder, prepare, act)


_MIDDLE = (
    "flow/middle', pattern: sync,\n     inputMappings: [{target: children, source: $input.one.children}],"
    " serviceParams: {Input: $}"
)


def _delete(kind: str) -> Callable[[Path, int], Measured]:
    def measure(folder: Path, size: int) -> Measured:
        make_one(folder / "state")
        with closing(Site(folder / "state")) as site:
            _ask(site, site.server.mns("PUT", "/topics/t", b'<?xml version="1.0"?><Topic/>'))
            _ask(site, site.server.mns("PUT", "/topics/t/subscriptions/sub", _SUBSCRIPTION))
        with closing(sqlite3.connect(folder / "state" / "state.db")) as database:
            copy_rows(database, "mns_messages", size, {"seq": "seq + n"})
            copy_rows(database, "mns_subscriptions", size, {"id": "id + n", "name": "name || n"})
            changed = {"id": "id + n", "name": "'e' || n", "started_at": "started_at + n"}
            copy_rows(database, "workflow_executions", size, changed)
            copy_rows(database, "workflow_turns", size, {"execution": "execution + n"})
            database.commit()

        def act(site: Site) -> None:
            requests = {
                "queue": lambda: site.server.mns("DELETE", "/queues/full"),
                "topic": lambda: site.server.mns("DELETE", "/topics/t"),
                "flow": lambda: site.server.rpc("DeleteFlow", Name="f"),
            }
            _ask(site, requests[kind]())
            tables = {"queue": "mns_messages", "topic": "mns_subscriptions", "flow": "workflow_executions"}
            _until(site, f"SELECT count(*) FROM {tables[kind]}", 0)

        return _served(folder, lambda _: None, act)

    return measure


_SUBSCRIPTION = (
    b'<?xml version="1.0"?><Subscription xmlns="http://mns.aliyuncs.com/doc/v1/">'
    b"<Endpoint>http://127.0.0.1:9/</Endpoint></Subscription>"
)
_MESSAGE = (
    b'<?xml version="1.0"?><Message xmlns="http://mns.aliyuncs.com/doc/v1/"><MessageBody>tea</MessageBody></Message>'
)


def _messages(folder: Path, size: int) -> Measured:
    def act(site: Site) -> None:
        server = site.server
        with Connection(server.port) as connection:
            for request in (
                server.mns("POST", "/queues/q/messages", _MESSAGE),
                server.mns("GET", "/queues/q/messages"),
            ):
                for _ in range(size):
                    status, body = connection.ask(request)
                    if status >= 300:
                        raise RuntimeError(body)

    def prepare(site: Site) -> None:
        _ask(site, site.server.mns("PUT", "/queues/q"))

    return _served(folder, prepare, act)


def _template(folder: Path, size: int) -> Path:
    resources = {f"Q{n}": {"Type": "ALIYUN::MNS::Queue", "Properties": {"QueueName": f"q{n}"}} for n in range(size)}
    path = folder / "template.json"
    path.write_text(json.dumps({"ROSTemplateFormatVersion": "2015-09-01", "Resources": resources}), encoding="utf-8")
    return path


def _deployment(folder: Path, size: int) -> Measured:
    path = _template(folder, size)

    def act(site: Site) -> None:
        outcome = site.command(["deploy", str(path), "--yes"])
        if outcome != "200":
            raise RuntimeError(outcome)

    return _served(folder, lambda _: None, act)


def _deploying(folder: Path, size: int) -> Measured:
    path = _template(folder, size)
    with closing(Site(folder / "state")) as site:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        outcome = site.command(["deploy", str(path), "--yes"])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if outcome != "200":
            raise RuntimeError(outcome)
        return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000, 0.0


def _package(folder: Path, size: int) -> Measured:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("index.py", "def handler(event, context):\n    return event\n")
        for number in range(size):
            archive.writestr(f"part{number % 97}/m{number}.py", f"value = {number}\n")
    code = {"zipFile": base64.b64encode(packed.getvalue()).decode()}
    function = json.dumps({"functionName": "f", "runtime": "python3.10", "handler": "index.handler", "code": code})

    def prepare(site: Site) -> None:
        _ask(site, site.server.fc("POST", "/2016-08-15/services", b'{"serviceName": "s"}'))

    def act(site: Site) -> None:
        _ask(site, site.server.fc("POST", "/2016-08-15/services/s/functions", function.encode()))
        _ask(site, site.server.fc("POST", "/2016-08-15/services/s/functions/f/invocations", b"{}"))

    return _served(folder, prepare, act)


def _functions(folder: Path, size: int) -> Path:
    functions = folder / "functions"
    for number in range(size):
        (functions / f"f{number}").mkdir(parents=True)
        (functions / f"f{number}" / "index.py").write_text("def handler(event, context):\n    return event\n")
    return functions


def _start(folder: Path, size: int) -> Measured:
    functions = _functions(folder, size)
    with closing(Site(folder / "state", functions)) as site:  # the first takes everything in
        site.quiet()
    with closing(Site(folder / "state", functions)) as site:
        return site.server.cpu_s() * 1000, site.standstill_ms()


_EDITS = 3


def _edit(folder: Path, size: int) -> Measured:
    functions = _functions(folder, size)
    with closing(Site(folder / "state", functions)) as site:
        call = site.server.fc("POST", "/2023-03-30/functions/f7/invocations", b"{}")
        _ask(site, call)
        site.quiet()
        site.standstill_ms()

        def act() -> str:
            for number in range(_EDITS):
                (functions / "f7" / "index.py").write_text(f"def handler(event, context):\n    return '{number}'\n")
                _ask(site, call)
            return ""

        return site.cost(act).ms / _EDITS, site.standstill_ms()


_REQUESTS, _AGAIN = 100, 4
"""The first requests may pay for a look of the collector at the connections that have just been made."""


def _connections(folder: Path, size: int) -> Measured:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, size + 200), hard), hard))
    with closing(Site(folder / "state")) as site, ExitStack() as stack:
        for _ in range(size):
            made = stack.enter_context(socket.create_connection(("127.0.0.1", site.server.port)))
            made.sendall(HEALTH)
            made.recv(4096)
        site.quiet()
        site.standstill_ms()

        def act() -> str:
            for _ in range(_REQUESTS):
                _ask(site, HEALTH)
            return ""

        return min(site.cost(act).ms for _ in range(_AGAIN)) / _REQUESTS, site.standstill_ms()
