"""The shape of the code: modules, lines, import circles; files and calls of four warm requests.

``python -m benchmarks.house [--json]``. A request is counted in a running emulator, from the arrival of its bytes to
the moment its answer is handed to the socket, what it commits included: only functions under ``emulator/``, only on the
loop's thread. Comprehensions and lambdas count for the function they stand in.
"""

import argparse
import ast
import asyncio
import base64
import gc
import io
import json
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from benchmarks.kinds import incomplete, nodes_of
from benchmarks.server import Connection, Signer
from emulator.app import Emulator
from emulator.config import Config

ROOT = Path(__file__).resolve().parent.parent
_PACKAGE = str(ROOT / "emulator") + "/"

BOUNDS = {
    "SendMessage": (30, 163), "InvokeFunction": (35, 235), "StartExecution": (34, 233), "CreateFunction": (33, 222),
}  # fmt: skip
"""The most files and calls of each request: 5 % more than on 2026-11-23, so that a clarifying function may be added."""

VOCABULARIES = 1
"""The most vocabularies of attributes there are."""

_WARM_UPS = 3
_COUNTED = 6


class Cost(NamedTuple):
    """What one request visits: calls by file (relative to ``emulator/``) and by function, in order of first visit."""

    by_file: dict[str, int]
    by_function: dict[str, int]

    @property
    def files(self) -> int:
        """How many files of ours."""
        return len(self.by_file)

    @property
    def calls(self) -> int:
        """How many calls of functions of ours."""
        return sum(self.by_file.values())


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Return the path of every module under ``emulator/`` by its dotted name."""
    found = {}
    for path in sorted((root / "emulator").rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def import_graph(known: dict[str, Path]) -> dict[str, set[str]]:
    """Return what each module imports of the others, type-checking imports and those inside functions included."""
    graph = {}
    for name, path in known.items():
        imported: set[str] = set()
        for node in nodes_of(path):
            if isinstance(node, ast.Import):
                imported |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                members = {f"{node.module}.{each.name}" for each in node.names}
                imported |= (members & known.keys()) or {node.module}
                if not members <= known.keys():
                    imported.add(node.module)
        graph[name] = (imported & known.keys()) - {name}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or not (strongly connected components)."""

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for name in graph[todo.pop()] - seen:
                seen.add(name)
                todo.append(name)
        return seen

    reach = {name: reachable(name) for name in graph}
    groups = {
        frozenset(other for other in reach[name] if name in reach[other]) for name in graph if name in reach[name]
    }
    return sorted(sorted(group) for group in groups)


_ABOVE_ROOMS = ("admin", "front", "operations", "service")


def arrows_upward(graph: dict[str, set[str]]) -> list[str]:
    """Return the imports by which a room reaches the service that holds it, or what stands above the service."""
    found = []
    for name, imported in graph.items():
        parts = name.split(".")
        if parts[:2] != ["emulator", "services"] or len(parts) < 5 or parts[3] in _ABOVE_ROOMS:
            continue
        above = tuple(".".join((*parts[:3], each)) for each in _ABOVE_ROOMS)
        found += [f"{name} -> {other}" for other in sorted(imported) if other.startswith(above)]
    return found


VOCABULARY = "emulator.wire.schema"
_CALLED = {"attribute", "name", "required", "wire"}
_JUDGED = {"check", "kind", "range", "read", "type"}
_READS = {"Callable", "Check", "Reader", "Rule", "type"}
_GETTERS = {"flag", "name", "number", "switch", "text", "texts", "whole"}


def vocabularies(known: dict[str, Path]) -> dict[str, list[str]]:
    """Return the classes in which attributes are described, by the package that holds the vocabulary.

    Found are classes that say of a value what it is called or whether it is needed, and how it is read or of what kind
    it is; and those that read the members of a map by name, each kind with a method of its own.
    """
    found: dict[str, list[str]] = {}
    for name, path in known.items():
        for node in nodes_of(path):
            own = name.startswith(VOCABULARY)
            reads = _READS | {"Kind"} if own else _READS  # others have kinds of their own, of resources for example
            if isinstance(node, ast.ClassDef) and (_describes(node, reads) or _reads_members(node)):
                package = VOCABULARY if own else ".".join(name.split(".")[:4])
                found.setdefault(package, []).append(f"{name}.{node.name}")
    return found


def _describes(node: ast.ClassDef, reads: set[str]) -> bool:
    members = {
        each.target.id: {part.id for part in ast.walk(each.annotation) if isinstance(part, ast.Name)}
        | {str(part.value) for part in ast.walk(each.annotation) if isinstance(part, ast.Constant)}
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    return bool(_CALLED & members.keys()) and any(members.get(each, set()) & reads for each in _JUDGED)


def _reads_members(node: ast.ClassDef) -> bool:
    getters = {
        each.name
        for each in node.body
        if isinstance(each, ast.FunctionDef)
        and each.name in _GETTERS
        and len(each.args.args) > 1
        and isinstance(each.args.args[1].annotation, ast.Name)
        and each.args.args[1].annotation.id == "str"
    }
    return len(getters) >= 3


class _Counting:
    """A profile function: counts from the first bytes received until an answer is written to a socket."""

    def __init__(self) -> None:
        self._ours: dict[str, str | None] = {}
        self._events: list[tuple[str, str]] = []
        self._running = False
        self.costs: list[Cost] = []

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        name = code.co_filename
        if not self._running:
            if code.co_name != "data_received" or not name.endswith("emulator/http/protocol.py"):
                return
            self._running = True
        ours = self._ours.get(name, "")
        if ours == "":
            ours = self._ours[name] = name[len(_PACKAGE) :] if name.startswith(_PACKAGE) else None
        if ours is not None:
            if code.co_name[0] != "<":
                self._events.append((ours, f"{ours}:{code.co_qualname}"))
        elif code.co_name == "write" and bytes(frame.f_locals.get("data", b"")[:9]) == b"HTTP/1.1 ":
            self.costs.append(
                Cost(dict(Counter(file for file, _ in self._events)), dict(Counter(name for _, name in self._events)))
            )
            self._events = []
            self._running = False


class _Site(Signer):
    """The emulator in this process and a client of it."""

    def __init__(self, emulator: Emulator) -> None:
        self.key_id, self.secret = emulator.keys.access_key_id, emulator.keys.access_key_secret
        self._port = int(emulator.http_url.rpartition(":")[2])

    async def ask(self, *requests: bytes) -> None:
        """Send *requests* one after the other on one connection, from another thread."""
        await asyncio.to_thread(self._ask, requests)

    def _ask(self, requests: tuple[bytes, ...]) -> None:
        connection = Connection(self._port)
        for request in requests:
            status, body = connection.ask(request)
            if status >= 300:
                raise RuntimeError(f"a request was answered with {status}: {body[:300]!r}")
        connection.close()


_MESSAGE = (
    b'<?xml version="1.0" encoding="utf-8"?><Message xmlns="http://mns.aliyuncs.com/doc/v1/">'
    b"<MessageBody>aGVsbG8=</MessageBody></Message>"
)
_FLOW = "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: one\n"


def _function(name: str) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as package:
        package.writestr("index.py", "def handler(event, context):\n    return event\n")
    code = {"zipFile": base64.b64encode(sink.getvalue()).decode("ascii")}
    body = {"functionName": name, "runtime": "python3.9", "handler": "index.handler", "code": code}
    return json.dumps(body).encode("ascii")


def _requests(site: _Site) -> dict[str, list[bytes]]:
    """Return requests of each kind, the last of which are counted."""
    times = range(_WARM_UPS + _COUNTED)
    return {
        "SendMessage": [site.mns("POST", "/queues/orders/messages", _MESSAGE) for _ in times],
        "CreateFunction": [site.fc("POST", "/2016-08-15/services/s/functions", _function(f"f{n}")) for n in times],
        "InvokeFunction": [
            site.fc("POST", "/2016-08-15/services/s/functions/f0/invocations", b'{"a": 1}') for _ in times
        ],
        "StartExecution": [site.rpc("StartExecution", FlowName="f", ExecutionName=f"e{n}") for n in times],
    }


async def _count() -> dict[str, Cost]:
    with tempfile.TemporaryDirectory(prefix="localyun-house-") as folder:
        config = Config(port=0, https_port=0, state=Path(folder), log_level="warning")
        emulator = Emulator(config)
        await emulator.start()
        try:
            site = _Site(emulator)
            await site.ask(
                site.mns("PUT", "/queues/orders", b""),
                site.fc("POST", "/2016-08-15/services", b'{"serviceName": "s"}'),
                site.rpc("CreateFlow", Name="f", Type="FDL", Description="d", Definition=_FLOW),
            )
            return {kind: await _measured(site, requests) for kind, requests in _requests(site).items()}
        finally:
            await emulator.stop()


async def _measured(site: _Site, requests: list[bytes]) -> Cost:
    """Return the smallest cost of the last requests: what falls due once a second belongs to none of them."""
    await site.ask(*requests[:-_COUNTED])
    counting = _Counting()
    for request in requests[-_COUNTED:]:
        await asyncio.sleep(0.05)  # what the earlier ones left behind is done
        sys.setprofile(counting)
        try:
            await site.ask(request)
        finally:
            sys.setprofile(None)
    return min(counting.costs, key=lambda cost: (len(cost.by_file), sum(cost.by_function.values())))


def requests() -> dict[str, Cost]:
    """Return the cost of the four warm requests, by operation."""
    return asyncio.run(_count())


def report() -> dict[str, Any]:
    """Return every figure, in JSON's terms."""
    known = modules()
    graph = import_graph(known)
    sizes = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in known.items()}
    return {
        "modules": len(known),
        "lines": sum(sizes.values()),
        "small": sum(1 for size in sizes.values() if 2 < size <= 50),
        "circles": circles(graph),
        "upward": arrows_upward(graph),
        "vocabularies": vocabularies(known),
        "incomplete": [str(each) for each in incomplete(known)],
        "requests": {
            kind: {"files": cost.files, "calls": cost.calls, "by_file": cost.by_file, "by_function": cost.by_function}
            for kind, cost in requests().items()
        },
    }


def _text(figures: dict[str, Any], *, detail: bool) -> Iterator[str]:
    yield f"modules {figures['modules']}, lines {figures['lines']}, of 50 lines or fewer {figures['small']}"
    yield f"circles {len(figures['circles'])}"
    yield from (f"  {' '.join(circle)}" for circle in figures["circles"])
    yield f"arrows from rooms upward {len(figures['upward'])} (goal 0)"
    yield from (f"  {each}" for each in figures["upward"])
    yield f"vocabularies of attributes {len(figures['vocabularies'])} (goal 1)"
    yield from (f"  {package}: {', '.join(classes)}" for package, classes in figures["vocabularies"].items())
    yield f"kinds with incomplete answers, by place: {len(figures['incomplete'])} (goal 0)"
    yield from (f"  {each}" for each in figures["incomplete"])
    for kind, cost in figures["requests"].items():
        files, calls = BOUNDS[kind]
        yield f"{kind:15} {cost['files']:3} files (at most {files}), {cost['calls']:3} calls (at most {calls})"
        if detail:
            yield from (f"    {number:3} {name}" for name, number in cost["by_function"].items())


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="benchmarks.house", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--detail", action="store_true", help="list the functions that each request visits")
    arguments = parser.parse_args()
    gc.disable()  # syntax trees stay: looking for garbage among them takes two thirds of the time of reading them
    figures = report()
    print(json.dumps(figures, indent=1) if arguments.json else "\n".join(_text(figures, detail=arguments.detail)))


if __name__ == "__main__":
    main()
