"""Sites that take over from one another, and destinations that remember what came."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator.services.fc.ports import DestinationRefused
from emulator.storage.database import Database


class Receivers:
    """Queues and topics that remember what came, and refuse what they do not know."""

    def __init__(self, *known: str) -> None:
        self.known = known
        self.got: list[tuple[str, str, str]] = []

    def send(self, world, queue, body, *, key):
        self._take(f"queue {queue}", body, key)

    def publish(self, world, topic, body, *, key):
        self._take(f"topic {topic}", body, key)

    def _take(self, name, body, key):
        if name not in self.known:
            raise DestinationRefused(f"{name} does not exist")
        self.got.append((name, body, key))


@pytest.fixture
def receivers() -> type[Receivers]:
    """The class of destinations."""
    return Receivers


@pytest.fixture
def sites(site_of, tmp_path: Path) -> Iterator[Callable[[], object]]:
    """Opens sites one after the other on the same state file, each an emulator after a restart of the last."""
    opened = []

    def again():
        if opened:
            opened[-1].database.close()
        site = site_of(tmp_path, Database(tmp_path / "state.db"))
        if opened:
            site.clock.move_to(opened[-1].clock.now())
            site.ids._last = opened[-1].ids._last
        opened.append(site)
        return site

    yield again
    if opened:
        opened[-1].database.close()
