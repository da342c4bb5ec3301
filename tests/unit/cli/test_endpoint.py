"""Finding the emulator: the variable, the state folder, the configured port."""

import os
import stat

import pytest

from emulator.cli import endpoint
from emulator.cli.output import WrongUsage
from emulator.config import Config


def test_variable_wins_over_the_state_folder(tmp_path):
    """LOCALYUN_ENDPOINT names the emulator, whatever ran here."""
    endpoint.write(tmp_path, "http://127.0.0.1:1", None)

    found = endpoint.find(Config(state=tmp_path), {"LOCALYUN_ENDPOINT": "http://localhost:2/"})

    assert (found.http, found.pid, found.source) == ("http://localhost:2", None, "LOCALYUN_ENDPOINT")


def test_state_folder_tells_address_and_process(tmp_path):
    """What start wrote is what clients read."""
    endpoint.write(tmp_path, "http://127.0.0.1:1", "https://127.0.0.1:2")

    found = endpoint.find(Config(state=tmp_path), {})

    assert (found.http, found.https, found.pid) == ("http://127.0.0.1:1", "https://127.0.0.1:2", os.getpid())
    assert stat.S_IMODE((tmp_path / "endpoint.json").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("host", "address"),
    [
        (None, "http://127.0.0.1:7"),
        (("0.0.0.0",), "http://127.0.0.1:7"),
        (("::",), "http://127.0.0.1:7"),
        (("::1",), "http://[::1]:7"),
        (("192.0.2.1", "127.0.0.1"), "http://192.0.2.1:7"),
    ],
)
def test_configured_port_is_the_last_resort(tmp_path, host, address):
    """Without any trace of an emulator the configured address is tried."""
    assert endpoint.find(Config(state=tmp_path, host=host, port=7), {}).http == address


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"pid": "x", "http": "h"}', '{"pid": 1}'])
def test_unreadable_file_counts_as_absent(tmp_path, content):
    """A half-written or foreign file does not break client commands."""
    (tmp_path / "endpoint.json").write_text(content)

    assert endpoint.read(tmp_path) is None


@pytest.mark.parametrize("value", ["localhost:8868", "https://localhost:8869", "http://", "ftp://x"])
def test_variable_must_be_an_http_address(tmp_path, value):
    """Anything else is wrong usage that names the variable."""
    with pytest.raises(WrongUsage, match="LOCALYUN_ENDPOINT must be an address"):
        endpoint.find(Config(state=tmp_path), {"LOCALYUN_ENDPOINT": value})


def test_only_the_own_file_is_removed(tmp_path):
    """An emulator that ends leaves the file of the one that replaced it."""
    endpoint.write(tmp_path, "http://127.0.0.1:1", None)
    endpoint.remove(tmp_path)
    assert not (tmp_path / "endpoint.json").exists()

    (tmp_path / "endpoint.json").write_text('{"pid": 1, "http": "http://127.0.0.1:1", "https": null}')
    endpoint.remove(tmp_path)
    assert (tmp_path / "endpoint.json").exists()
