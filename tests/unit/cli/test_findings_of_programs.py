"""What doctor finds of tool chains and SDKs."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from emulator.cli import findings, trials
from emulator.cli.findings import Trouble
from emulator.config import Config
from emulator.kernel import system


def answered(runtime, executable, config):
    """A call that went well."""
    return ""


def test_missing_tool_chains_are_noted():
    """Functions of other runtimes cannot run without them, and need not."""
    found = list(findings.tool_chains(Config(), which=lambda name: None, attempt=answered))

    assert {each.verdict for each in found} == {"ok", "note"}
    assert [each.verdict for each in found].count("note") == len(findings.TOOL_CHAINS)


def test_tool_chain_tells_its_version(tmp_path):
    """What the program says of itself is shown; one that fails is noted."""
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho v1.2.3\n[ "$1" != version ]\n')
    program.chmod(0o755)

    chains = findings.tool_chains(Config(), which=lambda name: str(program), attempt=answered)
    found = {each.found: each.verdict for each in chains}

    assert found[f"nodejs*: {program}, v1.2.3; a test call succeeded"] == "ok"
    assert "note" in found.values()


def test_only_a_call_that_was_answered_makes_a_runtime_ok(tmp_path):
    """One that fails is told with what was printed; runtimes in which none is tried are notes."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho v1.2.3\n")
    program.chmod(0o755)
    tried = []

    def failing(runtime, executable, config):
        tried.append(runtime)
        return "Cannot find\nmodule"

    found = list(findings.tool_chains(Config(), which=lambda name: str(program), attempt=failing))

    assert tried == ["python3", "nodejs20", "php7.2"]
    assert {each.verdict for each in found} == {"wrong", "note"}
    assert [each.found.partition("; ")[2] for each in found if each.verdict == "wrong"] == [
        "a test call failed: Cannot find module"
    ] * 3


def test_a_python_and_a_node_function_are_really_called(tmp_path):
    """With code in the state folder; an interpreter that runs nothing is told of."""
    config = Config(state=tmp_path / "state")

    assert trials.attempt("python3", sys.executable, config) == ""
    if node := shutil.which("node"):
        assert trials.attempt("nodejs20", node, config) == ""
    told = "node ended before it was ready" if system.FORK else "the interpreter ended before it connected"
    assert told in trials.attempt("nodejs20", shutil.which("false"), config)
    assert list(tmp_path.iterdir()) == []


def test_runtime_that_names_nothing_is_wrong():
    """A path in localyun.yaml that has gone since."""
    found = next(findings.tool_chains(Config(runtimes={"python3.9": Path("/no/such/python")})))

    assert found.verdict == "wrong"
    assert "/no/such/python" in found.found


@pytest.mark.parametrize(
    ("version", "python", "expected"),
    [("1.1.9", (3, 12), "wrong"), ("1.2.0", (3, 12), "ok"), ("1.10.0", (3, 12), "ok"), ("1.0", (3, 11), "ok")],
    ids=["older", "mended", "numbers", "older python"],
)
def test_sdk_below_the_version_that_mended_it_is_wrong(tmp_path, version, python, expected):
    """Versions are compared as numbers, and trouble may be that of newer Pythons only."""
    package = tmp_path / "node_modules" / "@alicloud" / "thing"
    package.mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"version": version}))
    trouble = Trouble(
        where="node", distribution="@alicloud/thing", fixed_in="1.2", python=(3, 12), what="broken", remedy="upgrade"
    )

    found = list(findings.sdks(tmp_path, [trouble], version=python))

    assert [each.verdict for each in found] == [expected]


def test_every_known_trouble_has_a_remedy():
    """A finding without one would leave the user alone."""
    assert all(each.what and each.remedy for each in findings.known_trouble())
