"""Each recipe of docs/exploring.md is a test that runs, as written; those that find something fail as they say."""

import re
from pathlib import Path

import pytest

from tests.once import once
from tests.own_pytest import run_pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "exploring.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "docs" / "zh-CN" / "exploring.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
TESTS = re.findall(r"(xfail\(.*\)\n(?:@.*\n)*)?(?:@pytest.mark.localyun_explore.*\n)?def (test_\w+)", PAGE)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """What the recipes' own pytest prints, run once on all of them."""
    return once(tmp_path_factory, "exploring", lambda: run_recipes(tmp_path_factory.mktemp("recipes")))


def run_recipes(folder):
    for number, block in enumerate(BLOCK.findall(PAGE)):
        (folder / f"test_recipe{number}.py").write_text(block, encoding="utf-8")
    done = run_pytest(folder, "-v", "-n", "0")
    return done.stdout + done.stderr


def test_the_page_prints_what_the_recipes_report(outcome, tmp_path):
    """Of a test that finds something with `--runxfail`, of one that passes as it is."""
    (tmp_path / "test_page.py").write_text(BLOCK.search(PAGE)[1], encoding="utf-8")
    found = run_pytest(tmp_path, "-n", "0", "--runxfail").stdout
    report, summary = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)

    assert [line for line in report.splitlines() if line.rstrip() not in found] == []
    assert summary in outcome


def test_both_pages_have_the_recipes():
    """A page, and seven recipes; the Chinese page has the same code."""
    assert len(BLOCK.findall(PAGE)) == 8
    assert BLOCK.findall(CHINESE) == BLOCK.findall(PAGE)


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("finds", "name"), TESTS, ids=[name for _, name in TESTS])
def test_recipe_runs(outcome, finds, name):
    """It passes, or finds what it says, with nothing but the page's text."""
    assert re.search(rf"::{name} {'XFAIL' if finds else 'PASSED'}", outcome), outcome
