"""The emulator under test as a process: started on one state folder again and again, killed by its own id.

The harness makes itself the reaper of its descendants (Linux), so whatever a killed emulator leaves running becomes a
child of the harness and is found.
"""

import asyncio
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.server import ordinary_environment
from emulator.kernel.system import own_command

_PR_SET_CHILD_SUBREAPER = 36
START_LIMIT_S = 60.0
REMAINS_LIMIT_S = 10.0


class NotStarted(Exception):
    """The emulator ended, or did not answer, instead of starting."""


def adopt_orphans() -> bool:
    """Become the parent of descendants whose own parent has died; False where the system has no such thing."""
    if not sys.platform.startswith("linux"):
        return False
    return int(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0


class Subject:
    """One emulator on the state folder ``folder/state``; *options* go to every start."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.port = 0
        self.key_id = self.secret = self.account = ""
        self.starts_s: list[float] = []
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._endpoint = self.state / "endpoint.json"
        self._others = {*_children()}

    def spawn(self) -> None:
        """Start the process; it is not there yet."""
        self._endpoint.unlink(missing_ok=True)
        self._began = time.monotonic()
        command = own_command("start", "--port", "0", "--https-port", "0")
        command += ["--state", str(self.state), "--log-level", "warning", *self._options]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, cwd=self.folder,
                env={**ordinary_environment(), "PYTHONPATH": str(Path(__file__).parents[2])}, start_new_session=True,
            )  # fmt: skip

    async def ready(self) -> None:
        """Wait until every service is up.

        Raises: NotStarted.
        """
        while not self._endpoint.exists():
            if not self.alive:
                raise NotStarted(f"the emulator ended with {self.process.returncode} instead of starting")
            if time.monotonic() - self._began > START_LIMIT_S:
                raise NotStarted(f"the emulator did not come up in {START_LIMIT_S:.0f} s")
            await asyncio.sleep(0.005)
        told = json.loads(self._endpoint.read_text(encoding="utf-8"))
        self.port = int(told["http"].rstrip("/").rpartition(":")[2])
        keys = json.loads((self.state / "keys.json").read_text(encoding="utf-8"))
        self.key_id, self.secret, self.account = keys["accessKeyId"], keys["accessKeySecret"], keys["accountId"]
        self.starts_s.append(time.monotonic() - self._began)

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        """The process started last."""
        if self._process is None:
            raise NotStarted("nothing has been started")
        return self._process

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    def kill(self) -> None:
        """End the process as a power cut would end it."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    async def stop(self) -> int:
        """End the process as a user would and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        for _ in range(6000):
            if not self.alive:
                break
            await asyncio.sleep(0.005)
        return self.process.wait(1)

    async def remains(self) -> list[str]:
        """Wait for the children of a dead emulator to end; return the command lines of those that do not."""
        deadline = time.monotonic() + REMAINS_LIMIT_S
        while left := {*_children()} - self._others:
            if time.monotonic() > deadline:
                return [f"{pid}: {_command(pid)}" for pid in left]
            await asyncio.sleep(0.005)
        return []


def _children() -> list[int]:
    """Return this process's children that run; those that have ended are reaped."""
    found = []
    own = str(os.getpid())
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] != own:
            continue
        if fields[0] == "Z":
            os.waitpid(int(entry.name), os.WNOHANG)
        else:
            found.append(int(entry.name))
    return found


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return "gone"
