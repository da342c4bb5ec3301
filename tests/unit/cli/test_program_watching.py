"""Checking, following, reading and drawing flows on the command line, against a running emulator."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

FLOW = """\
version: v1
type: flow
steps:
  - type: pass
    name: Set
    outputMappings:
      - {target: note, source: 你好}
  - type: foreach
    name: Each
    iterationMapping: {collection: $.items, item: item}
    steps:
      - {type: wait, name: Nap, duration: $.item}
  - type: choice
    name: Judge
    choices:
      - {condition: $.good == true, goto: Good}
  - {type: fail, name: Bad, error: Mine, cause: told to}
  - {type: succeed, name: Good}
"""

GOOD, BAD = '{"good": true, "items": [0, 1]}', '{"items": []}'


@pytest.fixture
def flow(program):
    """A flow named watched."""
    program.start()
    (program.folder / "watched.yml").write_text(FLOW, encoding="utf-8")
    assert program.run("flow", "create", "watched", "watched.yml").returncode == 0


def test_followed_execution_shows_steps_as_they_end(program, flow):
    """One line per step end, indented; the last line is the status."""
    done = program.run("flow", "start", "watched", "--input", GOOD, "--follow")

    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[0].startswith("execution ")
    # Whether the wait is still going on when the program looks is up to the machine.
    told = [line[21:] for line in lines[1:-1] if not line.endswith("[1] Nap  waits: 1 s")]
    assert told == ['Set  {"note":"你好"}', "Each  begins", "  [0] Nap", "  [1] Nap", "Each", "Judge  -> Good", "Good"]
    assert lines[-1] == 'Succeeded: {"note":"你好"}'


def test_followed_execution_that_fails_tells_why(program, flow):
    """The exit code is 1, and the status comes with error and cause."""
    done = program.run("flow", "start", "watched", "--input", BAD, "--follow")

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "Failed: Mine told to"
    assert "Bad  failed Mine told to" in done.stdout


def test_events_go_with_following(program):
    """Alone the option has nothing to say, so it is wrong usage."""
    assert program.run("flow", "start", "watched", "--events").returncode == 2


def test_history_is_a_tree_of_steps(program, flow):
    """Of the newest execution; long values are cut unless all is asked for."""
    program.run("flow", "start", "watched", "--input", GOOD, "--name", "first", "--follow")
    long = json.dumps({"items": [], "note": "x" * 500})
    program.run("flow", "start", "watched", "--input", long, "--name", "second", "--follow")

    newest = program.run("flow", "history", "watched", COLUMNS="80")
    full = program.run("flow", "history", "watched", "--full")
    first = program.run("flow", "history", "watched", "first")

    assert newest.stdout.startswith("watched / second  failed after ")
    assert max(len(line) for line in newest.stdout.splitlines()) == 80
    assert "x" * 500 in full.stdout
    steps = [line[21:].split("  (")[0].rstrip() for line in first.stdout.splitlines() if line.lstrip()[:1] == "+"]
    assert steps == [
        "Set",
        "Each",
        "  [iteration 0]",
        "    Nap",
        "  [iteration 1]",
        "    Nap",
        "Judge  -> Good",
        "Good",
    ]


def test_flow_is_drawn_to_a_file_or_to_standard_output(program, flow):
    """An SVG named after the flow unless told otherwise; Mermaid on request."""
    written = program.run("flow", "graph", "watched")
    named = program.run("flow", "graph", "watched", "--format", "mermaid", "--output", "other.txt")
    printed = program.run("flow", "graph", "watched", "--format", "mermaid", "--output", "-")
    nowhere = program.run("flow", "graph", "watched", "--output", "no/such/folder.svg")

    assert written.stdout == "wrote watched.svg\n"
    root = ElementTree.parse(program.folder / "watched.svg").getroot()
    assert {each.get("data-step") for each in root.iter()} >= {"Set", "Each", "Nap", "Judge", "Bad", "Good"}
    assert named.stdout == "wrote other.txt\n"
    assert (program.folder / "other.txt").read_text(encoding="utf-8") == printed.stdout
    assert "flowchart TD" in printed.stdout
    assert nowhere.returncode == 1
    assert "cannot be written" in nowhere.stderr


def test_execution_is_drawn_with_the_states_of_its_steps(program, flow):
    """The newest one, or the one that is named; the ways that were gone are marked."""
    none = program.run("flow", "graph", "watched", "--execution")
    program.run("flow", "start", "watched", "--input", GOOD, "--name", "good", "--follow")
    program.run("flow", "start", "watched", "--input", BAD, "--name", "bad", "--follow")

    good = program.run("flow", "graph", "watched", "--execution", "good", "--output", "-")
    newest = program.run("flow", "graph", "watched", "--output", "-", "--execution")
    after = program.run("flow", "graph", "watched", "good", "--output", "-")
    joined = program.run("flow", "graph", "watched/good", "--output", "-")
    no_file = program.run("flow", "show", "watched/good")

    assert after.stdout == joined.stdout == good.stdout
    assert "localyun flow history watched/good" in no_file.stderr
    assert none.returncode == 1
    assert states(good.stdout)["Good"] == "succeeded"
    assert states(good.stdout)["Bad"] == "not entered"
    assert states(newest.stdout)["Bad"] == "failed"
    assert taken(good.stdout) >= {("Set", "Each"), ("Judge", "Good"), ("Good", "$"), ("^", "Set")}
    assert ("Judge", "Bad") in taken(newest.stdout)


def states(text):
    root = ElementTree.fromstring(text)
    return {each.get("data-step"): each.get("data-state") for each in root.iter() if each.get("data-step")}


def taken(text):
    root = ElementTree.fromstring(text)
    return {(each.get("data-from"), each.get("data-to")) for each in root.iter() if each.get("data-taken") == "true"}


def test_definition_is_checked_without_a_server(program):
    """Steps in all depths are counted, and what is probably not meant is told."""
    (program.folder / "f.yml").write_text(FLOW + "  - {type: pass, name: Lost}\n", encoding="utf-8")

    checked = program.run("flow", "check", "f.yml")
    as_json = json.loads(program.run("flow", "check", "f.yml", "--json").stdout)

    assert checked.returncode == 0
    assert checked.stdout == "ok, 7 steps\nwarning: no other step leads to 'Lost' (line 19)\n"
    assert (as_json["ok"], as_json["steps"], len(as_json["warnings"])) == (True, 7, 1)
    assert not (program.folder / ".localyun").exists()


def test_tags_of_templates_are_notes(program):
    """deploy replaces them; what stands behind them keeps its line."""
    (program.folder / "f.yml").write_text(
        "version: v1\ntype: flow\nsteps:\n"
        "  - {type: task, name: a, resourceArn: !Ref shop/order}\n"
        "  - type: task\n    name: b\n    resourceArn: !Sub\n      - acs:fc:::services/${s}/functions/f\n"
        "      - {s: !GetAtt shop.ServiceName}\n"
        "  - {type: pass, name: c}\n",
        encoding="utf-8",
    )

    checked = program.run("flow", "check", "f.yml")
    (program.folder / "f.yml").write_text(
        (program.folder / "f.yml").read_text().replace("name: c", "name: c, nothing: 1"), encoding="utf-8"
    )
    refused = program.run("flow", "check", "f.yml")

    assert checked.stdout.splitlines() == [
        "ok, 3 steps",
        "note: line 4: !Ref gets its value from localyun deploy",
        "note: line 7: !Sub gets its value from localyun deploy",
        "note: line 9: !GetAtt gets its value from localyun deploy",
    ]
    assert refused.stdout.startswith("f.yml:10:27: steps[2].nothing: unknown field")


def test_definition_that_would_be_refused_is_told_with_its_place(program):
    """In the form editors jump to; standard input has a name too; {accountID} moves nothing."""
    arn = "acs:fc:cn-hangzhou:{accountID}:services/s/functions/f"
    text = f"version: v1\ntype: flow\nsteps:\n  - {{resourceArn: '{arn}', name: a, type: nothing}}\n"
    (program.folder / "f.yml").write_text(text, encoding="utf-8")

    refused = program.run("flow", "check", "f.yml")
    as_json = program.run("flow", "check", "f.yml", "--json")
    piped = subprocess.run(
        [sys.executable, "-m", "emulator", "flow", "check", "-"],
        cwd=program.folder, env=program.env, input=text, capture_output=True, text=True, timeout=30,
    )  # fmt: skip

    column = text.splitlines()[3].index("nothing") + 1
    assert refused.returncode == as_json.returncode == piped.returncode == 1
    assert refused.stdout.startswith(f"f.yml:4:{column}: steps[0].type: unknown type of step")
    assert piped.stdout == refused.stdout.replace("f.yml", "<stdin>")
    error = json.loads(as_json.stdout)["error"]
    assert (error["line"], error["column"], error["field"]) == (4, column, "steps[0].type")


def test_every_mistake_of_a_definition_is_told(program):
    """In the order of its lines, and in Chinese where that is asked for; JSON is English and has all."""
    text = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: a, goto: b}\n  - {type: wait, name: a}\nend: true\n"
    (program.folder / "f.yml").write_text(text, encoding="utf-8")
    chinese = {"LC_ALL": "zh_CN.UTF-8", "PYTHONUTF8": "1"}

    refused = program.run("flow", "check", "f.yml")
    spoken = program.run("flow", "check", "f.yml", **chinese)
    as_json = json.loads(program.run("flow", "check", "f.yml", "--json", **chinese).stdout)

    assert (refused.returncode, refused.stderr) == (1, "4 mistakes\n")
    assert [line.split(" ")[0] for line in refused.stdout.splitlines()] == [
        "f.yml:4:27:",
        "f.yml:5:5:",
        "f.yml:5:24:",
        "f.yml:6:1:",
    ]
    assert "f.yml:5:24: steps[1].name: another step, in line 4, has the name 'a'\n" in refused.stdout
    assert "f.yml:5:24: steps[1].name\uff1a第 4 行的步骤已使用名称 'a'\n" in spoken.stdout
    assert [each["line"] for each in as_json["errors"]] == [4, 5, 5, 6]
    assert as_json["errors"][2]["message"] == "another step, in line 4, has the name 'a'"
    assert as_json["error"] == as_json["errors"][0]


def test_a_caret_stands_under_what_an_expression_has_wrong(program):
    """Of state machines; the JSON has the expression and the offset."""
    head = "Type: StateMachine\nName: m\nSpecVersion: v1\nStartAt: p\nStates:\n  - Type: Pass\n    Name: p\n"
    head += "    End: true\n"
    text = head + "    OutputConstructor: {名.$: 'format(\"名{}\", lenght($Input))'}\n"
    (program.folder / "m.yml").write_text(text, encoding="utf-8")

    refused = program.run("flow", "check", "m.yml")
    as_json = json.loads(program.run("flow", "check", "m.yml", "--json").stdout)["error"]

    first, expression, caret = refused.stdout.splitlines()
    assert (refused.returncode, first.split(": ")[0]) == (1, "m.yml:9:45")
    assert expression == '    format("名{}", lenght($Input))'
    assert caret == " " * 19 + "^"
    assert (as_json["expression"][as_json["position"] :], as_json["column"]) == ("lenght($Input))", 45)


def test_file_that_cannot_be_read_is_a_failure(program):
    """With the system's reason."""
    done = program.run("flow", "check", "missing.yml")

    assert done.returncode == 1
    assert "missing.yml cannot be read" in done.stderr


def test_skip_prints_the_time_and_says_what_it_jumped_over(program):
    """The time alone on standard output, for scripts; the wait, with its time, beside it and in JSON."""
    program.start()
    nap = "version: v1\ntype: flow\nsteps:\n- {type: wait, name: Nap, duration: 600}\n"
    (program.folder / "nap.yml").write_text(nap, encoding="utf-8")
    program.run("flow", "create", "nap", "nap.yml")
    program.run("clock", "freeze")
    program.run("flow", "start", "nap", "--name", "first")

    skipped = program.run("skip", "--execution", "nap/first")
    program.run("flow", "start", "nap", "--name", "second")
    told = json.loads(program.run("skip", "--execution", "nap/second", "--json").stdout)
    quiet = program.run("skip")

    assert skipped.returncode == 0, skipped.stderr
    begin, over = skipped.stderr.splitlines()
    assert begin.startswith("moved from 20")
    assert over.split() == [skipped.stdout.strip(), "+10m", "end", "of", "a", "wait", "nap/first"]
    assert [(each["what"], each["in_ms"]) for each in told["jumped"]] == [("end of a wait", 600_000)]
    assert told["from"] == skipped.stdout.strip()
    assert "there is no next event" in quiet.stderr


def test_a_list_of_nothing_says_so_beside_its_headings(program):
    """Standard output is what scripts read: the headings, or JSON."""
    program.start()

    plain, as_json = program.run("flow", "list"), program.run("flow", "list", "--json")

    assert plain.stdout == "name  created  description\n"
    assert plain.stderr == "Nothing found.\n"
    assert (json.loads(as_json.stdout), as_json.stderr) == ([], "")


def test_tree_of_an_execution_is_chinese_where_the_user_is(program, flow):
    """Headings, names of values and outcomes; names and errors of the flow stay as they are."""
    program.run("flow", "start", "watched", "--input", BAD, "--follow")

    shown = program.run("flow", "history", "watched", LC_ALL="zh_CN.UTF-8", PYTHONUTF8="1").stdout
    status = program.run("status", LC_ALL="zh_CN.UTF-8", PYTHONUTF8="1").stdout

    assert "失败" in shown
    assert "用时" in shown
    assert "输入" in shown
    assert "用时  step" not in shown
    assert {"took", "after", "input", "start", "failed"} & set(shown.split()) == set()
    assert {"version", "services", "available", "counts"} & set(status.split()) == set()
