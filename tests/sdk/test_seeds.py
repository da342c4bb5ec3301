"""What localyun.yaml declares is there after every start, and nothing in it is accepted and ignored."""

import os
import re
from pathlib import Path

import pytest
import requests

import emulator.console
from emulator.testing import ApiError, Emulator, TestingError
from tests.waiting import eventually

pytestmark = pytest.mark.sdk

PAGES = Path(emulator.console.__file__).parent / "templates"

FILE = """
queues: {orders: {}}
flows:
  remind: remind.yml
  other:
    Definition:
      version: v1
      type: flow
      steps: [{type: pass, name: p}]
    Description: second
schedules:
  nightly: {FlowName: remind, CronExpression: "@every 60m", Payload: {a: 1}}
buckets:
  pictures: {Acl: public-read}
roles:
  worker:
    AssumeRolePolicyDocument:
      Version: "1"
      Statement: [{Effect: Allow, Action: "sts:AssumeRole", Principal: {Service: [fc.aliyuncs.com]}}]
    Policies: [AliyunOSSFullAccess]
deploy: [s.yaml]
hooks:
  ready: ["echo $LOCALYUN_ENDPOINT > said.txt", "echo more >> said.txt"]
faults:
  - {match: {service: mns, operation: PublishMessage}, do: {error: InternalError, status: 500}}
"""
REMIND = "version: v1\ntype: flow\nsteps:\n  - type: wait\n    name: w\n    duration: 5\n"
S_YAML = """
edition: 3.0.0
name: shop
resources:
  letters:
    component: mns-queue
    props: {region: cn-hangzhou, queueName: letters}
"""


def write(folder, text):
    (folder / "remind.yml").write_text(REMIND)
    (folder / "s.yaml").write_text(S_YAML)
    (folder / "localyun.yaml").write_text(text)
    return folder / "localyun.yaml"


def test_everything_declared_is_there_after_each_start(tmp_path):
    """Made by the first start, left alone by the second: versions and times do not change."""
    pytest.importorskip("moto")
    file = write(tmp_path, FILE)
    seen = []

    said = tmp_path / "said.txt"
    for _ in range(2):
        with Emulator(config=file, state=tmp_path / "state") as kit:
            schedule = kit.api.fnf("ListSchedules", FlowName="remind", Limit=10)["Schedules"]
            flow = kit.api.fnf("DescribeFlow", Name="other")
            for each in (*schedule, flow):
                each.pop("RequestId", None)
            seen.append((schedule, flow))
            assert kit.flow("remind").start().status in {"Starting", "Running"}
            assert kit.queue("letters").counters["active"] == 0
            listed = kit.api._send("GET", "/_localyun/status", {"X-Localyun-Token": kit.token}, None)
            assert listed.status_code == 200
            with pytest.raises(ApiError, match=r"^500 InternalError"):
                kit.topic("news").publish("x")
            eventually(lambda: said.exists() and "more" in said.read_text())
            assert said.read_text() == f"{kit.endpoint}\nmore\n"
            said.unlink()
            assert kit.flow("other").start({}).wait(10).status == "Succeeded"
            if len(seen) == 2:
                kit.reset()
                assert kit.flow("remind").start().status in {"Starting", "Running"}
                assert kit.queue("letters").counters["active"] == 0

    assert seen[0] == seen[1]


def test_a_command_that_fails_is_a_problem_until_the_next_start(tmp_path):
    """Status and console name its line, exit code and last words; the commands after it are not run."""
    file = tmp_path / "localyun.yaml"
    shown = "localyun.yaml:2: hooks.ready.1 has failed with exit code 3: no seed"

    for command, found in (("echo no seed; exit 3", [shown]), ("echo seeded", [])):
        file.write_text(f'hooks:\n  ready: ["true", "{command}", "echo > last"]\n')
        with Emulator(config=file, state=tmp_path / "state") as kit:
            if found:
                eventually(lambda: kit.api.admin("GET", "status")["problems"])
                assert not (tmp_path / "last").exists()
            else:
                eventually((tmp_path / "last").exists)
            assert kit.api.admin("GET", "status")["problems"] == found
            with requests.Session() as pages:
                page = pages.get(kit.endpoint + kit.api.admin("POST", "console-link")["path"])
            assert (shown in page.text) == bool(found)
            kit.reset()
            assert kit.api.admin("GET", "status")["problems"] == found


def test_commands_find_localyun_without_its_environment(tmp_path, monkeypatch):
    """Its folder is the last of their search path."""
    file = tmp_path / "localyun.yaml"
    file.write_text('hooks:\n  ready: ["localyun queue create made", "echo > last"]\n')
    monkeypatch.setenv("PATH", os.defpath)

    with Emulator(config=file, state=tmp_path / "state") as kit:
        eventually((tmp_path / "last").exists)

        assert "made" in kit.command("queue", "list").split()


def test_files_that_empty_pages_of_the_console_show_have_an_effect(tmp_path):
    """The schedule and the trigger that they declare exist."""
    schedules, triggers = (
        re.search(r"{% set file %}\n(.*?){% endset %}", (PAGES / page).read_text(), re.DOTALL).group(1)
        for page in ("schedules.html", "triggers.html")
    )
    function = tmp_path / "functions" / "hello"
    function.mkdir(parents=True)
    (function / "index.py").write_text("def handler(event, context): return event")
    (function / "function.yml").write_text(triggers)
    file = write(tmp_path, schedules)
    (tmp_path / "remind.yml").rename(tmp_path / "flow.yml")

    with Emulator(config=file, functions=tmp_path / "functions", state=tmp_path / "state") as kit:
        scheduled = kit.api.fnf("ListSchedules", FlowName="approve", Limit=10)["Schedules"]
        triggered = kit.api.admin("GET", "triggers")["triggers"]

    assert [each["ScheduleName"] for each in scheduled] == ["nightly"]
    assert [(each["function"], each["trigger"]) for each in triggered] == [("hello", "nightly")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("flows:\n  a: {Definition: x.yml}\n", "localyun.yaml:2:3: flows.a: Definition: "),
        ("flows:\n  a:\n    Definition: 'version: v1'\n", "localyun.yaml:2:3: flows.a: "),
        (
            "flows:\n  a: {definition: remind.yml}\n",
            "flows.a.definition: there is no such attribute; did you mean Definition?",
        ),
        ("flows:\n  a: remind.yml\n  b: {Definition: remind.yml, Typ: FDL}\n", "localyun.yaml:3:31: flows.b.Typ: "),
        ("schedules:\n  n: {FlowName: nope, CronExpression: '@every 5m'}\n", "localyun.yaml:2:3: schedules.n: "),
        ("schedules:\n  n: {FlowName: nope}\n", "localyun.yaml:2:3: schedules.n: needs CronExpression"),
        ("roles:\n  r: {AssumeRolePolicyDocument: {}}\n", "localyun.yaml:2:3: roles.r: "),
        ("buckets:\n  b: {Acl: secret}\n", "localyun.yaml:2:7: buckets.b.Acl: must be private, public-read or "),
        ("deploy: [none.yaml]\n", "localyun.yaml:1:10: deploy.0: there is no file"),
        ("hooks:\n  done: [ls]\n", "localyun.yaml:2:3: hooks.done: there is no such occasion"),
        ("faults:\n  - {do: {error: X, drop: true}}\n", "localyun.yaml:2:5: faults.0: "),
        (
            "queues: {a_b: {}}\nfaults:\n  - {do: {error: X, drop: true}}\nbuckets:\n  b: {Acl: secret}\n",
            re.compile(
                "localyun.yaml:1:10: queues.a_b: a name .*\nlocalyun.yaml:3:5: faults.0: .*\n"
                "localyun.yaml:5:7: buckets.b.Acl: "
            ),
        ),
        ("flws: {}\n", "localyun.yaml:1:1: there is no setting 'flws'"),
    ],
)
def test_a_mistake_ends_the_start_with_its_line(tmp_path, text, problem):
    """The error says where in the file and what is wrong."""
    file = write(tmp_path, text)

    with pytest.raises(TestingError) as refused:
        Emulator(config=file, state=tmp_path / "state").start()

    assert re.search(problem if isinstance(problem, re.Pattern) else re.escape(problem), str(refused.value))


def test_a_mistake_in_the_file_of_a_definition_is_told_with_its_place_there(tmp_path):
    """Once: behind the place of the flow, and in the same form."""
    file = write(tmp_path, "flows:\n  a: {Definition: open.yml}\n")
    (tmp_path / "open.yml").write_text("version: v1\ntype: flow\nsteps:\n  - {type: pass, name: [a}\n")

    with pytest.raises(TestingError) as refused:
        Emulator(config=file, state=tmp_path / "state").start()

    (line,) = [each for each in str(refused.value).splitlines() if "flows.a" in each]
    assert re.search(r"localyun\.yaml:2:3: flows\.a: open\.yml:4:\d+: not YAML: .*$", line)
    assert "column" not in line
