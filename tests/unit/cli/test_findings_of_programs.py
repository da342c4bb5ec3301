"""What doctor finds of tool chains and SDKs."""

import json
import sys
from pathlib import Path

import pytest

from emulator.cli import findings
from emulator.cli.findings import Trouble
from emulator.config import Config


def test_missing_tool_chains_are_noted():
    """Functions of other runtimes cannot run without them, and need not."""
    found = list(findings.tool_chains(Config(), which=lambda name: None))

    assert {each.verdict for each in found} == {"ok", "note"}
    assert [each.verdict for each in found].count("note") == len(findings.TOOL_CHAINS)


def test_tool_chain_tells_its_version(tmp_path):
    """What the program says of itself is shown; one that fails is noted."""
    program = tmp_path / "program"
    program.write_text(f"#!{sys.executable}\nimport sys\nprint('v1.2.3')\nsys.exit('version' == sys.argv[1])\n")
    program.chmod(0o755)

    found = {each.found: each.verdict for each in findings.tool_chains(Config(), which=lambda name: str(program))}

    assert found[f"nodejs*: {program}, v1.2.3"] == "ok"
    assert "note" in found.values()


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
