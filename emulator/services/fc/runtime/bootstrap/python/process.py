"""Turning a fresh process into a function instance: descriptors, limits, environment, import path, debugger, time.

Memory has no limit here: RLIMIT_AS and RLIMIT_DATA count what is mapped, and thread stacks, allocator arenas and shared
libraries map far more than they use, so they would fail functions that are well within their memory. The zygote
measures what is resident instead. RLIMIT_NPROC counts all processes of the user, not those of the instance; the zygote
counts these as well.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NoReturn

try:
    import fcntl
    import resource
except ImportError:  # Windows has neither; descriptors stay where they are and nothing is limited
    fcntl = None  # type: ignore[assignment]
    resource = None  # type: ignore[assignment]

MOST_DESCRIPTORS = 10240
"""The largest limit macOS accepts; a table for the platform's 100000 would cost each instance a megabyte."""

PROTECTED = 8


def descriptor_ceiling() -> int:
    """Return the limit of user code's descriptors; the agent's own ones lie at and above it.

    User code that closes every descriptor up to its limit does not reach the agent's.
    """
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    top = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    return top - PROTECTED


def protect_descriptors(channel: socket.socket, log: int) -> tuple[socket.socket, int]:
    """Connect the standard streams and move *channel* and *log* out of user code's reach.

    Returns the moved socket and descriptor; the old ones are closed.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(null)
    ceiling = descriptor_ceiling()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (ceiling + PROTECTED, hard))
    moved = fcntl.fcntl(channel.fileno(), fcntl.F_DUPFD_CLOEXEC, ceiling)
    moved_log = fcntl.fcntl(log, fcntl.F_DUPFD_CLOEXEC, ceiling)
    resource.setrlimit(resource.RLIMIT_NOFILE, (ceiling, ceiling))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    family, kind = channel.family, channel.type
    channel.close()
    if log > 2:
        os.close(log)
    return socket.socket(family, kind, 0, moved), moved_log


def exec_program(frame: dict[str, Any], channel: socket.socket) -> NoReturn:
    """Replace this process by the program that *frame* names: ``command``, ``folder``, ``environment``.

    With ``keep_channel`` the program inherits the channel and finds its descriptor's number as its last argument.

    Raises: OSError when there is no such program or folder.
    """
    os.chdir(frame["folder"])
    command = list(frame["command"])
    if frame["keep_channel"]:
        channel.set_inheritable(True)
        command.append(str(channel.fileno()))
    for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and a program inherits what is ignored
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    os.execvpe(command[0], command, frame["environment"])  # noqa: S606 - the program is the user's own


def _distrust_young_bytecode() -> None:
    """Have modules compiled whose bytecode may be that of an earlier text.

    Bytecode, which a user's own tests may have written, names its source by size and by the second of its last change:
    an edit of the same length in the second in which it was compiled goes unnoticed.
    """
    loader = importlib.machinery.SourceFileLoader
    stats = loader.path_stats

    def path_stats(self: importlib.machinery.SourceFileLoader, path: str) -> Mapping[str, Any]:
        source = stats(self, path)
        try:
            compiled = os.stat(importlib.util.cache_from_source(path))  # noqa: PTH116 - no pathlib, for memory
        except (OSError, NotImplementedError):
            return source
        if int(compiled.st_mtime) <= int(source["mtime"]):
            raise OSError("the bytecode may be older than its source")
        return source

    loader.path_stats = path_stats  # type: ignore[method-assign]  # for this process only


def settle_in(boot: dict[str, Any], hook: ModuleType | None) -> None:
    """Give the process the environment, working directory and import path of its function.

    Raises: OSError when the code folder is not there.
    """
    os.environ.clear()
    os.environ.update(boot["environment"])
    if hasattr(time, "tzset"):
        time.tzset()
    os.chdir(boot["code_dir"])
    own_path = sys.path[:]
    own_version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    versions = dict.fromkeys((boot["library"], own_version))
    sys.path[:] = [boot["code_dir"]]
    for layer in boot["layers"]:
        sys.path += [*(f"{layer}/python/lib/{each}/site-packages" for each in versions), f"{layer}/python"]
    sys.path += [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path += own_path
    sys.argv[:] = ["bootstrap"]
    sys.dont_write_bytecode = True
    _distrust_young_bytecode()
    sys.modules["__main__"] = ModuleType("__main__")
    if hook is not None:
        hook.install()


def load_hook(arguments: list[str]) -> ModuleType | None:
    """Load the redirect hook when its file is named."""
    if not arguments:
        return None
    spec = importlib.util.spec_from_file_location("localyun_redirect", arguments[0])
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["localyun_redirect"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class MemoryMeter:
    """Measures the most memory this process has used.

    ``ru_maxrss`` is quick, and a forked process starts at its own size; but a process that was started by exec
    inherits the peak of the process that started it. Then the kernel's status page is read instead.
    """

    def __init__(self, *, forked: bool) -> None:
        self._scale = 1024 if sys.platform == "darwin" else 1
        self._inherited = not forked and self._from_status(default=self._usage()) < self._usage()

    def peak_kb(self) -> int:
        """Return the peak in kilobytes, 0 where the system does not say."""
        return self._from_status(default=self._usage()) if self._inherited else self._usage()

    def exceeds(self, peak_kb: int, limit_mb: int) -> bool:
        """Whether the process needed more than it may; pages of mapped files do not count, they can be dropped."""
        limit_kb = limit_mb * 1024
        return peak_kb > limit_kb and peak_kb - self._file_pages_kb() > limit_kb

    def _usage(self) -> int:
        if os.name != "posix":
            return 0
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // self._scale

    def _from_status(self, default: int) -> int:
        try:
            with open("/proc/self/status", "rb") as status:  # noqa: PTH123 - no pathlib in the zygote
                for line in status:
                    if line.startswith(b"VmHWM:"):
                        return int(line.split()[1])
        except OSError:  # no such file outside Linux
            return default
        return default

    def _file_pages_kb(self) -> int:
        try:
            with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123
                return int(statm.read().split()[2]) * os.sysconf("SC_PAGE_SIZE") // 1024
        except OSError:
            return 0


_BLOCK = 1024 * 1024
_SPARE_BLOCKS = 64


def exhaust_memory(limit_mb: int) -> None:
    """Use more memory than *limit_mb* megabytes, for two seconds, so that the zygote or the server measures it."""
    held = [b"\1" * _BLOCK for _ in range(limit_mb + _SPARE_BLOCKS)]
    time.sleep(2)
    del held


_debugger_waited: list[bool] = []


def start_debugger(folder: str) -> int:
    """Make debugpy, which lies in *folder*, listen on a free port of the loopback interface and return it.

    debugpy belongs to the emulator's environment and is imported for an instance that is to be debugged only. An
    interpreter mapped to another version gets it from there as well: its folder is on the import path meanwhile.

    Raises: ImportError without debugpy; RuntimeError when it does not come up.
    """
    # The interpreter's own frozen modules need no breakpoints, and a warning about them would be in the function's log.
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    sys.path.insert(0, folder)
    try:
        debugpy = importlib.import_module("debugpy")
    finally:
        sys.path.remove(folder)
    port: int = debugpy.listen(("127.0.0.1", 0))[1]
    return port


def wait_for_debugger() -> None:
    """Wait until a debugger is attached and has set its breakpoints; does not wait a second time."""
    if not _debugger_waited:
        _debugger_waited.append(True)
        importlib.import_module("debugpy").wait_for_client()


_traveller: list[Any] = []
_variables: list[str] = []


def turn_clock(offset_ms: int, frozen_ms: int | None, variables: dict[str, str]) -> None:
    """Let the code of this process see the system's time plus *offset_ms*, or *frozen_ms* where that is not None.

    Every way of asking the time that Python code has follows, ``uuid1`` included. Sleeping and `time.monotonic` stay
    real, and so does the time of C libraries, which TLS goes by. Programs that the code starts see it by *variables*.

    Raises: ImportError without time-machine.
    """
    while _variables:
        os.environ.pop(_variables.pop(), None)
    os.environ.update(variables)
    _variables.extend(variables)
    while _traveller:
        _traveller.pop().stop()
    if frozen_ms is None and offset_ms == 0:
        return
    machine = _machine()
    destination = (time.time() + offset_ms / 1000) if frozen_ms is None else frozen_ms / 1000
    traveller = machine.travel(destination, tick=frozen_ms is None)
    traveller.start()
    _traveller.append(traveller)


def _machine() -> Any:
    """Import time-machine past whatever the function's own folder has under that name.

    And without pytest, for which it has a fixture: that would take ten times as long as all the rest.
    """
    path = sys.path[:]
    sys.path[:] = [*path[1:], path[0]] if path else path
    hides_pytest = "pytest" not in sys.modules
    if hides_pytest:
        sys.modules["pytest"] = None  # type: ignore[assignment]  # the way to say that there is none
    try:
        import time_machine
    finally:
        sys.path[:] = path
        if hides_pytest:
            del sys.modules["pytest"]
    return time_machine
