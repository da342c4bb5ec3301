"""The documentation's pages in the installation, and searching them, without a network.

A page has one file per language; a section is the text below a heading. English is searched by words, Chinese, which
has no spaces, by pairs of characters.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import emulator
from emulator.cli.output import CommandFailed, WrongUsage, _
from emulator.cli.parser import nearest
from emulator.kernel.frozen import frozen

CHINESE: Final = "zh-CN"
_HEADING = re.compile(r"^(#{1,6}) +(.*)$")
_COMMENT = re.compile(r"^<!-- .*? -->\n+", re.MULTILINE)
_WORD = re.compile(r"[a-z0-9_]+|[\u3400-\u9fff]+")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_WRAP = re.compile(r"(^```.*?^```)|(?<=(\S))\n(?=([^\s|#>]))(?!```|[-*] |\d+\. )", re.DOTALL | re.MULTILINE)
"""The end of a line inside a paragraph; or a fenced block, which is left alone."""

_STOP_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        "a an and are be can do does for from how i if in is it its me my of on or the this to what when where which "
        "who why with you your",
    )
)
"""Words ignored in searches, as most sections and queries contain them."""

_EXPLAINING: Final = ("words", "commands")
"""Pages that define terms, in the order of preference."""

_ASKING: Final = re.compile("怎样才能|怎样|怎么|如何|什么是|是什么|什么|为什么|请问|哪里|吗|呢")

_HEADING_WEIGHT = 6
_EXAMPLE_WEIGHT = 0.2
_SHORT_WORD = 3
"""Longer words equal their plural with s."""

_LATIN = "\u2fff"
"""The last character before the Chinese ones."""

_LONG_SECTION = 400
"""The number of words beyond which a section's matches count for less."""


@frozen
class Section:
    """The text below one heading of a page; ``page`` is its name without the suffix, such as ``flows/debugging``."""

    page: str
    heading: str
    text: str


def folder(*, chinese: bool = False) -> Path:
    """Return the folder of the pages in one language.

    Raises: CommandFailed when the installation does not contain them.
    """
    package = Path(emulator.__file__).parent
    for root in (package / "_docs", package.parent / "docs"):
        if (root / "quickstart.md").is_file():
            return root / CHINESE if chinese else root
    raise CommandFailed(_("the documentation is missing from the installation in {folder}", folder=package))


def names(*, chinese: bool = False) -> list[str]:
    """Return the names of the pages of a language, in order."""
    root = folder(chinese=chinese)
    found = sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.md"))
    return found if chinese else [name for name in found if not name.startswith(f"{CHINESE}/")]


def read(name: str, *, chinese: bool = False) -> str:
    """Return a page as Markdown, in English if it is not translated.

    Raises: WrongUsage when there is no page of this name.
    """
    wanted = name.removesuffix(".md").removesuffix(".html").removeprefix(f"{CHINESE}/")
    for language in (chinese, False):
        known = names(chinese=language)
        for each in (wanted, f"{wanted.removesuffix('index')}README"):  # the site calls a folder's README its index
            if each in known:
                return _text(folder(chinese=language) / f"{each}.md")
    near = nearest(wanted, names(chinese=chinese))
    raise WrongUsage(
        _("there is no page {name!r}{suggestion}; localyun docs lists all pages", name=name, suggestion=near)
    )


def _text(path: Path) -> str:
    """Return a page without its comments, which mark the tables that a program writes."""
    return _COMMENT.sub("", path.read_text(encoding="utf-8"))


def title(markdown: str) -> str:
    """Return the heading of a page."""
    return markdown.partition("\n")[0].removeprefix("# ")


def search(query: str, *, chinese: bool = False, limit: int = 8) -> list[Section]:
    """Return the sections that match words of *query*, the best first; those with all words come before others.

    A section that defines the query, a term or a command, comes first.
    """
    wanted = _meant(query)
    root = folder(chinese=chinese)
    pages = ((name, _text(root / f"{name}.md")) for name in names(chinese=chinese))
    sections = [section for name, text in pages for section in sections_of(name, text)]
    counted = [_counted(section, wanted) for section in sections]
    rare = {word: _rarity(sum(word in text or word in head for text, head in counted), len(counted)) for word in wanted}
    ranked = []
    for section, (text, head) in zip(sections, counted, strict=True):
        has = {word for word in wanted if word in text or word in head}
        length = 1 + sum(text.values()) / _LONG_SECTION
        weights = (
            rare[word] * (math.log1p(text.get(word, 0)) / length + _HEADING_WEIGHT * (word in head)) for word in has
        )
        if has:
            about = _EXPLAINING.index(section.page) if wanted in _explained(section) else len(_EXPLAINING)
            ranked.append((about, -len(has), -sum(weights), section.page, section.heading, section))
    return [section for *_order, section in sorted(ranked, key=lambda each: each[:5])[:limit]]


def _meant(query: str) -> set[str]:
    """Return the words of a query without question words and the like, unless it has no others."""
    words = set(_words(_ASKING.sub(" ", query)))
    return words - _STOP_WORDS or words or set(_words(query))


def _explained(section: Section) -> list[set[str]]:
    """Return the names that a section defines: the terms in its table, or the commands in its heading."""
    match section.page:
        case "words":
            terms = [cell for row in table_rows(section.text) for cell in row[:2]]
        case "commands":
            terms = re.split(r", |、", section.heading)
        case _:
            return []
    return [set(_words(each)) for each in terms]


def sections_of(name: str, markdown: str) -> Iterator[Section]:
    """Yield the sections of a page; lines of fenced blocks are not taken for headings."""
    heading, lines, fenced = title(markdown), list[str](), False
    for line in markdown.splitlines():
        fenced ^= line.startswith("```")
        found = None if fenced else _HEADING.match(line)
        if found:
            if any(each.strip() for each in lines):
                yield Section(page=name, heading=heading, text="\n".join(lines).strip())
            heading, lines = found[2], []
        else:
            lines.append(line)
    if any(each.strip() for each in lines):
        yield Section(page=name, heading=heading, text="\n".join(lines).strip())


def excerpt(section: Section, query: str, size: int) -> str:
    """Return the paragraph or line of *section* with the most words of *query*, without links, cut to *size*."""
    wanted = _meant(query)
    lines = [plain(line) for line in _WRAP.sub(_unwrapped, section.text).splitlines() if line.strip(" |-`")]
    best = max(lines, key=lambda line: len(wanted & set(_words(line))), default="")
    if len(best) <= size:
        return best
    found = min((place for word in wanted if (place := best.lower().find(word)) >= 0), default=0)
    begin = max(0, min(found - size // 3, len(best) - size))
    return f"{'... ' if begin else ''}{best[begin : begin + size].strip()}{' ...' if begin + size < len(best) else ''}"


def _unwrapped(end: re.Match[str]) -> str:
    """Return the replacement of a line end: nothing between Chinese characters, else a blank; fenced blocks stay."""
    return end[1] or ("" if min(end[2], end[3]) > _LATIN else " ")


def plain(line: str) -> str:
    """Return a line of Markdown as plain text: links as their words, cells of a table separated by blanks."""
    return " ".join(_LINK.sub(r"\1", line).replace("`", "").replace("|", " ").split())


def table_rows(markdown: str) -> Iterator[Sequence[str]]:
    """Yield the cells of each row of a page's tables, without heads and rules."""
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    rules = {number for number, line in enumerate(markdown.splitlines()) if line.startswith("|---")}
    heads = {line for number, line in enumerate(markdown.splitlines()) if number + 1 in rules}
    yield from (tuple(cell.strip() for cell in row.strip("| ").split(" | ")) for row in rows if row not in heads)


def _counted(section: Section, wanted: Iterable[str]) -> tuple[dict[str, float], set[str]]:
    """Return the words of a section with their weighted counts, and those of its heading; none without a wanted one."""
    heading = f"{section.page} {section.heading}"
    whole = f"{heading}\n{section.text}".lower()
    if not any(word in whole for word in wanted):  # which is seen long before all words are counted
        return {}, set()
    return _weighed(section.text), set(_words(heading))


def _weighed(text: str) -> dict[str, float]:
    """Return the words of a section with their weighted counts; words in examples count for less."""
    weights: dict[str, float] = {}
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        weight = _EXAMPLE_WEIGHT if fenced or line.startswith("    ") else 1
        for word in _words(line):
            weights[word] = weights.get(word, 0) + weight
    return weights


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text.lower()):
        if word[0] < "\u3400" or len(word) == 1:
            yield word.removesuffix("s") if len(word) > _SHORT_WORD else word
        else:
            yield from (word[place : place + 2] for place in range(len(word) - 1))


def _rarity(having: int, among: int) -> float:
    return math.log((among + 1) / (having + 1)) + 0.1
