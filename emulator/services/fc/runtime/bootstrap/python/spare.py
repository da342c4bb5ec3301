"""A process that is forked ahead and waits to be told which instance it is: a first call need not wait for the fork."""

from __future__ import annotations

import array
import os
import socket


class Spare:
    """A waiting process, as its zygote sees it."""

    def __init__(self, pid: int, link: socket.socket) -> None:
        self.pid = pid
        self._link = link

    def give(self, channel: int, log: int) -> None:
        """Make it an instance with these descriptors, which stay open here.

        Raises: OSError when it has died.
        """
        passed = array.array("i", (channel, log))
        try:
            self._link.sendmsg([b"!"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)])
        finally:
            self.close()

    def close(self) -> None:
        """Let go of it; one that still waits ends."""
        self._link.close()


def wait(link: socket.socket) -> tuple[int, int]:
    """Wait, in the spare process, for the descriptors of channel and log; ends the process when none will come."""
    passed = receive_descriptors(link, 1)[1]
    link.close()
    if len(passed) < 2:
        os._exit(0)
    return passed[0], passed[1]


def receive_descriptors(link: socket.socket, size: int) -> tuple[bytes, list[int]]:
    """Receive up to *size* bytes and the descriptors that came along; no bytes when the other end is gone."""
    descriptors = array.array("i")
    try:
        data, ancillary, _, _ = link.recvmsg(size, socket.CMSG_SPACE(2 * descriptors.itemsize))
    except ConnectionResetError:  # it was killed before it had read what it was told last
        return b"", []
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content)
    return data, list(descriptors)
