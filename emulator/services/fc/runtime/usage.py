"""How much memory a tree of processes has used. Linux only, through /proc; elsewhere the answer is zero."""

from pathlib import Path


def tree_peak_kb(pid: int) -> int:
    """Return the sum of the peaks of *pid* and what its main thread started, a script's server for instance."""
    total = 0
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        total += _peak_kb(current)
        waiting += [int(child) for child in _read(f"/proc/{current}/task/{current}/children").split()]
    return total


def uses_more_than(pid: int, memory_mb: int) -> bool:
    """Tell whether the tree below *pid* holds more than *memory_mb* of memory that the kernel cannot drop."""
    # Only where there is /proc is anything larger than zero found first; the module does not load on every system.
    from emulator.services.fc.runtime.bootstrap.python import warden

    return warden.overrun(pid, memory_mb, max_processes=1_000_000) == "memory"


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
