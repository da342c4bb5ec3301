"""Nothing on a page is there to be copied without a check: each block has one, or a reason why it has none.

Programs of the quick start, the pages about SDKs, tests, buckets and the README are run by the tests of these pages
(`tests/sdk`, `tests/plugin`); test_docs.py has every Python block compiled and every other document parsed. Chinese
pages hold the same blocks (test_chinese.py).
"""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from emulator.auth.policy import parse_policy
from emulator.cli.main import build
from emulator.services.workflow.languages.programs import read_program
from emulator.usage.prices import read_prices

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "sample-apps").rglob("*.md")])
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SCHEMAS = ROOT / "emulator" / "schemas"


def name_of(path):
    """Return a page's name as the English page has it."""
    return path.relative_to(ROOT).as_posix().replace("docs/zh-CN/", "docs/").replace(".zh-CN", "")


BLOCKS = [
    (path, number, language, text)
    for path in PAGES
    for number, (language, text) in enumerate(FENCED.findall(path.read_text(encoding="utf-8")))
]


def blocks(*languages, page=None):
    """Return the blocks of some languages, of one page or of all, as parameters."""
    return [
        pytest.param(text, id=f"{path.relative_to(ROOT)}-{number}")
        for path, number, language, text in BLOCKS
        if language in languages and (page is None or name_of(path) == page)
    ]


CHECKED = {
    "python": "compiled; run by test_examples, test_quickstart, test_sdk_pages, test_recipes, test_oss_docs",
    "yaml": "read below by what reads such a file",
    "json": "parsed; policies are read below",
    "js": "run by test_sdk_pages; parsed below",
    "javascript": "parsed below",
    "go": "run by test_sdk_pages; formatted below",
    "java": "run by test_sdk_pages",
    "php": "parsed below",
    "hcl": "formatted below",
    "mermaid": "drawn again by test_tutorial_pages",
    "console": "compared with the program's texts by test_tutorial_pages",
}
NOT_RUN = {
    ("docs/containers.md", "go"): "a fragment for a test that has a container engine",
    ("docs/containers.md", "java"): "a fragment for a test that has a container engine",
    ("docs/containers.md", "javascript"): "needs a container engine",
    ("docs/containers.md", "python"): "needs a container engine; test_containers runs it with another one",
    ("docs/sdks/dotnet.md", "csharp"): "no .NET where the project is tested; the page says so",
    ("docs/tools.md", "hcl"): "needs Terraform's provider",
    ("docs/observability.md", "yaml"): "a file of Prometheus",
    ("docs/functions.md", ""): "a tree of files",
    ("docs/exploring.md", "text"): "output of explored tests, which tests/exploration/test_recipes runs",
    ("docs/architecture.md", ""): "a tree of files, which test_docs compares with the folders",
}  # fmt: skip
"""Blocks that nothing runs, and why."""


def test_every_block_is_checked_or_has_a_reason():
    """A new kind of block needs a check; a reason without a block is removed."""
    found = {(name_of(path), language) for path, _, language, _ in BLOCKS}

    assert {each for each in found if each[1] not in CHECKED} <= set(NOT_RUN)
    assert set(NOT_RUN) <= found


def problems(schema, text):
    """Return what a schema of the package has against a document."""
    validator = Draft202012Validator(json.loads((SCHEMAS / f"{schema}.json").read_text(encoding="utf-8")))
    return [error.message for error in validator.iter_errors(yaml.safe_load(text))]


@pytest.mark.parametrize("text", blocks("yaml", page="docs/configuration.md"))
def test_examples_of_the_configuration_are_valid(text):
    """A start takes them."""
    assert problems("localyun", text) == []


@pytest.mark.parametrize("text", blocks("yaml", page="docs/usage.md"))
def test_examples_of_prices_are_valid(text):
    """`localyun usage --prices` takes them."""
    assert read_prices(text).prices


@pytest.mark.parametrize("text", blocks("yaml", page="docs/functions.md"))
def test_examples_of_function_files_are_valid(text):
    """Aliases stand in `service.yml`, triggers in `function.yml`; `tests/sdk/test_recipes.py` deploys the resources."""
    if "\n  component: " in text:
        assert all("component" in each and "props" in each for each in yaml.safe_load(text).values())
        return
    assert problems("service" if text.startswith("aliases") else "function", text) == []


@pytest.mark.parametrize("text", blocks("yaml", page="docs/flows/state-machines.md"))
def test_examples_of_flows_are_flows(text):
    """They are read without remarks."""
    assert read_program(text).warnings == ()


@pytest.mark.parametrize("text", blocks("json", page="docs/permissions.md"))
def test_examples_of_policies_are_policies(text):
    """No element, operator or value of them is unknown."""
    assert parse_policy(text).statements


def accepted(text, *command):
    """Whether a tool that is here has nothing against a text on standard input; skips when it is not here."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("text", blocks("js", "javascript"))
def test_javascript_parses(text, tmp_path):
    """`await` outside of functions is for modules, `require` is not asked."""
    script = tmp_path / "snippet.mjs"
    script.write_text(text, encoding="utf-8")

    assert accepted("", "node", "--check", str(script)) == ""


@pytest.mark.parametrize("text", blocks("php"))
def test_php_parses(text):
    """As PHP's own check says."""
    assert "No syntax errors" in accepted(text, "php", "-l")


@pytest.mark.parametrize("text", [each for each in blocks("go") if "containers" not in each.id])
def test_go_is_formatted(text):
    """`gofmt` has nothing to change."""
    assert accepted(text, "gofmt") == text


@pytest.mark.parametrize("text", blocks("hcl"))
def test_terraform_is_formatted(text):
    """`terraform fmt` has nothing to change."""
    assert accepted(text, "terraform", "fmt", "-") == text


NOT_OURS = {
    "aliyun": "a tool of the cloud's; what it sends is in tests/wire",
    "docker": "needs an engine; docker/without_engine.py builds the image without one",
    "fun": "a tool of the cloud's; its template is deployed by tests/sdk/test_deploy",
    "terraform": "needs Terraform's provider",
    "pip": "installs from a registry",
    "mcp-inspector": "run by tests/unit/cli/commands/test_mcp where it is installed",
    "mike": "writes a branch of the repository",
    "curl": "needs an emulator; the path is checked by test_docs",
    ".venv/bin/python": "takes half an hour",
    **dict.fromkeys(("python", "python3"), "a program of this repository, or one the page shows"),
    **dict.fromkeys((".", "cat", "cp", "eval", "export", "mkdir"), "the shell's own"),
}
"""First words of lines to be typed that are not `localyun`, and why nothing but their syntax is looked at."""


SHOWN = {
    "$": "a session; its commands are checked below",
    "+0.00s": "output of flow start --follow",
    "#": "the first line of a file for editors",
    "127.0.0.1": "a line of the hosts file",
    **dict.fromkeys(
        ("execution", "worker:", "Schedule", "version"), "output of a tutorial, run by tests/sdk/test_tutorials"
    ),
}
"""First words of blocks that nobody types, and what they are."""


def indented(path):
    """Return the indented blocks of a page."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    return [
        "\n".join(line[4:] for line in found.splitlines())
        for found in re.findall(r"(?:^ {4}.*\n(?:\n+(?= {4}))?)+", text, re.M)
    ]


TYPED = [
    pytest.param(block, id=f"{path.relative_to(ROOT)}-{number}")
    for path in PAGES
    for number, block in enumerate(indented(path))
    if block.split()[0] in {*NOT_OURS, "localyun"}
]


def test_every_indented_block_is_typed_or_shown():
    """A new program on a page is put down here, with the reason why it is not run."""
    first = {block.split()[0] for path in PAGES for block in indented(path)}

    assert first - {*NOT_OURS, "localyun"} == set(SHOWN)


@pytest.mark.parametrize("block", TYPED)
def test_lines_to_be_typed_are_shell(block):
    """Quotes and brackets close, here-documents end."""
    assert accepted(block.replace("[SERVICE/FUNCTION]", "x"), "bash", "-n") == ""


def grammar(parser, words):
    """Return the options and further words that no command of the grammar takes."""
    commands = next((action.choices for action in parser._actions if isinstance(action.choices, dict)), {})
    if words and words[0] in commands:
        return grammar(commands[words[0]], words[1:])
    if commands and words and not words[0].startswith("-"):
        return [] if words[0].isupper() else words[:1]
    known = {option for action in parser._actions for option in action.option_strings}
    own = words[: words.index("--")] if "--" in words else words
    return [word for word in own if word.startswith("--") and word.partition("=")[0] not in known]


MENTIONED = sorted(
    {
        (name_of(path), re.sub(r"\s+", " ", command))
        for path in PAGES
        for command in re.findall(
            r"`localyun ([^`]+)`", re.sub(r"^ {4}.*$", "", FENCED.sub("", path.read_text("utf-8")), flags=re.M)
        )
    }
)


@pytest.mark.parametrize(("page", "command"), MENTIONED, ids=lambda text: text)
def test_commands_within_sentences_exist(page, command):
    """With every option that is named."""
    assert grammar(build(), shlex.split(command)) == [], page


@pytest.mark.parametrize(
    ("page", "command"),
    sorted({(name_of(path), line) for path in PAGES for block in indented(path)
            for line in re.findall(r"^\$ localyun (.*)$", block, re.M)}),
    ids=lambda text: text,
)  # fmt: skip
def test_commands_of_sessions_exist(page, command):
    """Lines that begin with a prompt."""
    assert grammar(build(), shlex.split(command)) == [], page


def test_commands_are_found():
    """No test passes because it has looked at nothing."""
    assert len(MENTIONED) > 80
    assert len(TYPED) > 60
    assert grammar(build(), ["queue", "send", "--nothing"]) == ["--nothing"]
    assert grammar(build(), ["queue", "nothing"]) == ["nothing"]
