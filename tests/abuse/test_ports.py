"""Each port takes what it is for, and answers the rest in words."""

import contextlib
import os
import random
import socket
import ssl
import time

import pytest

from tests.abuse.conftest import read_all, read_answer

HEALTH = b"GET /_localyun/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.fixture
def https(victim):
    """The HTTPS port, once its authority is there."""
    victim.until(lambda: (victim.state / "ca" / "ca.pem").exists(), "there is no certificate")
    return victim.https_port


def over_tls(victim, port):
    with secured(victim, port) as wire:
        wire.sendall(HEALTH)
        return read_all(wire)


def secured(victim, port):
    """Return a connection to the HTTPS port after its handshake."""
    plain = socket.create_connection(("127.0.0.1", port), timeout=20)
    return victim.tls().wrap_socket(plain, server_hostname="localhost")


def test_plain_http_at_the_https_port_is_told_so(victim, https):
    """A refusal in plain HTTP, one only."""
    with victim.connect(port=https) as wire:
        wire.sendall(HEALTH)
        told = read_all(wire)

    assert told.startswith(b"HTTP/1.1 4")
    assert told.count(b"HTTP/1.1 ") == 1
    assert over_tls(victim, https).startswith(b"HTTP/1.1 200 ")


def test_a_tls_greeting_at_the_http_port_is_refused(victim):
    """The client's library sees that this is no TLS, at once."""
    with victim.connect() as plain, pytest.raises(ssl.SSLError):
        ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")

    assert victim.is_well()


def greetings():
    chance = random.Random(20261122)
    hello = bytes.fromhex("160301005a01000056") + b"\x03\x03" + bytes(32) + b"\x00\x00\x02\x13\x01\x01\x00"
    return [
        b"\0" * 100, b"\x16", b"\x16\x03\x01\x00\x00", b"\x16\x03\x01\xff\xff" + b"a" * 70_000, hello,
        hello + b"\xff" * 100, b"\x16\x03\x01\x00\x01\x01" * 3_000, b"\x80\x2e\x01\x00\x02", b"SSH-2.0-OpenSSH\r\n",
        b"\x15\x03\x01\x00\x02\x02\x28",
        chance.randbytes(1_000), b"\x16\x03\x01" + chance.randbytes(1_000), b"\r\n" * 1_000,
    ]  # fmt: skip


def test_garbage_at_the_https_port_harms_nobody(victim, https):
    """Refused or let go; others are served over TLS meanwhile and afterwards, and nothing stays open."""
    over_tls(victim, https)
    files = victim.descriptors
    with contextlib.ExitStack() as stack:
        for greeting in greetings() * 3:
            wire = stack.enter_context(victim.connect(port=https))
            with contextlib.suppress(ConnectionError):
                wire.sendall(greeting)

        assert over_tls(victim, https).startswith(b"HTTP/1.1 200 ")

    victim.until(lambda: victim.descriptors <= files + 5, "connections stay open after garbage")


def test_half_a_greeting_costs_nothing_while_nothing_more_comes(victim, https):
    """Hundreds of clients that stop in the middle of their greeting do not keep the emulator busy."""
    over_tls(victim, https)
    with contextlib.ExitStack() as stack:
        for _ in range(400):
            stack.enter_context(victim.connect(port=https)).sendall(bytes.fromhex("160301005a01000056"))
        assert victim.is_well()
        before, end = victim.cpu_s, time.monotonic() + 1.5
        victim.until(lambda: time.monotonic() > end, "the clock stands still")

        assert victim.cpu_s - before < 0.75


def test_garbage_within_tls_is_refused_like_garbage_without(victim, https):
    """What comes through the handshake meets the same reader."""
    with secured(victim, https) as wire, wire.makefile("rb") as stream:
        wire.sendall(b"\xff\x00" + os.urandom(10) + b"\r\n\r\n")
        status, fields, _ = read_answer(stream)

    assert (status, fields["connection"]) == (400, "close")


def test_a_break_in_the_middle_of_a_handshake_is_forgotten(victim, https):
    """Clients that do not trust the certificate end the handshake; that is no failure of the emulator."""
    over_tls(victim, https)
    files, failures = victim.descriptors, victim.tracebacks()

    for _ in range(20):
        with victim.connect(port=https) as plain, pytest.raises(ssl.SSLError):
            ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")

    victim.until(lambda: victim.descriptors <= files + 5, "connections stay open after a handshake that failed")
    assert victim.tracebacks() == failures
