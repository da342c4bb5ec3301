"""``flow step``, ``flow debug`` and ``flow fork``, against a running emulator."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.cli.commands.flow_debug import _show

ROOT = Path(__file__).parents[3]
FLOW = """
Type: StateMachine
Name: shop
SpecVersion: v1
StartAt: prepare
States:
  - {Type: Pass, Name: prepare, OutputConstructor: {amount.$: $Input.amount}, Next: pay}
  - Type: Task
    Name: pay
    Action: FC:InvokeFunction
    Parameters: {resourceArn: 'acs:fc:::services/s/functions/none', body.$: $Input}
    OutputConstructor: {paid.$: $Output.Body.paid}
    Next: done
  - {Type: Pass, Name: done, End: true}
"""


@pytest.fixture
def shop(program):
    """A flow named shop, whose function does not exist, and the process of the emulator."""
    (program.folder / "shop.yml").write_text(FLOW)
    process, _address = program.start()
    assert program.run("flow", "create", "shop", "shop.yml").returncode == 0
    return process


def talk(program, lines, *words):
    """Run ``flow debug`` with *lines* as what is typed."""
    return subprocess.run(
        [sys.executable, "-m", "emulator", "flow", "debug", "shop", *words],
        cwd=program.folder,
        env=program.env,
        input=lines,
        capture_output=True,
        text=True,
        timeout=30,
    )


def test_an_execution_stopped_at_a_breakpoint_survives_a_kill(program, shop):
    """It stands where it stood, with its changed data, and goes on from there."""
    first = talk(program, 'change {"amount": 5}\nq\n', "--before", "pay", "--input", '{"amount": 1}', "--name", "e")
    shop.kill()
    shop.wait()
    program.start()
    second = talk(program, 'c\nnonsense\nskip {"paid": 7}\n', "--execution", "e", "--before", "pay", "--on-failure")

    assert first.stdout.splitlines()[:2] == ["execution e", 'before pay: {"amount": 1}']
    assert "--execution e" in first.stdout
    lines = second.stdout.splitlines()
    assert lines[1] == 'before pay: {"amount": 5}'
    assert lines[2].startswith("pay has failed: FC.ServiceNotFound")
    assert lines[3].startswith("next, continue, change DATA")
    assert (lines[4], second.returncode) == ('Succeeded: {"paid":7}', 0)


def test_the_session_on_the_page_of_commands_is_what_comes(program, shop):
    """The lines after each prompt of the page, ids aside; the fork and the step are typed as they stand there."""
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    block = re.search(r"^    \$ localyun flow debug shop(.*\n(?:    .*\n|\n)+)", page, re.MULTILINE)[1]
    words, *lines = [line.removeprefix("    ") for line in block.split("\n") if line.strip()]
    prompted = [line.removeprefix("(debug) ") for line in lines if line.startswith("(debug) ")]
    printed = [line for line in lines if not line.startswith(("(debug) ", "$ "))]
    (program.folder / "fixed.yml").write_text(FLOW)
    (program.folder / "mocks.json").write_text('{"pay": {"return": {"paid": 1}}}')

    session = talk(program, "\n".join([*prompted, "quit", ""]), *shlex.split(words))
    name = session.stdout.splitlines()[0].removeprefix("execution ")
    others = [line.removeprefix("$ localyun ").replace("5d0c3f", name) for line in lines if line.startswith("$ ")]
    done = [program.run(*shlex.split(line)) for line in others]

    assert [re.sub("^execution .*", "execution", line) for line in session.stdout.splitlines()[: len(printed)]] == [
        re.sub("^execution .*", "execution", line) for line in printed
    ]
    assert len(done) == 2
    assert [each.stderr for each in done if each.returncode] == []


def test_what_is_refused_at_a_stop_is_said_and_asked_for_again(program, shop):
    """Words that make no sense there leave the execution where it is."""
    lines = "retry\nchange [1]\nchange x\nbreak nowhere\nbreak failure\n@\nn @7\nn @x\ninspect\nc\nd\n"
    talked = talk(program, lines, "--input", '{"amount": 1}')

    assert "not retry" in talked.stdout
    assert "the data is not a JSON object" in talked.stdout
    assert "the data is not JSON" in talked.stdout
    assert "no step 'nowhere'" in talked.stdout
    assert "strand 7" in talked.stdout
    assert "@STRAND takes the number" in talked.stdout
    assert '"step": "prepare"' in talked.stdout
    assert "pay has failed" in talked.stdout
    assert talked.stdout.splitlines()[-1].startswith("Failed: FC.ServiceNotFound")
    assert talked.returncode == 1


def test_input_that_ends_at_a_stop_is_told_and_fails(program, shop):
    """A script sees that its lines have not brought the execution to its end; ``quit`` is meant."""
    ended = talk(program, "n", "--input", '{"amount": 1}', "--name", "ended")
    as_json = talk(program, "n\n", "--input", '{"amount": 1}', "--json")
    quit_ = talk(program, "n\nquit", "--input", '{"amount": 1}', "--name", "left")

    assert ended.stdout.splitlines()[-1] == (
        "the input ended before the execution, which remains stopped; continue with --execution ended"
    )
    assert "(debug)" not in ended.stdout
    assert quit_.stdout.splitlines()[-1] == "the execution remains stopped; continue with --execution left"
    assert [each.returncode for each in (ended, as_json, quit_)] == [1, 1, 0]
    assert len(as_json.stdout.splitlines()) == 2


def test_prompt_is_for_a_person_who_reads_it(program, shop):
    """Lines typed at a terminal whose answers go into a file have no prompts among them."""
    typed, terminal = os.openpty()
    with os.fdopen(typed, "wb", buffering=0) as keyboard, os.fdopen(terminal, "rb") as stdin:
        keyboard.write(b"quit\n")
        talked = subprocess.run(
            [sys.executable, "-m", "emulator", "flow", "debug", "shop", "--input", '{"amount": 1}'],
            cwd=program.folder, env=program.env, stdin=stdin, capture_output=True, text=True, timeout=30,
        )  # fmt: skip

    assert talked.returncode == 0
    assert "(debug)" not in talked.stdout


def test_stops_are_lines_of_json(program, shop):
    """One for each stop, and one for the end."""
    talked = talk(program, 'n\nskip {"paid": 1}\nc\n', "--json")

    first, second, last, end = (json.loads(line) for line in talked.stdout.splitlines())
    assert [stop["step"] for state in (first, second, last) for stop in state["stops"]] == ["prepare", "pay", "done"]
    assert (end["status"], end["output"]) == ("Succeeded", '{"paid":1}')


def test_a_fork_goes_on_with_a_mended_definition(program, shop):
    """The flow stays as it is; both ways to name the place work."""
    program.run("flow", "start", "shop", "--name", "e", "--input", '{"amount": 1}', "--follow")
    mended = FLOW.replace("Type: Task", "Type: Pass").replace("$Output.Body.paid", "$Input.amount")
    (program.folder / "fixed.yml").write_text(mended)
    words = ["--definition", "fixed.yml", "--input", '{"amount": 2}', "--name", "mended"]

    forked = program.run("flow", "fork", "shop/e", "--before", "pay", *words)
    other = program.run("flow", "fork", "shop/e", "--event", "6", "--json")
    program.run("settle")
    shown = json.loads(program.run("flow", "describe", "shop", "mended", "--json").stdout)

    assert forked.stdout == "started mended\n"
    assert json.loads(other.stdout)["flow"] == "shop"
    assert (shown["Status"], shown["Output"]) == ("Succeeded", '{"paid":2}')
    for words in (["e", "--before", "pay"], ["shop/e"], ["shop/e", "--before", "pay", "--event", "3"]):
        assert program.run("flow", "fork", *words).returncode == 2


def test_a_step_runs_alone(program, shop):
    """With a mock it succeeds; without, its function is really called."""
    (program.folder / "mocks.json").write_text('{"pay": {"return": {"paid": 3}}}')

    mocked = program.run("flow", "step", "shop.yml", "pay", "--mocks", "mocks.json", "--input", '{"amount": 1}')
    called = program.run("flow", "step", "shop.yml", "pay", "--json")
    wrong = program.run("flow", "step", "shop.yml", "pay", "--input", "[]")
    missing = program.run("flow", "step", "shop.yml", "pay", "--mocks", "none.json")

    assert mocked.stdout.splitlines()[-2:] == ['Succeeded: {"paid": 3}', "next: done"]
    assert mocked.returncode == 0
    assert json.loads(called.stdout)["error"] == "FC.ServiceNotFound"
    assert called.returncode == 1
    assert (wrong.returncode, missing.returncode) == (2, 1)


def test_a_stop_in_a_branch_says_how_commands_choose_it(capsys):
    """By the number of its strand; the main line needs none."""
    for strand in (0, 4):
        _show({"when": "before", "step": "pay", "strand": strand, "data": {}})

    assert capsys.readouterr().out.splitlines() == ["before pay: {}", "before pay in branch @4: {}"]
