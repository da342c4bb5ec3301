"""Flows and tutorials on the command line, against a running emulator."""

import json
import signal
import subprocess

import pytest

from tests import commands

FLOW = """
version: v1
type: flow
steps:
  - type: choice
    name: Judge
    choices:
      - condition: $.good == true
        goto: Good
      - condition: $.slow == true
        goto: Slow
    default:
      goto: Bad
  - {type: wait, name: Slow, duration: 600}
  - {type: fail, name: Bad, error: Mine, cause: told to}
  - {type: succeed, name: Good}
"""


@pytest.fixture
def flow(program):
    """A flow named judge."""
    program.start()
    (program.folder / "judge.yml").write_text(FLOW)
    assert (
        program.run("flow", "create", "judge", "judge.yml", "--description", "good or bad").stdout == "created judge\n"
    )


def test_flow_is_created_shown_updated_and_deleted(program, flow):
    """The life of a flow; what exists is replaced only when asked to."""
    again = program.run("flow", "create", "judge", "judge.yml")
    update = program.run("flow", "create", "judge", "judge.yml", "--update", "--description", "new")
    listed = program.run("flow", "list")
    shown = program.run("flow", "describe", "judge", "--json")
    deleted = program.run("flow", "delete", "judge")

    assert again.returncode == 1
    assert "FlowAlreadyExists" in again.stderr
    assert "--update replaces it" in again.stderr
    assert update.stdout == "updated judge\n"
    assert listed.stdout.splitlines()[1].startswith("judge ")
    assert json.loads(shown.stdout)["Description"] == "new"
    assert json.loads(shown.stdout)["Definition"] == FLOW
    assert deleted.returncode == 0
    assert json.loads(program.run("flow", "list", "--json").stdout) == []


def test_account_id_is_filled_into_a_definition(program):
    """{accountID} stands for the account of this installation."""
    program.start()
    arn = "acs:fc:cn-hangzhou:{accountID}:services/s/functions/f"
    definition = f"version: v1\ntype: flow\nsteps:\n  - {{type: task, name: t, resourceArn: '{arn}'}}\n"
    (program.folder / "f.yml").write_text(definition)

    program.run("flow", "create", "f", "f.yml")
    shown = json.loads(program.run("flow", "describe", "f", "--json").stdout)

    account = json.loads(program.run("env", "--json").stdout)["LOCALYUN_ACCOUNT_ID"]
    assert f":{account}:services" in shown["Definition"]


@pytest.mark.parametrize(
    ("given", "code", "last"),
    [('{"good": true}', 0, "Succeeded: {}"), ("{}", 1, "Failed: Mine told to")],
    ids=["good", "bad"],
)
def test_followed_execution_shows_its_events_and_its_outcome(program, flow, given, code, last):
    """The exit code is the outcome's."""
    done = program.run("flow", "start", "judge", "--input", given, "--follow", "--events")

    lines = done.stdout.splitlines()
    assert done.returncode == code, done.stderr
    assert [line.split()[0] for line in lines[1:-1]] == [str(number) for number in range(1, len(lines) - 1)]
    assert "ExecutionStarted" in lines[1]
    assert lines[-1].startswith(last)


def test_followed_execution_as_json_is_one_object_per_line(program, flow):
    """Programs read events as they come, then the execution."""
    done = program.run("flow", "start", "judge", "--input", '{"good": true}', "--name", "one", "--follow", "--json")

    *events, execution = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["Type"] == "ExecutionSucceeded"
    assert (execution["Name"], execution["Status"]) == ("one", "Succeeded")


def test_history_is_that_of_the_last_execution_unless_one_is_named(program, flow):
    """A flow that has not run has none."""
    none = program.run("flow", "history", "judge")
    program.run("flow", "start", "judge", "--name", "first", "--input", '{"good": true}', "--follow")
    program.run("flow", "start", "judge", "--name", "second", "--follow")

    latest = program.run("flow", "history", "judge", "--events")
    first = program.run("flow", "history", "judge", "first", "--json")

    assert none.returncode == 1
    assert "has not been executed yet" in none.stderr
    assert "ExecutionFailed" in latest.stdout
    assert json.loads(first.stdout)[-1]["Type"] == "ExecutionSucceeded"
    assert [each["Name"] for each in json.loads(program.run("flow", "list", "judge", "--json").stdout)] == [
        "second",
        "first",
    ]


def test_running_execution_is_stopped(program, flow):
    """With the error and the cause to record."""
    program.run("flow", "start", "judge", "--name", "slow", "--input", '{"slow": true}')

    stopped = program.run("flow", "stop", "judge", "slow", "--error", "Enough", "--cause", "took too long")
    shown = program.run("flow", "describe", "judge", "slow")

    assert stopped.stdout == "stopped slow\n"
    assert "Stopped" in shown.stdout
    assert "error=Enough cause=took too long" in program.run("flow", "history", "judge", "slow", "--events").stdout


def test_bad_flow_commands_are_told_apart(program, flow):
    """Input that is no JSON is wrong usage; what the service refuses is a failure with the service's code."""
    (program.folder / "bad.yml").write_text("a: [")

    results = [
        program.run("flow", "start", "judge", "--input", "{"),
        program.run("flow", "start", "nobody"),
        program.run("flow", "create", "bad", "bad.yml"),
        program.run("flow", "create", "bad", "missing.yml"),
        program.run("flow", "list", "--status", "Failed"),
        program.run("flow", "start", "judge", "--inputs", "inputs.jsonl", "--name", "one"),
        program.run("flow", "stop", "judge/one", "--since", "1h"),
    ]

    assert [done.returncode for done in results] == [2, 1, 1, 1, 2, 2, 2]
    assert "--input is not JSON" in results[0].stderr
    assert "FlowNotExists" in results[1].stderr
    assert "InvalidArgument" in results[2].stderr
    assert "missing.yml cannot be read" in results[3].stderr
    assert "--status requires the name of a flow" in results[4].stderr
    assert "--name cannot be combined with --inputs" in results[5].stderr
    assert "--since cannot be combined with one execution" in results[6].stderr


def test_unknown_tutorial_is_wrong_usage_and_starts_nothing(program):
    """The message names those there are."""
    done = program.run("tutorial", "run", "nothing")

    assert done.returncode == 2
    assert "poll-for-task-status" in done.stderr
    assert "poll-for-task-status" in program.run("tutorial", "list").stdout
    assert not (program.folder / ".localyun").exists()


@pytest.mark.sdk
def test_polling_tutorial_runs_with_either_sdk_from_an_empty_folder(program):
    """An emulator is started for it, the history is shown, and the way on is told.

    The emulator is started without the tutorial's functions for the second run, which brings them itself. A proxy in
    the environment does not get between the SDKs and this machine.
    """
    proxy = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    elsewhere = program.folder / "elsewhere"
    elsewhere.mkdir()
    running = [
        commands.popen(
            ["tutorial", "run", name, "--sdk", sdk, "--input", '{"delay": -1}'],
            cwd=folder,
            env=program.env | proxy,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name, sdk, folder in (
            ("poll-for-task-status", "core", program.folder),
            ("polling", "tea", _started_bare(program, elsewhere)),
        )
    ]
    results = [(*process.communicate(timeout=60), process.returncode) for process in running]

    for out, err, code in results:
        assert code == 0, err
        assert "ExecutionStarted" in out
        assert 'execution Succeeded: {"job_id"' in out
        assert "keys.json" in out
    (first, _, _), (second, _, _) = results
    assert "started an emulator at" in first
    assert "using the emulator at" in second
    assert "function fnf-demo/StartJob created" in second


def _started_bare(program, folder):
    """Start an emulator without functions in *folder*, and return the folder."""
    started = commands.run(["start", "-d"], cwd=folder, env=program.env, timeout=30)
    assert "none yet" in started.stdout, started.stderr
    return folder


def test_a_flow_is_converted_to_a_state_machine(program):
    """To standard output or a file, under the file's name or another; what cannot be converted says why."""
    (program.folder / "judge.yml").write_text(FLOW)
    (program.folder / "tagged.yml").write_text(FLOW.replace("600", "!Ref Seconds"))
    (program.folder / "dated.yml").write_text(FLOW.replace("duration: 600", "timestamp: '2030-01-01T00:00:00Z'"))

    shown = program.run("flow", "convert", "judge.yml")
    written = program.run("flow", "convert", "judge.yml", "--name", "other", "--output", "machine.yml")
    checked = program.run("flow", "check", "machine.yml")
    again = program.run("flow", "convert", "machine.yml")
    unnamed = program.run("flow", "convert", "judge.yml", "--name", "a flow")
    given = program.run("flow", "convert", "tagged.yml", "--parameter", "Seconds=30")
    refused = {name: program.run("flow", "convert", f"{name}.yml").stderr for name in ("tagged", "dated")}

    assert "Name: judge\n" in shown.stdout
    assert written.stdout == "wrote machine.yml\n"
    assert checked.stdout.startswith("ok, ")
    assert "Name: other\n" in (program.folder / "machine.yml").read_text()
    assert (again.returncode, "a state machine already" in again.stderr) == (1, True)
    assert (unnamed.returncode, "--name: 'a flow' is not a name: 1 to 128 letters" in unnamed.stderr) == (2, True)
    assert "!Ref has no value here; --parameter" in refused["tagged"]
    assert "Seconds: 30\n" in given.stdout
    assert "'Slow' waits for a time of day" in refused["dated"]


REMARKED = """version: v1
type: flow
timeoutSeconds: 60
steps:
  - type: task
    name: Work
    resourceArn: !GetAtt work.Arn
    serviceParams: {InvocationType: "${Kind}"}
    outputMappings: []
"""


def test_remarks_of_a_conversion_are_counted_and_fail_it_when_asked_to(program):
    """On the error stream, with exit code 3; references are kept where no parameter gives them a value."""
    (program.folder / "work.yml").write_text(REMARKED)

    chinese = program.run(
        "flow", "convert", "work.yml", "--parameter", "Kind=Async", LC_ALL="zh_CN.UTF-8", PYTHONUTF8="1"
    )
    lenient = program.run("flow", "convert", "work.yml", "--parameter", "Kind=Async")
    strict = program.run("flow", "convert", "work.yml", "--parameter", "Kind=Async", "--strict")

    assert (lenient.returncode, strict.returncode) == (0, 3)
    assert "2 comments in it describe differences" in strict.stderr
    assert "# the flow had timeoutSeconds: 60; a state machine has no timeout\n" in strict.stdout
    assert "# 原流程有 timeoutSeconds: 60；状态机没有超时时间\n" in chinese.stdout
    assert strict.stdout == lenient.stdout
    assert "resourceArn: !GetAtt work.Arn\n" in strict.stdout
    assert "invocationType: Async\n" in strict.stdout


def test_a_file_is_checked_again_whenever_it_changes(program):
    """Until Ctrl-C; a file that is gone for a moment is no end."""
    file = program.folder / "judge.yml"
    file.write_text(FLOW)
    watching = commands.popen(
        ["flow", "check", "--watch", "judge.yml"], cwd=program.folder, env=program.env, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        first = watching.stdout.readline()
        file.write_text(FLOW.replace("goto: Good", "goto: Nowhere"))
        second = watching.stdout.readline()
        file.unlink()
        third = watching.stdout.readline()
    finally:
        watching.send_signal(signal.SIGINT)
        code = watching.wait(30)
        watching.stdout.close()

    assert first == "ok, 4 steps\n"
    assert second.startswith("judge.yml:9:15: steps[0].choices[0].goto: no step 'Nowhere'")
    assert "cannot be read" in third
    assert code == 0
    assert program.run("flow", "check", "--watch", "-").returncode == 2


def test_log_of_an_execution_or_a_message_is_found_by_its_name_or_id(program):
    """Commands print these, not the ids of their requests."""
    program.start()
    (program.folder / "wait.yml").write_text("version: v1\ntype: flow\nsteps: [{type: pass, name: on}]\n")
    program.run("flow", "create", "wait", "wait.yml")
    program.run("flow", "start", "wait", "--name", "o-1", "--follow")
    program.run("queue", "create", "orders")
    message = json.loads(program.run("queue", "send", "orders", "47", "--json").stdout)["MessageId"]

    execution = program.run("logs", "--request", "wait/o-1")
    sent = program.run("logs", "--request", message)
    unknown = program.run("logs", "--request", "o-1")

    assert "execution o-1 of flow wait starts" in execution.stdout
    assert "execution o-1 of flow wait has ended: Succeeded" in execution.stdout
    assert " mns SendMessage 201 " in sent.stdout
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "no lines for o-1; an execution is named FLOW/EXECUTION" in unknown.stderr
