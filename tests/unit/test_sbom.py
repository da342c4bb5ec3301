"""The bill of materials names all that is needed and all that is vendored, each with its licence."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bill(tmp_path):
    """What the command writes."""
    path = tmp_path / "bill.json"
    subprocess.run([sys.executable, ROOT / "tools" / "sbom.py", path], check=True, timeout=60)
    return json.loads(path.read_text())


def test_every_dependency_and_vendored_file_is_listed(bill):
    """Direct dependencies of pyproject.toml, and the scripts of the console."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {each.partition(">")[0].lower() for each in project["dependencies"]}
    wanted |= {path.name for path in (ROOT / "emulator" / "console" / "static" / "vendor").glob("*.js")}

    assert wanted <= {each["name"] for each in bill["components"]}


def test_every_component_has_a_licence(bill):
    """None is unknown, and none is longer than a name."""
    names = [next(iter(each["licenses"][0]["license"].values())) for each in bill["components"]]

    assert "unknown" not in names
    assert max(map(len, names)) < 60


def test_dependencies_refer_to_components(bill):
    """The graph has no end that is not listed."""
    known = {each["bom-ref"] for each in [*bill["components"], bill["metadata"]["component"]]}

    assert {ref for each in bill["dependencies"] for ref in (each["ref"], *each["dependsOn"])} <= known
