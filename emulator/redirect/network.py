"""A network namespace for a command (Linux), in which the cloud's names and usual ports lead to the emulator.

For programs that take no hook and obey no proxy, such as static Go programs. The command runs in a network namespace
in which only the loopback interface exists. Its resolver is one socket in there, and so are the listeners on the ports
that can be called. A relay outside accepts on them, because a socket stays in the namespace it was made in: it answers
names, and passes connections on to the emulator, or to the host whose name was asked for.

Each name gets an address of its own below 127.0.0.0/8, so that the destination of a connection identifies the name.
"""

import asyncio
import ctypes
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

SUFFIXES = ("aliyuncs.com", "fcapp.run")

_NEWNS, _NEWUSER, _NEWNET = 0x00020000, 0x10000000, 0x40000000
_BIND, _REC, _SLAVE = 4096, 16384, 1 << 19
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_HTTP, _HTTPS = 80, 443
_RESOLVER = "/etc/resolv.conf"
_NAMES = IPv4Network("127.128.0.0/9")
_PIECE = 65536
_A, _IN = 1, 1


class NoNetwork(Exception):
    """This system cannot give the command a network of its own; the text says why."""


def enter(emulator: Mapping[int, int], folder: Path) -> None:
    """Move this process into a network in which the cloud's names lead to the emulator; it is kept across exec.

    *emulator* maps the ports 80 and 443 to the emulator's ports on this machine, which can be called as themselves too.
    *folder* is for a file. Has to be called in a process with one thread; a relay process lives as long as this one.

    Raises: NoNetwork; nothing has changed then but, perhaps, the namespace of this process.
    """
    if sys.platform != "linux":
        raise NoNetwork(f"a network of its own needs Linux, and this is {sys.platform}")
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    _start_relay(far, dict(emulator), os.getpid())
    far.close()
    try:
        _unshare()
        _raise_loopback()
        listeners = [_listener(port) for port in sorted({*emulator, *emulator.values()})]
        names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        names.bind(("127.0.0.1", 53))
        _resolve_here(folder)
    except OSError as error:
        raise NoNetwork(f"this system gives no network of its own: {error}") from error
    sockets = [names, *listeners]
    socket.send_fds(near, [b"+"], [each.fileno() for each in sockets])
    near.recv(1)  # the relay has received them
    for each in (near, *sockets):
        each.close()


def _unshare() -> None:
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEWNS | _NEWNET | (_NEWUSER if user else 0)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path(f"/proc/self/{name}").write_text(text, encoding="ascii")
    _mount(libc, b"none", b"/", _REC | _SLAVE)


def _mount(libc: ctypes.CDLL, source: bytes, target: bytes, flags: int) -> None:
    libc.mount.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)
    if libc.mount(source, target, None, flags, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {os.fsdecode(target)}: {os.strerror(number)}")


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def _listener(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("0.0.0.0", port))  # noqa: S104 - the namespace has the loopback interface only
    listening.listen(128)
    return listening


def _resolve_here(folder: Path) -> None:
    own = folder / "resolv.conf"
    own.write_text("nameserver 127.0.0.1\noptions ndots:0\n", encoding="ascii")
    target = os.path.realpath(_RESOLVER)
    _mount(ctypes.CDLL(None, use_errno=True), os.fsencode(own), os.fsencode(target), _BIND)


def _start_relay(channel: socket.socket, emulator: dict[int, int], command: int) -> None:
    """Fork the relay: no child of the command, but ended with it."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in range(3):
                os.dup2(null, descriptor)
            os.closerange(3, channel.fileno())
            os.closerange(channel.fileno() + 1, 4096)
            asyncio.run(Relay(emulator).serve(channel, os.pidfd_open(command)))
    finally:
        os._exit(0)


class Relay:
    """Answers the names of a network and passes its connections on."""

    def __init__(self, emulator: Mapping[int, int]) -> None:
        self._emulator = emulator
        self._addresses: dict[str, IPv4Address] = {}
        self._names: dict[str, str] = {}

    async def serve(self, channel: socket.socket, command: int) -> None:
        """Serve the sockets that come through *channel* until the process behind the descriptor *command* ends."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        loop.add_reader(command, ended.set)
        data, descriptors, _, _ = socket.recv_fds(channel, 1, 16)
        if not data:
            return
        names, *listeners = (socket.socket(fileno=descriptor) for descriptor in descriptors)
        names.setblocking(False)
        loop.add_reader(names, self._answer_name, names)
        servers = [await asyncio.start_server(self._connected, sock=each) for each in listeners]
        channel.send(b"+")
        channel.close()
        await ended.wait()
        for server in servers:
            server.close()

    def address_of(self, name: str) -> IPv4Address:
        """Return the address that stands for *name*."""
        name = name.lower().rstrip(".")
        if name == "localhost" or name.endswith(".localhost"):
            return IPv4Address("127.0.0.1")
        if name not in self._addresses:
            address = self._addresses[name] = _NAMES[1 + len(self._addresses)]
            self._names[str(address)] = name
        return self._addresses[name]

    def target_of(self, address: str, port: int) -> tuple[str, int] | None:
        """Return host and port that a connection to *address* and *port* is passed on to, None to refuse it."""
        name = self._names.get(address, "")
        if name and not f".{name}".endswith(tuple(f".{suffix}" for suffix in SUFFIXES)):
            return (name, port) if port in {_HTTP, _HTTPS} else None
        local = self._emulator.get(port, port)
        return ("127.0.0.1", local) if local in self._emulator.values() else None

    def _answer_name(self, names: socket.socket) -> None:
        with suppress(OSError, ValueError, IndexError, struct.error, UnicodeDecodeError):
            query, client = names.recvfrom(4096)
            names.sendto(self.answer(query), client)

    def answer(self, query: bytes) -> bytes:
        """Return the answer to a query of the domain name system: an address for A, nothing for any other type.

        Raises: ValueError, IndexError, struct.error for what is no query.
        """
        labels, at = [], 12
        while size := query[at]:
            labels.append(query[at + 1 : at + 1 + size].decode("ascii"))
            at += 1 + size
        kind, kind_class = struct.unpack_from("!HH", query, at + 1)
        question = query[12 : at + 5]
        record = b""
        if (kind, kind_class) == (_A, _IN):
            record = struct.pack("!HHHIH", 0xC00C, _A, _IN, 0, 4) + self.address_of(".".join(labels)).packed
        return query[:2] + struct.pack("!HHHHH", 0x8180, 1, 1 if record else 0, 0, 0) + question + record

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = self.target_of(*writer.get_extra_info("sockname")[:2])
        try:
            if target is not None:
                far_reader, far_writer = await asyncio.open_connection(*target)
                await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        except OSError:
            pass  # the command notices that its connection ends
        finally:
            writer.close()


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while piece := await source.read(_PIECE):
            target.write(piece)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()
    except OSError:
        target.close()
