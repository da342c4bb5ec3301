"""Every broken definition is refused with the place and the reason."""

import textwrap

import pytest

from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.languages.programs import read_program as parse_flow

HEAD = "version: v1\ntype: flow\n"
FUNCTION = "acs:fc:::services/s/functions/f"
QUEUE = "acs:mns:::/queues/q/messages"


def refusal(text):
    """Return the error a text is refused with."""
    with pytest.raises(DefinitionError) as caught:
        parse_flow(text)
    return caught.value


def step(text):
    """Return a flow whose only step, from line 4 on, has these fields behind its name."""
    return HEAD + "steps:\n  - name: one\n" + textwrap.indent(textwrap.dedent(text).strip(), "    ")


def task(text, arn=FUNCTION):
    """Return a flow whose only step is a task; *text* starts in line 7."""
    return step(f"type: task\nresourceArn: {arn}\n" + text)


def inner(text):
    """Return a flow with three passes around a choice whose option has a step that jumps to *text*."""
    return (
        HEAD + "steps:\n  - {type: pass, name: before}\n  - type: choice\n    name: c\n    choices:\n"
        "      - condition: $.x\n        steps:\n          - type: task\n            name: t\n"
        f"            resourceArn: {FUNCTION}\n            catch:\n              - {{errors: [x], goto: {text}}}\n"
        "          - {type: pass, name: sibling}\n  - {type: pass, name: after}\n"
    )


DOCUMENTS = [
    ("", 1, 1, "", "empty"),
    ("# nothing\n", 1, 1, "", "empty"),
    ("just text", 1, 1, "", "must be a map"),
    ("- a\n- b", 1, 1, "", "must be a map"),
    ("a: [1", 1, 4, "", "not YAML"),
    ("version: v1\ntype: flow\nsteps:\n\t- type: pass", 4, 1, "", "tab"),
    ("version: v1\n  type: flow", 2, 7, "", "not YAML"),
    ("a: \x07", 1, 4, "", "not YAML"),
    ("\n\nab\x07", 3, 3, "", "not YAML"),
    ("a: '\ud800'", 1, 1, "", "surrogate"),
    ("---\na: 1\n---\nb: 1\n", 3, 1, "", "one document"),
    ("version: v1\nversion: v1\n", 2, 1, "version", "twice"),
    (HEAD + "steps:\n  - type: pass\n    name: a\n    name: b\n", 6, 5, "steps[0].name", "twice"),
    ("a: *nowhere", 1, 4, "a", "anchor"),
    ("a: &loop [*loop]", 1, 11, "a[0]", "anchor"),
    ("a: !!python/object/apply:os.system [x]", 1, 4, "a", "tag"),
    ("a: !!binary x", 1, 4, "a", "tag"),
    ("? [x]\n: y", 1, 3, "", "key"),
    ("{<<: 1}", 1, 6, "", "<<"),
    ("[" * 500_000, 1, 129, None, "deep"),
    ("- " * 100_000, 1, 257, None, "deep"),
    ("{a: " * 200_000, 1, 513, None, "deep"),
    ("[" + "1," * 300_000 + "]", 1, 500_002, "[250000]", "values"),
]

FLOWS = [
    ("type: flow\nsteps: [{type: pass, name: a}]", 1, 1, "", "'version' is required"),
    ("version: v2\ntype: flow\nsteps: [{type: pass, name: a}]", 1, 10, "version", "unknown version"),
    ("version: [v1]\ntype: flow\nsteps: []", 1, 10, "version", "text"),
    ("version: v1\nsteps: [{type: pass, name: a}]", 1, 1, "", "'type' is required"),
    ("version: v1\ntype: Flow\nsteps: []", 2, 7, "type", "must be flow"),
    (HEAD, 1, 1, "", "'steps' is required"),
    (HEAD + "steps:", 1, 1, "", "'steps' is required"),
    (HEAD + "steps: []", 3, 8, "steps", "empty"),
    (HEAD + "steps: {type: pass, name: a}", 3, 8, "steps", "list"),
    (HEAD + "step: []", 3, 1, "step", "mean 'steps'"),
    (HEAD + "steps: [pass]", 3, 9, "steps[0]", "map"),
    (HEAD + "name: []\nsteps: [{type: pass, name: a}]", 3, 7, "name", "text"),
    (HEAD + "timeoutSeconds: 0\nsteps: [{type: pass, name: a}]", 3, 17, "timeoutSeconds", "whole number"),
    (HEAD + "timeoutSeconds: 31536001\nsteps: [{type: pass, name: a}]", 3, 17, "timeoutSeconds", "whole number"),
    (HEAD + "timeoutSeconds: '60'\nsteps: [{type: pass, name: a}]", 3, 17, "timeoutSeconds", "whole number"),
    (HEAD + "timeoutSeconds: true\nsteps: [{type: pass, name: a}]", 3, 17, "timeoutSeconds", "whole number"),
    (HEAD + "inputMappings: {}\nsteps: [{type: pass, name: a}]", 3, 16, "inputMappings", "list"),
    (HEAD + "steps: [{type: pass, name: a}, {type: pass, name: a}]", 3, 51, "steps[1].name", "line 3"),
]

STEPS = [
    (HEAD + "steps:\n  - type: pass", 4, 5, "steps[0]", "'name' is required"),
    (HEAD + "steps:\n  - name: a", 4, 5, "steps[0]", "'type' is required"),
    (HEAD + "steps:\n  - {type: jump, name: a}", 4, 12, "steps[0].type", "unknown type"),
    (HEAD + "steps:\n  - {type: pass, name: Task 1}", 4, 24, "steps[0].name", "not a name"),
    (HEAD + "steps:\n  - {type: pass, name: 1a}", 4, 24, "steps[0].name", "not a name"),
    (HEAD + "steps:\n  - {type: pass, name: " + "a" * 129 + "}", 4, 24, "steps[0].name", "not a name"),
    (HEAD + "steps:\n  - {type: pass, name: ''}", 4, 24, "steps[0].name", "not a name"),
    (step("type: pass\nend: maybe"), 6, 10, "steps[0].end", "true or false"),
    (step("type: pass\nretry: []"), 6, 5, "steps[0].retry", "unknown field"),
    (step("type: pass\ntimeoutSeconds: 5"), 6, 5, "steps[0].timeoutSeconds", "unknown field"),
    (step("type: succeed\nend: true"), 6, 5, "steps[0].end", "unknown field"),
    (step("type: fail\nend: true"), 6, 5, "steps[0].end", "unknown field"),
    (step("type: fail\nerror: [x]"), 6, 12, "steps[0].error", "text"),
    (step("type: pass\ninputMapping: []"), 6, 5, "steps[0].inputMapping", "mean 'inputMappings'"),
    (step("type: pass\ninputMappings:\n- source: 1"), 7, 7, "steps[0].inputMappings[0]", "'target'"),
    (step("type: pass\ninputMappings:\n- target: a"), 7, 7, "steps[0].inputMappings[0]", "'source'"),
    (step("type: pass\ninputMappings:\n- {target: '', source: 1}"), 7, 16, "steps[0].inputMappings[0].target", "key"),
    (step("type: pass\ninputMappings:\n- {target: a..b, source: 1}"), 7, 16, "steps[0].inputMappings[0].target", "key"),
    (step("type: pass\ninputMappings:\n- {target: [a], source: 1}"), 7, 16, "steps[0].inputMappings[0].target", "text"),
    (step("type: pass\ninputMappings:\n- {target: a, value: 1}"), 7, 19, "steps[0].inputMappings[0].value", "unknown"),
    (
        step("type: pass\noutputMappings:\n- {target: a, source: $local.}"),
        7, 27, "steps[0].outputMappings[0].source", "character 7",
    ),
    (
        step("type: pass\noutputMappings:\n- {target: a, source: .inf}"),
        7, 27, "steps[0].outputMappings[0].source", "not a number",
    ),
    (step("type: wait"), 4, 5, "steps[0]", "exactly one"),
    (step("type: wait\nduration: 1\ntimestamp: 2024-01-01T00:00:00Z"), 4, 5, "steps[0]", "exactly one"),
    (step("type: wait\nduration: -1"), 6, 15, "steps[0].duration", "whole number"),
    (step("type: wait\nduration: 172801"), 6, 15, "steps[0].duration", "172800"),
    (step("type: wait\nduration: 1.5"), 6, 15, "steps[0].duration", "whole number"),
    (step("type: wait\nduration: ten"), 6, 15, "steps[0].duration", "path"),
    (step("type: wait\nduration: 1d"), 6, 15, "steps[0].duration", "must be a whole number of seconds, or a path"),
    (step("type: wait\nduration: $input.x"), 6, 15, "steps[0].duration", "$"),
    (step("type: wait\ntimestamp: tomorrow"), 6, 16, "steps[0].timestamp", "RFC 3339"),
    (step("type: wait\ntimestamp: 2024-01-01"), 6, 16, "steps[0].timestamp", "RFC 3339"),
    (step("type: wait\ntimestamp: 2024-01-01T00:00:00"), 6, 16, "steps[0].timestamp", "RFC 3339"),
    (step("type: wait\ntimestamp: 2024-02-30T00:00:00Z"), 6, 16, "steps[0].timestamp", "RFC 3339"),
    (step("type: wait\ntimestamp: $.a b"), 6, 16, "steps[0].timestamp", "character 4"),
    (step("type: choice"), 4, 5, "steps[0]", "'choices'"),
    (step("type: choice\nchoices: []"), 6, 14, "steps[0].choices", "empty"),
    (step("type: choice\nchoices:\n- goto: one"), 7, 7, "steps[0].choices[0]", "'condition'"),
    (step("type: choice\nchoices:\n- condition: $.a = 1"), 7, 18, "steps[0].choices[0].condition", "character 5"),
    (step("type: choice\nchoices:\n- condition: [a]"), 7, 18, "steps[0].choices[0].condition", "text"),
    (step("type: choice\nchoices:\n- {condition: $.a, goto: two}"), 7, 30, "steps[0].choices[0].goto", "'two'"),
    (step("type: choice\nchoices:\n- {condition: $.a, steps: []}"), 7, 31, "steps[0].choices[0].steps", "empty"),
    (step("type: choice\nchoices:\n- {condition: $.a, end: true}"), 7, 24, "steps[0].choices[0].end", "unknown"),
    (
        step("type: choice\nchoices:\n- condition: $.a\ndefault: {condition: $.b}"),
        8, 15, "steps[0].default.condition", "unknown field",
    ),
    (step("type: choice\nchoices:\n- condition: $.a\ndefault: {goto: two}"), 8, 21, "steps[0].default.goto", "'two'"),
    (step("type: parallel"), 4, 5, "steps[0]", "'branches'"),
    (step("type: parallel\nbranches: []"), 6, 15, "steps[0].branches", "empty"),
    (step("type: parallel\nbranches: [{}]"), 6, 16, "steps[0].branches[0]", "'steps'"),
    (step("type: parallel\nbranches: [" + "{steps: []}, " * 101 + "]"), 6, 15, "steps[0].branches", "100"),
    (
        step("type: parallel\nbranches:\n- steps: [{type: pass, name: a}]\n- steps: [{type: pass, name: a}]"),
        8, 34, "steps[0].branches[1].steps[0].name", "line 7",
    ),
    (step("type: foreach\nsteps: [{type: pass, name: a}]"), 4, 5, "steps[0]", "'iterationMapping'"),
    (step("type: foreach\niterationMapping: {item: x}"), 6, 23, "steps[0].iterationMapping", "'collection'"),
    (step("type: foreach\niterationMapping: {collection: $.x}"), 6, 23, "steps[0].iterationMapping", "'item'"),
    (
        step("type: foreach\niterationMapping: {collection: names, item: x}"),
        6, 36, "steps[0].iterationMapping.collection", "path",
    ),
    (
        step("type: foreach\niterationMapping: {collection: $.x, item: ''}"),
        6, 47, "steps[0].iterationMapping.item", "empty",
    ),
    (
        step("type: foreach\niterationMapping: {collection: $.x, item: i, index: i}"),
        6, 57, "steps[0].iterationMapping.index", "different",
    ),
    (step("type: foreach\niterationMapping: {collection: $.x, item: i}"), 4, 5, "steps[0]", "'steps'"),
]  # fmt: skip

TASKS = [
    (step("type: task"), 4, 5, "steps[0]", "'resourceArn' is required"),
    (step(f"type: task\nresourceArn: {FUNCTION}\naction: fnf:StartExecution"), 7, 13, "steps[0].action", "not both"),
    (step("type: task\naction: fnf"), 6, 13, "steps[0].action", "serviceName"),
    (step("type: task\naction: fnf:StartExecution"), 4, 5, "steps[0]", "'FlowName'"),
    (
        step("type: task\naction: fnf:StartExecution\nserviceParams: {Input: $}"),
        7, 20, "steps[0].serviceParams", "'FlowName'",
    ),
    (step("type: task\naction: a:B\npattern: sync"), 7, 14, "steps[0].pattern", "requestResponse"),
    (step("type: task\nresourceArn: $.arn"), 6, 18, "steps[0].resourceArn", "unknown form"),
    (task("pattern: async"), 7, 14, "steps[0].pattern", "waitForCallback"),
    (task("pattern: sync", QUEUE), 7, 14, "steps[0].pattern", "waitForCallback"),
    (task("pattern: sync", "acs:mns:::/topics/t/messages"), 7, 14, "steps[0].pattern", "waitForCallback"),
    (task("timeoutSeconds: -5"), 7, 21, "steps[0].timeoutSeconds", "whole number"),
    (task("serviceParams: []"), 7, 20, "steps[0].serviceParams", "map"),
    (task("serviceParams: {MessageBody: $}"), 7, 21, "steps[0].serviceParams.MessageBody", "unknown field"),
    (task("serviceParams: {InvocationType: async}"), 7, 37, "steps[0].serviceParams.InvocationType", "Async"),
    (task("serviceParams: {Priority: 1}", QUEUE), 7, 20, "steps[0].serviceParams", "'MessageBody'"),
    (task("serviceParams: {MessageBody: $, Priority: 0}", QUEUE), 7, 47, "steps[0].serviceParams.Priority", "16"),
    (task("serviceParams: {MessageBody: $, Priority: '17'}", QUEUE), 7, 47, "steps[0].serviceParams.Priority", "16"),
    (
        task("serviceParams: {MessageBody: $, DelaySeconds: 604801}", QUEUE),
        7, 51, "steps[0].serviceParams.DelaySeconds", "604800",
    ),
    (
        task("serviceParams: {MessageTag: x}", "acs:mns:::/topics/t/messages"),
        7, 20, "steps[0].serviceParams", "'MessageBody'",
    ),
    (
        task("serviceParams: {ExecutionName: a b}", "acs:fnf:::flow/f"),
        7, 36, "steps[0].serviceParams.ExecutionName", "not a name",
    ),
    (task("retry: {errors: [x]}"), 7, 12, "steps[0].retry", "list"),
    (task("retry: [{maxAttempts: 1}]"), 7, 13, "steps[0].retry[0]", "'errors'"),
    (task("retry: [{errors: []}]"), 7, 22, "steps[0].retry[0].errors", "empty"),
    (task("retry: [{errors: FnF.ALL}]"), 7, 22, "steps[0].retry[0].errors", "list"),
    (task("retry: [{errors: [[x]]}]"), 7, 23, "steps[0].retry[0].errors[0]", "text"),
    (
        task("retry: [{errors: [x], intervalSeconds: 86401}]"),
        7, 44, "steps[0].retry[0].intervalSeconds", "86400",
    ),
    (
        task("retry: [{errors: [x], maxIntervalSeconds: 86401}]"),
        7, 47, "steps[0].retry[0].maxIntervalSeconds", "86400",
    ),
    (task("retry: [{errors: [x], maxAttempts: -1}]"), 7, 40, "steps[0].retry[0].maxAttempts", "whole number"),
    (task("retry: [{errors: [x], maxAttempts: 1.5}]"), 7, 40, "steps[0].retry[0].maxAttempts", "whole number"),
    (task("retry: [{errors: [x], multiplier: 0.5}]"), 7, 39, "steps[0].retry[0].multiplier", "number from 1"),
    (task("retry: [{errors: [x], multiplier: .inf}]"), 7, 39, "steps[0].retry[0].multiplier", "JSON"),
    (task("retry:\n- errors: [x]\nintervalSeconds: 10"), 9, 5, "steps[0].intervalSeconds", "unknown field"),
    (task("catch: [{goto: one}]"), 7, 13, "steps[0].catch[0]", "'errors'"),
    (task("catch: [{errors: [x]}]"), 7, 13, "steps[0].catch[0]", "'goto'"),
    (task("catch: [{errors: [x], goto: two}]"), 7, 33, "steps[0].catch[0].goto", "'two'"),
    (
        task("errorMappings: [{target: a, source: $local.result}]"),
        7, 41, "steps[0].errorMappings[0].source", "$local.error",
    ),
    (inner("before"), 14, 37, "steps[1].choices[0].steps[0].catch[0].goto", "same list"),
    (inner("after"), 14, 37, "steps[1].choices[0].steps[0].catch[0].goto", "same list"),
    (inner("c"), 14, 37, "steps[1].choices[0].steps[0].catch[0].goto", "same list"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "field", "reason"), DOCUMENTS + FLOWS + STEPS + TASKS)
def test_a_broken_definition_is_refused_where_it_is_broken(text, line, column, field, reason):
    """The error names line, column, field and reason; a field of None means that only the place counts."""
    error = refusal(text)

    assert reason in error.message
    assert (error.line, error.column) == (line, column)
    assert field is None or error.field == field
    assert f"(line {line}, column {column})" in str(error)


@pytest.mark.parametrize(
    "arn",
    [
        "acs:fc:::services/s",
        "acs:fc:::services/s/functions/",
        "acs:fc:::services/s./functions/f",
        "acs:fc:::services/.q/functions/f",
        "acs:fc:::services/s/functions/f/q",
        "acs:fc:::functions/f/",
        "acs:mns:::queues/q/messages",
        "acs:mns:::/queues/q",
        "acs:mns:::/queues//messages",
        "acs:fnf:::flows/f",
        "acs:fnf:::flow/",
        "acs:ecs:::instance/i",
        "arn:aws:lambda:r:1:function:f",
        "acs:fc",
    ],
)
def test_unknown_forms_of_resources_are_refused(arn):
    """What is none of the five forms is refused, with the forms in the message."""
    error = refusal(task("", arn))

    assert error.field == "steps[0].resourceArn"
    assert "acs:fnf:{region}:{account}:flow/{name}" in error.message


def test_a_small_text_cannot_stand_for_a_huge_document():
    """Aliases count with everything they stand for, so nested ones end early."""
    laughs = "a0: &a0 [x, x]\n" + "".join(
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 40)
    )
    tower = "a0: &a0 [x]\n" + "".join(f"a{level}: &a{level} [*a{level - 1}]\n" for level in range(1, 400))
    merged = "x: &x {" + ", ".join(f"k{key}: 1" for key in range(5_000)) + "}\ny: [" + "{<<: *x}, " * 5_000 + "]"

    assert "values" in refusal(laughs).message
    assert "deep" in refusal(tower).message
    assert "values" in refusal(merged).message


def test_the_first_error_decides():
    """Of several errors, the one that comes first in the text is told."""
    error = refusal(HEAD + "steps:\n  - {type: wait, name: a}\n  - {type: pass, name: b c}\n")

    assert error.field == "steps[0]"


def test_a_path_in_a_message_has_a_bounded_length():
    """Long keys do not blow up the error a client gets."""
    error = refusal("{" + "k" * 500 + ": {" + "j" * 500 + ": *nowhere}}")

    assert len(error.field) <= 200
