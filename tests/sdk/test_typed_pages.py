"""What pages say to type, typed as it stands there: every command succeeds and prints what the page says.

Each page starts in an empty folder with the reader's own files and with what the reader has done before.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from emulator.kernel.frozen import frozen
from tests import commands, own_pytest
from tests.architecture.test_snippets import FENCED, indented
from tests.sdk import shells

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

NODE_PROGRAM = """
const host = `${process.env.LOCALYUN_ACCOUNT_ID}.mns.cn-hangzhou.aliyuncs.com`;
require("https").get(`https://${host}/queues`, async (answer) => {
  for await (const piece of answer) console.log(/<Code>(.*)<\\/Code>/.exec(piece)?.[1]);
});
"""
"""Another, which sends no signature."""

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
    before, ``then`` is typed after a line. ``tools`` are programs without which the page is skipped. The command of a
    page is forked (tests/commands.py) unless it is ``loaded`` for each line, as a reader's is.
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
    loaded: bool = False


TOOLS = """for tool in aliyun terraform fun s; do
    printf '#!/bin/sh\\ntest -n "$ALIBABA_CLOUD_ACCESS_KEY_ID" || exit 1\\necho %s "$@"\\n' $tool > $tool
    chmod +x $tool
done
export PATH="$PWD:$PATH"
"""
"""Stand-ins for the tools of docs/tools.md, which tell how they are called; each needs the keys that `exec` sets."""

PAGES = {
    "README.md": Page(
        then={"localyun tutorial run callback": "localyun stop"},
        printed=('execution Succeeded: {"s":"ok"}', "is serving", "stopped http"),
        loaded=True,
    ),
    "docs/index.md": Page(
        files={"app.py": WORKER},
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
        end="## Uninstall",
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
    "docs/quickstart.md, uninstalled": Page(
        name="docs/quickstart.md",
        start="## Uninstall",
        before="""export HOME="$PWD" XDG_CACHE_HOME= XDG_RUNTIME_DIR=
localyun start -d
localyun exec -- true
localyun tutorial run transaction""",
        then={"rm -rf ~/.cache": 'echo "left: $(ls -A .cache) $(ls -A)"'},
        printed=("stopped http", "left:  .cache\n"),
    ),
    "docs/deploy.md": Page(
        before="localyun start -d",
        files={"template.yml": TEMPLATE},
        printed=("plan: 2 to create", "plan: 1 to update", "removed empty: 2 resources"),
    ),
    "docs/sdks/node.md": Page(
        tools=("node", "npm"),
        before="export NPM_CONFIG_UPDATE_NOTIFIER=false",
        files={"app.js": NODE_PROGRAM, "package.json": '{"scripts": {"test": "node app.js"}}'},
        then={"localyun exec -- node": "echo running", "localyun exec --start": "echo tested"},
        printed=("MissingVersionHeader\nrunning", "MissingVersionHeader\ntested"),
    ),
    "docs/exec.md": Page(
        files={
            "worker.py": WORKER,
            "setup.py": WORKER.replace("an order", "set up"),
            "app.js": "console.log('from Node.js')\n",
            "tests/integration/test_worker.py": "import runpy\n\n\ndef test_it():\n    runpy.run_path('worker.py')\n",
        },
        printed=("b'an order'", "b'set up'", "from Node.js", "1 passed", "PathNotSupported"),
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
    "docs/tutorials.md": Page(
        then={"localyun flow graph": "localyun stop"},
        printed=("poll-for-task-status", "CancelTrainTicket", "OrderFailed", "stopped http"),
    ),
    "docs/tutorials/poll-for-task-status.md, changed": Page(
        name="docs/tutorials/poll-for-task-status.md",
        start="## Change it",
        before=f"localyun start -d --functions '{ROOT}/functions'\n"
        f"localyun flow create fnf-demo-poll-for-task-status '{ROOT}/sample-apps/poll-for-task-status/flow.yml'",
        printed=("fnf-demo-poll-for-task-status", "s.yaml"),
    ),
    "docs/docker.md": Page(files={"ci.sh": "localyun queue create orders\n"}, printed=("created orders",)),
    "docs/tools.md, aliyun": Page(
        name="docs/tools.md",
        start="## aliyun",
        end="## Terraform",
        before=TOOLS,
        files={"deploy.sh": "aliyun ram ListRoles\n"},
        printed=("aliyun fnf ListFlows", "aliyun ram ListRoles", "aliyun --profile local fnf ListFlows"),
    ),
    "docs/tools.md, Terraform": Page(
        name="docs/tools.md",
        start="## Terraform",
        end="## Funcraft",
        before=TOOLS,
        printed=("terraform init", "terraform apply"),
    ),
    "docs/tools.md, fun and s": Page(
        name="docs/tools.md",
        start="## Funcraft",
        before=TOOLS,
        printed=("fun deploy -y", "s deploy -y --access default"),
    ),
    "docs/console.md": Page(printed=("/_localyun/console/",)),
    "docs/commands.md, the emulator": Page(
        name="docs/commands.md",
        start="## start",
        end="## init",
        printed=("QueueNotExist", "mcpServers", "for-you.zip"),
    ),
    "docs/commands.md, a project": Page(
        name="docs/commands.md",
        start="## init",
        end="## invoke",
        printed=("1 passed",),
    ),
    "docs/commands.md, messages": Page(
        name="docs/commands.md",
        start="## queue",
        end="## clock",
        before="localyun start -d",
        printed=("created orders", '"MessageBody"'),
    ),
    "docs/commands.md, the lab": Page(
        name="docs/commands.md",
        start="## clock",
        end="## usage",
        before="localyun start -d\nlocalyun flow create remind remind.yml\nlocalyun flow start remind --name run-1",
        files={"remind.yml": "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: a-day, duration: 86400}\n"},
        printed=("fault-1", "end of a wait  remind/run-1"),
    ),
    "docs/commands.md, files": Page(
        name="docs/commands.md",
        start="## deploy",
        end="## console",
        before="localyun start -d",
        files={"template.yml": TEMPLATE},
        then={"localyun deploy --remove": "localyun deploy"},
        printed=("plan: 1 to update", "removed empty: 2 resources", "no differences"),
    ),
    "docs/commands.md, a program": Page(
        name="docs/commands.md",
        start="## console",
        end="## tutorial",
        before="localyun start -d\nlocalyun flow create transaction flow.yml\n"
        "localyun flow start transaction --name first --follow",
        files={
            "worker.py": WORKER,
            "flow.yml": "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: only}\n",
            "tests/integration/test_worker.py": "import runpy\n\n\ndef test_it():\n    runpy.run_path('worker.py')\n",
        },
        printed=("b'an order'", "/_localyun/console/login?key=", "1 passed"),
    ),
}

LEFT_OUT = {
    "pip ": "installs from a registry",
    "python3 -m venv": "the tests run in an environment already",
    ". .venv": "as above",
    "python3 dev.py": "the tests themselves, and the tutorial that test_polling_tutorial runs",
    "localyun tutorial run polling": "takes 40 s; test_polling_tutorial runs it",
    "localyun flow start fnf-demo-poll": "takes 40 s; test_polling_tutorial runs this flow",
    "localyun exec --network": "needs namespaces; test_exec runs it where there are some",
    "localyun exec --preload": "needs a compiler; test_exec runs it where there is one",
    "localyun env --shell fish": "for another shell; tests/unit/cli/commands/test_info.py reads what each gets",
    "localyun doctor": "ends with 1 where this machine lacks something; tests/unit/cli/commands/test_doctor.py runs it",
    'eval "$(localyun completion': "for bash; tests/unit/cli/commands/test_completion.py runs it there",
    "localyun completion": "for other shells; tests/unit/cli/commands/test_completion.py reads it",
    "localyun trace remind/run-1 --otlp": "needs a collector; tests/sdk/test_metrics_and_traces.py has one",
    "docker ": "needs a container engine; tests/architecture/test_docker.py reads image and compose file",
    "    -v localyun-state": "the end of such a line",
    "cp docker/.env.example": "as above; the tests need no .env",
    "mcp-inspector": "a program of npm; tests/unit/cli/commands/test_mcp runs it where it is installed",
}
"""Beginnings of lines that are not typed, and why."""


TUTORIALS = {
    "callback": "tests/sdk/test_tutorials.py::test_script_reports_with_the_token_of_the_submitted_task",
    "mns-queue-callback": "tests/sdk/test_tutorials.py::test_worker_takes_a_task_from_the_queue_and_reports_it",
    "mns-topic-callback": "tests/sdk/test_tutorials.py::test_function_subscribed_to_the_topic_reports_the_task",
    "multi-step-transaction": "tests/sdk/test_tutorials.py::test_transaction_is_undone_when_the_hotel_fails",
    "poll-for-task-status": "tests/sdk/test_polling_tutorial.py::test_the_polling_tutorial_runs_as_the_guide_says",
    "timed-schedule": "tests/sdk/test_tutorials.py::test_schedule_is_created_fired_and_removed",
    "troubleshooting": "tests/sdk/test_tutorials.py::test_errors_are_retried_and_the_last_is_redirected",
    "versions-and-aliases":
        "tests/sdk/test_tutorials.py::test_version_is_called_through_its_alias_cold_and_with_a_provisioned_instance",
}  # fmt: skip
"""The test of each tutorial, which compares what it prints with its page."""

ELSEWHERE = {
    ("docs/commands.md", "localyun invoke hello"): "tests/sdk/test_page_commands.py::test_functions_are_called",
    ("docs/commands.md", "localyun invoke shop/order --event '{\"id\": 7}' --async"):
        "tests/sdk/test_page_commands.py::test_functions_are_called",
    ("docs/commands.md", "localyun invoke shop/order --event '{\"id\": 7}' --debug"):
        "tests/sdk/test_debugging.py::test_ctrl_c_ends_the_call_and_its_instance",
    ("docs/commands.md", "localyun trigger fire"): "tests/sdk/test_page_commands.py::test_functions_are_called",
    ("docs/commands.md", "   +0.00s"):
        "tests/unit/cli/test_execution_tree.py::test_lines_on_the_page_of_commands_are_those_that_are_printed",
    ("docs/commands.md", "$ localyun flow debug"):
        "tests/unit/cli/test_program_debugging.py::test_the_session_on_the_page_of_commands_is_what_comes",
    ("docs/commands.md", "localyun flow graph"): "tests/sdk/test_page_commands.py::test_flows_are_drawn",
    ("docs/commands.md", "$ localyun flow check"):
        "tests/sdk/test_page_commands.py::test_mistakes_are_printed_as_the_page_shows",
    ("docs/functions.md", ""): "tests/sdk/test_page_commands.py::test_functions_answer_as_the_page_says",
    ("docs/functions/sessions.md", ""): "tests/sdk/test_fc_sessions.py::test_sessions_are_listed_by_the_command",
    ("docs/flows/debugging.md", "localyun flow debug"):
        "tests/unit/cli/test_program_debugging.py::test_the_session_on_the_page_of_commands_is_what_comes",
    ("docs/flows/state-machines.md", "localyun tutorial run"):
        "tests/sdk/test_tutorials.py::test_tutorial_runs_in_the_state_machine_language",
    ("docs/flows/state-machines.md", "# yaml-language-server"):
        "tests/sdk/test_openapi.py::test_schemas_for_editors_are_served",
    ("docs/flows/testing.md", ""): "tests/sdk/test_page_commands.py::test_cases_of_the_page_cover_their_flow",
    ("docs/testing.md", ""): "tests/sdk/test_page_commands.py::test_clock_is_moved_by_the_call_of_the_page",
    ("docs/export.md", ""): "tests/sdk/test_page_commands.py::test_exports_are_read_again_without_a_difference",
    ("docs/observability.md", ""): "tests/sdk/test_page_commands.py::test_log_of_a_request_is_what_the_page_shows",
    ("docs/sdks/README.md", "127.0.0.1"):
        "tests/architecture/test_docker.py::test_every_alias_is_a_name_the_emulator_serves",
    **{
        (place, ""): test
        for name, test in TUTORIALS.items()
        for place in (f"docs/tutorials/{name}.md", f"sample-apps/{name}/README.md")
    },
}  # fmt: skip
"""What pages show that is not typed here, by page and beginning of the block, and the test that types it."""


def typed(page: Page, name: str) -> str:
    """Return what the reader types: the page's indented blocks without the lines that are left out."""
    lines = []
    for line in "\n".join(indented(ROOT / (page.name or name), page.start, page.end)).splitlines():
        if not line.startswith(tuple(LEFT_OUT)):
            lines += [line, *(more for begin, more in page.then.items() if line.startswith(begin))]
    return "\n".join(lines)


def exec_of(words: list[str]) -> str:
    """Return the script that becomes these words, with its own arguments."""
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


@pytest.fixture
def shell(tmp_path):
    """Run lines in a shell whose `localyun`, `python` and `pytest` are those of this installation."""
    scripts = tmp_path / "bin"
    scripts.mkdir()

    def write(name: str, script: str) -> None:
        (scripts / name).write_text(script)
        (scripts / name).chmod(0o755)

    write("localyun", exec_of(commands.program()))
    write("python", exec_of([sys.executable]))
    write("python3", exec_of([sys.executable]))
    write("pytest", shells.pytest("-p", "localyun"))
    folder = tmp_path / "empty"
    folder.mkdir()
    environment = own_pytest.environment() | {
        "LOCALYUN_PORT": "0", "LOCALYUN_HTTPS_PORT": "0", "PYTHONPATH": str(ROOT), "SHELL": "/bin/sh",
        "LC_ALL": "C.UTF-8", "BROWSER": "true", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", **commands.shared(),
    }  # fmt: skip

    def run(lines: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-e", "-c", lines], cwd=folder, env=environment, capture_output=True, text=True, timeout=170,
            check=False,
        )  # fmt: skip

    run.folder, run.write = folder, write
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
    if page.loaded:
        shell.write("localyun", exec_of(commands.COMMAND))
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


def blocks_of(name: str) -> list[str]:
    """Return the indented blocks of a page that are not typed here."""
    typed_here = [
        block
        for key, page in PAGES.items()
        if (page.name or key) == name
        for block in indented(ROOT / name, page.start, page.end)
    ]
    return [block for block in indented(ROOT / name) if block not in typed_here]


READERS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "sample-apps").rglob("*.md")]
    if "zh-CN" not in path.parts and path.name not in {"benchmarks.md", "performance.md"}
)
"""The pages for users; the others are typed by those who change the project."""


def elsewhere(name: str, block: str) -> list[tuple[str, str]]:
    """Return the rows for a block, none for lines that are left out."""
    return [row for row in ELSEWHERE if name.startswith(row[0]) and block.startswith(row[1])]


def test_every_block_of_a_page_is_typed_by_a_test():
    """Here, or by one that the table names; a block of lines that are all left out needs none."""
    missing = [
        (name, block)
        for name in READERS
        for block in blocks_of(name)
        if not elsewhere(name, block) and not all(line.startswith(tuple(LEFT_OUT)) for line in block.splitlines())
    ]

    assert missing == []


def test_every_row_of_the_table_has_a_block_and_a_test():
    """A row without either is removed."""
    used = {row for name in READERS for block in blocks_of(name) for row in elsewhere(name, block)}
    tests = {row: test.split("::") for row, test in ELSEWHERE.items()}

    assert set(ELSEWHERE) - used == set()
    assert [
        row for row, (file, name) in tests.items() if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")
    ] == []
