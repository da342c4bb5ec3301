"""Reading deployment files without an emulator."""

import pytest

from emulator.deploy.model import Target
from emulator.deploy.places import Findings, whole
from emulator.deploy.planner import read

WORLD = Target(account="123456", region="cn-hangzhou", endpoint="http://127.0.0.1:8868", name="app")


@pytest.fixture
def blueprint(tmp_path):
    """Read a text that stands in a folder with ``code/index.py`` and ``flow.yml``; returns blueprint and notes."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "index.py").write_text("def handler(event, context):\n    return event\n")
    (tmp_path / "flow.yml").write_text("version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p}\n# {accountID}\n")

    def reader(text, environ=None, **parameters):
        findings = Findings()
        found = read(whole(text, findings), WORLD, tmp_path, parameters, environ or {})
        return found, findings.notes

    return reader


@pytest.fixture
def resources(blueprint):
    """Read a text; returns its resources by kind and physical name."""

    def reader(text, environ=None, **parameters):
        found, _ = blueprint(text, environ, **parameters)
        return {(each.kind, each.physical): each for each in found.resources}

    return reader
