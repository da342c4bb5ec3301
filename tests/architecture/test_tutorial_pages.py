"""The pages of the tutorials agree with the applications."""

import re
from pathlib import Path

import pytest

from emulator.cli.output import DOMAIN, FOLDER
from emulator.drawing.text_width import cells
from emulator.samples import TUTORIALS
from tests.catalogue import SAMPLES, read

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "tutorials"
NAMES = [tutorial.name for tutorial in TUTORIALS]


def test_every_tutorial_has_a_page():
    """No page is missing, and none describes what is not there."""
    assert {path.stem for path in PAGES.glob("*.md")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_flow_is_that_of_the_application(name):
    """The file, folded below its picture, which test_docs compares."""
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    flow = (ROOT / "sample-apps" / name / "flow.yml").read_text(encoding="utf-8")

    assert f"<code>flow.yml</code></summary>\n\n```yaml\n{flow}```\n\n</details>" in page


LANGUAGES = {"en": PAGES, "zh_CN": ROOT / "docs" / "zh-CN" / "tutorials"}
STEP = re.compile(r" +\+[\d.]+s +[\d.ms]* +\S+")
"""A line about a step: when, how long, its name."""


def written_by(texts):
    """Return a pattern of what a program prints that has these texts."""
    patterns = (re.escape(text) for text in sorted(texts, key=len, reverse=True))
    return re.compile("|".join(re.sub(r"\\{.*?\\}", ".*", each) for each in patterns))


def texts(language):
    """Return what the commands and the samples print in a language."""
    pairs = [
        *read(Path(FOLDER) / "zh_CN" / "LC_MESSAGES" / f"{DOMAIN}.po").items(),
        *read(SAMPLES / "locale" / "zh_CN" / "LC_MESSAGES" / "samples.po").items(),
    ]
    found = {pair[language != "en"] for pair in pairs}
    return {text for text in found if len(re.sub(r"\{.*?\}|\W", "", text)) > 1}  # others would be true of any line


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_output_is_what_a_terminal_of_this_language_shows(name, language):
    """Each line fits 80 columns, and is one of the program's or about a step; folded lines are joined."""
    page = (LANGUAGES[language] / f"{name}.md").read_text(encoding="utf-8")
    shown = re.search(r"```console\n(.*?)```", page, re.DOTALL).group(1)
    known = written_by(texts(language))

    assert [line for line in shown.splitlines() if cells(line) > 80] == []
    lines = re.sub(r"\n  (?=\S)", " ", shown).splitlines()
    strange = [line for line in lines if line.strip() and not STEP.match(line) and not line.startswith("  ")]
    strange = [line for line in strange if not known.match(line) and not re.match("Function|Flow|Schedule", line)]
    assert strange == []


@pytest.mark.parametrize("name", NAMES)
def test_page_leads_to_its_application(name):
    """The command runs this tutorial, and the link leads to its folder."""
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")

    assert f"\n    localyun tutorial run {name}\n" in page
    assert f"(../../sample-apps/{name}/README.md)" in page
