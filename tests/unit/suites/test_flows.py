"""Which definitions of a checkout are found, and what of them counts as different."""

import json

import pytest

from tests.converted import difference
from tests.suites.flows import Found, definitions

FLOW = "type: flow\nsteps:\n  - {type: pass, name: a}\n"


def test_definitions_stand_in_files_and_in_templates(tmp_path):
    """A whole file, a text within functions of a template, a map; what a template names is there once or missed."""
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "a.yml").write_text(FLOW)
    (tmp_path / "flows" / "b.flow").write_text(FLOW)
    (tmp_path / "other.json").write_text(json.dumps({"type": "flow", "steps": "none"}))
    (tmp_path / "broken.yml").write_text("a: [")
    replaced = {"Fn::Replace": [{"name: a": {"Ref": "Name"}, "flow": {"Ref": "ALIYUN::StackName"}}, FLOW]}
    resources = {
        "Inside": {"Type": "ALIYUN::FNF::Flow", "Properties": {"Definition": replaced}},
        "Missed": {"Type": "Aliyun::Serverless::Flow", "Properties": {"DefinitionUri": "flows/none.yml"}},
        "Named": {"Type": "Aliyun::Serverless::Flow", "Properties": {"DefinitionUri": "flows/a.yml"}},
        "Other": {"Type": "Aliyun::Serverless::Flow", "Properties": {"DefinitionUri": "flows/b.flow"}},
        "Queue": {"Type": "ALIYUN::MNS::Queue", "Properties": {"Definition": FLOW}},
    }
    (tmp_path / "template.yml").write_text(
        json.dumps({"Parameters": {"Name": {"Default": "name: b"}}, "Resources": resources})
    )

    assert list(definitions(tmp_path)) == [
        Found("flows/a.yml", FLOW),
        Found("template.yml#Inside", FLOW.replace("name: a", "name: b")),
        Found("template.yml#Missed", "", "there is no flows/none.yml"),
        Found("template.yml#Other", FLOW),
    ]


WRAPPED = "# the output was the whole local, with results of tasks; here it is the member Local\nType: StateMachine\n"
NULLED = "# a missing member is null in the output here: a\nType: StateMachine\n"


@pytest.mark.parametrize(
    ("before", "after", "machine", "told"),
    [
        ({"status": "Failed", "error": "E"}, {"status": "Failed", "error": "F"}, "", "error was 'E'"),
        ({"calls": {"a": 2}}, {"calls": {"a": 1}}, "", "calls was"),
        ({"output": {"a": 1}}, {"output": {"Local": {"a": 1}}}, WRAPPED, ""),
        ({"output": {"a": 1}}, {"output": {"Local": {"a": 1}}}, "", "output was"),
        ({"output": {}}, {"output": {"a": None}}, NULLED, ""),
        ({"output": {}}, {"output": {"a": None}}, "", "output was"),
        ({"output": {"b": 1}}, {"output": {"a": None, "b": 2}}, NULLED, "output was"),
        ({"output": {"b": [1]}}, {"output": {"a": None}}, NULLED, "output was"),
    ],
)
def test_remarks_allow_for_what_they_say_alone(before, after, machine, told):
    """A wrapper and nulls where they are told; everything else is a difference."""
    found = difference(before, after, machine)

    assert found.startswith(told)
    assert bool(found) == bool(told)
