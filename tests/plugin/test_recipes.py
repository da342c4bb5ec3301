"""Each recipe of docs/testing.md and docs/usage.md is a test that runs, as written."""

import re
from pathlib import Path

import pytest

from tests.once import once
from tests.own_pytest import run_pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
USAGE = (ROOT / "docs" / "usage.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?<!not a recipe -->\n)```python\n(.*?)```", PAGE + USAGE, re.DOTALL)
TESTS = [name for block in BLOCKS for name in re.findall(r"^ *def (test_\w+)", block, re.MULTILINE)]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """What the recipes' own pytest prints, run once on all of them."""
    return once(tmp_path_factory, "recipes", lambda: run_recipes(tmp_path_factory.mktemp("recipes")))


def run_recipes(folder):
    for number, block in enumerate(BLOCKS):
        (folder / f"test_recipe{number}.py").write_text(block, encoding="utf-8")
    (folder / "s.yaml").write_text(re.search(r"```yaml\n# s.yaml\n(.*?)```", PAGE, re.DOTALL)[1], encoding="utf-8")
    done = run_pytest(folder, "-v")
    return done.stdout + done.stderr


def test_page_has_the_recipes():
    """From a consumer, one's own program and the bodies of messages to usage and what faults do."""
    assert len(TESTS) == 16


@pytest.mark.parametrize("name", TESTS)
def test_recipe_runs(outcome, name):
    """It passes in a folder of its own, with nothing but the page's text."""
    assert re.search(rf"::{name} PASSED", outcome), outcome
