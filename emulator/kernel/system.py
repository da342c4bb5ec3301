"""Differences between operating systems, and their replacements; described to users in docs/systems.md.

Whatever not every system has is asked for here, so that another system's behaviour can be tried on this one:
``LOCALYUN_WITHOUT=fork,sessions`` (or ``all``) starts an emulator that does without. Here is also how a private file is
written and how this program starts itself as a child.
"""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

if sys.platform == "win32":
    import ctypes
else:
    import fcntl
    import resource

_SYNCHRONIZE: Final = 0x00100000
_WAIT_TIMEOUT: Final = 0x102
_CREATE_NEW_PROCESS_GROUP: Final = 0x200
_CREATE_NO_WINDOW: Final = 0x08000000

VARIABLE: Final = "LOCALYUN_WITHOUT"
NAMES: Final = ("fork", "sessions", "locks", "modes", "alarms", "terminals", "exec", "network", "notifications")

_without = os.environ.get(VARIABLE, "").split(",")


def unknown_names() -> list[str]:
    """Return the names in ``LOCALYUN_WITHOUT`` that are not in `NAMES`."""
    return [each for each in _without if each and each not in {*NAMES, "all"}]


def home() -> Path | None:
    """Return the user's home folder, None when it does not exist or cannot be entered, as for users of servers."""
    with suppress(RuntimeError, OSError):  # no home is known, or older Pythons may not look
        if (folder := Path.home()).is_dir() and os.access(folder, os.X_OK):
            return folder
    return None


def cache() -> Path:
    """Return the cache folder for built files; a temporary one, removed at exit, for a user without a home folder."""
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "localyun"
    own = home()
    return own / ".cache" / "localyun" if own and os.access(own, os.W_OK) else _passing_folder()


@lru_cache
def _passing_folder() -> Path:
    import atexit  # few users lack a home folder
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="localyun-cache-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _has(name: str, there: bool) -> bool:
    return there and name not in _without and "all" not in _without


FORK: Final = _has("fork", hasattr(os, "fork"))
"""Processes can be copied: function instances come from a warm zygote; else each starts its interpreter."""

SESSIONS: Final = _has("sessions", hasattr(os, "killpg"))
"""A session of processes can be killed as one; else children of a function outlive it, and no instance gets SIGTERM."""

LOCKS: Final = _has("locks", sys.platform != "win32")
"""Files can be locked until their owner ends; else a transaction that is kept open refuses a second emulator."""

MODES: Final = _has("modes", os.name != "nt")
"""A file's mode says who may read it; else its folder's rights do, which are the user's."""

ALARMS: Final = _has("alarms", hasattr(signal, "setitimer"))
"""A computation can be interrupted; else patterns of rewrite rules are searched for as long as that takes."""

TERMINALS: Final = _has("terminals", sys.platform != "win32")
"""A command can have a terminal; else InstanceExec is refused."""

EXEC: Final = _has("exec", os.name != "nt")
"""A program can take the place of this one; else it runs as a child, whose exit code is handed on."""

NETWORK: Final = _has("network", sys.platform == "linux")
"""A program can have a network of its own; else `exec --network` is refused."""

NOTIFICATIONS: Final = _has("notifications", sys.platform == "linux")
"""The kernel announces changes of files; else a call looks at the files of its function first."""


def lock(descriptor: int) -> bool | None:
    """Lock a file until this process ends; False when another has it, None where `LOCKS` are missing."""
    if sys.platform == "win32" or not LOCKS:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def write_private(path: Path, content: bytes, *, lasting: bool = True) -> None:
    """Write *content* so that only the owner can read it; if *lasting*, whole or not at all even after a power cut."""
    with drafted(path) as draft:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if lasting:
                file.flush()
                os.fsync(descriptor)


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which replaces *path* when the block succeeds and is removed when it fails.

    Each process has a draft of its own: several may write one file at a time, and the last one's stays.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        yield draft
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def end_session(pid: int) -> None:
    """Kill the session a process leads, where there are `SESSIONS`."""
    if sys.platform != "win32" and SESSIONS:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def ask_to_end(pid: int) -> None:
    """Send SIGTERM to a process, if it is still there; on Windows that ends it at once."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def own_command(*words: str) -> list[str]:
    """Return the command line of ``localyun`` with these *words*, run by this interpreter from this installation.

    The working directory is left out of the search path, and its other folders come after this one: each may have an
    ``emulator`` of its own.
    """
    root = str(Path(__file__).parents[2])
    claim = f"import sys; sys.path.insert(0, {root!r}); import emulator; sys.path.remove({root!r})"
    program = f"{claim}; from emulator.cli.main import main; sys.exit(main())"
    return [sys.executable, "-P", "-c", program, *words]


def is_running(pid: int) -> bool:
    """Whether there is a process of this id; one that has ended, and whose parent has not noticed, still counts."""
    if sys.platform == "win32":  # there os.kill(pid, 0) is Ctrl-C for every process of the console
        handle = ctypes.windll.kernel32.OpenProcess(_SYNCHRONIZE, False, pid)
        if not handle:
            return False
        running = ctypes.windll.kernel32.WaitForSingleObject(handle, 0) == _WAIT_TIMEOUT
        ctypes.windll.kernel32.CloseHandle(handle)
        return running
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True


def unserved_s(pid: int) -> float:
    """Return how many seconds a process has been ready to run without getting a processor, by its unluckiest thread.

    0 where the system does not say: only Linux does.
    """
    longest_ns = 0
    # A thread may end meanwhile.
    with suppress(OSError, ValueError, IndexError), os.scandir(f"/proc/{pid}/task") as threads:
        for thread in threads:
            waited_ns = Path(thread.path, "schedstat").read_text(encoding="ascii").split()[1]
            longest_ns = max(longest_ns, int(waited_ns))
    return longest_ns / 1e9


def apart() -> dict[str, Any]:
    """Return the arguments for `subprocess.Popen` that detach a child from its parent's terminal, Ctrl-C included."""
    if sys.platform == "win32":
        return {"creationflags": _CREATE_NO_WINDOW | _CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def take_over(sock: socket.socket) -> None:
    """Let a socket bind a port just closed by another (SO_REUSEADDR); on Windows two would share the port."""
    if sys.platform != "win32":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def most_files() -> int | None:
    """Return the limit of open files of this process, None where the system has none."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] if sys.platform != "win32" else None
