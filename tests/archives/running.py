"""Crafted archives against a running emulator: whatever comes in, the state is whole afterwards."""

import hashlib
import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from emulator.testing import Emulator, Localyun
from tests.archives.crafting import crafted, unpack

FLOW = """
version: v1
type: flow
steps:
  - {type: wait, name: rest, duration: 86400}
  - {type: pass, name: done}
"""

LOGS = {"lab_effects", "usage_amounts", "workflow_restarts"}
"""What is written of requests as they come and of restores."""

CODE = "def handler(event, context):\n    return event\n"


def populate(kit: Localyun) -> None:
    """Make something of everything."""
    kit.clock.freeze()
    queue = kit.queue("orders")
    queue.send("one")
    queue.send("later", delay_s=3600)
    topic = kit.topic("news")
    topic.subscribe(f"acs:mns:{kit.region}:{kit.account_id}:queues/orders", name="to-orders")
    topic.subscribe("http://127.0.0.1:9/closed", name="to-nobody")
    topic.publish("hear")
    flow = kit.flow("rest", FLOW)
    flow.start({"n": 1}, name="parked")
    flow.start({"n": 2}, name="other")
    kit.settle(timeout="20s")


class Site:
    """An emulator with a state, on *folder*."""

    def __init__(self, folder: Path, kit: Localyun) -> None:
        self.folder = folder
        self.kit = kit
        populate(kit)
        kit.checkpoint("good")
        self.good = unpack(self._export("good"))
        self.whole = self.fingerprint()

    def _export(self, name: str) -> bytes:
        pieces = []
        while piece := self.call("GET", f"{name}/archive?offset={sum(map(len, pieces))}").content:
            pieces.append(piece)
        return b"".join(pieces)

    def call(self, method: str, path: str, body: bytes | None = None):
        """Ask the admin API about checkpoints."""
        headers = {"X-Localyun-Token": self.kit.token}
        if method == "POST":
            headers["Content-Type"] = "application/json"
        return self.kit.api._send(method, f"/_localyun/checkpoints/{path}", headers, body)

    def fingerprint(self) -> str:
        """Return what stands for all rows that are on the disk."""
        digest = hashlib.sha256()
        with closing(sqlite3.connect(f"{(self.folder / 'state.db').absolute().as_uri()}?mode=ro", uri=True)) as tables:
            for kind, name, sql in sorted(
                map(tuple, tables.execute("SELECT type, name, sql FROM sqlite_master")), key=repr
            ):
                digest.update(repr((kind, name, sql)).encode())
                if kind == "table" and name not in LOGS:
                    for row in sorted(map(repr, tables.execute(f'SELECT * FROM "{name}"'))):
                        digest.update(row.encode("utf-8", "replace"))
        return digest.hexdigest()

    def leftovers(self) -> list[str]:
        """Return what nobody should find beside the checkpoints that are listed."""
        listed = {each["name"] for each in self.kit.api.admin("GET", "checkpoints")["checkpoints"]}
        found = {each.name for each in (self.folder / "checkpoints").iterdir()} - listed
        return sorted(found) + [each.name for each in self.folder.glob("state.db.*")]


def torment(site: Site, count: int, rng: random.Random) -> tuple[list[str], Counter[str]]:
    """Import and restore *count* crafted archives; return the complaints, and how the attempts ended."""
    complaints: list[str] = []
    ends: Counter[str] = Counter()
    for number in range(count):
        done, archive = crafted(site.good, rng, site.folder)
        what = f"{number}: {done}"
        answer = site.call("PUT", "crafted/archive", archive)
        ends[f"import {answer.status_code}"] += 1
        if answer.status_code == 200:
            answer = site.call("POST", "crafted/restore")
            ends[f"restore {answer.status_code}"] += 1
            if answer.status_code == 200:
                complaints += _use(site, what)
                again = site.call("POST", "good/restore")
                if again.status_code != 200:
                    complaints.append(f"{what}: the old state does not come back: {again.text}")
            site.call("DELETE", "crafted")
        if answer.status_code not in (200, 400):
            complaints.append(f"{what}: {answer.status_code} {answer.text[:300]}")
        if site.fingerprint() != site.whole:
            complaints.append(f"{what}: the state is another one")
        if left := site.leftovers():
            complaints.append(f"{what}: left {left}")
        if len(complaints) > 20:
            break
    return complaints, ends


def _use(site: Site, what: str) -> list[str]:
    """Use every service of a state that was taken in."""
    kit = site.kit
    try:
        kit.queue("fresh").send("x")
        kit.flow("fresh", FLOW).start(name="fresh")
        kit.api.admin("GET", "clock")
        kit.api.admin("GET", "checkpoints")
        kit.api.admin("POST", "clock", {"advance": "1s"})
    except Exception as error:
        return [f"{what}: the state that was taken in cannot be used: {error}"]
    return []


def run(folder: Path, count: int, seed: int) -> tuple[list[str], Counter[str]]:
    """Start an emulator on *folder*, torment it, and start it once more."""
    with Emulator(state=folder) as kit:
        site = Site(folder, kit)
        complaints, ends = torment(site, count, random.Random(seed))
        complaints += [line for line in kit_log(kit) if "Traceback" in line]
    with Emulator(state=folder) as kit:
        if [each.body for each in kit.queue("orders").peek()] != [each.body for each in kit.queue("orders").peek()]:
            complaints.append("the state cannot be read after a start")
        if kit.api.fnf("DescribeExecution", FlowName="rest", ExecutionName="parked")["Status"] != "Running":
            complaints.append("an execution has not come over the start")
    return complaints, ends


def kit_log(kit: Localyun) -> list[str]:
    """Return the lines of the emulator's log."""
    return []
