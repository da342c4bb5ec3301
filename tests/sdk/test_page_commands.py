"""The commands of pages about functions, flows, tests, exports and logs, typed as they stand there."""

import json
import os
import re
import shlex
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from emulator.testing import Emulator
from tests import commands
from tests.architecture.test_snippets import SHOWN_FILES

pytestmark = pytest.mark.sdk

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ORDERS = """
version: v1
type: flow
steps:
  - {type: task, name: Charge, resourceArn: 'acs:fc:::services/shop/functions/Charge'}
  - {type: task, name: Receipt, resourceArn: 'acs:mns:::/queues/receipts/messages', serviceParams: {MessageBody: $}}
"""
"""The flow of docs/observability.md."""


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def typed(text):
    """Return the indented lines of a page, without what a terminal prints after them."""
    lines = re.findall(r"^    (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    prompts = [line[2:] for line in lines if line.startswith("$ ")]
    return prompts or lines


def files(text):
    """Return the files that a page shows, name -> content: a block after a line with the name in back quotes."""
    return dict(re.findall(r"^`([\w./]+)`[:\uff1a]\n\n```\w+\n(.*?)^```$", text, re.M | re.S))


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """The tree of docs/functions.md, with the aliases of the page and functions of this project."""
    folder = tmp_path_factory.mktemp("pages") / "functions"
    for version in ("", "versions/1", "versions/2"):
        shutil.copytree(ROOT / "functions" / "fnf-demo" / "StartJob", folder / "fnf-demo" / version / "StartJob")
    for version in ("", "versions/1"):
        shutil.copytree(ROOT / "functions" / "hello", folder / "hello" / version)
    (folder / "hello" / "function.yml").write_text("aliases: {online: 1}\n")
    (folder / "fnf-demo" / "service.yml").write_text(
        re.search(r"```yaml\n(aliases:.*?)```", page("functions.md"), re.S)[1]
    )
    (folder / "shop" / "Charge").mkdir(parents=True)
    (folder / "shop" / "Charge" / "index.py").write_text(
        "import logging\n\n\ndef handler(event, context):\n    logging.getLogger().info('charged')\n    return '{}'\n"
    )
    (folder / "starter").mkdir()
    (folder / "starter" / "index.py").write_text(
        re.search(r"```python\n((?:(?!```).)*StartExecutionRequest.*?)```", page("functions.md"), re.S)[1]
    )
    (folder / "starter" / "function.yml").write_text(
        "timeout: 30\ntriggers:\n  - {name: news, type: mns_topic, sourceArn: 'acs:mns:::/topics/news'}\n"
    )
    shutil.copytree(folder / "shop" / "Charge", folder / "shop" / "order")
    shutil.copytree(folder / "shop" / "Charge", folder / "shop" / "Cleanup")
    (folder / "shop" / "Cleanup" / "function.yml").write_text(
        "triggers:\n  - {name: every-night, type: timer, config: {cronExpression: '0 0 3 * * *'}}\n"
    )
    return folder


@pytest.fixture(scope="module")
def localyun(functions):
    """An emulator that serves them."""
    with Emulator(functions=functions) as kit:
        yield kit


@pytest.fixture
def shell(localyun, tmp_path):
    """Run lines in a shell of an empty folder, in which `localyun` is this program; return what they print."""
    localyun.reset()
    program = tmp_path / "bin" / "localyun"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(commands.program())} "$@"\n')
    program.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")}
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    folder = tmp_path / "empty"
    folder.mkdir()

    def run(*lines, **contents):
        for name, content in contents.items():
            (folder / name).write_text(content)
        done = subprocess.run(
            ["sh", "-e", "-c", "\n".join(lines)], cwd=folder,
            env=inherited | localyun.env | {"PATH": path, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_functions_answer_as_the_page_says(shell):
    """Called by name, and found in the list of triggers; `-f` would follow the log for ever."""
    lines = typed(page("functions.md"))

    printed = shell(*(line.replace(" -f ", " ") for line in lines))

    assert len(lines) == 3
    assert "FC Invoke Start RequestId" in printed


def test_function_of_the_page_starts_an_execution(localyun):
    """At the cloud's address, with the temporary keys of its environment; its event is the input."""
    pytest.importorskip("alibabacloud_fnf20190315")
    localyun.reset()
    flow = localyun.flow("order", "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: done}\n")

    name = localyun.invoke("starter", {"order": 7}).text

    (run,) = flow.executions
    assert (run.name, json.loads(run.describe()["Input"])) == (name, {"order": 7})


def test_cases_of_the_page_cover_their_flow(shell, localyun):
    """Each passes and every way is taken, so that no case is proposed; a history of the flow is replayed."""
    text = page("flows/testing.md")
    localyun.queue("requests")
    localyun.mock(step="order/ReserveHotel", returns={"room": 7})
    run = localyun.flow("order", files(text)["order.yml"]).start({"hotel": "Lakeside"})
    localyun.skip_until(execution=run)

    printed = shell(*typed(text), **files(text), **{"history.json": json.dumps({"Events": run.history})})

    assert "100.0 %" in printed
    assert "3 cases, 0 failed" in printed
    assert "cases: []" in printed
    assert "no difference in 7 events" in printed


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_clock_is_moved_by_the_call_of_the_page(shell, localyun):
    """A day ahead, with the address and token of `localyun env`."""
    localyun.clock.freeze()
    before = localyun.clock.now()

    shell(*typed(page("testing.md")))

    assert localyun.clock.now() - before == timedelta(days=1)
    localyun.clock.unfreeze()


def test_exports_are_read_again_without_a_difference(shell, localyun):
    """In each format, and as a part; a trigger of the folder has no role, which the cloud demands."""
    localyun.queue("orders")
    localyun.topic("news")
    *exports, compared = typed(page("export.md"))
    formats = {"s.yaml": exports[0], "template.yml": exports[1], "main.tf": exports[2]}

    for name, line in formats.items():
        shell("rm -rf out", line, f"test -e out/{name}")
    shell("rm -rf out", exports[0], compared)
    shell("rm -rf out", exports[3], "test -e out/s.yaml")

    assert len(exports) == 4


def shape(line):
    """Return a line of the log without times, ids and amounts."""
    line = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", line.rstrip())
    line = re.sub(r"[\d.]+ ?(ms|MB)", r"N \1", line)
    return re.sub(r"\b[0-9a-fA-F]{4,}(?:[-0-9a-fA-F]*|-?)(?:\.\.\.)?(?= |$)", "ID", line)


def test_log_of_a_request_is_what_the_page_shows(shell, localyun):
    """Line by line: the flow, its call of a warm function with its output, its message."""
    localyun.queue("receipts")
    localyun.flow("orders", ORDERS)
    localyun.invoke("shop/Charge")
    shown = re.findall(r"^    (20\d\d-.*)$", page("observability.md"), re.M)
    start, logs = typed(page("observability.md"))

    shell(start)
    localyun.settle()
    printed = shell(re.sub(r"\S+$", localyun.trace("orders/o-1")["trace"], logs))

    assert len(shown) == 12
    for line, expected in zip(printed.splitlines(), map(shape, shown), strict=True):
        cut = expected.removesuffix("MB, ...")  # where the page's line ends before the program's
        assert shape(line).startswith(cut) if cut != expected else shape(line) == expected


def lines_of_commands(begin):
    """Return the lines of the page of commands that begin with *begin*."""
    return [line for line in typed(page("commands.md").replace("$ localyun", "localyun")) if line.startswith(begin)]


def test_functions_are_called(shell):
    """By name, in a service, through an alias, asynchronously, and by a trigger."""
    called = [line for line in lines_of_commands("localyun invoke") if "--debug" not in line]
    fired = lines_of_commands("localyun trigger fire")

    printed = shell(*called, *fired)

    assert (len(called), len(fired)) == (5, 1)
    assert "job_id" in printed


def test_flows_are_drawn(shell, localyun):
    """An execution to a file, the flow as text."""
    localyun.flow("polling", ORDERS.replace("Charge", "order")).start()
    localyun.queue("receipts")
    localyun.settle()

    drawn = shell(*lines_of_commands("localyun flow graph"), "cat polling.svg", "echo drawn", "cat README.md")

    picture, _, text = drawn.rpartition("\ndrawn\n")
    assert "<svg" in picture
    assert "flowchart" in text


def test_mistakes_are_printed_as_the_page_shows(shell):
    """With file, line and column; a caret stands below an expression."""
    text = page("commands.md").partition("### Checking a definition")[2].partition("\n## ")[0]
    shown = re.findall(r"^    (.*)$", text, re.M)
    checks = [line[2:] for line in shown if line.startswith("$ ")]

    printed = shell(*(f"{line} || true" for line in checks), **SHOWN_FILES)

    assert printed.splitlines() == [line for line in shown if not line.startswith("$ ")]
