"""Forms of endpoints, and where pushes may go."""

import pytest

from emulator.services.mns.errors import MnsError
from emulator.services.mns.topics.model import (
    FunctionEndpoint,
    HttpEndpoint,
    OutboxEndpoint,
    QueueEndpoint,
    read_endpoint,
)
from emulator.services.mns.topics.push import PushPolicy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://h", HttpEndpoint("http://h/notifications")),
        ("HTTPS://h:8443", HttpEndpoint("https://h:8443/notifications")),
        ("http://h?a=b", HttpEndpoint("http://h/notifications?a=b")),
        ("http://h/", HttpEndpoint("http://h/")),
        ("http://[::1]:80/a/b?c=d", HttpEndpoint("http://[::1]:80/a/b?c=d")),
        ("acs:mns:cn-hangzhou:123:queues/q-1", QueueEndpoint("q-1")),
        ("acs:mns:0:localhost:queues/q", QueueEndpoint("q")),
        ("acs:mns:cn-hangzhou:123:/queues/q", QueueEndpoint("q")),
        ("mail:directmail:a.b@example.com", OutboxEndpoint("mail", "a.b@example.com")),
        ("smq-ep:dm:1:__dynamic", OutboxEndpoint("mail", "__dynamic")),
        ("sms:directsms:anonymous", OutboxEndpoint("sms", "anonymous")),
        ("sms:directsms:13800000000", OutboxEndpoint("sms", "13800000000")),
        ("sms:dayu:13800000000", OutboxEndpoint("sms", "13800000000")),
        ("smq-ep:dysms:1:13800000000", OutboxEndpoint("sms", "13800000000")),
        ("push:AppKey1", OutboxEndpoint("push", "AppKey1")),
        ("acs:eventbridge:cn-x:1:eventbus/b", OutboxEndpoint("event", "b")),
        (
            "acs:fc:cn-hangzhou:1:services/s.LATEST/functions/f",
            FunctionEndpoint("acs:fc:cn-hangzhou:1:services/s.LATEST/functions/f"),
        ),
        ("acs:fc:cn-hangzhou:1:functions/f", FunctionEndpoint("acs:fc:cn-hangzhou:1:functions/f")),
    ],
)
def test_every_form_is_read(text, expected):
    """What it names is all that counts."""
    assert read_endpoint(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "ftp://h/", "http://", "http://user@h/", "http://h:99999/", "http://h/a b", "http://h/\n",
        "mailto:a@b.c", "acs:mns:cn:1:topics/t", "acs:mns:cn:1:queues/", "acs:mns:cn:1:queues/a_b",
        "mail:directmail:nobody",
        "sms:directsms:abc", "push:", "acs:fc:cn:1:services/s", "http://h/" + "a" * 3000,
    ],
)  # fmt: skip
def test_anything_else_is_refused(text):
    """EndpointInvalid."""
    with pytest.raises(MnsError, match=r"^EndpointInvalid:"):
        read_endpoint(text)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1"])
def test_this_machine_is_always_allowed(address):
    """The purpose of the whole."""
    assert PushPolicy().permits(address)


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "192.168.1.1", "8.8.8.8", "0.0.0.0", "::", "fd00::1", "169.254.169.254"]
)
def test_other_machines_are_not_allowed_by_default(address):
    """A subscription must not make the emulator call around."""
    assert not PushPolicy().permits(address)


def test_addresses_networks_and_names_can_be_allowed():
    """Each for itself."""
    policy = PushPolicy(["10.0.0.0/8", "192.168.1.5", "receiver", "*.example.test"])

    assert policy.permits("10.1.2.3")
    assert policy.permits("192.168.1.5")
    assert not policy.permits("192.168.1.6")
    assert policy.names("receiver")
    assert policy.names("a.b.example.test")
    assert not policy.names("example.test")
    assert policy.permits_named("172.17.0.2")


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1", "100.100.100.200", "224.0.0.1", "0.0.0.0"])
def test_addresses_that_keep_credentials_are_never_allowed(address):
    """Not even when everything is."""
    policy = PushPolicy(["*"])

    assert policy.permits("8.8.8.8")
    assert not policy.permits(address)
    assert not policy.permits_named(address)
