"""Cases, bulk commands and mocks of tasks on the command line."""

import json
import re
from xml.etree import ElementTree

import pytest

from tests.unit.cli.test_program_flows import FLOW

CASES = """\
flow: judge.yml
cases:
  - name: good
    input: {good: true}
    expect: {status: Succeeded}
  - name: slow  # takes ten minutes
    input: {slow: true}
    expect:
      lasts: 5s
      path: [Judge, Slow]
  - name: bad
    expect:
      error: Other
"""

CALLS = """
version: v1
type: flow
steps:
  - type: task
    name: Ask
    resourceArn: acs:mns:::/queues/none/messages
    serviceParams: {MessageBody: $}
    outputMappings: [{target: id, source: $local.MessageId}]
  - type: task
    name: Approve
    resourceArn: acs:fc:::services/none/functions/none
    pattern: waitForCallback
    outputMappings: [{target: by, source: $local.by}]
"""

ASKS = """
version: v1
type: flow
steps:
  - {type: task, name: Ask, resourceArn: acs:fc:::services/shop/functions/ask}
"""


@pytest.fixture
def cases(program):
    """A file of cases of which two expect something else."""
    (program.folder / "judge.yml").write_text(FLOW)
    file = program.folder / "judge.test.yaml"
    file.write_text(CASES)
    return file


@pytest.fixture
def judge(program):
    """A flow named judge in a running emulator."""
    program.start()
    (program.folder / "judge.yml").write_text(FLOW)
    program.run("flow", "create", "judge", "judge.yml")


def test_cases_that_came_otherwise_are_told_and_updated(program, cases):
    """What came takes the place of what was expected; the rest of the file stays as it was."""
    failed = program.run("flow", "test", "--junit", "report.xml")
    updated = program.run("flow", "test", "--update")
    passed = program.run("flow", "test")

    assert failed.returncode == 1
    assert "judge.test.yaml:6: slow" in failed.stdout
    assert "lasts 600s, expected 5s" in failed.stdout
    suite = ElementTree.parse(program.folder / "report.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert (updated.returncode, failed.stdout.count("3 cases, 2 failed, in ")) == (0, 1)
    assert "3 cases, 2 updated, 0 failed, in " in updated.stdout
    came = CASES.replace("lasts: 5s", "status: Failed\n      lasts: 600000ms").replace("Other", '"Mine"')
    assert cases.read_text() == came.replace("[Judge, Slow]", '["Judge", "Slow", "Bad"]')
    assert passed.returncode == 0


def test_reasons_of_failing_cases_are_told_in_chinese(program, cases):
    """As the user's language asks for; the report is English."""
    chinese = {"LC_ALL": "zh_CN.UTF-8", "PYTHONUTF8": "1"}

    told = program.run("flow", "test", cases.name, "--junit", "report.xml", **chinese).stdout
    cases.write_text(CASES.replace("status: Succeeded", "status: Suceeded"))
    refused = program.run("flow", "test", cases.name, **chinese)

    assert "    lasts" not in told
    assert "    用时 600s\uff0c预期为 5s\n" in told
    assert "expected 5s" in (program.folder / "report.xml").read_text(encoding="utf-8")
    assert refused.returncode == 2
    assert ":5:22: 没有状态 'Suceeded'\uff1b是否想写 'Succeeded'\uff1f" in refused.stderr


def test_what_an_update_cannot_replace_still_fails(program, cases):
    """A case that expects nothing and fails has nothing to be replaced; other failures are."""
    cases.write_text(CASES.replace("expect:\n      error: Other", "tags: [x]"))

    updated = program.run("flow", "test", "--update")

    assert updated.returncode == 1
    assert "judge.test.yaml:12: bad still fails" in updated.stderr
    assert "3 cases, 1 updated, 1 failed, in " in updated.stdout
    assert "slow" not in updated.stderr


def test_definition_and_missing_file_are_no_files_of_cases(program, cases):
    """The message says which file to name; nothing in a file that cannot be read has a place."""
    definition = program.run("flow", "test", "judge.yml")
    missing = program.run("flow", "test", "nosuch")

    checked = program.run("flow", "check", "judge.test.yaml")

    assert (definition.returncode, missing.returncode, checked.returncode) == (2, 2, 2)
    assert "judge.test.yaml is a file of cases: localyun flow test judge.test.yaml" in checked.stderr
    assert (
        "judge.yml: this is the definition of a flow; name a file of cases, such as judge.test.yaml"
        in definition.stderr
    )
    assert missing.stderr == "localyun: nosuch: the file cannot be read: No such file or directory\n"


def test_a_report_is_xml_whatever_a_case_is_called(program, cases):
    """Characters that XML cannot have do not reach it."""
    cases.write_text(CASES.replace("name: bad", r'name: "\e[31mb<a&d\0"'))

    program.run("flow", "test", "--junit", "report.xml")

    suite = ElementTree.parse(program.folder / "report.xml").getroot()[0]
    assert suite[2].get("name") == "\N{REPLACEMENT CHARACTER}[31mb<a&d\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    "words", ["start judge --inputs x --parallel", "rerun judge --failed --parallel", "test --jobs"]
)
@pytest.mark.parametrize("number", ["0", "-1", "two"])
def test_at_least_one_runs_at_once(program, words, number):
    """Anything else is refused before something is done."""
    refused = program.run("flow", *words.split(), number)

    assert refused.returncode == 2
    assert f"must be a whole number of at least 1, not '{number}'" in refused.stderr


@pytest.mark.parametrize("share", ["900", "-1", "nan", "many"])
def test_a_share_is_one_of_a_hundred(program, share):
    """A bound that no coverage can reach is a mistake in typing."""
    refused = program.run("flow", "test", ".", "--fail-under", share)

    assert refused.returncode == 2
    assert f"must be a number from 0 to 100, not '{share}'" in refused.stderr


def test_coverage_is_drawn_and_may_fail_a_run(program, cases):
    """The page has the graph; what was not taken is named."""
    chosen = ("flow", "test", "-k", "good", "--coverage", "html")

    enough = program.run(*chosen, "--fail-under", "10")
    too_little = program.run(*chosen, "--fail-under", "90")
    none = program.run("flow", "test", "-k", "nothing")

    page = (program.folder / "coverage.html").read_text()
    assert (enough.returncode, too_little.returncode, none.returncode) == (0, 1, 5)
    assert "judge.yml" in page
    assert "<svg" in page
    assert "below 90" in too_little.stderr
    assert "not taken: step, Slow" in too_little.stdout


def test_executions_are_started_rerun_and_stopped_in_bulk(program, judge):
    """One for each line of a file; failed ones again; all that have not ended are stopped."""
    (program.folder / "inputs.jsonl").write_text('{"good": true}\n\n{}\n{"good": true}\n')

    started = program.run("flow", "start", "judge", "--inputs", "inputs.jsonl", "--parallel", "3")
    failed = program.run("flow", "list", "judge", "--status", "Failed", "--error", "Mine", "--json")
    other = program.run("flow", "list", "judge", "--error", "Other", "--json")
    again = program.run("flow", "rerun", "judge", "--failed", "--since", "1h", "--json")
    twice = program.run("flow", "rerun", "judge", "--failed", "--since", "1h").stdout.splitlines()
    for _ in range(2):
        program.run("flow", "start", "judge", "--input", '{"slow": true}')
    stopped = program.run("flow", "stop", "judge", "--all", "--status", "Running", "--json")
    left = program.run("flow", "stop", "judge", "--all")

    assert started.returncode == 1
    assert "Failed: 1, Succeeded: 2" in started.stdout
    (failure,) = json.loads(failed.stdout)
    assert f"inputs.jsonl:3 -> {failure['Name']}: Failed" in started.stdout
    assert json.loads(other.stdout) == []
    assert [each["status"] for each in json.loads(again.stdout)] == ["Failed"]
    assert twice[-1] == "Failed: 2"
    assert re.fullmatch(rf"{failure['Name']} -> [0-9a-f-]{{36}}: Failed", twice[-2])
    assert [each["status"] for each in json.loads(stopped.stdout)] == ["Stopped", "Stopped"]
    assert left.stdout == "nothing to do\n"


def test_a_failed_execution_goes_on_from_a_step_with_another_definition(program, judge):
    """What happened before the step is shared."""
    program.run("flow", "start", "judge", "--follow")
    (program.folder / "mended.yml").write_text(
        FLOW.replace("type: fail, name: Bad, error: Mine, cause: told to", "type: pass, name: Bad")
    )

    came = program.run("flow", "rerun", "judge", "--failed", "--from", "Bad", "--definition", "mended.yml", "--json")

    assert [each["status"] for each in json.loads(came.stdout)] == ["Succeeded"], came.stderr


def test_tasks_of_executions_are_mocked_by_step_and_by_action(program):
    """Nothing that the flow names exists; what is reported of a task is mocked as well."""
    program.start()
    (program.folder / "calls.yml").write_text(CALLS)
    program.run("flow", "create", "calls", "calls.yml")

    unknown = program.run("mock", "add", "--step", "calls/Aprove", "--returns", "{}")
    doubted = program.run("mock", "add", "--action", "MNS:SendMessage", "--returns", '{"MessageID": "m"}')
    refused = program.run("mock", "add", "--step", "calls/Approve", "--returns", "[1]", "--strict")
    program.run("mock", "add", "--step", "calls/Ask", "--returns", '{"MessageId": "m"}', "--strict")
    program.run("mock", "add", "--step", "calls/Approve", "--returns", '{"by": "lee"}', "--strict")
    came = program.run("flow", "start", "calls", "--follow")
    shown = program.run("flow", "describe", "calls", "--json")
    execution = json.loads(program.run("flow", "list", "calls", "--json").stdout)[0]

    assert (unknown.returncode, refused.returncode, came.returncode) == (1, 1, 0), came.stdout + came.stderr
    assert "did you mean 'Approve'" in unknown.stderr
    assert "returns no member 'MessageID'; did you mean 'MessageId'?" in doubted.stderr
    assert "what is reported of the task Approve is a map" in refused.stderr
    assert shown.returncode == 0
    assert json.loads(execution["Output"]) == {"id": "m", "by": "lee"}


NAMESAKE = """Type: StateMachine
SpecVersion: v1
Name: namesake
StartAt: sum
States:
  - {Type: Task, Name: sum, Action: "FC:InvokeFunction", End: true,
     Parameters: {resourceArn: "acs:fc:::functions/sum/LATEST"}}
"""


def test_a_step_with_the_name_of_its_function_is_mocked_by_step(program):
    """The function, which a mock of the step leaves alone, need not exist."""
    program.start()
    (program.folder / "namesake.yml").write_text(NAMESAKE)
    program.run("flow", "create", "namesake", "namesake.yml")
    program.run("mock", "add", "--step", "namesake/sum", "--returns", '{"n": 1}')

    came = program.run("flow", "start", "namesake", "--follow")

    assert came.returncode == 0, came.stdout + came.stderr


def test_a_mock_raises_the_error_by_its_name(program):
    """Of a step, of a function, and in a case: the execution fails with the name that was given."""
    program.start()
    (program.folder / "calls.yml").write_text(ASKS)
    program.run("flow", "create", "calls", "calls.yml")
    (program.folder / "calls.test.yaml").write_text(
        "flow: calls.yml\ncases:\n  - {mocks: {Ask: {error: SoldOut}}, expect: {error: SoldOut}}\n"
    )

    program.run("mock", "add", "shop/ask", "--raises", "SoldOut: no seat is left")
    by_function = program.run("flow", "start", "calls", "--follow")
    program.run("mock", "add", "--step", "calls/Ask", "--raises", "SoldOut")
    by_step = program.run("flow", "start", "calls", "--follow")
    case = program.run("flow", "test", "calls.test.yaml")

    assert by_function.stdout.splitlines()[-1].startswith("Failed: SoldOut"), by_function.stdout
    assert "no seat is left" in by_function.stdout
    assert by_step.stdout.splitlines()[-1].startswith("Failed: SoldOut"), by_step.stdout
    assert case.returncode == 0, case.stdout


REFERRING = """
version: v1
type: flow
steps:
  - {type: task, name: Pay, resourceArn: !Ref shop/pay}
  - {type: wait, name: Rest, duration: !Ref Pause}
"""


def test_a_definition_of_a_template_is_rehearsed_and_created_with_parameters(program):
    """Cases, a run in the emulator, and its history played to the file; what has no value is told where it must."""
    program.start()
    (program.folder / "pay.yml").write_text(REFERRING)
    pause = ("--parameter", "Pause=0")

    bare = program.run("flow", "cases", "pay.yml")
    proposed = program.run("flow", "cases", "pay.yml", *pause, "--output", "pay.test.yaml")
    tested = program.run("flow", "test", "pay.test.yaml", "--coverage", "--fail-under", "100")
    refused = program.run("flow", "create", "pay", "pay.yml", *pause)
    created = program.run(
        "flow", "create", "pay", "pay.yml", *pause, "--parameter", "shop/pay=acs:fc:::services/shop/functions/pay"
    )
    program.run("mock", "add", "shop/pay", "--returns", "{}")
    program.run("flow", "start", "pay", "--follow")
    (program.folder / "history.json").write_text(program.run("flow", "history", "pay", "--json").stdout)
    replayed = program.run("flow", "replay", "history.json", "--definition", "pay.yml", *pause)
    (program.folder / "new.yml").write_text(REFERRING.replace("Rest, duration", "Wait, duration"))
    differing = program.run("flow", "replay", "history.json", "--definition", "new.yml", *pause)
    absent = program.run("flow", "replay", "history.json", "--definition", "absent.yml", *pause)
    step = program.run("flow", "step", "pay.yml", "Pay", *pause)

    assert bare.returncode == 2
    assert "pay.yml:6:40: !Ref has no value here; a parameter gives it one" in bare.stderr, bare.stderr
    assert (proposed.returncode, tested.returncode) == (0, 0), tested.stdout
    assert "parameters:\n  Pause: '0'\n" in (program.folder / "pay.test.yaml").read_text()
    assert (refused.returncode, created.returncode) == (1, 0), created.stderr
    assert "line 5: !Ref has no value here" in refused.stderr
    assert (replayed.returncode, replayed.stdout) == (0, "no difference in 11 events\n"), replayed.stdout
    assert (differing.returncode, absent.returncode) == (1, 2), absent.stderr  # 1 says that the flow goes another way
    assert differing.stdout.splitlines() == [
        "new.yml:6: the flow differs from event 7 onwards",
        "    recorded: StepEntered Rest",
        "    here:     StepEntered Wait",
    ]
    assert "Succeeded: {}" in step.stdout, step.stdout


def test_mistakes_in_a_file_of_mocks_are_told_with_their_line(program):
    """Before anything is sent."""
    (program.folder / "calls.yml").write_text(CALLS)
    (program.folder / "mocks.json").write_text('{\n  "Aks": {"return": {}}\n}')

    came = program.run("flow", "step", "calls.yml", "Ask", "--mocks", "mocks.json")

    assert came.returncode == 2
    assert "mocks.json:2:3: no task or function of the flow is named 'Aks'; did you mean 'Ask'?" in came.stderr
