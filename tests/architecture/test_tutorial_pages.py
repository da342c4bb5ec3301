"""The pages of the tutorials agree with the applications."""

import re
from pathlib import Path

import pytest

from emulator.cli.commands.graph import picture
from emulator.cli.tutorials import TUTORIALS

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "tutorials"
NAMES = [tutorial.name for tutorial in TUTORIALS]


def test_every_tutorial_has_a_page():
    """No page is missing, and none describes what is not there."""
    assert {path.stem for path in PAGES.glob("*.md")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_picture_is_that_of_the_flow(name):
    """`localyun flow graph --format mermaid` draws what the page shows."""
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    flow = (ROOT / "sample-apps" / name / "flow.yml").read_text(encoding="utf-8")

    shown = re.search(r"```mermaid\n(.*?)```", page, re.DOTALL).group(1)

    assert shown.strip() == picture(flow, name, None, "mermaid").strip()


@pytest.mark.parametrize("name", NAMES)
def test_page_leads_to_its_application(name):
    """The command runs this tutorial, and the link leads to its folder."""
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")

    assert f"\n    localyun tutorial run {name}\n" in page
    assert f"(../../sample-apps/{name}/README.md)" in page
