"""A project for assistants."""

import os
from pathlib import Path

import pytest

from tests import commands
from tests.unit.cli.commands.assistants import FLOW

ROOT = Path(__file__).parents[4]


@pytest.fixture
def project(tmp_path):
    """A folder of a project without an emulator; one that a tool has started is stopped."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")}
    env |= {"PYTHONPATH": str(ROOT), "LOCALYUN_HTTPS_PORT": "0", "XDG_RUNTIME_DIR": str(tmp_path)}
    (tmp_path / "template.yml").write_text(FLOW, encoding="utf-8")
    yield tmp_path, env
    commands.run(["stop"], cwd=tmp_path, env=env, timeout=60)
