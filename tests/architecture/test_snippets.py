"""Nothing on a page is there to be copied without a check: each block has one, or a reason why it has none.

Programs of the quick start, the pages about SDKs, tests, buckets and the README are run by the tests of these pages
(`tests/sdk`, `tests/plugin`), what several pages say to type by tests/sdk/test_typed_pages.py; test_docs.py has every
Python block compiled and every other document parsed. Chinese pages hold the same blocks (test_chinese.py).
"""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from emulator.auth.policy import parse_policy
from emulator.cli.main import build
from emulator.cli.output import WrongUsage
from emulator.drawing.text_width import cells
from emulator.services.workflow.languages.programs import read_program
from emulator.usage.prices import read_prices
from tests.commands import run
from tests.once import once

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


WIDEST, WIDEST_FOLDED = 105, 118
"""So many characters of code fit between the columns of the site at 1280 pixels; folded away they are smaller."""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_line_of_code_is_scrolled_sideways(path):
    """On the site, at the width of a usual window."""
    text = path.read_text(encoding="utf-8")
    folded = re.findall("<details.*?</details>", text, re.DOTALL)
    open_text = re.sub("<details.*?</details>", "", text, flags=re.DOTALL)

    assert [line for line in code_lines(open_text) if cells(line) > WIDEST] == []
    assert [line for part in folded for line in code_lines(part) if cells(line) > WIDEST_FOLDED] == []


def code_lines(text):
    """Return the lines of the blocks of a page, fenced and indented."""
    fenced = [line for _, block in FENCED.findall(text) for line in block.splitlines()]
    return fenced + re.findall(r"^    (?![-*] )(.*)$", FENCED.sub("", text), re.MULTILINE)


CHECKED = {
    "python": "compiled; run by test_examples, test_typed_pages, test_sdk_pages, test_recipes, test_oss_docs",
    "yaml": "read below by what reads such a file",
    "json": "parsed; policies are read below",
    "js": "run by test_sdk_pages; parsed below",
    "javascript": "parsed below",
    "go": "run by test_sdk_pages; formatted below",
    "java": "run by test_sdk_pages",
    "php": "parsed below",
    "hcl": "formatted below",
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
    if text.startswith("edition"):
        assert list(yaml.safe_load(text))[-1] == "resources"  # which the recipes are put below
        return
    assert problems("service" if text.startswith("aliases") else "function", text) == []


@pytest.mark.parametrize(
    "text", [each for page in ("flows/state-machines", "fields") for each in blocks("yaml", page=f"docs/{page}.md")]
)
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


JAVASCRIPT = blocks("js", "javascript")
PARSING = """
const vm = require("vm");
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map((text) => {
  try { new vm.SourceTextModule(text); return ""; } catch (error) { return String(error); }
})));
"""
"""What Node.js has against each of some modules, "" for nothing; it takes ten times as long to start as to look."""


@pytest.fixture(scope="module")
def javascript(tmp_path_factory):
    """What there is against each text of `JAVASCRIPT`."""
    texts = list(dict.fromkeys(each.values[0] for each in JAVASCRIPT))
    command = ("node", "--no-warnings", "--experimental-vm-modules", "-e", PARSING)
    found = once(tmp_path_factory, "javascript", lambda: json.loads(accepted(json.dumps(texts), *command)))
    return dict(zip(texts, found, strict=True))


@pytest.mark.parametrize("text", JAVASCRIPT)
def test_javascript_parses(text, javascript):
    """`await` outside of functions is for modules, `require` is not asked."""
    assert javascript[text] == ""


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
    "ssh-keygen": "run by tests/unit/test_release, with the line after it",
    "mike": "writes a branch of the repository",
    "curl": "needs an emulator; the path is checked by test_docs",
    ".venv/bin/python": "takes half an hour",
    **dict.fromkeys(("python", "python3"), "a program of this repository, or one the page shows"),
    **dict.fromkeys((".", "cat", "cp", "eval", "export", "mkdir", "rm"), "the shell's own"),
}
"""First words of lines to be typed that are not `localyun`, and why nothing but their syntax is looked at."""


SHOWN = {
    "$": "a session; its commands are checked below, and what they print where it is shown",
    "+0.00s": "output of flow start --follow",
    "#": "the first line of a file for editors",
    "127.0.0.1": "a line of the hosts file",
    **dict.fromkeys(
        ("execution", "worker:", "Schedule", "version"), "output of a tutorial, run by tests/sdk/test_tutorials"
    ),
}
"""First words of blocks that nobody types, and what they are."""


def indented(path, start="", end=""):
    """Return the indented blocks of a page, or of its part from the line *start* to the line *end*."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    text = text[text.index(start) : text.index(end) if end else None]
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


OPERATORS = re.compile(r"[|&;()<>]+")
BEFORE = re.compile(r"\$|-|run:|do|then|\w+=.*")
"""Words that may stand before a command: a prompt, a step of a CI file, an assignment."""


def commands(text):
    """Yield the words of each `localyun ...` in shell text, from the command's name to the next operator."""
    text = re.sub(r'"\$\(([^()"]*)\)"', r"$(\1)", text.replace("\\\n", " "))
    for line in text.splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        command, first = None, True
        for word in words if re.search(r"\blocalyun\b", line) else ():
            if OPERATORS.fullmatch(word):
                if command is not None:
                    yield command
                command, first = None, True
            elif command is not None:
                command.append(word)
            elif first and word == "localyun":
                command = []
            else:
                first = word.endswith("$") or (first and BEFORE.fullmatch(word) is not None)
        if command is not None:
            yield command


@cache
def parser():
    """Return the grammar of the command line."""
    return build()


def refused(words):
    """Return what the command line has against a command, "" if nothing."""
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(io.StringIO()):
        try:
            parser().parse_args(words)
        except SystemExit as ended:
            return said.getvalue() if ended.code else ""
        except WrongUsage as error:
            return str(error)
    return ""


def printed(path):
    """Return the commands of a page's blocks."""
    fenced = FENCED.findall(path.read_text(encoding="utf-8"))
    shell = [text for language, text in fenced if language in {"", "console", "text", "yaml"}]
    return [command for block in [*shell, *indented(path)] for command in commands(block)]


def mentioned(path):
    """Return the commands within a page's sentences, without the brackets around what may be left out."""
    text = re.sub(r"^ {4}.*$", "", FENCED.sub("", path.read_text(encoding="utf-8")), flags=re.M)
    spans = re.findall(r"`((?:\w+=\S+\s+)?localyun\s[^`]*)`", text)
    found = [command for span in spans for command in commands(re.sub(r"[\[\]]", "", re.sub(r"\s+", " ", span)))]
    return [["1" if word in {"N", "PORT"} else word for word in each] for each in found]


PRINTED = sorted({(name_of(path), tuple(words)) for path in PAGES for words in printed(path)})
MENTIONED = sorted({(name_of(path), tuple(words)) for path in PAGES for words in mentioned(path)})
ANY_COMMAND = {("COMMAND", "--help"), ("...",)}
"""What stands for every command in a sentence."""


def spoken(value):
    """Return a command as it is written, for the names of tests."""
    return shlex.join(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize(("page", "command"), PRINTED, ids=spoken)
def test_commands_of_blocks_are_accepted(page, command):
    """The command line takes them with their options and values, and has something to do."""
    assert refused(command) == "", page
    assert parser().parse_args(command).run, page


@pytest.mark.parametrize(("page", "command"), [each for each in MENTIONED if each[1] not in ANY_COMMAND], ids=spoken)
def test_commands_within_sentences_exist(page, command):
    """With every option that is named; only arguments may be left out."""
    said = refused(command)

    assert not said or re.search(r"arguments are required|expected one argument", said), page


def test_commands_are_found():
    """No test passes because it has looked at nothing."""
    assert len(PRINTED) > 130
    assert len(MENTIONED) > 80
    assert {command for _, command in MENTIONED} >= ANY_COMMAND
    assert len(TYPED) > 60
    assert "--nothing" in refused(["status", "--nothing"])
    assert "nothing" in refused(["queue", "nothing"])
    assert "invalid choice" in refused(["env", "--shell", "nothing"])
    assert list(commands("A=1 localyun queue list | localyun env &&\nx localyun stop")) == [["queue", "list"], ["env"]]
    assert list(commands('$ eval "$(localyun env)"\nlocalyun start \\\n  -d')) == [["env"], ["start", "-d"]]


SHOWN_FILES = {
    "flow.yml": """\
version: v1
type: flow
steps:
  - {type: pass, name: StartJob}
  - {type: wait, name: Wait10s, duration: 10}
  - type: choice
    name: CheckJobComplete
    choices:
      - goto: Wait10
        condition: $.status == "running"
""",
    "machine.yml": """\
Type: StateMachine
SpecVersion: v1
Name: orders
StartAt: Count
States:
  - Type: Pass
    Name: Count
    End: true
    OutputConstructor:
      # how many lines the order has
      n.$: lenght($Input.order.lines)
""",
}
"""Files in which `flow check` finds what docs/commands.md shows."""

SESSIONS = [
    pytest.param(command.split()[1:], output, id=f"{path.relative_to(ROOT)}: {command}")
    for path in PAGES
    for block in indented(path)
    for command, output in re.findall(r"^\$ (localyun flow check .*)\n((?:(?!\$ ).*(?:\n|$))+)", block, re.M)
]


@pytest.mark.parametrize(("command", "output"), SESSIONS)
def test_sessions_print_what_is_shown(command, output, tmp_path):
    """Line by line, in English on the pages of both languages."""
    for name, text in SHOWN_FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    done = run(command, cwd=tmp_path, env=os.environ | {"LC_ALL": "C.UTF-8"}, timeout=60)

    assert done.returncode == 1
    assert (done.stdout + done.stderr).rstrip() == output.rstrip()


def test_sessions_are_found():
    """Two on each of the pages of commands."""
    assert len(SESSIONS) == 4
