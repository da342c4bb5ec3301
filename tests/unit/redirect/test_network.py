"""Names and connections of a command's own network."""

import struct
import sys
from ipaddress import IPv4Address

import pytest

if sys.platform == "win32":
    pytest.skip("there are no namespaces", allow_module_level=True)

from emulator.redirect.network import Relay

EMULATOR = {80: 8868, 443: 8869}


def query(name, kind=1):
    """A query as resolvers send it."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)


def test_each_name_has_an_address_of_its_own():
    """The same one each time, whatever its letters' case."""
    relay = Relay(EMULATOR)

    first, second = relay.address_of("mns.cn-hangzhou.aliyuncs.com"), relay.address_of("www.example.org")

    assert first != second
    assert relay.address_of("MNS.cn-hangzhou.aliyuncs.com.") == first
    assert {first, second} <= {IPv4Address("127.128.0.1"), IPv4Address("127.128.0.2")}
    assert str(relay.address_of("localhost")) == "127.0.0.1"


def test_answers_hold_an_address_for_a_and_nothing_for_others():
    """So that clients do not try IPv6."""
    relay = Relay(EMULATOR)

    found, none = relay.answer(query("a.aliyuncs.com")), relay.answer(query("a.aliyuncs.com", kind=28))

    assert found[:2] == none[:2] == b"\0\7"
    assert found.endswith(relay.address_of("a.aliyuncs.com").packed)
    assert struct.unpack_from("!HH", found, 4) == (1, 1)
    assert struct.unpack_from("!HH", none, 4) == (1, 0)


@pytest.mark.parametrize(
    ("name", "port", "target"),
    [
        ("1.cn-hangzhou.fc.aliyuncs.com", 443, ("127.0.0.1", 8869)),
        ("1.cn-hangzhou.fc.aliyuncs.com", 80, ("127.0.0.1", 8868)),
        ("x.fcapp.run", 443, ("127.0.0.1", 8869)),
        ("localhost", 8868, ("127.0.0.1", 8868)),
        ("localhost", 5432, None),
        ("www.example.org", 443, ("www.example.org", 443)),
        ("www.example.org", 8869, None),
        ("notaliyuncs.com", 443, ("notaliyuncs.com", 443)),
    ],
)
def test_connections_lead_to_the_emulator_or_to_the_host_that_was_asked_for(name, port, target):
    """By the address that the name got."""
    relay = Relay(EMULATOR)

    assert relay.target_of(str(relay.address_of(name)), port) == target


@pytest.mark.parametrize("query", [b"", b"short", b"\0" * 12 + b"\x3fabc"])
def test_what_is_no_query_is_told_apart(query):
    """It gets no answer."""
    with pytest.raises((ValueError, IndexError, struct.error)):
        Relay(EMULATOR).answer(query)
