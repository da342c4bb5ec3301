"""The tutorials of the best-practice guide, run by the real command through the official clients."""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from emulator.testing.process import kit_at
from tests import commands
from tests.conftest import RunningEmulator
from tests.waiting import eventually

pytestmark = pytest.mark.sdk

ROOT = Path(__file__).parents[2]


LOADED = (
    *(f"emulator.cli.{each}" for each in ("main", "commands.tutorial", "admin", "execution_tree")),
    *("aliyunsdkcore.client", "aliyunsdkcore.acs_exception.exceptions", "mns.account", "fc2"),
    *("alibabacloud_fnf20190315.client", "alibabacloud_tea_openapi.models", "Tea.exceptions"),
    *(f"aliyunsdkfnf.request.v20190315.{each}Request" for each in (
        "CreateFlow", "DeleteFlow", "DescribeFlow", "UpdateFlow", "StartExecution", "DescribeExecution",
        "GetExecutionHistory", "ReportTaskSucceeded", "ReportTaskFailed", "CreateSchedule", "DeleteSchedule",
    )),
)  # fmt: skip
"""What the command and the programs of tutorials load: the SDKs take them several times as long as what they do."""

COMMAND = """
import sys
sys.executable = sys.argv.pop(1)
from emulator.cli.main import main
sys.exit(main())
"""
PROGRAM = """
import runpy, sys
sys.executable = sys.argv.pop(1)
del sys.argv[0]
sys.path[0] = sys.argv[0].rpartition("/")[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A Python for the programs of tutorials and what these start, forked from one that has loaded what they need."""
    if not commands.FORK:
        return sys.executable
    script = tmp_path_factory.mktemp("python") / "python"
    words = [*commands.code_program(PROGRAM, *LOADED), str(script)]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o755)
    return str(script)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    """An emulator whose time is skipped where a flow waits before it tries again."""
    running = RunningEmulator(tmp_path_factory.mktemp("tutorials"), ROOT / "functions").start()
    yield running
    assert running.stop() == 0


def skip_retries(emulator, flow):
    """Skip the waits of the execution that runs next."""
    from aliyunsdkcore.acs_exception.exceptions import ServerException

    fnf = emulator.fnf()

    def running():
        with contextlib.suppress(ServerException):  # before there is the flow
            listed = fnf.send("ListExecutions", FlowName=flow)["Executions"]
            return [each["Name"] for each in listed if each["Status"] == "Running"]

    (name,) = eventually(running, 60)
    with contextlib.closing(kit_at(emulator.state)) as kit:
        kit.skip_until(execution=f"{flow}/{name}", timeout="60s")


@pytest.fixture
def localyun(emulator, python, tmp_path):
    """Run the command against the emulator; returns the finished process. The retries of a flow can be *skipped*."""

    def run(*words, skipped=None):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LOCALYUN_")}
        environment |= {"LOCALYUN_STATE": str(emulator.state), "PYTHONPATH": str(ROOT)}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with commands.popen_code(
            COMMAND, [python, *words], loaded=LOADED, cwd=tmp_path, env=environment, **pipes
        ) as process:
            try:
                if skipped is not None:
                    skip_retries(emulator, skipped)
                said = process.communicate(timeout=90)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(words, process.returncode, *said)

    return run


@pytest.fixture
def tutorial(emulator, account, localyun):
    """Run a tutorial, whose page shows its events, and find after the test that it has left no resource behind."""

    def run(name, *options, skipped=None):
        done = localyun("tutorial", "run", name, *options, skipped=skipped)
        page = ROOT / "docs" / "tutorials" / f"{name}.md"
        if page.exists() and "--input" not in options and done.returncode == 0:
            assert events(done.stdout) == events(page.read_text(encoding="utf-8"))
        return done

    before = resources(emulator, account)
    yield run
    assert resources(emulator, account) == before


def resources(emulator, account):
    """Return the names of the flows, queues and topics there are; what is in the queues of others changes with time."""
    fnf, flows, page = emulator.fnf(), [], {}
    while page is not None:
        told = fnf.send("ListFlows", Limit=100, **page)
        flows += [flow["Name"] for flow in told["Flows"]]
        page = {"NextToken": told["NextToken"]} if told.get("NextToken") else None
    found = [flows]
    for listed in (account.list_queue, account.list_topic):
        names, marker = [], ""
        while marker is not None:
            addresses, marker = listed(ret_number=1000, marker=marker)
            names += addresses
            marker = marker or None
        found.append(names)
    return found


def events(text):
    """Return number, step and type of each event that is printed in *text*."""
    return re.findall(r"^ +(\d+) +[\d.]+s +(\S+) +(\w+)", text, re.MULTILINE)


def test_transaction_is_undone_when_the_hotel_fails(tutorial):
    """The default input ends Failed after three retries and two cancellations; that is what it asks for.

    The guide for tutorials (tests/sdk/test_typed_pages.py) is typed in real time.
    """
    done = tutorial("multi-step-transaction", skipped="fnf-demo-multi-step-transaction")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "execution Failed" in done.stdout
    assert "ReserveHotel -> CancelFlight -> CancelTrainTicket -> OrderFailed" in done.stdout
    assert done.stdout.count("error=FC.Unknown") >= 4


def test_transaction_goes_through_when_nothing_fails(tutorial, tmp_path):
    """The text "fail" is no failure: only JSON false is. The JSON has the execution, its events and its graph."""
    options = ("--json", "--graph", "drawn/transaction.mmd")
    done = tutorial("transaction", "--sdk", "tea", "--input", '{"reserve_hotel_result": "fail"}', *options)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "execution Succeeded" in done.stderr
    assert "OrderSucceeded\n" in done.stderr
    told = json.loads(done.stdout)
    (execution,) = told["executions"]
    assert (told["name"], told["asPromised"]) == ("multi-step-transaction", True)
    assert (execution["Status"], execution["Events"][-1]["Type"]) == ("Succeeded", "ExecutionSucceeded")
    assert execution["Mermaid"] == (tmp_path / told["graph"]).read_text()
    assert re.search(r"class [\w,]+ succeeded", execution["Mermaid"])


def test_worker_takes_a_task_from_the_queue_and_reports_it(tutorial):
    """The worker receives, reports and deletes; its report is the execution's output."""
    done = tutorial("mns-queue-callback")

    assert done.returncode == 0, done.stdout + done.stderr
    for told in ("worker: report finished", "worker: deleted", 'execution Succeeded: {"key":"value"}'):
        assert told in done.stdout


def test_script_reports_with_the_token_of_the_submitted_task(tutorial, emulator):
    """The token is found in the event TaskSubmitted; the reported status comes out as s.

    The flow is gone afterwards, the graph of its execution is not.
    """
    done = tutorial("callback")

    assert done.returncode == 0, done.stdout + done.stderr
    assert 'execution Succeeded: {"s":"ok"}' in done.stdout
    assert done.stdout.index("TaskSubmitted") < done.stdout.index("reported") < done.stdout.index("TaskSucceeded")
    drawn = re.search(r"^graph of the execution: (.+)$", done.stdout, re.MULTILINE).group(1)
    assert Path(drawn) == emulator.state / "graphs" / "callback.svg"
    assert "mytask" in "".join(ElementTree.parse(drawn).getroot().itertext())


@pytest.mark.parametrize(("failures", "caught", "retries"), [(2, "ValueError", 2), (4, "ErrorNeedsRetry", 4)])
def test_errors_are_retried_and_the_last_is_redirected(tutorial, failures, caught, retries):
    """ErrorNeedsRetry is retried up to three times; what is caught reaches the final step by name.

    A graph that cannot be written is told, and the run counts as it went.
    """
    options = ("--input", f'{{"failures": {failures}}}', "--graph", f"{os.devnull}/errors.svg")
    done = tutorial("troubleshooting", *options, skipped="fnf-demo-troubleshooting")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "no graph: " in done.stderr
    assert "graph of the" not in done.stdout
    assert f"the final step got {caught}: " in done.stdout
    assert done.stdout.count("TaskFailed          error=ErrorNeedsRetry") == retries


def test_schedule_is_created_fired_and_removed(tutorial):
    """One execution of the scheduled flow greets the tenant; the schedule goes with its flow."""
    done = tutorial("timed-schedule", "--sdk", "tea")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "demo-schedule (@every 1m)" in done.stdout
    assert 'execution Succeeded: {"name":"hello world"}' in done.stdout


def test_version_is_called_through_its_alias_cold_and_with_a_provisioned_instance(tutorial, emulator):
    """Both executions return the function's answer, the times stand side by side; version and alias are removed."""
    done = tutorial("versions-and-aliases")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count('execution Succeeded: {"success":true}') == 2
    assert "without a provisioned instance" in done.stdout
    assert emulator.fc2().list_aliases("fnf-demo").data["aliases"] == []
    assert emulator.fc2().list_versions("fnf-demo").data["versions"] == []


def test_function_subscribed_to_the_topic_reports_the_task(tutorial, emulator):
    """The topic pushes the message to the HTTP trigger, whose function reports with its temporary credentials."""
    done = tutorial("mns-topic-callback")

    assert done.returncode == 0, done.stdout + done.stderr
    assert 'execution Succeeded: {"status":"success"}' in done.stdout
    assert emulator.fc2().list_triggers("fnf-demo", "topicCallback").data["triggers"] == []


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("multi-step-transaction", "ReserveHotel -> CancelFlight -> CancelTrainTicket -> OrderFailed"),
        ("mns-queue-callback", 'execution Succeeded: {"key":"value"}'),
        ("callback", 'execution Succeeded: {"s":"ok"}'),
        ("troubleshooting", "the final step got ValueError: "),
        ("timed-schedule", 'execution Succeeded: {"name":"hello world"}'),
        ("versions-and-aliases", 'execution Succeeded: {"success":true}'),
        ("mns-topic-callback", 'execution Succeeded: {"status":"success"}'),
    ],
)
def test_tutorial_runs_in_the_state_machine_language(localyun, name, told):
    """It ends as it does in the old language, and is drawn; the polling tutorial has a test of its own."""
    sdk = "tea" if len(name) % 2 else "core"
    skipped = f"fnf-demo-{name}" if name in {"multi-step-transaction", "troubleshooting"} else None
    done = localyun("tutorial", "run", name, "--language", "statemachine", "--sdk", sdk, skipped=skipped)

    assert done.returncode == 0, done.stdout + done.stderr
    assert told in done.stdout
    assert "graph of the" in done.stdout


def test_tutorial_whose_flow_was_kept_runs_again_without_a_complaint(localyun):
    """The flow is updated; that it exists is not logged as an error."""
    kept = localyun("tutorial", "run", "callback", "--keep")
    again = localyun("tutorial", "run", "callback", "--keep")
    assert localyun("flow", "delete", "fnf-demo-callback").returncode == 0

    assert kept.returncode == again.returncode == 0, again.stdout + again.stderr
    assert "flow fnf-demo-callback updated" in again.stdout
    assert "FlowAlreadyExists" not in again.stdout + again.stderr


def test_errors_that_the_classic_sdk_raises_are_not_logged_too():
    """Also where another SDK has set up the root logger."""
    program = (
        "import logging, workflow_client\n"
        "workflow_client.CoreClient('id', 'secret', 'cn-hangzhou', 'http://127.0.0.1')\n"
        "logging.basicConfig()\n"
        "logging.getLogger('aliyunsdkcore.client').error('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT / "sample-apps",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("name", ["callback", "mns-queue-callback"])
def test_client_that_nobody_reads_deletes_what_it_created(name, emulator, account):
    """The reader of its pipe is gone before the first line, which tells that something was created."""
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    environment |= {
        "ACCOUNT_ID": emulator.keys["accountId"],
        "AK_ID": emulator.keys["accessKeyId"],
        "AK_SECRET": emulator.keys["accessKeySecret"],
        "LOCALYUN_ENDPOINT": emulator.url,
    }
    before = resources(emulator, account)
    reading, writing = os.pipe()
    os.close(reading)

    try:
        client = [sys.executable, str(ROOT / "sample-apps" / name / "client.py")]
        done = subprocess.run(client, env=environment, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    finally:
        os.close(writing)

    assert (done.returncode, done.stderr) == (1, "")
    assert resources(emulator, account) == before
