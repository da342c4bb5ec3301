"""The real program as a child process, in a working directory of its own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.cli import output
from tests import commands

ROOT = Path(__file__).parents[3]
DEADLINE_S = 30


class Program:
    """The command in a working directory of its own; free ports unless told otherwise."""

    def __init__(self, folder):
        self.folder = folder
        self.command = [sys.executable, "-m", "emulator"]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")}
        self.env = inherited | {
            "PYTHONPATH": str(ROOT),
            "LOCALYUN_PORT": "0",
            "LOCALYUN_HTTPS_PORT": "0",
            "LC_ALL": "C.UTF-8",
        }
        self.env["XDG_RUNTIME_DIR"] = str(folder / "run")
        (folder / "run").mkdir(exist_ok=True)
        self.started = []

    def run(self, *words, **env):
        """Run a command to its end."""
        if self.command == commands.COMMAND:
            return commands.run(words, cwd=self.folder, env=self.env | env, timeout=DEADLINE_S)
        return subprocess.run(
            [*self.command, *words],
            cwd=self.folder,
            env=self.env | env,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            stdin=subprocess.DEVNULL,
        )

    def start(self, *words):
        """Start in the foreground; return the process and the address it printed."""
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        if self.command == commands.COMMAND:
            process = commands.popen(["start", *words], cwd=self.folder, env=self.env, **streams)
        else:
            command = [*self.command, "start", *words]
            process = subprocess.Popen(command, cwd=self.folder, env=self.env, text=True, **streams)
        self.started.append(process)
        for line in process.stdout:
            if line.split()[0] == "http":
                return process, line.split()[1]
        pytest.fail(f"the program ended with {process.wait()}")

    def close(self):
        """End what was started."""
        for path in self.folder.rglob("endpoint.json"):
            os.kill(json.loads(path.read_text())["pid"], signal.SIGTERM)
        for process in self.started:
            process.terminate()
            process.wait(DEADLINE_S)
            process.stdout.close()


@pytest.fixture
def program(tmp_path):
    """The program, in an empty folder; nothing of it runs afterwards."""
    program = Program(tmp_path)
    yield program
    program.close()


@pytest.fixture
def chinese(monkeypatch):
    """Texts in Chinese, whatever the streams of the tests can show."""
    monkeypatch.setenv("LANGUAGE", "zh_CN")
    monkeypatch.setattr(output, "_can_be_shown", lambda: True)
    output.catalogue.cache_clear()
    yield
    monkeypatch.undo()
    output.catalogue.cache_clear()
