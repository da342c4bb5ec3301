"""Checkpoints of a running emulator: what is saved comes back whole, and goes on from there."""

import base64
import json
import os
import subprocess
import zipfile

import pytest

from emulator.testing import ApiError, Emulator, TestingError
from tests import commands

WAIT = """
version: v1
type: flow
steps:
  - type: wait
    name: rest
    duration: 3600
"""


@pytest.fixture(scope="module", params=["kept", "ephemeral"])
def running(request, tmp_path_factory):
    state = tmp_path_factory.mktemp("kept") / "state" if request.param == "kept" else None
    with Emulator(state=state) as kit:
        yield kit


@pytest.fixture
def localyun(running):
    """An emulator with nothing in it, whose time is the system's."""
    yield running
    for each in running.api.admin("GET", "checkpoints")["checkpoints"]:
        running.api.admin("DELETE", f"checkpoints/{each['name']}")
    running.reset()


def cli(kit, *words):
    done = commands.run(words, cwd=kit.state, env={**os.environ, **kit.env, "LC_ALL": "C.UTF-8"}, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_work_parked_at_the_save_goes_on_as_it_would_have(localyun):
    """A waiting execution, a delayed message and the clock are where they were, however often one goes back."""
    localyun.clock.freeze()
    run = localyun.flow("rest", WAIT).start({"order": 7})
    queue = localyun.queue("later")
    queue.send("parcel", delay_s=1800)
    localyun.settle()
    saved_at = localyun.clock.now()
    checkpoint = localyun.checkpoint("parked")

    for _ in range(3):
        localyun.clock.advance("2h")
        queue.send("another")
        assert run.status == "Succeeded"
        checkpoint.restore()

        assert localyun.clock.now() == saved_at
        assert run.status == "Running"
        assert queue.counters == {"active": 0, "inactive": 0, "delayed": 1}
        localyun.clock.advance("30m")
        assert [message.body for message in queue.peek()] == ["parcel"]
        localyun.clock.advance("30m")
        assert run.status == "Succeeded"
        checkpoint.restore()


def test_history_after_a_restore_is_that_of_the_first_time(localyun):
    """What follows from the same state at the same time is the same, event for event."""
    localyun.clock.freeze()
    run = localyun.flow("rest", WAIT).start(name="one")
    localyun.settle()
    checkpoint = localyun.checkpoint("before")
    localyun.clock.advance("1h")
    first = run.history

    checkpoint.restore()
    localyun.clock.advance("1h")

    assert run.history == first


@pytest.mark.parametrize("saved", ["real", "ahead", "frozen"])
@pytest.mark.parametrize("then", ["moved", "frozen"])
def test_a_restore_puts_the_clock_back_as_it_was(localyun, saved, then):
    """Standing still it stands where it stood; otherwise it goes on with the offset that it had, as over a restart."""
    if saved != "real":
        localyun.clock.advance("30d")
    if saved == "frozen":
        localyun.clock.freeze()
    before = localyun.api.admin("GET", "clock")
    checkpoint = localyun.checkpoint("time")

    localyun.clock.advance("1d")
    if then == "frozen":
        localyun.clock.freeze()
    checkpoint.restore()

    after = localyun.api.admin("GET", "clock")
    assert after["frozen"] == before["frozen"] == (saved == "frozen")
    if saved == "frozen":
        assert after["now_ms"] == before["now_ms"]
    else:
        assert abs(after["offset_ms"] - before["offset_ms"]) <= 1  # two readings of the system's clock


def test_code_and_objects_come_back(localyun, tmp_path):
    """A function deleted after the save is called again, with its code."""
    package = tmp_path / "code.zip"
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("index.py", "def handler(event, context):\n    return b'first'\n")
    body = {
        "functionName": "say", "runtime": "python3.10", "handler": "index.handler",
        "code": {"zipFile": base64.b64encode(package.read_bytes()).decode()},
    }  # fmt: skip
    created = localyun.api.fc("POST", "/2023-03-30/functions", json.dumps(body).encode())
    assert created.status_code == 200, created.text
    checkpoint = localyun.checkpoint("with-code")
    assert localyun.invoke("say").text == "first"
    assert localyun.api.fc("DELETE", "/2023-03-30/functions/say").status_code == 204

    checkpoint.restore()

    assert localyun.invoke("say").text == "first"


def test_a_checkpoint_is_listed_replaced_and_forgotten(localyun):
    """Saving under a name again replaces it; a name that is not there is refused, and so is a bad one."""
    localyun.checkpoint("a")
    localyun.queue("q")
    again = localyun.checkpoint("a")

    names = [each["name"] for each in localyun.api.admin("GET", "checkpoints")["checkpoints"]]
    again.restore()
    assert localyun.queue("q").counters["active"] == 0
    again.delete()

    assert names == ["a"]
    assert localyun.api.admin("GET", "checkpoints") == {"checkpoints": []}
    with pytest.raises(ApiError, match=r"^404 NotFound"):
        again.restore()
    with pytest.raises(ApiError, match=r"^400 InvalidParameter"):
        localyun.api.admin("POST", "checkpoints/..%2Fout")


def test_a_state_travels_to_another_installation(localyun, tmp_path):
    """The file that export writes is taken in elsewhere, where the resources belong to that installation's account."""
    localyun.queue("orders").send("one")
    localyun.flow("rest", WAIT).start(name="kept")
    file = tmp_path / "state.localyun"
    cli(localyun, "checkpoint", "export", str(file))
    written = file.read_bytes()
    with pytest.raises(TestingError, match=r"state\.localyun exists already; .* --overwrite"):
        localyun.command("checkpoint", "export", str(file))
    assert file.read_bytes() == written
    cli(localyun, "checkpoint", "export", str(file), "--overwrite")
    assert localyun.api.admin("GET", "checkpoints") == {"checkpoints": []}

    with Emulator() as other:
        cli(other, "checkpoint", "import", str(file))

        assert other.queue("orders").peek()[0].body == "one"
        described = other.api.fnf("DescribeExecution", FlowName="rest", ExecutionName="kept")
        assert described["Status"] == "Running"
        cli(other, "checkpoint", "import", str(file), "named")
        assert '"named"' in cli(other, "checkpoint", "list", "--json")


def test_exports_at_once_write_a_file_once(localyun, tmp_path):
    """One of those that want the same file has it, whole; a checkpoint that has a name of its own stays."""
    localyun.queue("orders").send("one")
    localyun.checkpoint("exported")
    file = tmp_path / "state.localyun"
    words = ["checkpoint", "export", str(file)]
    environment = {**os.environ, **localyun.env}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    started = [commands.popen(words, cwd=tmp_path, env=environment, **pipes) for _ in range(6)]
    told = [process.communicate(timeout=60)[1] for process in started]

    assert sorted(process.returncode for process in started) == [0] + [1] * 5
    assert sum("exists already" in each for each in told) == 5
    assert [each["name"] for each in localyun.api.admin("GET", "checkpoints")["checkpoints"]] == ["exported"]
    with Emulator() as other:
        cli(other, "checkpoint", "import", str(file))
        assert other.queue("orders").peek()[0].body == "one"


def test_what_is_no_archive_is_refused(localyun, tmp_path):
    """Bytes of another kind, and members that no checkpoint has, change nothing."""
    answer = localyun.api._send(
        "PUT", "/_localyun/checkpoints/bad/archive", {"X-Localyun-Token": localyun.token}, b"not a tar" * 100
    )

    assert answer.status_code == 400
    assert answer.json()["Code"] == "InvalidCheckpoint"
    assert localyun.api.admin("GET", "checkpoints") == {"checkpoints": []}
