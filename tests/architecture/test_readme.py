"""The English and the Chinese README say the same."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")


def commands(text):
    """Return the indented command lines without their comments."""
    return [line.partition("#")[0].strip() for line in re.findall(r"^    (\S.*)$", outside_code(text), re.MULTILINE)]


def outside_code(text):
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def links(text):
    """Return the pages a text links, a Chinese one as the English page it has the name of."""
    other = {"README.md", "README.zh-CN.md"}
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", text) if target not in other]
    return [target.replace("docs/zh-CN/", "docs/") for target in targets]


def test_sections_come_in_the_same_order():
    """Each heading has its counterpart at the same level."""
    levels = [[len(mark) for mark in re.findall(r"^(#+) ", text, re.MULTILINE)] for text in (ENGLISH, CHINESE)]

    assert levels[0] == levels[1]


def test_commands_are_the_same():
    """What is to be typed does not depend on the language."""
    assert commands(ENGLISH) == commands(CHINESE)
    assert "localyun start -d" in commands(ENGLISH)


def test_programs_are_the_same():
    """The examples are the same to the letter."""
    blocks = [re.findall(r"```\w+\n.*?```", text, re.DOTALL) for text in (ENGLISH, CHINESE)]

    assert blocks[0] == blocks[1]


def test_links_lead_to_the_same_pages():
    """Every page is linked from both, in the same order."""
    assert links(ENGLISH) == links(CHINESE)


def test_every_page_is_led_to():
    """No page of docs/ is out of reach of the README or of the site's first page, directly or from a page they link."""
    seen, waiting = set(), [ROOT / "README.md", ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        text = page.read_text(encoding="utf-8")
        waiting += [page.parent / target for target in re.findall(r"\]\((?!https?:)([^)#]+)", text)]

    assert {path.resolve() for path in (ROOT / "docs").rglob("*.md")} <= seen


def test_readme_stays_short():
    """It leads to the documentation and is not the documentation."""
    assert len(ENGLISH.splitlines()) < 100
