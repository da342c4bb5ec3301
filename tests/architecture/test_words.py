"""Texts for users keep to the words of docs/style.md, in both languages."""

import re
from pathlib import Path

import pytest

from tests.catalogue import read

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
STYLE = DOCS / "style.md"
LISTS = {"en": "## Words to avoid\n", "zh": "## Words to avoid in Chinese\n"}
"""The headings of the lists."""

_ROW = re.compile(r"^\| ([^|]+?) \| [^|]+ \|$", re.MULTILINE)
_CODE = re.compile(r"```.*?```|`[^`]*`|^ {4}.*?$|\]\([^)]*\)", re.DOTALL | re.MULTILINE)


def avoided(language):
    """Return the words of a list."""
    text = STYLE.read_text(encoding="utf-8").partition(LISTS[language])[2]
    table = text.partition("\n## ")[0].partition("|---|---|")[2]
    return [word for row in _ROW.findall(table) for word in re.split(r", |、", row)]


def pages(language):
    """Return the pages of a language, each with its text outside code."""
    chinese = DOCS / "zh-CN"
    found = [*(path for path in sorted(ROOT.glob("*.md")) if path.name != "CHANGELOG.md"), *sorted(DOCS.rglob("*.md"))]
    found += [path for part in ("sample-apps", "examples") for path in sorted((ROOT / part).glob("*/README.md"))]
    found = [path for path in found if (path.is_relative_to(chinese) or "zh-CN" in path.name) == (language == "zh")]
    return [
        (path.relative_to(ROOT).as_posix(), _CODE.sub(" ", path.read_text(encoding="utf-8")))
        for path in found
        if path != STYLE
    ]


def messages(language):
    """Return what the command, the console and the samples say, each with its catalogue."""
    catalogues = [path for part in ("emulator", "sample-apps") for path in sorted((ROOT / part).rglob("*.po"))]
    return [
        (f"{path.relative_to(ROOT).as_posix()}: {text!r}", _CODE.sub(" ", text if language == "en" else translation))
        for path in catalogues
        for text, translation in read(path).items()
    ]


def findings(texts, language):
    """Return where a text has a word to avoid."""
    border = r"\b" if language == "en" else ""
    wanted = re.compile("|".join(rf"{border}{re.escape(word)}{border}" for word in avoided(language)), re.IGNORECASE)
    return [
        f"{place}: {match[0]}: ...{text[max(0, match.start() - 40) : match.end() + 40]!r}"
        for place, text in texts
        for match in wanted.finditer(re.sub(r"\s+", " ", text))
    ]


@pytest.mark.parametrize("language", LISTS)
def test_pages_keep_to_the_words(language):
    """No page has a word to avoid."""
    found = findings(pages(language), language)

    assert not found, "\n".join(found)


@pytest.mark.parametrize("language", LISTS)
def test_messages_keep_to_the_words(language):
    """Neither the command nor the console says one."""
    found = findings(messages(language), language)

    assert not found, "\n".join(found)


@pytest.mark.parametrize("language", LISTS)
def test_the_check_finds_each_word(language):
    """A text made of a word to avoid is found, so that the check cannot pass by mistake."""
    words = avoided(language)

    assert words
    assert [word for word in words if not findings([("here", f"a {word} b")], language)] == []
