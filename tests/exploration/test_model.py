"""Exploration without a bound finds exactly the outcomes that a model of the application has."""

import os

import pytest

from emulator.lab.exploration import Search
from tests.exploration.conftest import PATIENCE
from tests.exploration.small import Small

APPLICATIONS = int(os.environ.get("LOCALYUN_EXPLORATION_APPLICATIONS", "4"))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(APPLICATIONS))
def test_exploration_finds_the_outcomes_of_the_model(bare, seed):
    """Neither one less nor one more, and then nothing is left to try."""
    application = Small(seed)
    application.prepare(bare)
    base = bare.checkpoint("base")
    search = Search(deviations=None, most=2000)
    found = set()

    for schedule in search:
        base.restore()
        bare.api.admin("POST", "schedule", {"patience": PATIENCE, "order": ["push", "call", "reply"], **schedule})
        found.add(application.run(bare))
        search.learn(bare.api.admin("GET", "schedule"))

    assert found == application.outcomes()
    assert search.is_complete
    print(f"{len(found)} outcomes, {search.tried} runs")
