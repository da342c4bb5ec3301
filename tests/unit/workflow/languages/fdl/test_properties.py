"""No text whatsoever gets more than a flow or a `DefinitionError` out of the reader."""

import json
import subprocess
import sys

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.languages.document import read_document
from emulator.services.workflow.languages.fdl.nodes import Flow, parse_timestamp
from emulator.services.workflow.languages.programs import read_program as parse_flow
from emulator.wire.yaml import plain_value

VALID = """version: v1
type: flow
timeoutSeconds: 60
inputMappings: [{target: a.b, source: $input.c}]
steps:
  - type: task
    name: t
    resourceArn: acs:mns:::/queues/q/messages
    pattern: waitForCallback
    serviceParams: {MessageBody: $, Priority: 1}
    retry: [{errors: [FnF.ALL], intervalSeconds: 1, multiplier: 1.5}]
    catch: [{errors: [x], goto: f}]
    errorMappings: [{target: e, source: $local.error}]
  - {type: wait, name: w, duration: 10}
  - {type: wait, name: v, timestamp: 2024-01-01T00:00:00Z}
  - type: choice
    name: c
    choices: [{condition: '$.a > 3 && !($.b == "x")', steps: [{type: succeed, name: s}], goto: f}]
    default: {goto: w}
  - type: parallel
    name: p
    branches: [{steps: [{type: pass, name: p1, end: true}]}]
  - type: foreach
    name: e
    iterationMapping: {collection: $.list, item: i, index: n}
    steps: [{type: pass, name: e1, outputMappings: [{target: o, source: {k: [1, null]}}]}]
  - {type: fail, name: f, error: E, cause: C}
"""
LINES = VALID.splitlines(keepends=True)
SNIPPETS = st.sampled_from(
    [
        "",
        " ",
        "\n",
        "\t",
        ": ",
        "- ",
        "{",
        "}",
        "[",
        "]",
        "'",
        '"',
        "&a ",
        "*a ",
        "!x ",
        "null",
        "~",
        "1e999",
        "0x",
        "$",
        "$.",
        "#",
        "<<: ",
        "? ",
        "| ",
        "%",
        "@",
        "\x00",
        "\u2028",
        "\ufeff",
        "[[[[",
        "v2",
    ]
)


def outcome(text):
    """Read the text; anything but a flow or a DefinitionError fails the test."""
    try:
        flow = parse_flow(text)
    except DefinitionError as error:
        return error
    assert isinstance(flow, Flow)
    return flow


def test_the_valid_definition_is_valid():
    """What the mutations start from parses."""
    assert isinstance(outcome(VALID), Flow)


@given(st.lists(st.tuples(st.integers(0, len(VALID)), st.integers(0, 12), SNIPPETS), min_size=1, max_size=3))
def test_mutated_definitions_parse_or_are_refused_with_a_place(edits):
    """Cutting and pasting anywhere in a definition gives a flow or an error inside the text."""
    text = VALID
    for position, cut, snippet in edits:
        text = text[:position] + snippet + text[position + cut :]

    result = outcome(text)

    if isinstance(result, DefinitionError):
        assert 1 <= result.line <= len(text.splitlines()) + 1
        assert result.column >= 1
        assert result.message


@given(st.lists(st.sampled_from(LINES), max_size=len(LINES)))
def test_shuffled_lines_parse_or_are_refused(lines):
    """Lines of a definition in any order and number never break the reader."""
    assert outcome("".join(lines)) is not None


@given(
    st.one_of(
        st.text(st.characters(exclude_categories=())), st.text(alphabet="ab:-?[]{},&*!|>'\"%@#\n\t $.0<", max_size=60)
    )
)
def test_any_text_is_refused_or_read(text):
    """Random text, half surrogates and control characters included, ends in an answer."""
    assert outcome(text) is not None


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(exclude_categories=("Cs",)), max_size=6),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text("abn", max_size=3), inner, max_size=4)
    ),
    max_leaves=15,
)  # fmt: skip


class Quoting(yaml.SafeDumper):
    """Writes texts that begin like a number in quotes: PyYAML leaves ``0E0`` bare, which is a number by YAML 1.2."""

    def represent_str(self, data):
        return self.represent_scalar("tag:yaml.org,2002:str", data, style='"' if data[:1] in "+-.0123456789" else None)


Quoting.add_representer(str, Quoting.represent_str)


@given(JSON)
def test_json_and_yaml_documents_read_as_the_values_they_hold(value):
    """Whatever JSON a constant holds comes out as it went in, from YAML as from JSON text."""
    from_json = plain_value(read_document(json.dumps({"v": value})))
    from_yaml = plain_value(read_document(yaml.dump({"v": value}, Dumper=Quoting)))

    assert from_json == {"v": value}
    assert from_yaml == {"v": value}


def test_without_the_c_library_the_result_is_the_same(monkeypatch):
    """The pure Python reader of YAML gives an equal flow."""
    fast = parse_flow(VALID)
    monkeypatch.delattr(yaml, "CSafeLoader")

    assert parse_flow(VALID) == fast


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00.001z", 1),
        ("1970-01-01T08:00:00.123456789+08:00", 123),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000),
        ("9999-12-31T23:59:59Z", 253_402_300_799_000),
    ],
)
def test_timestamps(text, expected):
    """Fractions and offsets are taken; the ends of the calendar too."""
    assert parse_timestamp(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "2024-01-01", "2024-01-01 00:00:00Z", "2024-01-01T24:00:01Z", "2024-W01-1T00:00:00Z",
        "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
    ],
)  # fmt: skip
def test_what_is_no_timestamp(text):
    """Only RFC 3339 is taken, and only what has a year from 1 to 9999 in UTC too."""
    with pytest.raises(ValueError):
        parse_timestamp(text)


def test_the_yaml_library_is_imported_on_first_use_only():
    """An emulator without flows does not pay for it."""
    program = (
        "import sys, emulator.services.workflow.languages.fdl.reader; print({'yaml', 'difflib'} & set(sys.modules))"
    )

    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert shown.stdout.strip() == "set()"
