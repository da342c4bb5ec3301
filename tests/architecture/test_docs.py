"""The pages agree with the program."""

import ast
import inspect
import json
import re
from pathlib import Path

import pytest
import yaml

from emulator import testing
from emulator.cli.main import build
from emulator.config import FLAGS, OPTIONS, RESOURCE_KEYS, flag_of, variable_of
from tests import ready_site
from tests.catalogue import read, table_texts
from tools import chinese, drawings, kit, tables

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "sample-apps").rglob("*.md")])


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def commands(parser, words=()):
    """Yield each command of the grammar with its own options."""
    yield words, {text for action in parser._actions for text in action.option_strings}
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for name, child in action.choices.items():
                yield from commands(child, (*words, name))


COMMANDS = {" ".join(words): options for words, options in commands(build())}
OF_EVERY_COMMAND = {"-h", "--help", "--json", "--state", "--version"}
"""Options that are described once, above the first section."""


@pytest.mark.parametrize("name", ["docs/commands.md", "docs/zh-CN/commands.md"])
def test_every_command_is_documented_with_its_options(name):
    """Each has a name in the section of its group, and each of its options stands there."""
    head, *sections = re.split(r"^## ", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE)

    missing = set()
    for command, options in COMMANDS.items():
        group = {"": "", "deployments": "deploy"}.get(command, command.partition(" ")[0])
        named = (text for text in sections if re.search(rf"\b{group}\b", text.partition("\n")[0]))
        section = next(named, "") if group else head
        words = {command} | options - (OF_EVERY_COMMAND if group else set())
        missing |= {
            (command, text) for text in words if not re.search(rf"(?<![\w-]){re.escape(text)}(?![\w-])", section)
        }

    assert missing == set()
    assert len(COMMANDS) > 100


def test_every_setting_is_documented_with_its_flag():
    """docs/configuration.md has one row for each option, and no row for anything else."""
    rows = re.findall(r"^\| `(\w+)` \| (?:none|`(--[\w-]+)`)", page("configuration.md"), re.MULTILINE)

    documented = dict(rows)
    expected = {option.name: flag_of(option) if option.is_in(FLAGS) else "" for option in OPTIONS}
    assert documented == expected


def test_every_documented_key_exists():
    """The keys of the examples and those that declare resources are keys the program knows."""
    text = page("configuration.md")
    example = re.search(r"```yaml\n(port:.*?)```", text, re.DOTALL).group(1)
    keys = set(re.findall(r"^(\w+):", example, re.MULTILINE))
    declaring = set(re.findall(r"`(\w+)`", re.search(r"The keys (.*?) declare resources", text, re.DOTALL).group(1)))

    declared = set(
        re.findall(r"^(\w+):", re.search(r"```yaml\n(queues:.*?)```", text, re.DOTALL).group(1), re.MULTILINE)
    )
    assert keys <= {option.name for option in OPTIONS}
    assert declaring == set(RESOURCE_KEYS)
    assert declared < declaring


def test_every_documented_variable_exists():
    """No page names a LOCALYUN_ variable that nothing reads."""
    known = {variable_of(option) for option in OPTIONS} | {
        "LOCALYUN_ENDPOINT",
        "LOCALYUN_ORDERS",
        "LOCALYUN_PROXY_URL",
        "LOCALYUN_TOKEN",
        "LOCALYUN_WITHOUT",
    }

    for path in PAGES:
        named = set(re.findall(r"LOCALYUN_[A-Z_]+[A-Z]", path.read_text(encoding="utf-8")))
        assert named <= known, path


def test_every_path_of_the_tree_exists():
    """The tree in docs/architecture.md shows what is there."""
    tree = re.search(r"```\n(emulator/\n.*?)```", page("architecture.md"), re.DOTALL).group(1)
    folders = []
    for line in tree.splitlines():
        indent = (len(line) - len(line.lstrip())) // 2
        folders = [*folders[:indent], line.split()[0]]
        assert (ROOT / "".join(folders)).exists(), "".join(folders)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(path):
    """Relative links name files that exist."""
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_paragraph_breaks_a_list(path):
    """The site ends a list at a paragraph that is indented by fewer than four spaces; the rest becomes one text."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)

    assert re.findall(r"\n\n {1,3}\S.*", text) == []


@pytest.mark.parametrize("path", tables.PAGES, ids=lambda path: path.name)
def test_generated_tables_are_what_the_program_declares(path):
    """Operations and limits stand in the pages as the program has them; `dev.py docs --write` writes them."""
    text = path.read_text(encoding="utf-8")

    assert text == tables.rewritten(text)


def test_every_service_has_a_table():
    """No table that can be generated is missing from the pages."""
    found = {
        name for path in tables.PAGES for name in re.findall(r"<!-- ([\w: ]+) -->", path.read_text()) if name != "end"
    }

    assert found == set(tables.TABLES)


def test_tables_are_translated():
    """`python -m tests.catalogue` adds what docstrings say to `tools/chinese.po`; no text is missing or left over."""
    translations = read(chinese.FILE)

    assert list(translations) == table_texts()
    assert [text for text, translation in translations.items() if not translation] == []


@pytest.mark.parametrize("path", tables.PAGES, ids=lambda path: path.name)
def test_rows_say_only_what_an_operation_does(path):
    """Its errors and sources stand in paragraphs of their own in the docstring."""
    assert "Raises:" not in path.read_text(encoding="utf-8")


def test_every_admin_path_is_documented(emulator):
    """Each path of the admin API is on a page."""
    document = json.loads(emulator.get("/_localyun/openapi.json")[2])
    pages = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)

    assert {path for path in document["paths"] if f" {path}`" not in pages} == set()


def test_every_fixture_and_every_name_of_the_kit_is_documented():
    """docs/testing.md names what a test can use."""
    from emulator.testing import Localyun, plugin

    fixtures = {name for name, value in vars(plugin).items() if type(value).__name__ == "FixtureFunctionDefinition"}
    names = {name for name in vars(Localyun) if not name.startswith("_")}
    text = page("testing.md")

    assert {"localyun", "localyun_baseline"} <= fixtures
    assert {name for name in fixtures | names if not re.search(rf"\b{name}\b", text) and name[0] != "_"} == set()


@pytest.mark.parametrize("name", kit.KIT)
def test_every_attribute_of_the_kit_is_in_its_reference(name):
    """An attribute that `__init__` sets is declared in the class, where docs/kit.md finds it."""
    kind = getattr(testing, name)
    source = inspect.getsource(kind)
    own = {"test_name", "schedule", "explored", "exploration"}  # the plugin's

    assert set(re.findall(r"self\.([a-z]\w*)(?:: .*)? = ", source)) - set(kind.__annotations__) - own == set()
    assert all(f"{each}: " in kit.kit() for each in kind.__annotations__ if each[0] != "_")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_columns_of_tables_have_titles(path):
    """Only the first column, which names the rows, may be without one; a blank column may separate two tables."""
    if path.name in {"benchmarks.md", "conformance.md"}:
        return
    heads = re.findall(r"^(\|.*\|)\n\|(?: ?-+ ?\|)+$", path.read_text(encoding="utf-8"), re.MULTILINE)

    assert [head for head in heads if re.search(r"[^ |].*\| +\||^\| +\| +\|$", head)] == []


def blocks(language):
    """Return page and text of each fenced block of a language."""
    return [
        pytest.param(text, id=f"{path.relative_to(ROOT)}-{number}")
        for path in PAGES
        for number, text in enumerate(re.findall(rf"```{language}\n(.*?)```", path.read_text("utf-8"), re.DOTALL))
    ]


@pytest.mark.parametrize("text", blocks("python"))
def test_python_snippets_compile(text):
    """What is to be copied is a program; those of whole programs are run by the tests of their pages."""
    assert compile(text, "snippet", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("text", blocks("ya?ml"))
def test_yaml_snippets_parse(text):
    """Each is a document."""
    assert yaml.safe_load(text) is not None


@pytest.mark.parametrize("text", blocks("json"))
def test_json_snippets_parse(text):
    """Each is a document."""
    assert json.loads(text) is not None


def messages():
    """Yield what is quoted as a message on the page about trouble, where it is the emulator's own."""
    for row in re.findall(r"^\| (.*?) \|", page("troubleshooting.md"), re.MULTILINE):
        yield from re.findall(r"`([^`]{12,})`", row)


FOREIGN = {
    *("certificate verify failed", "unable to get local issuer certificate"),
    *("Name or service not known", "getaddrinfo ENOTFOUND", "Incorrect padding", "UnknownHostException"),
    *("No module named emulator.__main__", "SecurityError", "blocked by CORS policy", "externally-managed-environment"),
    *("takes 1 positional argument but 2 were given", "byte indices must be integers"),
    "Invalid base64-encoded string: number of data characters",
}
"""Messages of clients and systems."""


def test_messages_of_troubleshooting_are_in_the_program():
    """Whoever searches the page for what they see finds it."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "emulator").rglob("*.py"))
    source = re.sub(r'"\s*\n\s*f?"', "", source)
    source = re.sub(r"\{[^{}]*\}", "", source)

    missing = {text for text in messages() if text.replace("no node;", "no ;") not in source}
    assert missing == FOREIGN


def test_pictures_of_tutorials_are_drawn_from_their_flows():
    """`python -m tools.drawings` draws them again; each is on its page."""
    for path, text in drawings.pictures():
        assert path.read_text(encoding="utf-8") == text, path.name
        assert f"]({path.name})" in path.with_suffix(".md").read_text(encoding="utf-8")


def outside_blocks(markdown):
    """Return a page without its fenced and indented blocks."""
    return re.sub(r"^```.*?^```$|^ {4}.*?$", "", markdown, flags=re.DOTALL | re.MULTILINE)


def second_lists(markdown):
    """Yield the numbered items that do not continue a list, though their number says so."""
    is_list = after_blank = False
    for line in re.sub(r"^```.*?^```$", "", markdown, flags=re.DOTALL | re.MULTILINE).split("\n"):
        number = re.match(r"(\d+)\. ", line)
        if number:
            if not is_list and number[1] != "1":
                yield line
            is_list = True
        elif line and after_blank and not line.startswith("    "):
            is_list = False
        after_blank = not line


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: str(path.relative_to(ROOT)))
def test_numbered_steps_are_one_list(path):
    """A step is one paragraph: before a second one that is not indented by four characters the site ends the list."""
    assert list(second_lists(path.read_text(encoding="utf-8"))) == []


def test_site_builds_without_a_warning(tmp_path_factory):
    """Every link leads somewhere, to the other language too; nothing is loaded from elsewhere."""
    pytest.importorskip("material")

    site = ready_site.built(tmp_path_factory)

    chinese = (site / "zh-CN" / "sdks" / "python.html").read_text("utf-8")
    assert '<html lang="zh"' in chinese
    assert 'href="../../sdks/python.html" hreflang="en"' in chinese
    assert 'href="zh-CN/exec.html" hreflang="zh"' in (site / "exec.html").read_text("utf-8")
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    words = {word for entry in index["docs"] for word in re.split(index["config"]["separator"], entry["text"])}
    assert {"代理", "队列", "主题", "死信队列"} <= words  # Chinese text has no spaces to be cut at
    listed = re.findall(r"^- \[.+?\]\((.+?)\)$", (site / "llms.txt").read_text("utf-8"), re.MULTILINE)
    assert {"index.md", "errors.md", "zh-CN/errors.md"} <= set(listed)
    for name in listed:
        markdown = (site / name).read_text("utf-8")
        assert markdown.startswith("# "), name
        for target in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]+)", outside_blocks(markdown)):
            assert (site / name).parent.joinpath(target).exists(), (name, target)
    foreign = {
        address
        for path in site.rglob("*.html")
        for address in re.findall(
            r"<(?:script|link|img)[^>]*(?:src|href)=[\"']?(https?:[^\"' >]+)", path.read_text("utf-8")
        )
    }
    assert foreign == set()


def test_no_page_shows_a_key_of_the_console():
    """A link in printed output that logs in has dots in the place of its key."""
    links = [link for path in PAGES for link in re.findall(r"login\?key=(\S*)", path.read_text(encoding="utf-8"))]

    assert set(links) == {"..."}
