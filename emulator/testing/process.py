"""One emulator as a process of its own: ephemeral, on free ports, ended with the test run."""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from emulator import config
from emulator.kernel import system
from emulator.kernel.clock import SystemClock
from emulator.kernel.tied import Tie
from emulator.testing.api import TestingError, load_requests

if TYPE_CHECKING:
    from emulator.testing.kit import Localyun

START_S = 60.0
_STOP_S = 15.0
_LOOK_S = 0.01


class Emulator:
    """A running emulator; a context manager, or `start` and `stop`.

    *functions* is a folder of functions to serve, *config* the path of a ``localyun.yaml``. With *state* the state is
    kept in that folder, otherwise nothing is kept. *options* are further words of ``localyun start``. The emulator ends
    with this process, however that one ends.

    >>> with Emulator() as localyun:
    ...     localyun.queue("orders").send("one")
    """

    def __init__(
        self,
        *,
        functions: str | os.PathLike[str] | None = None,
        config: str | os.PathLike[str] | None = None,
        state: str | os.PathLike[str] | None = None,
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._functions = functions
        self._config = config
        self._kept_state = state
        self._options = list(options)
        self._environment = dict(environment or {})
        self._closing = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Path | None = None
        self._kit: Localyun | None = None

    def __enter__(self) -> "Localyun":
        self.start()
        return self.localyun

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def localyun(self) -> "Localyun":
        """The kit for this emulator.

        Raises: TestingError before the start.
        """
        if self._kit is None:
            raise TestingError("the emulator has not been started")
        return self._kit

    def start(self) -> Self:
        """Start the process; return once it serves calls and the commands of ``hooks.ready`` have ended.

        Raises: TestingError with the emulator's own words when it does not start.
        """
        if self._kit is not None:
            return self
        folder = Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix="localyun-")))
        state = Path(self._kept_state) if self._kept_state is not None else folder / "state"
        self._log = folder / "server.log"
        before = _recorded(state)
        try:
            self._process = self._spawn(state, folder)
            self._closing.callback(self._end)
            _load_kit()
            self._wait(state, before)
            kit = kit_at(state)
            self._closing.callback(kit.close)
            self._await_hooks(kit)
        except BaseException:
            self._closing.close()
            raise
        self._kit = kit
        return self

    def stop(self) -> None:
        """End the process; does nothing when it has ended."""
        self._kit = None
        self._closing.close()

    def output(self) -> str:
        """Return the emulator's log."""
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log and self._log.exists() else ""

    def _spawn(self, state: Path, folder: Path) -> "subprocess.Popen[bytes]":
        words = system.own_command("start", "--port", "0", "--https-port", "0", "--state", str(state))
        if self._kept_state is None:
            words.append("--ephemeral")
        if self._functions is not None:
            words += ["--functions", str(Path(self._functions).resolve())]
        beside = folder
        if self._config is not None:
            beside = Path(self._config).resolve().parent
            if Path(self._config).name != "localyun.yaml" or not Path(self._config).is_file():
                raise TestingError(f"the configuration must be a file called localyun.yaml, not {self._config}")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")}
        tie = self._closing.enter_context(Tie(folder))
        environment |= self._environment | tie.environment
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (folder / "server.log").open("wb") as log:
            return subprocess.Popen(  # noqa: S603 - our own program
                [*words, *self._options],
                cwd=beside,
                env=environment,
                stdin=tie.stdin,
                stdout=log,
                stderr=log,
                **system.apart(),
            )

    def _wait(self, state: Path, before: Any) -> None:
        """Wait until the emulator has written its address, over *before*, an earlier one's. Raises: TestingError."""
        clock = SystemClock()
        deadline = clock.monotonic() + START_S
        process = self._process
        while process is not None and clock.monotonic() < deadline:
            if _recorded(state) not in (None, before):
                return
            try:
                process.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                continue
            break
        raise TestingError(f"the emulator did not start:\n{self.output() or '(it wrote nothing)'}")

    def _await_hooks(self, kit: "Localyun") -> None:
        """Wait until the commands that run after the start have ended, or for as long as a start may take."""
        clock = SystemClock()
        deadline = clock.monotonic() + START_S
        while kit.api.admin("GET", "status")["hooks"] and clock.monotonic() < deadline:
            with suppress(subprocess.TimeoutExpired):
                self._process and self._process.wait(_LOOK_S)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _recorded(state: Path) -> Any:
    """Return what an emulator of the folder has written of itself; None when there is nothing, or half of it."""
    try:
        return json.loads((state / "endpoint.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _load_kit() -> None:
    """Import the kit's dependencies while the process starts, as both take a similar time.

    Raises: NotInstalled.
    """
    from emulator.testing import kit  # noqa: F401 - for `kit_at`

    load_requests()


def kit_at(state: Path) -> "Localyun":
    """Return the kit for the emulator whose state is in a folder.

    Raises: OSError; ValueError, KeyError for files that are not its own.
    """
    from emulator.testing.kit import kit_of  # needs `requests`, and says so itself

    endpoint, keys = (json.loads((state / name).read_text(encoding="utf-8")) for name in ("endpoint.json", "keys.json"))
    return kit_of(keys, endpoint["http"], https_endpoint=endpoint.get("https") or "", state=str(state))


def kit_of_project(folder: Path) -> "Localyun | None":
    """Return the kit for the emulator that `localyun start` has started for *folder*, None without one.

    Whether the emulator still answers is not checked.
    """
    try:
        return kit_at(config.load({}, os.environ, folder).config.state)
    except (config.ConfigError, OSError, ValueError, KeyError):
        return None
