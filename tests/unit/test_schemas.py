"""The schemas for editors: as the tables are, and in agreement with what reads the files."""

import functools
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from emulator.gateway.admin import SCHEMAS
from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.languages.programs import read_program
from tests.unit.workflow.languages.fdl import test_broken as fdl
from tests.unit.workflow.languages.statemachine import test_broken as machines
from tools import schemas

ROOT = Path(__file__).parents[2]
SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def validator(name):
    return jsonschema.Draft202012Validator(json.loads((SCHEMAS / f"{name}.json").read_text("utf-8")))


def problems(name, value):
    return [error.message for error in validator(name).iter_errors(value)]


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_files_are_what_the_tables_say(name):
    """`python -m tools.schemas` writes them; each is a schema."""
    jsonschema.Draft202012Validator.check_schema(json.loads((SCHEMAS / f"{name}.json").read_text("utf-8")))

    assert (SCHEMAS / f"{name}.json").read_text("utf-8") == schemas.written(name)


@functools.cache
def definitions():
    """Return path and value of every definition of a flow in the repository."""
    return list(_definitions())


def _definitions():
    found = [*ROOT.glob("sample-apps/*/*.yml"), *ROOT.glob("tests/**/*.yml"), *ROOT.glob("tests/recovery/histories/*")]
    for path in sorted(found):
        if "node_modules" in path.parts or path.suffix not in {".yml", ".yaml"}:
            continue
        text = path.read_text("utf-8")
        try:
            value = yaml.load(text, SafeLoader)
        except yaml.YAMLError:
            continue
        if isinstance(value, dict) and (value.get("type") == "flow" or value.get("Type") == "StateMachine"):
            yield pytest.param(value, id=str(path.relative_to(ROOT)))


@pytest.mark.parametrize("value", definitions())
def test_every_flow_of_the_repository_is_taken(value):
    """Nothing that runs is underlined in an editor."""
    assert problems("statemachine" if "Type" in value else "fdl", value) == []


def test_definitions_are_found():
    """Both languages, the tutorials at least."""
    kinds = ["Type" in each.values[0] for each in definitions()]

    assert kinds.count(True) >= 8
    assert kinds.count(False) >= 8


def broken():
    """Yield the definitions that are refused for their form, in both languages."""
    cases = [("fdl", text) for text, *_ in fdl.DOCUMENTS if isinstance(text, str)]
    cases += [("statemachine", case[0]) for case in (*machines.DOCUMENTS, *machines.STATES)]
    for name, text in cases:
        if len(text) > 100_000:  # what is refused for its depth or size, which is no mapping or cannot be read at all
            continue
        try:
            value = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield name, text, value


def test_most_of_what_is_refused_is_seen_by_the_schema():
    """Names that lead nowhere, expressions and repeated keys are left to `flow check`; the rest shows at once."""
    seen, missed = [], []
    for name, text, value in broken():
        with pytest.raises(DefinitionError):
            read_program(text)
        (seen if problems(name, value) else missed).append(text)

    assert len(seen) >= 2 * len(missed)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("fdl", "version: v1\ntype: flow\nsteps: [{type: pass, name: a, nmae: b}]", "'nmae'"),
        ("fdl", "version: v1\ntype: flow\nsteps: [{type: wait, name: a}]", "not valid under any"),
        ("fdl", "version: v1\ntype: flow\nsteps: [{type: wait, name: a, duration: 999999}]", "not valid under any"),
        ("statemachine", machines.state("Type: Wait, Seconds: 301, End: true"), "not valid under any"),
        ("statemachine", machines.state("Type: Pass, End: true, OnErrors: []"), "should not be valid"),
        ("statemachine", machines.state("Type: Pass"), "not valid under any"),
        ("localyun", "prot: 8868", "'prot' was unexpected"),
        ("localyun", "auth: strict", "not valid under any"),
        ("localyun", "queues: {orders: {VisibilityTimeout: -1}}", "not valid under any"),
        ("localyun", "topics: {news: {subscriptions: {me: {FilterTag: x}}}}", "not valid under any"),
        ("function", "memorySize: much", "not valid under any"),
        ("function", "runtime: python2", "not valid under any"),
        ("service", "internetAccess: maybe", "not valid under any"),
    ],
)
def test_mistakes_are_seen(name, text, problem):
    """Misspelt fields, values out of range, words that are no choice."""
    assert any(problem in each for each in problems(name, yaml.safe_load(text)))


def settings_of_the_pages():
    """Yield the examples of localyun.yaml on the page of the configuration."""
    text = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    for number, block in enumerate(text.split("```yaml\n")[1:]):
        yield pytest.param(yaml.safe_load(block.split("```")[0]), id=f"configuration.md-{number}")


@pytest.mark.parametrize("value", list(settings_of_the_pages()))
def test_the_examples_of_the_page_are_taken(value):
    """Every block of YAML there is a localyun.yaml."""
    assert problems("localyun", value) == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("functions/**/*.yml")), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_beside_the_functions_are_taken(path):
    """function.yml and service.yml of the examples."""
    assert problems(path.stem, yaml.safe_load(path.read_text("utf-8"))) == []
