"""Make a state folder with the emulator of some version, and pack it with what its API answers.

    python -m tests.upgrade.make NAME [PYTHON]     PYTHON runs the emulator of that version; default: this one

Writes tests/upgrade/states/NAME.zip: state.db, keys.json and code/ of an emulator that has ended, and answers.json.
A file is made once, with the version it is named after, and never again.
"""

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

from emulator.cli.client import connect, until
from emulator.config import load
from emulator.kernel.clock import SystemClock
from tests import commands, ready_certificates
from tests.upgrade.content import TEMPLATE, World

STATES = Path(__file__).parent / "states"
PACKED = ("state.db", "keys.json", "code", "objects")
DEADLINE_S = 30


def main(name, python=sys.executable):
    """Fill a new state folder and pack it."""
    with tempfile.TemporaryDirectory(prefix="localyun-upgrade-") as folder:
        state = Path(folder) / "state"
        process, client = start(python, state)
        try:
            world = World(client)
            world.fill()
            deploy(python, state)
            settled = until(lambda: world.client.workflow("DescribeExecution", FlowName="ends", ExecutionName="first")[
                "Status"] == "Succeeded", DEADLINE_S)  # fmt: skip
            assert settled
            process.terminate()
            process.wait(DEADLINE_S)
            process, world.client = start(python, state)  # with executions under way, which leaves a row
            answers = world.answers()
        finally:
            process.terminate()
            process.wait(DEADLINE_S)
        STATES.mkdir(exist_ok=True)
        with zipfile.ZipFile(STATES / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            made_at = datetime.fromtimestamp(SystemClock().now() / 1000, UTC)
            described = zipfile.ZipInfo("answers.json", made_at.timetuple()[:6])
            archive.writestr(described, json.dumps(answers, indent=1, sort_keys=True), zipfile.ZIP_DEFLATED)
            for part in PACKED:
                for path in sorted([state / part, *(state / part).rglob("*")]):
                    if path.is_file():
                        archive.write(path, path.relative_to(state).as_posix())
    print(f"made {name}.zip")


def deploy(python, state):
    """Deploy a file, which leaves its record."""
    template = state.parent / "template.yml"
    template.write_text(TEMPLATE)
    command = [python, "-m", "emulator", "deploy", str(template), "--state", str(state)]
    subprocess.run(command, cwd=state.parent, check=True, stdout=subprocess.DEVNULL, timeout=DEADLINE_S)


AT_ANOTHER_TIME = """
import sys
from emulator.cli.main import main
from emulator.kernel.clock import AdjustableClock
now, shift_ms = AdjustableClock.now, int(sys.argv.pop(1))
AdjustableClock.now = lambda clock: now(clock) + shift_ms
sys.exit(main())
"""
"""An emulator whose own time is another; the time of signatures is the system's."""
PROGRAM = ("emulator.cli.commands.start", *commands.PROGRAM)


def start(python, state, shift_ms=None):
    """Start the emulator of *python* on *state*; return its process and a client that is signed in.

    With *shift_ms* it is this version's, and its time is so many milliseconds ahead of the system's.
    """
    words = ["start", "--port", "0", "--https-port", "0", "--state", str(state)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("LOCALYUN_", "PYTHONPATH"))}
    state.mkdir(parents=True, exist_ok=True)
    (state / "endpoint.json").unlink(missing_ok=True)
    with (state.parent / "server.log").open("ab") as log:
        place = {"cwd": state.parent, "env": environment, "stdout": log, "stderr": log}
        if shift_ms is None:
            process = subprocess.Popen([python, "-m", "emulator", *words], stdin=subprocess.DEVNULL, **place)
        else:
            ready_certificates.give(state)
            process = commands.popen_code(AT_ANOTHER_TIME, [str(shift_ms), *words], loaded=PROGRAM, **place)
    until(lambda: process.poll() is not None or (state / "endpoint.json").exists(), DEADLINE_S)
    if process.poll() is not None:
        raise RuntimeError((state.parent / "server.log").read_text())
    client = connect(load({"state": str(state)}, {}, state.parent), environ={})
    client.health(DEADLINE_S)
    return process, client


if __name__ == "__main__":
    main(*sys.argv[1:])
