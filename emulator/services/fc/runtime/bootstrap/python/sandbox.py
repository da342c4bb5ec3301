"""Gives an instance folders and processes of its own, by Linux namespaces, where the kernel allows them to this user.

The zygote enters a mount namespace once (`enter`): its root is an empty file system with every folder of the machine
bound into it, because an ordinary user cannot create ``/code``. Each process it forks ahead gets namespaces for mounts
and processes below that (`fork_inside`), and when it is known which instance that is, the instance's folders are bound
over ``/tmp``, ``/code`` and ``/opt`` (`mount_folders`). Without rights of root this needs a user namespace, in which
the user has one name, their own: files stay theirs.

What an instance runs with cannot take any of that apart: it has no right to mount (`_give_up_rights`), and the kernel
locks the mounts of a namespace for namespaces of users made in it. An emulator that is to isolate its functions names
the user's home and what no function needs in it: the one is read-only for every instance, the others are empty
(`confine`).

The first process of such a namespace reaps and waits; when it ends, the kernel ends all others in it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

_HOST = "/.host"
_EMPTY = "/.empty"
_CODE = "/code"

_NEWNS, _NEWUSER, _NEWPID = 0x00020000, 0x10000000, 0x20000000
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC, _SLAVE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 19
_SET_CHILD_SUBREAPER, _DROP_FROM_BOUNDING_SET = 36, 24
_LAST_CAPABILITY = 63
_KEPT = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 29, 31})
"""What root may do in an instance: the capabilities that containers of Docker have, but for device files.

None of them undoes a mount, opens a file by its handle or reaches into a process that has more.
"""

_DOORS = ("/run/user", "/run/docker.sock", "/run/podman", "/run/containerd")
"""Sockets of the machine's servers, which act for everyone who can connect to them."""

_CAPABILITY_VERSION = 0x20080522
_SYSTEM_CALLS = {"x86_64": (56, 155, 125, 126), "aarch64": (220, 41, 90, 91)}

_libc: Any = None
_clone = _pivot_root = _capget = _capset = 0


class Probe:
    """Finds out, in a concurrent child process, whether instances can have namespaces.

    *folder* is an empty one, below which the machine is mounted; *confined* is as for `enter`.
    """

    def __init__(self, folder: str, confined: Sequence[str] = ()) -> None:
        self._answer = -1
        try:
            _load()
        except (OSError, AttributeError, ImportError, KeyError) as error:
            self._reason = f"this system has no namespaces ({error})"
            return
        self._answer, writing = os.pipe()
        if os.fork() == 0:
            _try_out(folder, confined, writing)
        os.close(writing)

    def reason(self) -> str:
        """Return why instances cannot have namespaces, empty when they can; waits for the answer, once."""
        if self._answer < 0:
            return self._reason
        answer = os.read(self._answer, 4096)  # the end of the process, which takes longer, is not waited for
        os.close(self._answer)
        return "" if answer == b"+" else answer.decode("utf-8", "replace") or "the process that tried it ended"


def enter(folder: str, confined: Sequence[str] = ()) -> None:
    """Give this process a mount namespace in which `fork_inside` works.

    *confined* is empty, or what is passed to `confine`: the home folder first.

    Raises: OSError.
    """
    user, group = os.getuid(), os.getgid()
    _check(_libc.unshare(_NEWNS | (_NEWUSER if user else 0)), "unshare")
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - no pathlib, for memory
                file.write(text)
    _mount(None, "/", None, _REC | _SLAVE)
    _mount("root", folder, "tmpfs", _NOSUID | _NODEV, "mode=755")
    for name in os.listdir("/"):  # noqa: PTH208
        _copy_entry(name, folder)
    for name in ("code", "opt", "tmp", _HOST[1:], _EMPTY[1:]):
        os.makedirs(f"{folder}/{name}", exist_ok=True)  # noqa: PTH103
    _check(_libc.syscall(_pivot_root, folder.encode(), (folder + _HOST).encode()), "pivot_root")
    os.chdir("/")
    if confined:
        confine(confined[0], confined[1:])
    _mount(None, "/", None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)


def confine(home: str, masked: Iterable[str]) -> None:
    """Make *home* read-only, and hide *masked* files and the sockets of the machine's servers.

    Raises: OSError.
    """
    home = os.path.realpath(home)
    if os.path.isdir(home):  # noqa: PTH112 - users of servers may have none
        _mount(home, home, None, _BIND | _REC)
        for place in _mounted_below(home):
            locked = os.statvfs(place).f_flag & (_NOSUID | _NODEV | _NOEXEC)
            _mount(None, place, None, _REMOUNT | _BIND | _RDONLY | locked)
    for place in (*masked, *_DOORS):
        _hide(place)


def fork_inside() -> int:
    """Fork a process with namespaces of its own; return its id, which is that of the namespace's first process, or 0.

    Raises: OSError.
    """
    pid: int = _libc.syscall(_clone, _NEWNS | _NEWPID | signal.SIGCHLD, 0, 0, 0, 0)
    if pid:
        return _check(pid, "clone")
    try:
        signal.set_wakeup_fd(-1)
        _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
        instance = os.fork()
        if instance:
            _reap_until(instance)
        _shrink_bounding_set()
    except BaseException:
        os._exit(1)
    return 0


def mount_folders(
    mounts: Iterable[list[Any]], covered: Sequence[str], layers: list[str], hidden: Iterable[str]
) -> None:
    """Bind the folders of an instance, each ``[source, target, writable]``, and give up the right to do so.

    In the *covered* folders, which are the instance's own now, this interpreter's folders are mounted again as well;
    one that lies in the machine's ``/code`` leaves that as it is.
    *layers* are put over ``/opt``, the first one on top; *hidden* are files and folders that are not to be seen.

    Raises: OSError.
    """
    _mount("shm", "/dev/shm", "tmpfs", _NOSUID | _NODEV, "mode=1777")  # noqa: S108 - its own; this program may lie in it
    own = [[os.path.realpath(name), name, False] for name in _own_folders(covered)]
    kept = _CODE if _own_folders((_CODE, os.path.realpath(_CODE))) else ""
    for source, target, writable in _outer_first([*own, *mounts], covered):
        if target != kept:
            _bind(source, target, writable=writable)
    if layers:
        lower = ":".join(_HOST + layer.replace("\\", "\\\\").replace(":", "\\:") for layer in layers)
        with contextlib.suppress(OSError):  # no overlays: layers are in the paths of each runtime anyway
            options = f"lowerdir={lower}:/opt".replace(",", "\\,")
            _mount("layers", "/opt", "overlay", _RDONLY | _NOSUID | _NODEV, options)
    _mount(_EMPTY, _HOST, None, _BIND)
    for name in hidden:
        _hide(name)
    _give_up_capabilities()


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent ends, so that they can be ended; does nothing elsewhere."""
    try:
        _load()
    except (OSError, AttributeError, ImportError, KeyError):
        return
    if hasattr(_libc, "prctl"):
        _libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def join(pid: int) -> None:
    """Enter the namespaces of an instance's process; processes forked from now on live in them.

    Raises: OSError.
    """
    _load()
    _set_namespaces(pid, *(("user", "mnt", "pid") if os.getuid() else ("mnt", "pid")))


def join_mounts(pid: int) -> None:
    """Enter the mounts of a process that `fork_inside` made.

    Raises: OSError.
    """
    _set_namespaces(pid, "mnt")


def _set_namespaces(pid: int, *names: str) -> None:
    for descriptor in [os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY) for name in names]:
        _check(_libc.setns(descriptor, 0), "setns")
        os.close(descriptor)


def start(arguments: list[str]) -> NoReturn:
    """Run a command beside an instance: *arguments* are its process's id, the folder and the command line.

    Raises: OSError.
    """
    join(int(arguments[0]))
    pid = os.fork()
    if pid == 0:
        os.chdir(arguments[1])
        _give_up_rights()
        os.execvp(arguments[2], arguments[2:])  # noqa: S606 - the owner of the function runs what they like
    for number in (signal.SIGINT, signal.SIGQUIT):  # of a terminal, for the command
        signal.signal(number, signal.SIG_IGN)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


def _load() -> None:
    global _libc, _clone, _pivot_root, _capget, _capset
    import ctypes

    _clone, _pivot_root, _capget, _capset = _SYSTEM_CALLS[os.uname().machine]
    if sys.platform != "linux":
        raise OSError(sys.platform)
    _libc = ctypes.CDLL(None, use_errno=True)
    _libc.syscall.restype = ctypes.c_long
    _libc.mount.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)


def _try_out(folder: str, confined: Sequence[str], writing: int) -> None:
    try:
        enter(folder, confined)
        pid = fork_inside()
        if pid == 0:
            mount_folders([[folder, "/tmp", True]], [], [], [])  # noqa: S108 - as an instance does
            os.write(writing, b"+")
            os._exit(0)
        os.waitpid(pid, 0)
    except BaseException as error:
        os.write(writing, str(error).encode())
    os._exit(0)


def _reap_until(instance: int) -> None:
    """Act as the first process of a namespace: reap orphans, and end with the instance.

    Signals from inside do not reach it: without handlers the kernel does not deliver them.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    os.closerange(3, 65536)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while os.waitpid(-1, 0)[0] != instance:
        pass
    os._exit(0)


def _copy_entry(name: str, folder: str) -> None:
    source, target = f"/{name}", f"{folder}/{name}"
    mode = os.lstat(source).st_mode
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(source), target)  # noqa: PTH115, PTH211
        return
    if stat.S_ISDIR(mode):
        os.mkdir(target)  # noqa: PTH102
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
    _mount(source, target, None, _BIND | _REC)


def _bind(source: str, target: str, *, writable: bool) -> None:
    if os.path.isdir(_HOST + source):  # noqa: PTH112
        os.makedirs(target, exist_ok=True)  # noqa: PTH103
    elif not os.path.exists(target):  # noqa: PTH110
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
    _mount(_HOST + source, target, None, _BIND | _REC)
    if not writable:
        locked = os.statvfs(target).f_flag & (_NOSUID | _NODEV | _NOEXEC)
        _mount(None, target, None, _REMOUNT | _BIND | _RDONLY | locked)


def _own_folders(covered: Sequence[str]) -> list[str]:
    """Return where this interpreter and its libraries are, under each name, as far as that is below *covered*."""
    package = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - no pathlib, for memory
    folders = [package, sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, *sys.path]
    names = {name for folder in folders for name in (folder, os.path.realpath(folder))}
    return [name for name in names if name.startswith(tuple(f"{place}/" for place in covered)) and _is_there(name)]


def _is_there(name: str) -> bool:
    return os.path.exists(_HOST + os.path.realpath(name))  # noqa: PTH110


def _outer_first(mounts: Iterable[list[Any]], covered: Sequence[str]) -> Iterator[list[Any]]:
    """Return *mounts* so that none covers another; one that another shows already is left out.

    What covers a folder comes first, then files under their own names, then those under names with links.
    """

    def order(mount: list[Any]) -> tuple[bool, bool, list[str], bool]:
        source, target, writable = mount
        return target not in covered, source != target, target.split("/"), writable

    above: list[Any] = []
    for mount in sorted(mounts, key=order):
        source, target, writable = mount
        below = above and not writable and not above[2] and target.startswith(f"{above[1]}/")
        if below and source == above[0] + target[len(above[1]) :]:
            continue
        above = mount
        yield mount


def _hide(name: str) -> None:
    """Show an empty folder or file instead of one that is there."""
    if os.path.isdir(name):  # noqa: PTH112
        _mount(_EMPTY, name, None, _BIND)
    elif os.path.exists(name):  # noqa: PTH110
        _mount(os.devnull, name, None, _BIND)


def _mounted_below(place: str) -> list[str]:
    """Return *place* and what is mounted below it, as far as it is reached by its name."""
    with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123 - no pathlib, for memory
        named = [os.fsdecode(line.split()[4].decode("unicode_escape").encode("latin-1")) for line in file]
    below = dict.fromkeys(each for each in named if each.startswith(f"{place}/"))
    return [place, *(each for each in below if os.path.exists(each))]  # noqa: PTH110


def _give_up_rights() -> None:
    """Drop every capability, but for root those in `_KEPT`, for this process and all programs it executes later."""
    _shrink_bounding_set()
    _give_up_capabilities()


def _kept() -> frozenset[int]:
    return frozenset() if os.getuid() else _KEPT


def _shrink_bounding_set() -> None:
    kept = _kept()
    for capability in range(_LAST_CAPABILITY + 1):
        if capability not in kept:
            _libc.prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)  # fails for what this kernel does not know


def _give_up_capabilities() -> None:
    import ctypes

    kept = sum(1 << capability for capability in _kept())  # all of them below 32, the first word of each set
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, then the same for capabilities from 32 on
    _check(_libc.syscall(_capget, header, sets), "capget")
    kept &= sets[1]  # in a container root may have less
    _check(_libc.syscall(_capset, header, (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0)), "capset")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [os.fsencode(text) if text is not None else None for text in (source, target, kind)]
    _check(_libc.mount(*encoded, flags, os.fsencode(data) if data is not None else None), f"mount {target}")


def _check(result: int, what: str) -> int:
    if result < 0:
        import ctypes

        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
