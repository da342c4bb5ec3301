"""What a person waits for: an edit to take effect, a command, the first test of a session and each one after it.

Wall-clock times, the median of a few within each sample. Tests run in a pytest of their own whose reports are written
down; what a test with the plugin costs is what its fixture takes, as the tests themselves do nothing.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks.earlier import ROOT
from benchmarks.harness import Row
from benchmarks.server import Connection, Server, ordinary_environment
from emulator.testing import Emulator

COMMANDS = (["list"], ["queue", "send", "orders", "hello"])
EDITS = 5
TESTS = 20
TIMES = 5

_TESTS = (
    "import pytest\n\n@pytest.mark.parametrize('number', range({tests}))\n"
    "def test_nothing(localyun, number):\n    pass\n"
)
_REPORTS = (
    "import json, pathlib\n\nseconds = {}\n\ndef pytest_runtest_logreport(report):\n"
    "    seconds[report.nodeid] = seconds.get(report.nodeid, 0) + report.duration\n\n"
    "def pytest_sessionfinish():\n    pathlib.Path('seconds.json').write_text(json.dumps(list(seconds.values())))\n"
)
_POLLED = "fnf-demo/StartJob", "fnf-demo/GetJobStatus"


class Waits:
    """The rows, around a server with one function and an emulator with the tutorials' functions."""

    def __init__(self) -> None:
        self._closing = ExitStack()
        self._folder = Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix="localyun-bench-waits-")))
        self._code = self._folder / "functions" / "edited" / "index.py"
        self._code.parent.mkdir(parents=True)
        self._edit(0)
        self._edits = 0
        self._server = self._closing.enter_context(Server(self._code.parents[1]))
        with Connection(self._server.port) as connection:
            connection.ask(self._server.mns("PUT", "/queues/orders"))
        (self._folder / "tests").mkdir()
        (self._folder / "tests" / "test_nothing.py").write_text(_TESTS.format(tests=TESTS), encoding="ascii")
        (self._folder / "tests" / "conftest.py").write_text(_REPORTS, encoding="ascii")
        self._kit = self._closing.enter_context(Emulator(functions=ROOT / "functions"))
        text = (ROOT / "sample-apps" / "poll-for-task-status" / "flow.yml").read_text(encoding="utf-8")
        self._flow = self._kit.flow("polling", text.replace("{accountID}", self._kit.account_id))
        self._kit.settle()
        self._kit.checkpoint("waits")
        self._ran: list[float] = []

    def close(self) -> None:
        """End both and remove the folder."""
        self._closing.close()

    def rows(self) -> list[Row]:
        """Return the rows in the order they are taken."""
        return [
            Row(name="first call after an edit", unit="ms", measure=self._edited_ms, goal=30),
            *(
                Row(name=f"localyun {' '.join(words)}", unit="ms", measure=self._command(words), goal=60)
                for words in COMMANDS
            ),
            Row(name="first test of a session", unit="ms", measure=self._first_ms, goal=600),
            Row(name="a test with the plugin, beside its own work", unit="ms", measure=self._next_ms, goal=25),
            Row(name="the mocked polling tutorial from restore", unit="ms", measure=self._mocked_ms, goal=40),
            Row(name="a real function after restore", unit="ms", measure=self._real_ms, goal=25),
        ]

    def _edit(self, number: int) -> None:
        self._code.write_text(f"def handler(event, context):\n    return b'{number:09}'\n", encoding="ascii")

    def _edited_ms(self) -> float:
        """Return what passes from the end of a write until the answer of the new code."""
        request = self._server.fc("POST", "/2023-03-30/functions/edited/invocations", b"{}")
        with Connection(self._server.port) as connection:

            def edited() -> None:
                self._edits += 1
                self._edit(self._edits)
                wanted = f"{self._edits:09}".encode()
                while wanted not in connection.ask(request)[1]:
                    pass

            return _median_ms(edited, EDITS)

    def _command(self, words: list[str]) -> Callable[[], float]:
        environment = ordinary_environment() | {
            "LOCALYUN_ENDPOINT": f"http://127.0.0.1:{self._server.port}",
            "LOCALYUN_STATE": os.fspath(self._server.state),
            "XDG_RUNTIME_DIR": os.fspath(self._server.runtime),
        }
        command = [str(Path(sys.executable).with_name("localyun")), *words]

        def ran() -> None:
            subprocess.run(command, env=environment, capture_output=True, check=True)

        return lambda: _median_ms(ran, TIMES)

    def _first_ms(self) -> float:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
        subprocess.run(command, cwd=self._folder, env=ordinary_environment(), capture_output=True, check=True)
        first, *self._ran = json.loads((self._folder / "seconds.json").read_text(encoding="ascii"))
        return float(first * 1000)

    def _next_ms(self) -> float:
        return statistics.median(self._ran) * 1000

    def _mocked_ms(self) -> float:
        def mocked() -> None:
            self._kit.begin_again(None, "waits")
            self._kit.mock(_POLLED[0], returns={"job_id": "1"})
            self._kit.mock(_POLLED[1], returns={"job_id": "1", "job_status": "success", "try_count": 1})
            run = self._flow.start({"delay": 600})
            self._kit.skip_until(execution=run)

        return _median_ms(mocked, TIMES)

    def _real_ms(self) -> float:
        def called() -> None:
            self._kit.begin_again(None, "waits")
            self._kit.invoke("hello", {})

        return _median_ms(called, TIMES)


def _median_ms(work: Callable[[], None], times: int) -> float:
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        spent.append((time.perf_counter() - began) * 1000)
    return statistics.median(spent)
