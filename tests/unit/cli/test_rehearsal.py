"""The emulator in which a plan is rehearsed."""

from types import SimpleNamespace

from emulator.cli import connection, rehearsal
from emulator.kernel.clock import SystemClock
from emulator.keyfile import InstallationKeys
from emulator.wire.dates import iso_seconds

KEYS = InstallationKeys(
    access_key_id="id", access_key_secret="secret", account_id="1", region="cn-hangzhou", admin_token="token"
)


def test_calls_of_a_rehearsal_share_a_connection(monkeypatch):
    """A plan makes several for each resource."""
    opened = []

    def connected(*where):
        opened.append(where)
        return open_connection(*where)

    open_connection = connection._connected
    monkeypatch.setattr(connection, "_connected", connected)
    there = SimpleNamespace(keys=KEYS, admin=lambda method, page: {"now": iso_seconds(SystemClock().now())})

    with rehearsal.stage_like(there) as stage:
        for _ in range(3):
            stage.client.health()

    assert len(opened) == 1
