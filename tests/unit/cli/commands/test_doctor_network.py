"""What doctor finds of ports, names, proxies and certificates; no name is looked up in earnest."""

import socket
from threading import Event

import pytest

from emulator.cli.commands import doctor
from emulator.cli.endpoint import Endpoint, Running
from emulator.config import Config
from emulator.http import minting
from emulator.kernel.clock import SystemClock


def resolver(**addresses):
    return lambda host: addresses.get(host.replace(".", "_").replace("-", "_"), ())


@pytest.fixture
def taken():
    """A port on which something listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_taken_port_is_wrong_and_its_owner_named(taken):
    """Another emulator's port is told with its folder, any other program's without."""
    owner = Running(
        http=f"http://127.0.0.1:{taken}",
        https="",
        pid=7,
        state="/elsewhere",
        account="1",
        installation="x",
        version="0",
    )
    config = Config(port=taken, https_port=0)

    (unknown,) = doctor.ports(config, None, [])
    (known,) = doctor.ports(config, None, [owner])

    assert unknown.verdict == known.verdict == "wrong"
    assert "/elsewhere" in known.found
    assert "--port auto" in unknown.remedy


def test_port_of_the_own_emulator_is_ok(taken):
    """The emulator of this folder answers."""
    served = Endpoint(http=f"http://127.0.0.1:{taken}", source="test")

    assert [each.verdict for each in doctor.ports(Config(port=taken), served, [])] == ["ok"]


def test_names_that_lead_to_the_cloud_are_noted():
    """Programs that name no address would call the cloud."""
    resolve = resolver(localhost=["127.0.0.1", "::1"], sts_aliyuncs_com=["203.0.113.7"])

    (found,) = doctor.names("1", "cn-hangzhou", resolve)

    assert found.verdict == "note"
    assert "sts.aliyuncs.com" in found.found


def test_names_in_the_hosts_file_are_ok():
    """They lead to this machine."""
    resolve = resolver(localhost=["127.0.0.1"], sts_aliyuncs_com=["127.0.0.1"])

    assert [each.verdict for each in doctor.names("1", "cn-hangzhou", resolve)] == ["ok"]


@pytest.mark.parametrize("addresses", [[], ["203.0.113.7"]], ids=["none", "foreign"])
def test_localhost_that_is_not_this_machine_is_wrong(addresses):
    """Clients that call localhost would not find the emulator."""
    found = list(doctor.names("1", "cn-hangzhou", resolver(localhost=addresses)))

    assert found[0].verdict == "wrong"


def test_slow_resolver_is_not_waited_for():
    """Without a network a resolver may take half a minute."""
    never = Event()

    found = list(doctor.names("1", "r", lambda host: never.wait(20) or (), limit_s=0.05))
    never.set()

    assert found[0].verdict == "wrong"


@pytest.mark.parametrize(
    ("environ", "own", "expected"),
    [
        ({}, None, "ok"),
        ({"HTTPS_PROXY": "http://proxy:3128"}, None, "wrong"),
        ({"https_proxy": "http://proxy:3128", "no_proxy": "localhost, 127.0.0.1"}, None, "note"),
        ({"HTTP_PROXY": "http://u:p@127.0.0.1:8868"}, "http://u:p@127.0.0.1:8868", "ok"),
    ],
    ids=["none", "in the way", "kept away", "the emulator's"],
)
def test_proxies_in_the_way(environ, own, expected):
    """A proxy is wrong unless calls to this machine pass it by."""
    assert [each.verdict for each in doctor.proxies(environ, own)] == [expected]


def state_with_authority(folder, now_ms):
    """Return a state folder with an authority as the server makes it."""
    minting.main([str(folder / "ca"), str(now_ms), str(now_ms)])
    return folder


def test_programs_that_trust_the_emulator_are_named(tmp_path):
    """A variable whose bundle holds the authority, and one with another bundle."""
    now = SystemClock().now()
    state = state_with_authority(tmp_path, now)
    (tmp_path / "other.pem").write_text("nobody")
    environ = {"CURL_CA_BUNDLE": str(state / "ca" / "ca.pem"), "SSL_CERT_FILE": str(tmp_path / "other.pem")}

    (found,) = doctor.certificates(state, now / 1000, environ)

    trusted, _, strangers = found.found.partition(";")
    assert found.verdict == "note"
    assert "curl" in trusted
    assert "OpenSSL" in strangers


def test_programs_are_named_when_none_trusts_the_emulator(tmp_path):
    """The sentence has no gap where the others would stand."""
    now = SystemClock().now()
    state = state_with_authority(tmp_path, now)

    (found,) = doctor.certificates(state, now / 1000, {})

    assert found.found.startswith("programs of this shell do not trust the emulator's certificates: Python (ssl)")


def test_all_programs_may_trust_the_emulator(tmp_path):
    """As under `localyun exec`."""
    now = SystemClock().now()
    state = state_with_authority(tmp_path, now)
    environ = dict.fromkeys(doctor.READERS, str(state / "ca" / "ca.pem"))

    assert [each.verdict for each in doctor.certificates(state, now / 1000, environ)] == ["ok"]


def test_variable_that_names_no_file_is_wrong(tmp_path):
    """Every https call of such a program fails."""
    now = SystemClock().now()
    state = state_with_authority(tmp_path, now)

    found = list(doctor.certificates(state, now / 1000, {"CURL_CA_BUNDLE": str(tmp_path / "nowhere")}))

    assert found[0].verdict == "wrong"
    assert found[0].remedy == "unset CURL_CA_BUNDLE"


def test_authority_that_has_ended_is_wrong(tmp_path):
    """A folder that was not used for years."""
    now = SystemClock().now()
    state = state_with_authority(tmp_path, now)

    (found,) = doctor.certificates(state, now / 1000 + 3 * 365 * 86400, {})

    assert found.verdict == "wrong"


def test_no_authority_yet_is_ok(tmp_path):
    """It is made when it is needed."""
    assert [each.verdict for each in doctor.certificates(tmp_path, 0, {})] == ["ok"]
