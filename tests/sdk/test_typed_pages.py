"""What pages say to type, typed as it stands there: every command succeeds and prints what the page says.

Each page starts in an empty folder with the reader's own files and with what the reader has done before.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from emulator.kernel.frozen import frozen
from tests.architecture.test_snippets import FENCED, indented

pytest.importorskip("mns")

pytestmark = pytest.mark.sdk

ROOT = Path(__file__).parents[2]

WORKER = """
import os

from mns.account import Account
from mns.queue import Message, QueueMeta

account = Account(
    f"http://{os.environ['ACCOUNT_ID']}.mns.cn-hangzhou.aliyuncs.com",
    os.environ["ALIBABA_CLOUD_ACCESS_KEY_ID"],
    os.environ["ALIBABA_CLOUD_ACCESS_KEY_SECRET"],
)
queue = account.get_queue("orders")
queue.create(QueueMeta())
queue.send_message(Message("an order"))
print(queue.receive_message(3).message_body)
queue.delete()
"""
"""A program for the cloud, with the cloud's address."""

TEMPLATE = """
ROSTemplateFormatVersion: "2015-09-01"
Parameters:
  Cron: {Type: String, Default: "@every 5m"}
Resources:
  Remind:
    Type: ALIYUN::FNF::Flow
    Properties:
      Name: remind
      Description: waits for nobody
      Definition: |
        version: v1
        type: flow
        steps:
          - {type: pass, name: done}
  Nightly:
    Type: ALIYUN::FNF::Schedule
    DependsOn: Remind
    Properties: {FlowName: remind, ScheduleName: nightly, CronExpression: !Ref Cron, Enable: false}
"""


@frozen
class Page:
    """The part of a page from the heading *start* to the heading *end*, and what its reader has.

    ``files`` are the reader's, with the blocks of the page that ``shown`` names: language by file. ``before`` was typed
    before, ``then`` is typed after a line. ``tools`` are programs without which the page is skipped.
    """

    printed: tuple[str, ...]
    name: str = ""
    start: str = ""
    end: str = ""
    files: Mapping[str, str] = {}
    shown: Mapping[str, str] = {}
    before: str = ""
    then: Mapping[str, str] = {}
    tools: tuple[str, ...] = ()


PAGES = {
    "README.md": Page(printed=('execution Succeeded: {"s":"ok"}', "is serving", "stopped http")),
    "docs/index.md": Page(
        files={"app.py": WORKER, "test_app.py": "def test_it(localyun):\n    localyun.queue('orders').send('one')\n"},
        printed=("b'an order'", "1 passed", "poll-for-task-status"),
    ),
    "docs/quickstart.md, a project": Page(
        name="docs/quickstart.md",
        start="## Create a project",
        end="## A function",
        printed=("Ada", "1 passed"),
    ),
    "docs/quickstart.md, step by step": Page(
        name="docs/quickstart.md",
        start="## A function",
        shown={"first.py": "python"},
        then={'eval "$(localyun env)"': "python first.py"},
        printed=(
            '{"greeting": "Hello, world"}',
            "b'hello'",
            "Succeeded: ",
            "greeting.svg",
            'execution Succeeded: {"s":"ok"}',
        ),
    ),
    "docs/deploy.md": Page(
        before="localyun start -d",
        files={"template.yml": TEMPLATE},
        printed=("plan: 2 to create", "plan: 1 to update", "removed empty: 2 resources"),
    ),
    "docs/exec.md": Page(
        files={
            "worker.py": WORKER,
            "setup.py": WORKER.replace("an order", "set up"),
            "app.js": "console.log('from Node.js')\n",
            "tests/integration/test_worker.py": "import runpy\n\n\ndef test_it():\n    runpy.run_path('worker.py')\n",
        },
        printed=("b'an order'", "b'set up'", "from Node.js", "1 passed", "MissingRequiredHeader"),
        tools=("node", "curl"),
    ),
    "docs/compare.md": Page(
        files={"worker.py": WORKER},
        before="localyun start -d\nlocalyun record -o recording.har -- python3 worker.py\nlocalyun reset -y",
        printed=("before.har: 4 requests", "given.har: 4 requests"),
    ),
    "docs/usage.md": Page(
        files={"template.yml": TEMPLATE},
        shown={"prices.yml": "yaml"},
        before="localyun start -d\nlocalyun deploy --name shop\nlocalyun flow start remind --name run-1 --follow",
        printed=("fnf.transitions", "The counters are now 0.", "CNY"),
    ),
    "docs/assistants.md": Page(printed=("mcpServers",)),
}

LEFT_OUT = {
    "pip ": "installs from a registry",
    "python3 -m venv": "the tests run in an environment already",
    ". .venv": "as above",
    "python3 dev.py": "the tests themselves, and the tutorial that test_polling_tutorial runs",
    "localyun tutorial run polling": "takes 40 s; test_polling_tutorial runs it",
    "localyun exec --network": "needs namespaces; test_exec runs it where there are some",
    "localyun exec --preload": "needs a compiler; test_exec runs it where there is one",
    "mcp-inspector": "a program of npm; tests/unit/cli/commands/test_mcp runs it where it is installed",
}
"""Beginnings of lines that are not typed, and why."""


def typed(page: Page, name: str) -> str:
    """Return what the reader types: the page's indented blocks without the lines that are left out."""
    lines = []
    for line in "\n".join(indented(ROOT / (page.name or name), page.start, page.end)).splitlines():
        if not line.startswith(tuple(LEFT_OUT)):
            lines += [line, *(more for begin, more in page.then.items() if line.startswith(begin))]
    return "\n".join(lines)


@pytest.fixture
def shell(tmp_path):
    """Run lines in a shell whose `localyun`, `python` and `pytest` are those of this installation."""
    scripts = tmp_path / "bin"
    scripts.mkdir()
    words = {"localyun": "-m emulator", "python": "", "python3": "", "pytest": "-m pytest -p localyun"}
    for name, more in words.items():
        (scripts / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {more} "$@"\n')
        (scripts / name).chmod(0o755)
    folder = tmp_path / "empty"
    folder.mkdir()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LOCALYUN_", "PYTEST_"))}
    environment = inherited | {
        "LOCALYUN_PORT": "0", "LOCALYUN_HTTPS_PORT": "0", "PYTHONPATH": str(ROOT), "SHELL": "/bin/sh",
        "LC_ALL": "C.UTF-8", "PYTHONWARNINGS": "ignore", "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip

    def run(lines: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-e", "-c", lines], cwd=folder, env=environment, capture_output=True, text=True, timeout=170,
            check=False,
        )  # fmt: skip

    run.folder = folder
    yield run
    for state in folder.rglob(".localyun"):
        subprocess.run([scripts / "localyun", "stop"], cwd=state.parent, env=environment, check=False)


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_says_to_type_works(name, shell):
    """In the order of the page."""
    page = PAGES[name]
    for tool in page.tools:
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    blocks = dict(reversed(FENCED.findall((ROOT / (page.name or name)).read_text(encoding="utf-8"))))
    for file, text in [*page.files.items(), *((file, blocks[language]) for file, language in page.shown.items())]:
        (shell.folder / file).parent.mkdir(parents=True, exist_ok=True)
        (shell.folder / file).write_text(text, encoding="utf-8")

    done = shell(f"{page.before}\n{typed(page, name)}")

    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert [text for text in page.printed if text not in said] == [], said


def test_every_line_that_is_left_out_is_on_a_page():
    """A reason without a line is removed."""
    lines = {
        line
        for name, page in PAGES.items()
        for block in indented(ROOT / (page.name or name))
        for line in block.splitlines()
    }

    assert [begin for begin in LEFT_OUT if not any(line.startswith(begin) for line in lines)] == []
