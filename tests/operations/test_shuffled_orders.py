"""Operations of all services and of the admin API that arrive together: no order gives what no sequence would give.

``LOCALYUN_ORDERS=SEED:COUNT`` draws COUNT groups on each theme by another seed.
"""

import os
import random

import pytest

from emulator.lab.clock import TimeControl
from emulator.lab.errors import LabError
from tests.operations.calling import running
from tests.operations.orders import Orders, groups
from tests.operations.themes import THEMES, WIDER, furnish

SEED, COUNT = (int(part) for part in os.environ.get("LOCALYUN_ORDERS", "20261123:2").split(":"))
SIZE = 3
SHUFFLES = 4


@pytest.mark.parametrize("theme", list(THEMES))
async def test_every_outcome_is_that_of_some_sequence(tmp_path, theme):
    """Answers, what is left, and what must hold of it; whatever the operations wait for within."""
    assert await wrong(tmp_path, [theme], COUNT) == ""


async def test_every_outcome_on_wider_themes_is_that_of_some_sequence(tmp_path):
    """The same of more kinds of operations, of which fewer groups are drawn."""
    assert await wrong(tmp_path, list(WIDER), max(1, COUNT // 2)) == ""


async def wrong(folder, themes, count):
    """Return what came of *count* groups on each theme that should not have."""
    complaints = []
    async with running(folder) as site:
        orders = Orders(site, await furnish(site))
        for theme in themes:
            chance = random.Random(f"{SEED}/{theme}")
            for group in groups(theme, SEED, count, SIZE):
                complaints += await orders.wrong(group, SHUFFLES, chance)
                site.trouble.texts.clear()
        assert orders.runs > count * SHUFFLES * len(themes)
    return "\n\n".join(complaints)


async def test_an_answer_that_no_sequence_gives_is_found(tmp_path, monkeypatch):
    """A call that is refused only because another one is under way."""
    real, under_way = TimeControl.skip, []

    async def skip(self, *arguments, **named):
        if under_way:
            raise LabError("InvalidClock", "another one is under way")
        under_way.append(1)
        try:
            return await real(self, *arguments, **named)
        finally:
            under_way.pop()

    monkeypatch.setattr(TimeControl, "skip", skip)
    a_skip = THEMES["the clock"][0]
    async with running(tmp_path) as site:
        complaints = await Orders(site, await furnish(site)).wrong([a_skip, a_skip], 8, random.Random(1))

    assert complaints
    assert "400 InvalidClock" in complaints[0]
