"""The machine's clock is set forward and back by hours while the emulator runs."""

import json
import mmap
import re
import struct
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest

from emulator.auth import mns as mns_scheme
from emulator.auth import rpc as rpc_scheme
from emulator.http.message import Headers, Request
from emulator.kernel.ids import RandomIds
from emulator.wire.dates import http_date, iso_millis
from tests.waiting import eventually

pytestmark = pytest.mark.recovery

ROOT = Path(__file__).resolve().parents[2]
HOURS = 3
# The program's own clock, moved by a number of milliseconds in a file.
STEPPED = """
import mmap, struct, time
_file = open({file!r}, "rb")
_offset = mmap.mmap(_file.fileno(), 8, access=mmap.ACCESS_READ)
_time_ns = time.time_ns
time.time_ns = lambda: _time_ns() + struct.unpack("<q", _offset[:8])[0] * 1_000_000
time.time = lambda: time.time_ns() / 1e9
"""
FLOW = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: pause, duration: %d}\n"


class SteppedEmulator:
    """An emulator whose clock the test sets; its clients' clocks go with it."""

    def __init__(self, emulator, folder) -> None:
        self.emulator = emulator
        file = folder / "offset"
        file.write_bytes(bytes(8))
        self._opened = file.open("r+b")
        self._offset = mmap.mmap(self._opened.fileno(), 8)
        (folder / "hooks").mkdir()
        (folder / "hooks" / "sitecustomize.py").write_text(STEPPED.format(file=str(file)))
        emulator.environment["PYTHONPATH"] = f"{folder / 'hooks'}:{ROOT}"
        self.step_ms = 0

    def step(self, hours) -> None:
        self.step_ms += round(hours * 3_600_000)
        self._offset[:8] = struct.pack("<q", self.step_ms)

    def close(self) -> None:
        self._offset.close()
        self._opened.close()

    def now(self) -> int:
        return time.time_ns() // 1_000_000 + self.step_ms

    def _keys(self):
        return self.emulator.keys["accessKeyId"], self.emulator.keys["accessKeySecret"]

    def mns(self, method, target, body=""):
        content = body.encode()
        headers = [
            ("Host", self.emulator.address),
            ("Date", http_date(self.now())),
            ("Content-Type", "text/xml"),
            ("x-mns-version", "2015-06-06"),
        ]
        signed = mns_scheme.authorization(Request(method, target, Headers(headers), content), *self._keys())
        named = {name.replace("-", "_"): value for name, value in [*headers, ("Authorization", signed)]}
        status, _, answer = self.emulator.get(target, method, content, **named)
        return status, answer.decode()

    def send(self, body, delay_s=0):
        text = f"<Message><MessageBody>{body}</MessageBody><DelaySeconds>{delay_s}</DelaySeconds></Message>"
        assert self.mns("POST", "/queues/q/messages", text)[0] == 201

    def receive(self):
        status, answer = self.mns("GET", "/queues/q/messages?numOfMessages=16")
        return re.findall("<MessageBody>(.*?)</MessageBody>", answer) if status == 200 else []

    def counters(self):
        answer = self.mns("GET", "/queues/q")[1]
        names = ("ActiveMessages", "InactiveMessages", "DelayMessages")
        return [int(re.search(f"<{name}>(\\d+)<", answer)[1]) for name in names]

    def flow(self, action, **parameters):
        key, secret = self._keys()
        named = rpc_scheme.signed_parameters(
            "POST",
            {"Action": action, "Version": "2019-03-15", **parameters},
            key_id=key, secret=secret, timestamp=self.now(), nonce=RandomIds().uuid(),
        )  # fmt: skip
        body = urlencode(named).encode()
        status, _, answer = self.emulator.get("/", "POST", body, Content_Type="application/x-www-form-urlencoded")
        assert status == 200, answer
        return json.loads(answer)

    def flow_status(self, name):
        return self.flow("DescribeExecution", FlowName=name, ExecutionName="e")["Status"]

    def start_wait(self, seconds):
        name = f"waits{seconds}"
        self.flow("CreateFlow", Name=name, Type="FDL", Description="", Definition=FLOW % seconds)
        self.flow("StartExecution", FlowName=name, ExecutionName="e")
        return name


@pytest.fixture
def stepped(new_emulator, tmp_path):
    """A running emulator with a queue, whose clock can be stepped."""
    made = SteppedEmulator(new_emulator(), tmp_path)
    made.emulator.start()
    made.mns("PUT", "/queues/q", "<Queue><VisibilityTimeout>7200</VisibilityTimeout></Queue>")
    yield made
    made.close()


def test_a_clock_set_forward_brings_what_is_due_by_then(stepped):
    """Delayed and hidden messages are visible, waits end, the log says why; nothing is lost."""
    stepped.send("hidden")
    assert stepped.receive() == ["hidden"]
    stepped.send("delayed", delay_s=3600)
    waits = stepped.start_wait(7200)
    assert stepped.counters() == [0, 1, 1]

    stepped.step(HOURS)

    eventually(lambda: stepped.flow_status(waits) == "Succeeded")
    eventually(lambda: "the clock has been set forward by 10800 s" in stepped.emulator.output())
    assert stepped.counters() == [2, 0, 0]
    assert sorted(stepped.receive()) == ["delayed", "hidden"]


def test_a_clock_set_back_hides_nothing_that_was_visible(stepped):
    """Visible messages stay visible and counted so, waits keep their instants, and all is well when it is put right."""
    for number in range(20):
        stepped.send(f"m{number}")
    stepped.send("hidden-1")
    waits = stepped.start_wait(2)

    stepped.step(-HOURS)
    eventually(lambda: "the clock has been set back by 10800 s" in stepped.emulator.output())
    eventually(lambda: stepped.counters() == [21, 0, 0])
    received = stepped.receive() + stepped.receive()
    stepped.send("new")
    later = stepped.receive()
    new_wait = stepped.start_wait(1)
    eventually(lambda: stepped.flow_status(new_wait) == "Succeeded")
    still = stepped.flow_status(waits)
    stepped.step(HOURS)
    eventually(lambda: stepped.flow_status(waits) == "Succeeded")

    assert received == [*(f"m{number}" for number in range(20)), "hidden-1"], "in the order they were sent"
    assert later == ["new"]
    assert still in {"Running", "Succeeded"}, "its end may have come before the step"
    assert sorted(stepped.receive() + stepped.receive()) == sorted([*received, "new"])
    assert "Traceback" not in stepped.emulator.output()


def test_a_kill_between_steps_loses_nothing(stepped):
    """Started again on a clock that is hours behind, the emulator has everything; it comes when the clock is right."""
    stepped.step(HOURS)
    for number in range(5):
        stepped.send(f"m{number}")
    name = stepped.start_wait(1)
    stepped.emulator.kill()
    stepped.step(-HOURS)

    stepped.emulator.start()
    total = sum(stepped.counters())
    stepped.step(HOURS)
    eventually(lambda: stepped.flow_status(name) == "Succeeded")

    assert total == 5
    assert stepped.receive() == [f"m{number}" for number in range(5)]
    events = stepped.flow("GetExecutionHistory", FlowName=name, ExecutionName="e", Limit="100")["Events"]
    assert [event["EventId"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["Time"] <= iso_millis(stepped.now())
