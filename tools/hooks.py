"""MkDocs hooks that add to docs/ the project's own pages, files that pages link to, and pictures of flows.

Links between pages follow the repository, so that pages can be read there too. A link out of docs/ leads to a copy of
the file on the site: pages have their place in `PAGES`, other files are below ``files/``. Where a page outside docs/
names a file of its folder in backticks, the site adds a link.
"""

from __future__ import annotations

import importlib
import logging
import posixpath
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Link, Navigation

_log = logging.getLogger("mkdocs.hooks")

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
CHINESE = "zh-CN/"
ABOUT = "在本机运行阿里云函数计算、轻量消息队列（原 MNS）和云工作流 CloudFlow。"
"""The site's description in Chinese, for previews of shared pages; mkdocs.yml has the English one."""
TITLES = {"Permanent link": "永久链接", "Dark": "深色", "Light": "浅色"}
_LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)")
_BLOCK = re.compile(r"(^```.*?^```$|^    .*?$)", re.DOTALL | re.MULTILINE)
_FILE_NAME = re.compile(r"\[[\w/.-]+\.md\]\(([^)#\s]+\.md)(#[^)]*)?\)")
_CHINESE_MARK = "\u3001\u3002\u300a\u300b\u2018\u2019\u201c\u201d\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
_BEGIN = r"\n[ \t]{0,3}(?![ \t\n|#>]|```|[-*+] |\d+\. |:::|!!!|\Z)"
_SPLIT = re.compile(
    rf"(?<=[{_CHINESE_MARK}]){_BEGIN}|(?<=[\u4e00-\u9fff]){_BEGIN}(?=\[?[\u4e00-\u9fff])|(?<=\S){_BEGIN}(?=[{_CHINESE_MARK}])"
    r"|(?<=[\u4e00-\u9fff]) (?=\[[\u4e00-\u9fff])"
)
"""The end of a line inside a Chinese sentence, shown as a space by browsers; or a blank before a page's title."""
_REPAIRS = (
    (r"(for\(let (\w)=(\w)\+1;\2<)((\w)\.length;\2\+\+\)\5\.slice\(\3,\2\)in )", r"\1=\4"),
    (r'\.join\("\* "\)', '.join(" ")'),
)
"""Repairs of the theme's splitting of Chinese queries: it misses a word at their end, and makes words prefixes."""
_written: dict[str, str] = {}
"""The pages of a build as Markdown, with the site's links, by their place on the site."""
_NAMED = re.compile(r"(?<![\[`])`([\w./-]+\.\w+)`(?![\]`])")


def on_config(config: Any) -> Any:
    """Add pages that are missing in the navigation at its end.

    The search learns the terms of the word list, so that it does not split them: a query for dead-letter queues is not
    one for queues. Without jieba it does not split Chinese text at all.
    """
    with suppress(ImportError):
        add_word = importlib.import_module("jieba").add_word
        for term in terms():
            add_word(term)
    named = set(re.findall(r"[\w./-]+\.md", str(config.nav)))
    others = sorted({path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - named)
    if others:
        config.nav.append({"More": others})
    return config


def terms() -> list[str]:
    """Return the Chinese terms of the word list."""
    cells = re.findall(r"^\| ([^|]+) \|", (DOCS / CHINESE / "words.md").read_text(encoding="utf-8"), re.MULTILINE)
    return [term for cell in cells for term in re.findall(r"[\u4e00-\u9fff]{2,}", cell)]


def on_files(files: Files, config: Any) -> Files:
    """Add the project's pages and all files outside docs/ that pages link to, directly or through another."""
    waiting = [ROOT / name for name in PAGES] + [Path(page.abs_src_path or "") for page in files.documentation_pages()]
    seen = set()
    while waiting:
        path = waiting.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        if not path.is_relative_to(DOCS):
            named = InclusionLevel.INCLUDED if path.name.startswith(".") else InclusionLevel.UNDEFINED
            file = File.generated(config, place(path), abs_src_path=str(path), inclusion=named)
            files.append(file)
        if path.suffix == ".md":
            waiting += [target(path, link) for _, link in _LINK.findall(linked(path, path.read_text(encoding="utf-8")))]
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Rewrite links to the places of their targets on the site."""
    del config, files
    source = Path(page.file.abs_src_path)
    here = posixpath.dirname(page.file.src_uri)

    def moved(found: re.Match[str]) -> str:
        path = target(source, found[2])
        return found[1] + (posixpath.relpath(place(path), here or ".") if path.exists() else found[2])

    titled = _FILE_NAME.sub(lambda found: f"[{title(target(source, found[1]))}]({found[1]}{found[2] or ''})", markdown)
    _written[page.file.src_uri] = shown = _LINK.sub(moved, linked(source, titled))
    return joined(shown) if page.file.src_uri.startswith(CHINESE) else shown


def joined(markdown: str) -> str:
    """Return a Chinese page with the line ends inside its sentences removed."""
    parts = _BLOCK.split(markdown)
    return "".join(part if _BLOCK.fullmatch(part) else _SPLIT.sub("", part) for part in parts)


def title(page: Path) -> str:
    """Return the heading of a page, used as its title."""
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def on_page_context(context: Any, page: Any, config: Any, nav: Any) -> Any:
    """Translate the frame around a page; the choice of languages leads to the same page in the other language."""
    name = page.file.src_uri
    own = name.removeprefix(CHINESE)
    config.theme["language"] = "zh" if name.startswith(CHINESE) else "en"
    if name.startswith(CHINESE):
        page.meta.setdefault("description", ABOUT)
    there = {each.src_uri: each.url for each in context["pages"]}
    for choice, wanted in zip(config.extra["alternate"], (own, CHINESE + own), strict=True):
        choice["link"] = there.get(wanted) or there[wanted[: len(wanted) - len(own)] + "index.md"]
    return {**context, "nav": chinese(nav)} if name.startswith(CHINESE) else context


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Return a page with the theme's English texts translated into the page's language."""
    del config
    if page.file.src_uri.startswith(CHINESE):
        for english, translated in TITLES.items():
            output = output.replace(f'"{english}"', f'"{translated}"')
    return output


def chinese(nav: Navigation) -> Navigation:
    """Return the navigation of Chinese pages: their own sections, and a link to pages that are in English only."""
    section = next(each for each in nav.items if each.title == "中文")
    return Navigation([*(section.children or ()), Link("English", "index.html")], nav.pages)


@event_priority(-100)  # after the search plugin
def on_post_build(config: Any) -> None:
    """Write each page as Markdown and their list for assistants, and the index of the search as a program too.

    The search needs that when pages are opened as files, which cannot load other files.
    """
    for name, markdown in _written.items():
        Path(config.site_dir, name).write_text(markdown, encoding="utf-8")
    Path(config.site_dir, "llms.txt").write_text(llms(config.site_description, config.nav), encoding="utf-8")
    index = Path(config.site_dir, "search", "search_index.json")
    index.with_suffix(".js").write_text(f"var __index = {index.read_text(encoding='utf-8')}", encoding="utf-8")
    for worker in Path(config.site_dir, "assets", "javascripts", "workers").glob("search.*.js"):
        worker.write_text(repaired(worker.read_text(encoding="utf-8")), encoding="utf-8")


def llms(description: str, nav: list[Any]) -> str:
    """Return the list of pages that assistants read first, in the order of the navigation.

    Source: llmstxt.org.
    """
    lines = ["# localyun", "", f"> {description}", ""]
    for section in nav:
        (heading, entries), *_none = section.items()
        lines += [f"## {heading}", "", *(f"- [{heading_of(name)}]({name})" for name in _named_by(entries)), ""]
    return "\n".join(lines)


def heading_of(name: str) -> str:
    """Return the heading of a page, given by its place on the site."""
    own = {place: source for source, place in PAGES.items()}
    return title(ROOT / own[name] if name in own else DOCS / name)


def _named_by(entries: Any) -> list[str]:
    if isinstance(entries, str):
        return [entries]
    inner = entries.values() if isinstance(entries, dict) else entries
    return [name for each in inner for name in _named_by(each)]


def repaired(search: str) -> str:
    """Return the theme's search with Chinese queries split into the words of the index."""
    for wrong, right in _REPAIRS:
        search, found = re.subn(wrong, right, search)
        if found != 1:
            _log.warning("the theme's search cuts Chinese questions in another way: %s", wrong)
    return search


def linked(page: Path, markdown: str) -> str:
    """Return the text of a page outside docs/, with links where it names a file of its folder, at any depth."""
    if page.parent == ROOT or page.is_relative_to(DOCS):
        return markdown

    def link(found: re.Match[str]) -> str:
        files = sorted(page.parent.rglob(found[1]))
        return f"[{found[0]}]({files[0].relative_to(page.parent).as_posix()})" if files else found[0]

    parts = _BLOCK.split(markdown)
    return "".join(part if _BLOCK.fullmatch(part) else _NAMED.sub(link, part) for part in parts)


def target(page: Path, link: str) -> Path:
    """Return the file a link of *page* leads to; a folder is its page README.md."""
    path = (page.parent / link).resolve()
    return path / "README.md" if path.is_dir() else path


def place(path: Path) -> str:
    """Return the place of a file of the repository on the site."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    return PAGES.get(name, f"files/{name}")
