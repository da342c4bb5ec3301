"""Settings of function.yml files that a deployment overrules are noted with both places and both values."""

import pytest

from emulator.deploy.overruled import overruled_settings
from emulator.deploy.places import Findings, whole
from emulator.deploy.planner import Action, Plan, Step, read
from tests.unit.deploy.conftest import WORLD

S_YAML = """edition: 3.0.0
name: shop
resources:
  f:
    component: fc3
    props:
      functionName: f
      runtime: python3.12
      handler: index.handler
      code: ./functions/f
"""
SERVICES = """edition: 1.0.0
name: shop
services:
  f:
    component: fc
    props:
      service: {name: s}
      function:
        name: f
        timeout: 20
        runtime: python3.10
        codeUri: ./functions/s/f
"""
TEMPLATE = """ROSTemplateFormatVersion: '2015-09-01'
Transform: 'Aliyun::Serverless-2018-04-03'
Resources:
  s:
    Type: Aliyun::Serverless::Service
    f:
      Type: Aliyun::Serverless::Function
      Properties:
        Handler: index.handler
        Runtime: python3.10
        CodeUri: functions/s/f
        Timeout: 20
"""


@pytest.fixture
def notes(tmp_path):
    """The notes, with their lines, on a text beside the function.yml of one function."""

    def noted(text, function_yml, name="f", within=None):
        folder = tmp_path / "functions" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.py").write_text("def handler(event, context):\n    return event\n")
        (folder / "function.yml").write_text(function_yml)
        root = whole(text, Findings())
        blueprint = read(root, WORLD, tmp_path, {}, {})
        root.findings.within = within
        steps = [Step(action=Action.CREATE, resource=each, entry=None) for each in blueprint.resources]
        found = overruled_settings(Plan(tuple(steps)), root, tmp_path / "functions", tmp_path)
        return [(each.line, str(each.text)) for each in found]

    return noted


def test_what_the_deployed_file_leaves_out_gets_the_default(notes):
    """At the resource's line; what is the same either way is not noted, nor what deployments do not set."""
    found = notes(S_YAML, "handler: index.handler\ntimeout: 30\nmemorySize: 512\ntriggers: []\n")

    text = "functions/f/function.yml:2:1 sets timeout to 30; it is left out here, so the default 3 counts"
    assert found == [(4, text)]


def test_what_the_deployed_file_says_otherwise_is_noted_at_its_line(notes):
    """Of each format; the member's own line."""
    other = notes(S_YAML + "      timeout: 31\n", "timeout: 30\n")
    service = notes(SERVICES, "timeout: 30\n", "s/f")
    template = notes(TEMPLATE, "timeout: 30\n", "s/f")

    assert other == [(11, "functions/f/function.yml:1:1 sets timeout to 30; 31 counts")]
    assert service == [(10, "functions/s/f/function.yml:1:1 sets timeout to 30; 20 counts")]
    assert template == [(12, "functions/s/f/function.yml:1:1 sets timeout to 30; 20 counts")]


def test_values_of_maps_are_not_repeated(notes):
    """They are long and may be secrets."""
    variables = "environmentVariables: {TOKEN: open-sesame}\n"

    left_out = notes(S_YAML, variables)
    other = notes(S_YAML + "      environmentVariables: {TOKEN: other}\n", "environmentVariables: {TOKEN: 1}\n")

    place = "functions/f/function.yml:1:1 sets environmentVariables"
    assert left_out == [(4, f"{place}, which is left out here: the default counts")]
    assert other == [(11, f"{place} to another value: the one here counts")]


@pytest.mark.parametrize("content", ["", "timeout: much\n", "timeout: [\n", "- a\n", "nonsense: 1\n"])
def test_files_that_set_nothing_usable_are_not_noted(notes, content):
    """Their mistakes are problems of the emulator's status."""
    assert notes(S_YAML, content) == []


def test_files_outside_of_the_folder_that_may_be_read_are_not_read(notes, tmp_path):
    """As for all that a deployment names."""
    project = tmp_path / "project"
    project.mkdir()

    assert notes(S_YAML, "timeout: 30\n", within=project) == []
    assert notes(S_YAML, "timeout: 30\n", within=tmp_path) != []
