"""The pages in Chinese say the same as those in English, as far as a program can see."""

import os
import re
from pathlib import Path

import pytest

from emulator.samples import TUTORIALS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CHINESE = DOCS / "zh-CN"

ENGLISH_ONLY = {
    "admin-api.md": "generated from the docstrings of the operations",
    "architecture.md": "for those who change localyun",
    "benchmarks.md": "figures of benchmark runs, written by a program",
    "conformance.md": "generated from test runs",
    "fuzzing.md": "for those who change localyun",
    "licences.md": "generated from the packages' metadata",
    "style.md": "for those who change localyun",
}

PAGES = sorted(path.relative_to(CHINESE).as_posix() for path in CHINESE.rglob("*.md"))
each_page = pytest.mark.parametrize("name", PAGES)


def both(name):
    """Return a page in English and in Chinese."""
    return [(folder / name).read_text(encoding="utf-8") for folder in (DOCS, CHINESE)]


FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^ {4,}(\S.*)$", re.MULTILINE)


def outside_blocks(text):
    """Return the text without fenced and indented blocks."""
    return INDENTED.sub("", FENCED.sub("", text))


def blocks(text):
    """Return the lines of fenced and of indented blocks, without comments and without what a terminal shows."""
    return [
        without_comment(line)
        for block in [*FENCED.findall(text), *INDENTED.findall(FENCED.sub("", text))]
        if not block.startswith("```console")
        for line in block.splitlines()
    ]


def without_comment(line):
    return re.sub(r"(^|\s+)#\s.*$", "", line).rstrip()


def spans(text):
    """Return what stands in back quotes: names, options, commands and messages."""
    return set(re.findall(r"`([^`]+)`", re.sub(r"\s*\n\s*", " ", outside_blocks(text))))


def links(page):
    """Return the files and addresses a page links; a Chinese page counts as the English one of its name."""
    found = []
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", outside_blocks(page.read_text(encoding="utf-8"))):
        path = target if "://" in target else (page.parent / target).resolve()
        if isinstance(path, Path) and path.is_relative_to(CHINESE):
            path = DOCS / path.relative_to(CHINESE)
        if path != DOCS / page.relative_to(CHINESE if page.is_relative_to(CHINESE) else DOCS):
            found.append(str(path))
    return sorted(set(found))


def test_every_page_is_in_both_languages_or_has_a_reason():
    """A page that a user needs is in Chinese; a reason that no longer holds is removed."""
    english = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if not path.is_relative_to(CHINESE)}

    assert english - set(PAGES) == set(ENGLISH_ONLY)
    assert set(PAGES) <= english


@each_page
def test_each_page_leads_to_the_other(name):
    """The third line is the way to the other language."""
    english, chinese = both(name)
    there = os.path.relpath(CHINESE / name, (DOCS / name).parent)
    back = os.path.relpath(DOCS / name, (CHINESE / name).parent)

    assert english.splitlines()[2] == f"[中文]({there})"
    assert chinese.splitlines()[2] == f"[English]({back})"


@each_page
def test_sections_come_in_the_same_order(name):
    """Each heading has its counterpart at the same level, and each table has as many rows."""
    shapes = [
        [mark.strip() if mark.startswith("#") else "|" for mark in re.findall(r"^(#+ |\|)", outside_blocks(text), re.M)]
        for text in both(name)
    ]

    assert shapes[0] == shapes[1]


@each_page
def test_what_is_typed_is_the_same(name):
    """Commands and files are the same, comments aside."""
    english, chinese = both(name)

    assert blocks(english) == blocks(chinese)


@each_page
def test_names_options_and_messages_are_the_same(name):
    """What stands in back quotes does not depend on the language."""
    english, chinese = both(name)

    assert spans(english) ^ spans(chinese) == set()


@each_page
def test_numbers_of_tables_are_the_same(name):
    """A limit or a default that changes, changes on both pages."""
    rows = [
        [
            re.findall(r"\d+(?:[,.]\d+)*", re.sub(r"`[^`]*`|\]\(.*?\)", "", row))
            for row in re.findall(r"^\|.*$", text, re.M)
        ]
        for text in both(name)
    ]

    assert [sorted(row) for row in rows[0]] == [sorted(row) for row in rows[1]]


@each_page
def test_links_are_the_same(name):
    """Each page leads to where the other one does."""
    assert links(DOCS / name) == links(CHINESE / name)


MARKS = "、。《》“”！（），：；？"
STYLE = {
    "a space after a mark": rf"(?<=[{MARKS}]) +(?=\S)",
    "a space before a mark": rf"(?<=\S) +(?=[{MARKS}])",
    "a mark of another language": r"(?<=[\u4e00-\u9fff])[,;:!?](?=\s|$|[\u4e00-\u9fff])",
    "brackets of another language": r"\([^()]*[\u4e00-\u9fff][^()]*\)|(?<=[\u4e00-\u9fff])\((?=\w)",
    "a list of another language": r"(?<=\w), (?=\w)",
    "no space beside Latin": r"[\u4e00-\u9fff]\[?[A-Za-z]|[A-Za-z]\]?[\u4e00-\u9fff]",
    "the familiar form": "[你妳]",
}
"""What a text in Chinese does not have."""


def faults(line):
    """Return what is wrong with the style of a line; the targets of links do not count."""
    line = re.sub(r"^\s*(?:[-*]|\d+\.|#+) +", "", re.sub(r"\]\([^)]*\)", "]", line))
    cells = [cell.strip() for cell in line.split("|")] if line.lstrip().startswith("|") else [line]
    return [
        f"{fault}: {cell}"
        for cell in cells
        if re.search(r"[\u4e00-\u9fff]", cell)
        for fault, pattern in STYLE.items()
        if re.search(pattern, cell)
    ]


@pytest.mark.parametrize("name", [*PAGES, "../../README.zh-CN.md"])
def test_pages_keep_to_the_style_of_chinese(name):
    """Full-width marks without spaces around them, and the polite form."""
    text = re.sub(r"`[^`]*`", "名", outside_blocks((CHINESE / name).read_text(encoding="utf-8")))

    assert [fault for line in text.splitlines() for fault in faults(line)] == []


CATALOGUES = sorted((ROOT / "emulator").rglob("*.po"))


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.stem)
def test_messages_keep_to_the_style_of_chinese(path):
    """The same for what the program says; the catalogue's first entry is about itself."""
    texts = re.findall(r'^msgstr "(.+)"$', path.read_text(encoding="utf-8"), re.M)
    lines = [line for text in texts for line in text.replace("|", " ").split("\\n")]

    assert len(texts) > 20
    assert [fault for line in lines for fault in faults(line)] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("可以停止它。\n用", "可以停止它。用"),
        ("队列\n主题", "队列主题"),
        ("这是 FC\n服务", "这是 FC\n服务"),
        ("- 一。\n- 二。\n1. 三", "- 一。\n- 二。\n1. 三"),
        ("如下：\n\n    甲。\n    乙", "如下：\n\n    甲。\n    乙"),
        ("（见\n  [甲](a.md)\n）。", "（见[甲](a.md)）。"),
        ("| 甲。 |\n| 乙。 |", "| 甲。 |\n| 乙。 |"),
        ("停止它。\n`stop` 停止", "停止它。`stop` 停止"),
        ("它使用\n`stop`", "它使用\n`stop`"),
        ("另见\n[SDK](a.md)。", "另见\n[SDK](a.md)。"),
        ("如下：\n```\na\n```\n", "如下：\n```\na\n```\n"),
        ("另见 [测试](a.md)。", "另见[测试](a.md)。"),
    ],
    ids=[
        "mark",
        "characters",
        "letters",
        "lists",
        "block",
        "link",
        "table",
        "code",
        "code in a sentence",
        "label",
        "fence",
        "title",
    ],
)
def test_site_joins_the_lines_of_a_sentence(text, shown):
    """A browser shows the end of a line as a space, which Chinese does not have between its characters."""
    pytest.importorskip("mkdocs", reason="python3 dev.py docs installs what builds the site")
    from tools.hooks import joined  # as above

    assert joined(text) == shown


@pytest.mark.parametrize("name", [*PAGES, "../../README.zh-CN.md"])
def test_chinese_pages_lead_to_chinese_pages(name):
    """A link goes to the English page only where there is no other."""
    page = CHINESE / name
    for label, target in re.findall(r"\[([^\]]*)\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        path = (page.parent / target).resolve()
        if label != "English" and path.is_relative_to(DOCS) and not path.is_relative_to(CHINESE):
            assert path.relative_to(DOCS).as_posix() not in PAGES, target


def test_overview_names_every_tutorial():
    """By the name that is typed, in both languages."""
    for text in both("tutorials.md"):
        assert [each.short_name for each in TUTORIALS if f"tutorial run {each.short_name}" not in text] == []


def test_pages_in_english_are_marked():
    """Whoever follows a link to a page without a Chinese form is told so beforehand."""
    names = "|".join(re.escape(name) for name in [*ENGLISH_ONLY, "CONTRIBUTING.md", "CHANGELOG.md"])
    unmarked = [
        (path.name, found)
        for path in [*CHINESE.rglob("*.md"), ROOT / "README.zh-CN.md"]
        for found in re.findall(
            rf"\]\((?:[\w./-]*/)?(?:{names})(?:#[^)]*)?\)(?!\uff08英文\uff09)", path.read_text(encoding="utf-8")
        )
    ]

    assert unmarked == []


def test_messages_in_chinese_are_those_of_the_program():
    """Whoever searches the page for what a Chinese terminal shows finds it."""
    rows = re.findall(r"^\| (.*?) \|", (CHINESE / "troubleshooting.md").read_text(encoding="utf-8"), re.M)
    catalogue = "".join(path.read_text(encoding="utf-8") for path in CATALOGUES)
    quoted = [text for row in rows for text in re.findall(r"\uff08“(.*?)”\uff09", row)]

    assert len(quoted) == 13
    assert [text for text in quoted if text not in catalogue] == []


def test_readers_are_addressed_in_one_way():
    """Formally, and with Chinese punctuation between Chinese words."""
    texts = {path: path.read_text(encoding="utf-8") for path in [*CHINESE.rglob("*.md"), ROOT / "README.zh-CN.md"]}

    for path, text in texts.items():
        assert "你" not in text, path
        assert not re.search(r"[\u4e00-\u9fff]\s*[,;]\s|。 \S|(?<=\S) \uff08", outside_blocks(text)), path
