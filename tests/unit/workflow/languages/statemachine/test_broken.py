"""Definitions that are refused: line, column, field, reason; and remarks on those that are accepted."""

import pytest

from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.languages.programs import read_program

HEAD = "Type: StateMachine\nName: m\nSpecVersion: v1\nStartAt: a\nStates:\n"
FC = "acs:fc:::functions/f/LATEST"


def refusal(text: str) -> DefinitionError:
    with pytest.raises(DefinitionError) as refused:
        read_program(text)
    return refused.value


def state(fields: str) -> str:
    return f"{HEAD}  - {{Name: a, {fields}}}\n"


def task(fields: str, action: str = "FC:InvokeFunction") -> str:
    return state(f"Type: Task, End: true, Action: '{action}', {fields}")


PARAMETERS = f"Parameters: {{resourceArn: '{FC}'}}"
RULE = "Errors: [E], MaxAttempts: 1, IntervalSeconds: 1"

DOCUMENTS = [
    ("Type: Machine\nStates: []", 1, 7, "Type", "must be StateMachine"),
    ("StartAt: a\nStates: []", 1, 1, "", "'Type' is required"),
    ("type: StateMachine\nStartAt: a", 1, 1, "type", "case-sensitive; did you mean 'Type'"),
    ("Type: StateMachine\nSpecVersion: v2", 2, 14, "SpecVersion", "must be v1"),
    ("Type: StateMachine\nName: m", 1, 1, "", "'SpecVersion' is required"),
    ("Type: StateMachine\nSpecVersion: v1", 1, 1, "", "'Name' is required"),
    ("Type: StateMachine\nSpecVersion: v1\nName: a b", 3, 7, "Name", "is not a name"),
    ("Type: StateMachine\nSpecVersion: v1\nName: m", 1, 1, "", "'States' is required"),
    (HEAD.replace("StartAt: a\n", "") + "  - {Type: Succeed, Name: a}", 1, 1, "", "'StartAt' is required"),
    (HEAD + "  []", 6, 3, "States", "must not be empty"),
    (HEAD + "  a: {Type: Succeed}", 6, 3, "States", "must be a list of states"),
    (HEAD + "  - {Type: Succeed, Name: b}", 4, 10, "StartAt", "no state 'a' in this scope; there are 'b'"),
    (HEAD + "  - {Type: Succeed, Name: a}\n  - {Type: Succeed, Name: a}", 7, 27, "States[1].Name", "in line 6"),
    (HEAD + "  - a", 6, 5, "States[0]", "must be a map"),
    (state("Type: Operation"), 6, 21, "States[0].Type", "unknown type"),
    (state("End: true"), 6, 5, "States[0]", "'Type' is required"),
    (HEAD + "  - {Type: Succeed}", 6, 5, "States[0]", "'Name' is required"),
    (HEAD + f"  - {{Type: Succeed, Name: {'x' * 129}}}", 6, 27, "States[0].Name", "1 to 128 characters"),
]

STATES = [
    (state("Type: Pass"), "States[0]", "needs Next or 'End: true'"),
    (state("Type: Pass, End: false"), "States[0]", "needs Next or 'End: true'"),
    (state("Type: Pass, End: true, Next: a"), "States[0].Next", "not both"),
    (state("Type: Pass, End: maybe"), "States[0].End", "true or false"),
    (state("Type: Pass, Next: b"), "States[0].Next", "no state 'b'"),
    (state("Type: Pass, End: true, InputConstructor: [1]"), "States[0].InputConstructor", "must be a map"),
    (state("Type: Pass, End: true, OutputConstructor: {a: 1, a.$: '1'}"), None, "with and without"),
    (state("Type: Pass, End: true, OutputConstructor: {.$: '1'}"), None, "before '.$'"),
    (state("Type: Pass, End: true, OutputConstructor: {a.$: {b: 1}}"), None, "must be an expression"),
    (state("Type: Pass, End: true, InputConstructor: {a.$: $Output.b}"), None, "no value here"),
    (state(f"Type: Pass, End: true, GlobalConstructor: {{{'k' * 129}: 1}}"), None, "128 bytes"),
    (state("Type: Pass, next: a"), "States[0].next", "did you mean 'Next'"),
    (state("Type: Pass, End: true, Result: {}"), "States[0].Result", "here it is OutputConstructor"),
    (state("Type: Pass, End: true, inputMappings: []"), "States[0].inputMappings", "InputConstructor"),
    (state("Type: Wait, End: true"), "States[0]", "'Seconds' is required"),
    (state("Type: Wait, End: true, Seconds: 0"), "States[0].Seconds", "from 1 to 300"),
    (state("Type: Wait, End: true, Seconds: 301"), "States[0].Seconds", "from 1 to 300"),
    (state("Type: Wait, End: true, Seconds: 1, Seconds.$: '1'"), "States[0].Seconds.$", "with and without"),
    (state("Type: Wait, End: true, Timestamp: x"), "States[0].Timestamp", "no end that is a time"),
    (state("Type: Choice, Default: a"), "States[0]", "'Branches' is required"),
    (state("Type: Choice, Branches: [], Default: a"), "States[0].Branches", "not be empty"),
    (state("Type: Choice, Branches: [{Condition: 'true', Next: a}]"), "States[0]", "'Default' is required"),
    (state("Type: Choice, Branches: [{Next: a}], Default: a"), None, "'Condition' is required"),
    (state("Type: Choice, Branches: [{Condition: 'true'}], Default: a"), None, "'Next' is required"),
    (state("Type: Choice, Branches: [{Condition: 'true', Next: x}], Default: a"), None, "no state 'x'"),
    (state("Type: Choice, Next: a, Branches: [{Condition: 'true', Next: a}], Default: a"), None, "has no Next"),
    (state("Type: Choice, End: true, Branches: [{Condition: 'true', Next: a}], Default: a"), None, "has no End"),
    (state("Type: Choice, Choices: []"), "States[0].Choices", "here it is Branches"),
    (state("Type: Fail, Cause: x"), "States[0].Cause", "here it is Detail"),
    (state("Type: Parallel, End: true"), "States[0]", "'Branches' is required"),
    (state(f"Type: Parallel, End: true, Branches: [{'{},' * 51}]"), "States[0].Branches", "at most 50"),
    (state("Type: Parallel, End: true, Branches: [{States: [{Type: Succeed, Name: b}]}]"), None, "'StartAt'"),
    (state("Type: Parallel, End: true, Branches: [{StartAt: b, States: [{Type: Pass, Name: b, Next: a}]}]"),
     "States[0].Branches[0].States[0].Next", "no state 'a' in this scope; there are 'b'"),
    (state("Type: Map, End: true, ItemsPath: $Input.x"), "States[0]", "'Processor' is required"),
    (state("Type: Map, End: true, ItemProcessor: {}"), "States[0].ItemProcessor", "here it is Processor"),
    (state("Type: Map, End: true, ItemReader: {}"), "States[0].ItemReader", "distributed mode"),
    (state("Type: Map, End: true, ResultWriter: {}"), "States[0].ResultWriter", "distributed mode"),
    (state("Type: Map, End: true, ItemsPath: $Input.x, ToleratedFailedCount: 1, "
           "Processor: {StartAt: b, States: [{Type: Succeed, Name: b}]}"),
     "States[0].ToleratedFailedCount", "only a distributed map"),
    (state("Type: Map, End: true, ItemsPath: $Input.x, Processor: {ProcessorConfig: {ExecutionMode: Fast}}"),
     "States[0].Processor.ProcessorConfig.ExecutionMode", "Inline, Express or Standard"),
    (state("Type: Map, End: true, ItemsPath: $Input.x, Processor: {ProcessorConfig: {ExecutionMode: Express}, "
           "StartAt: b, States: [{Type: Wait, Name: b, Seconds: 21, End: true}]}"),
     "States[0].Processor", "state 'b' waits longer than the 20 seconds of express flows"),
    (state("Type: Map, End: true, ItemsPath: $Input.x, Processor: {ProcessorConfig: {ExecutionMode: Express}, StartAt: "
           f"b, States: [{{Type: Task, Name: b, Action: 'FC:InvokeFunction', TaskMode: WaitForCustomCallback, "
           f"{PARAMETERS}, End: true}}]}}"),
     "States[0].Processor", "the TaskMode WaitForCustomCallback of state 'b' is not for express flows"),
    (state("Type: Map, End: true, MaxConcurrency: 41, ItemsPath: $Input.x, "
           "Processor: {StartAt: b, States: [{Type: Succeed, Name: b}]}"), "States[0].MaxConcurrency", "from 1 to 40"),
    (state("Type: Map, End: true, MaxConcurrency: 1, MaxConcuccency: 1, ItemsPath: $Input.x, "
           "Processor: {StartAt: b, States: [{Type: Succeed, Name: b}]}"), None, "twice, in both spellings"),
]  # fmt: skip

TASKS = [
    (state("Type: Task, End: true"), "States[0]", "'Action' is required"),
    (task("Parameters: {}", "Nonsense"), "States[0].Action", "{serviceName}:{apiName}"),
    (task("Parameters: {}", "MNS:SendMessages"), "States[0].Action", "did you mean MNS:SendMessage"),
    (task("Parameters: {}", "fc:invokeFunction"), "States[0].Action", "did you mean FC:InvokeFunction"),
    (task("Resource: x"), "States[0].Resource", "here it is Action"),
    (task("OnErrors: []"), "States[0].OnErrors", "write Retry and Catch"),
    (task(f"TaskMode: Wait, {PARAMETERS}"), "States[0].TaskMode", "unknown mode"),
    (task("TaskMode: WaitForSystemCallback, Parameters: {}", "HTTP:Request"), "States[0].TaskMode", "the mode is"),
    (task("TaskMode: WaitForCustomCallback, Parameters: {}", "OSS:GetObject"), None, "the mode is RequestComplete"),
    (task("Description: x"), "States[0]", "Parameters must have resourceArn"),
    (task("Parameters: {}"), "States[0].Parameters", "'resourceArn' is required"),
    (task("Parameters: {resourceArn: 'acs:mns:::/queues/q/messages', message: null}", "MNS:SendMessage"),
     "States[0].Parameters", "'message' is required"),
    (task("Parameters: {resourceArn: x}"), "States[0].Parameters.resourceArn", "unknown form"),
    (task("Parameters: {resourceArn: 'acs:mns:::/queues/q/messages'}"), None, "another kind"),
    (task(f"Parameters: {{resourceArn: '{FC}', invocationType: Later}}"), None, "Sync or Async"),
    (task("Parameters: {url: ftp://x, method: GET}", "HTTP:Request"), None, "begins with http"),
    (task("Parameters: {url: 'http://x', method: LOOK}", "HTTP:Request"), None, "must be one of GET"),
    (task("Parameters: {url: 'http://x', method: GET, headers: {a: [1]}}", "HTTP:Request"), None, "must be text"),
    (task("Parameters: {url: 'http://x', method: GET, headers: x}", "HTTP:Request"), None, "must be a map"),
    (task("Parameters: {resourceArn: 'acs:mns:::/queues/q/messages', message: x, priority: 17}", "MNS:SendMessage"),
     "States[0].Parameters.priority", "from 1 to 16"),
    (task("Parameters: {resourceArn: 'acs:fnf:::flow/f', executionName: '1'}", "FNF:StartExecution"), None, "a name"),
    (task("Parameters: {bucket: [1], key: k}", "OSS:GetObject"), None, "must be text"),
    (task(f"Timeout: 604801, {PARAMETERS}"), "States[0].Timeout", "from 0 to 604800"),
    (task(f"Timeout: soon, {PARAMETERS}"), "States[0].Timeout", "from 0 to 604800"),
    (task(f"Retry: [{{Errors: [E]}}], {PARAMETERS}"), "States[0].Retry[0]", "'MaxAttempts' is required"),
    (task(f"Retry: [{{Errors: [E], MaxAttempts: 1}}], {PARAMETERS}"), None, "'IntervalSeconds' is required"),
    (task(f"Retry: [{{Errors: [], MaxAttempts: 1, IntervalSeconds: 1}}], {PARAMETERS}"), None, "not be empty"),
    (task(f"Retry: [{{{RULE}, MaxBackoffSeconds: 86401}}], {PARAMETERS}"), None, "from 0 to 86400"),
    (task(f"Retry: [{{ErrorEquals: [E]}}], {PARAMETERS}"), "States[0].Retry[0].ErrorEquals", "here it is Errors"),
    (task(f"Catch: [{{Errors: [E]}}], {PARAMETERS}"), "States[0].Catch[0]", "'Next' is required"),
    (task(f"Catch: [{{Errors: [E], Next: b}}], {PARAMETERS}"), "States[0].Catch[0].Next", "no state 'b'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "field", "reason"), DOCUMENTS)
def test_a_broken_document_is_refused_where_it_is_broken(text, line, column, field, reason):
    """The error names line, column, field and reason."""
    error = refusal(text)

    assert reason in error.message
    assert (error.line, error.column, error.field) == (line, column, field)


@pytest.mark.parametrize(("text", "field", "reason"), STATES + TASKS)
def test_a_broken_state_is_refused_by_its_field(text, field, reason):
    """The error names the path of the field; a field of None means that only the reason counts."""
    error = refusal(text)

    assert reason in error.message
    assert error.line == 6
    assert field is None or error.field == field


@pytest.mark.parametrize(
    ("line", "column"),
    [("a.$: lenght($Input.a)", 12), ("a.$: 'lenght($Input.a)'", 13), ("a.$: '1 == ''a'' && lenght(1)'", 12)],
    ids=["plain", "quoted", "with escapes"],
)
def test_a_bad_expression_is_pointed_at(line, column):
    """The column is that of the trouble where the text stands as it is; the expression and offset come with it."""
    error = refusal(f"{HEAD}  - Type: Pass\n    Name: a\n    End: true\n    OutputConstructor:\n      {line}\n")

    assert (error.line, error.column) == (10, column)
    assert error.expression is not None
    text, position = error.expression
    assert text[position:].startswith("lenght")


ACCEPTED = [
    (state("Type: Pass, End: true, Hue: red"), "States[0].Hue: unknown field, which is ignored (line 6)"),
    (state("Type: Pass, End: true, Nexxt: a"), "did you mean 'Next'?"),
    (HEAD + "  - {Type: Succeed, Name: a}\n  - {Type: Succeed, Name: b}", "no other state leads to 'b'"),
    (task("Parameters: {}", "ECS:DescribeInstances"), "ECS:DescribeInstances is not available here and will fail"),
    (task(f"Parameters: {{resourceArn: '{FC}', colour: red}}"), "has no parameter 'colour'"),
    (state("Type: Choice, Branches: [{Condition: 'true', Next: a}], Default: a"), "States[0]: no way leads from"),
    (state("Type: Pass, Next: a"), "loop for ever"),
    (HEAD + f"  - {{Type: Task, Name: a, Next: a, Action: 'FC:InvokeFunction', {PARAMETERS}}}", "loop for ever"),
]


@pytest.mark.parametrize(("text", "remark"), ACCEPTED)
def test_what_is_probably_not_meant_is_remarked_upon(text, remark):
    """The definition runs, and the log has a sentence."""
    assert remark in " ".join(read_program(text).warnings)


def test_fine_definitions_bring_no_remarks():
    """JSON is taken, too; so are names with blanks, both spellings of the concurrency, and End on Succeed and Fail."""
    program = read_program(
        '{"Type": "StateMachine", "Name": "m", "SpecVersion": "v1", "Description": " ", "StartAt": "第 一", "States": ['
        '{"Type": "Map", "Name": "第 一", "ItemsPath": "$Input.x", "MaxConcuccency": 2, "Next": "c", "Processor": '
        '{"StartAt": "b", "States": [{"Type": "Succeed", "Name": "b", "End": true}]}},'
        '{"Type": "Choice", "Name": "c", "Branches": [{"Condition": "true", "Next": "d"}], "Default": "e"},'
        '{"Type": "Succeed", "Name": "d"}, {"Type": "Fail", "Name": "e", "Code": "X", "End": true}]}'
    )

    assert program.warnings == ()
    assert program.name == "m"
    assert program.steps.steps[0].at_once == 2
