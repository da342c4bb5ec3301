"""Sites that take over from one another."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator.storage.database import Database


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
