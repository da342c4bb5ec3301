"""No room to write: a clear message, the right error, nothing acknowledged lost, and all well once there is room."""

import contextlib
import json
import re
import resource
import subprocess
import sys
import time

import fc2
import pytest

from emulator.auth import mns as mns_scheme
from emulator.http.message import Headers, Request
from emulator.wire.dates import http_date
from tests.waiting import eventually

pytestmark = [
    pytest.mark.recovery,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits another process from outside"),
]

ECHO = "def handler(event, context):\n    return event\n"


def mns(emulator, method, target, body=""):
    content = body.encode()
    headers = [
        ("Host", emulator.address),
        ("Date", http_date(time.time_ns() // 1_000_000)),
        ("Content-Type", "text/xml"),
        ("x-mns-version", "2015-06-06"),
    ]
    signed = mns_scheme.authorization(
        Request(method, target, Headers(headers), content),
        emulator.keys["accessKeyId"],
        emulator.keys["accessKeySecret"],
    )
    named = {name.replace("-", "_"): value for name, value in [*headers, ("Authorization", signed)]}
    status, _, answer = emulator.get(target, method, content, **named)
    return status, answer.decode()


def send(emulator, body, queue="q"):
    text = f"<Message><MessageBody>{body}</MessageBody></Message>"
    return mns(emulator, "POST", f"/queues/{queue}/messages", text)


def counters(emulator, queue="q"):
    answer = mns(emulator, "GET", f"/queues/{queue}")[1]
    names = ("ActiveMessages", "InactiveMessages", "DelayMessages")
    return [int(re.search(f"<{name}>(\\d+)<", answer)[1]) for name in names]


def drained(emulator, queue="q"):
    """Receive and delete everything that is visible; return the bodies."""
    bodies = []
    for _ in range(200):
        status, answer = mns(emulator, "GET", f"/queues/{queue}/messages?numOfMessages=16")
        if status != 200:
            break
        bodies += re.findall("<MessageBody>(.*?)</MessageBody>", answer)
        handles = "".join(re.findall("<ReceiptHandle>.*?</ReceiptHandle>", answer))
        mns(emulator, "DELETE", f"/queues/{queue}/messages", f"<ReceiptHandles>{handles}</ReceiptHandles>")
    return bodies


class FileSizeLimit:
    """Files of the emulator may not grow: every write that makes one longer fails."""

    def __init__(self, emulator) -> None:
        self._pid = emulator.process.pid
        self._log = emulator.state / "state.db-wal"
        self._before = resource.prlimit(self._pid, resource.RLIMIT_FSIZE)

    def fill(self) -> None:
        resource.prlimit(self._pid, resource.RLIMIT_FSIZE, (self._log.stat().st_size, self._before[1]))

    def make_room(self) -> None:
        resource.prlimit(self._pid, resource.RLIMIT_FSIZE, self._before)


class SmallDisk:
    """The state folder is on a file system of its own; a file takes what is left of it."""

    def __init__(self, emulator) -> None:
        self._filler = emulator.state / "filler"

    def fill(self) -> None:
        with self._filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)

    def make_room(self) -> None:
        self._filler.unlink()


@pytest.fixture(params=["file size limit", "small disk"])
def cramped(request, new_emulator, tmp_path):
    """An emulator, and what fills its disk and makes room again."""
    (tmp_path / "functions" / "s" / "echo").mkdir(parents=True)
    (tmp_path / "functions" / "s" / "echo" / "index.py").write_text(ECHO)
    emulator = new_emulator(tmp_path / "functions")
    if request.param == "file size limit":
        yield emulator, FileSizeLimit
        return
    emulator.state.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "none", str(emulator.state)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("a file system cannot be mounted here")
    try:
        yield emulator, SmallDisk
    finally:
        if emulator.process is not None and emulator.process.poll() is None:
            emulator.stop()
        subprocess.run(["umount", str(emulator.state)], check=True)


def test_a_full_disk_refuses_loses_nothing_and_heals(cramped):
    """Calls that write fail with the service's own error, reading goes on, and what was acknowledged is there after."""
    emulator, kind = cramped
    emulator.start()
    disk = kind(emulator)
    mns(emulator, "PUT", "/queues/q")
    for number in range(20):
        assert send(emulator, f"before-{number}")[0] == 201
    disk.fill()
    taken = [f"before-{number}" for number in range(20)]
    answers = []
    for number in range(400):  # what room is left inside the files is used up first
        answers.append(send(emulator, f"during-{number}-" + "x" * 1000))
        if answers[-1][0] == 201:
            taken.append(f"during-{number}-" + "x" * 1000)
        elif len(answers) > 10 and all(status != 201 for status, _ in answers[-10:]):
            break
    refused = [answer for answer in answers if answer[0] != 201]
    reading = counters(emulator)
    function = emulator.fc2().list_services(limit=1).data
    disk.make_room()
    eventually(lambda: send(emulator, "after")[0] == 201)

    assert refused
    assert {status for status, _ in refused} == {500}
    assert all("<Code>InternalServerError</Code>" in text for _, text in refused), refused[0]
    assert sum(reading) == len(taken)
    assert "services" in function
    eventually(lambda: re.search(r"state\.db cannot be written: .*(full|disk)", emulator.output()))
    eventually(lambda: "state.db can be written again" in emulator.output())
    emulator.kill()
    emulator.start()
    assert sorted(set(drained(emulator)) - {"after"}) == sorted(taken)
    assert counters(emulator) == [0, 0, 0]
    assert json.loads(emulator.get("/_localyun/health")[2])["status"] == "ok"


WAITS = "version: v1\ntype: flow\nsteps:\n" + "".join(
    f"  - {{type: wait, name: w{number}, duration: 1}}\n" for number in range(4)
)


def test_what_was_under_way_goes_on_when_there_is_room_again(cramped):
    """Executions whose events could not be written meanwhile come to their ends, each event once."""
    emulator, kind = cramped
    emulator.start()
    disk = kind(emulator)
    mns(emulator, "PUT", "/queues/q")
    flow = emulator.fnf()
    flow.send("CreateFlow", Name="waits", Type="FDL", Description="d", Definition=WAITS)
    for number in range(10):
        flow.send("StartExecution", FlowName="waits", ExecutionName=f"e{number}")
    disk.fill()
    filler = "x" * 1000
    eventually(lambda: [send(emulator, filler)[0] for _ in range(20)] == [500] * 20)
    deadline = time.monotonic() + 3  # the executions want to go on meanwhile
    eventually(lambda: send(emulator, filler) and time.monotonic() > deadline)
    disk.make_room()

    eventually(lambda: _call_later(emulator))
    eventually(lambda: {_status(flow, f"e{number}") for number in range(10)} == {"Succeeded"})

    for number in range(10):
        events = flow.send("GetExecutionHistory", FlowName="waits", ExecutionName=f"e{number}", Limit=100)["Events"]
        assert [event["EventId"] for event in events] == list(range(1, len(events) + 1))
        assert len(events) == 2 + 4 * 4, [event["Type"] for event in events]


def _status(flow, name):
    return flow.send("DescribeExecution", FlowName="waits", ExecutionName=name)["Status"]


def _call_later(emulator):
    """Queue an asynchronous call; tell whether it was accepted."""
    try:
        emulator.fc2().invoke_function("s", "echo", b"{}", headers={"x-fc-invocation-type": "Async"})
    except fc2.fc_exceptions.FcError:
        return False
    return True
