"""Programs that instances run: from a command line to a process, its output and memory."""

import asyncio
import os
import re
import shlex
import shutil
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from emulator.kernel.frozen import replace
from emulator.kernel.instrumentation import FunctionFault
from emulator.services.fc.runtime import logs
from emulator.services.fc.runtime.bootstrap.python.frames import Header
from emulator.services.fc.runtime.model import (
    Credentials,
    HttpAnswer,
    InstanceStartFailed,
    Invocation,
    ProgramMissing,
)
from emulator.services.fc.runtime.process import (
    INVOKE,
    Answer,
    CallKind,
    Exit,
    Forker,
    InstanceProcess,
    Listener,
    Pending,
    Program,
)
from emulator.services.fc.runtime.settings import RuntimeSettings, faketime_library, shell_environment

PORT_VARIABLES = ("FC_SERVER_PORT", "FC_CUSTOM_LISTEN_PORT")
_CODE = re.compile(r"""(?<![^\s=:,;'"(])/code(?=$|[/\s:,;'")&|])""")


def program_of(
    instance: Listener,
    settings: RuntimeSettings,
    words: Sequence[str],
    variables: Mapping[str, str],
    credentials: Credentials | None,
    *,
    isolated: bool,
) -> Program:
    """Return the program of an instance: the command line *words*, with *variables* of its family.

    Raises: ProgramMissing.
    """
    image = instance.image
    folder = image.code_dir
    command = list(words)
    environment = shell_environment(image, instance.instance_id, settings, credentials, isolated=isolated)
    environment |= variables
    command[0] = _found(command[0], folder, environment["PATH"], image.runtime)
    return Program(command=tuple(command), folder=folder, environment=environment)


def at_code(words: Sequence[str], folder: Path, *, isolated: bool) -> list[str]:
    """Return the *words* of a user's command with the *folder* of the code for ``/code``.

    An instance with namespaces finds its code at ``/code`` as well, which is what a shell is told when the folder's own
    name would need quotation marks. Paths of this program are not given here: it may lie below a ``/code`` itself.
    """
    command = list(words)
    for place in range(1 if isolated and shlex.quote(str(folder)) != str(folder) else len(words)):
        command[place] = _CODE.sub(lambda _: str(folder), words[place])
    return command


def _found(name: str, folder: Path, search_path: str, runtime: str) -> str:
    """Return the path of the program *name*: in the code, or of the search path when it is a bare name.

    Raises: ProgramMissing.
    """
    in_code = folder / name
    if os.sep not in name and not in_code.is_file() and (installed := shutil.which(name, path=search_path)) is not None:
        return installed
    if not in_code.is_file():
        raise ProgramMissing(runtime, str(in_code))
    return str(in_code)


def tree_peak_kb(pid: int) -> int:
    """Return the sum of the peaks of *pid* and what its main thread started, a script's server for instance."""
    total = 0
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        total += _peak_kb(current)
        waiting += [int(child) for child in _read(f"/proc/{current}/task/{current}/children").split()]
    return total


def is_ending(pid: int) -> bool:
    """Whether the process *pid* no longer has any memory: it has ended, or has been killed, and is not reaped yet."""
    return not _peak_kb(pid) and _peak_kb(os.getpid()) > 0  # without /proc nothing has a peak


def uses_more_than(pid: int, memory_mb: int) -> bool:
    """Whether the tree below *pid* holds more than *memory_mb* of memory that the kernel cannot drop."""
    # Only where there is /proc can the peak be larger than zero; the module does not load on every system.
    from emulator.services.fc.runtime.bootstrap.python import children

    return children.overrun(pid, memory_mb, max_processes=1_000_000) == "memory"


def _peak_kb(pid: int) -> int:
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"VmHWM:"):
            return int(line.split()[1])
    return 0


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


_LINGER_S = 0.1
"""How long after the end of a process an answer of its may still be on the way."""

_FRAME_LIMIT = 64 * 1024
_SAID = 4096

_REAL_TIME = (
    b"The emulator's clock has been moved, but this program sees the time of this machine: "
    b"libfaketime is not installed.\n"
)

_OWN_MARKER = re.compile(
    rb"^FC (?:Invoke|Initialize|PreFreeze|PreStop) (?:Start|End) RequestId: [^\n]*\n", re.MULTILINE
)
"""Markers that the platform's guide asks programs to print; they are dropped, as the emulator writes its own."""


class ProgramProcess(InstanceProcess):
    """An `InstanceProcess` that runs a program; how calls reach it is left to subclasses.

    Without *measured* its memory says nothing about the function.
    """

    def __init__(self, listener: Listener, settings: RuntimeSettings, *, measured: bool = True) -> None:
        super().__init__(listener, _FRAME_LIMIT)
        self._measured = measured
        self._overran = False
        self._image = listener.image
        self._calls: set[Pending] = set()
        self._background: set[asyncio.Task[None]] = set()
        self._at_end: list[Callable[[], object]] = []
        self._tail = b""
        self._time = settings.time
        self._shift = settings.time.shift if faketime_library() else None
        """The shift of the time that the program sees, fixed at its start; None without libfaketime."""
        self._warned = False

    @property
    def outdated(self) -> bool:
        """Whether the clock has been moved since the start, and the next process would see that."""
        return self._time.shift != self._shift and bool(faketime_library())

    async def start(self, forker: Forker, program: Program, command: str, limit_s: float) -> None:
        """Run *program* and wait until it is ready, at most *limit_s*; what was started is abandoned when it never is.

        Messages call it *command*.

        Raises: RuntimeUnavailable; InstanceStartFailed when it ends before, or is not ready in time.
        """
        try:
            await forker.execute(program, self, keep_channel=False)
            await self._until_ready(command, limit_s)
        except BaseException:
            self.abandon()
            raise

    async def _until_ready(self, command: str, limit_s: float) -> None:
        waiting = self._loop.create_task(self._ready())
        try:
            await asyncio.wait({waiting, self.gone}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if self.gone.done():
            await self.channel.hear_out(_LINGER_S)
            raise InstanceStartFailed(self._failure(command))
        if not waiting.done():
            raise InstanceStartFailed(f"{self._never_ready(limit_s)}\nLogs:\n{self._written()}")
        waiting.result()

    @abstractmethod
    async def _ready(self) -> None:
        """Wait until the program takes calls."""

    @abstractmethod
    def _never_ready(self, limit_s: float) -> str:
        """Return the message about a program that did not take calls within *limit_s*."""

    def at_end(self, action: Callable[[], object]) -> None:
        """Call *action* when the process has ended, or was never started."""
        self._at_end.append(action)

    def _written(self) -> str:
        return self._tail.decode("utf-8", "replace").strip()

    def _failure(self, command: str) -> str:
        if self._fatal:
            return f"Failed to start function instance. Error: {self._fatal}"
        return f"Function instance exited unexpectedly with start command '{command}'.\nLogs:\n{self._written()}"

    def begin(self, kind: CallKind, call: Invocation) -> Pending:
        """Hand over a call; see `InstanceProcess`."""
        future: Pending = self._loop.create_future()
        if self.gone.done():
            future.set_result(Exit(memory_kb=self._memory_kb, unread=True))
            return future
        if self._time.shift != self._shift and kind is INVOKE and not faketime_library():
            self._shift = self._time.shift
            if not self._warned:
                self._warned = True
                self.listener.output(_REAL_TIME, None)
        self._calls.add(future)
        future.add_done_callback(self._calls.discard)
        if call.fault and kind is INVOKE:
            self._break(call.fault, future)
        else:
            self._send(kind, call, future)
        return future

    def _break(self, fault: FunctionFault, future: Pending) -> None:
        """Fail a call as an injected fault demands; the program does not get it."""
        match fault:
            case "timeout":
                return  # its end comes with the deadline
            case "exception":
                body = logs.error_body("a fault was injected: exception")
                self._resolve(future, self._answer(body, 0.0, ok=False))
            case "oom":
                self._memory_kb = max(self._memory_kb, (self._image.memory_mb + 1) * 1024)
                self.kill()
            case "crash":
                self.kill()

    def watch(self, on: bool) -> None:
        """Start or stop watching the process; see `InstanceProcess`."""
        if self._measured:
            super().watch(on)

    def abandon(self) -> None:
        """Abandon a process whose start failed; its listener is not called again."""
        self._over = True
        self.kill()
        if self.control is None or self.gone.done():
            self._release()

    def output(self, data: bytes) -> None:
        """Receive output of the program."""
        data = _OWN_MARKER.sub(b"", data)
        if data:
            self._tail = (self._tail + data)[-_SAID:]
            self.listener.output(data, None)

    def exited(self, memory_kb: int, reason: str = "") -> None:
        """Record that the process has ended; answers on their way are still delivered."""
        if self.gone.done():
            return
        if self._measured:
            self._memory_kb = max(self._memory_kb, memory_kb)
        self._overran = reason == "memory"
        if self._log is not None:
            self._log.close()
        self.gone.set_result(None)
        self._keep(self._finish())

    @abstractmethod
    def _send(self, kind: CallKind, call: Invocation, future: Pending) -> None:
        """Send *call* to the program; `_resolve` is called with its answer."""

    def _resolve(self, future: Pending, answer: Answer) -> None:
        """Resolve *future* with *answer* once everything that the call wrote has been passed on."""
        assert self._log is not None
        self._log.settle("", lambda: None if future.done() else self._conclude(future, answer))

    def _conclude(self, future: Pending, answer: Answer) -> None:
        # Whoever looks at its memory may have killed the process after it answered and before `_measure`, which then
        # finds nothing: the reason comes with its end.
        if self._measured and not answer.over_memory and self._is_ending():
            self._keep(self._conclude_at_end(future, answer))
        else:
            future.set_result(replace(answer, over_memory=answer.over_memory or self._overran))

    async def _conclude_at_end(self, future: Pending, answer: Answer) -> None:
        await asyncio.wait({self.gone})  # the call's own deadline is its bound
        if not future.done():
            future.set_result(replace(answer, over_memory=self._overran, memory_kb=self._memory_kb))

    def _answer(
        self, body: bytes, duration_ms: float, *, ok: bool = True, size: int = 0, http: HttpAnswer | None = None
    ) -> Answer:
        over = self._measure()
        return Answer(
            succeeded=ok,
            body=body,
            duration_ms=duration_ms,
            memory_kb=self._memory_kb,
            over_memory=over,
            size=size or len(body),
            http=http,
        )

    def _is_ending(self) -> bool:
        """Whether the process has ended although `exited` has not been called yet."""
        return (control := self._running) is not None and is_ending(control.pid)

    def _measure(self) -> bool:
        """Record the memory that a living process uses; return whether it is more than the function's."""
        if not self._measured or (control := self._running) is None:
            return False
        peak_kb = tree_peak_kb(control.pid)
        self._memory_kb = max(self._memory_kb, peak_kb)
        return peak_kb > self._image.memory_mb * 1024 and uses_more_than(control.pid, self._image.memory_mb)

    def _keep(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run *work* until the process has ended at most."""
        task = self._loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _finish(self) -> None:
        if self._calls:
            await asyncio.wait(list(self._calls), timeout=_LINGER_S)
        await self.channel.hear_out(_LINGER_S)
        for future in list(self._calls):
            if not future.done():
                future.set_result(Exit(memory_kb=self._memory_kb))
        self._release()
        if not self._over:
            self._over = True
            self.listener.ended(self._memory_kb)

    def _release(self) -> None:
        self.channel.close()
        for action in self._at_end:
            action()
        self._at_end.clear()
        for task in self._background:
            if task is not asyncio.current_task():
                task.cancel()

    def _on_frame(self, header: Header, payload: bytes) -> None:
        self._fatal = str(header.get("fatal", ""))
