"""Definitions become flows that say what the text says."""

import textwrap

import pytest

from emulator.services.workflow.engine.model import CatchPolicy, RetryPolicy
from emulator.services.workflow.languages.fdl.conditions import Condition
from emulator.services.workflow.languages.fdl.mappings import Mapping
from emulator.services.workflow.languages.fdl.nodes import (
    ChoiceStep,
    FailStep,
    ForeachStep,
    ParallelStep,
    PassStep,
    SucceedStep,
    TaskStep,
    WaitStep,
)
from emulator.services.workflow.languages.fdl.paths import STEP_ROOTS, Path
from emulator.services.workflow.languages.programs import read_program as parse_flow
from emulator.services.workflow.ports import (
    ActionResource,
    FlowResource,
    FunctionResource,
    QueueResource,
    TopicResource,
)


def a_flow(steps, head="version: v1\ntype: flow\n"):
    """Parse a flow of the given steps."""
    return parse_flow(f"{head}steps:\n{textwrap.indent(textwrap.dedent(steps).strip(), '  ')}\n")


def a_step(text):
    """Parse the fields of one step and return it."""
    return a_flow("- name: one\n" + textwrap.indent(textwrap.dedent(text).strip(), "  ")).steps.steps[0]


def a_task(text, arn="acs:fc:::services/s/functions/f"):
    """Parse a task with further fields."""
    return a_step(f"type: task\nresourceArn: {arn}\n" + textwrap.dedent(text).strip())


def path(text):
    """Compile a path on the step's input."""
    return Path.parse(text, STEP_ROOTS)


POLLING = """
version: v1
type: flow
steps:
  - {type: task, name: StartJob, resourceArn: 'acs:fc:cn-hangzhou:{accountID}:services/fnf-demo/functions/StartJob'}
  - type: pass
    name: Init
    outputMappings: [{target: try_count, source: 0}]
  - {type: wait, name: Wait10s, duration: 10}
  - type: task
    name: GetJobStatus
    resourceArn: acs:fc:cn-hangzhou:{accountID}:services/fnf-demo/functions/GetJobStatus
    inputMappings:
      - {target: job_id, source: $local.job_id}
      - {target: delay, source: $input.delay}
      - {target: try_count, source: $local.try_count}
  - type: choice
    name: CheckJobComplete
    inputMappings:
      - {target: status, source: $local.job_status}
      - {target: try_count, source: $local.try_count}
    choices:
      - {condition: '$.status == "success"', goto: JobSucceeded}
      - {condition: '$.try_count > 3', goto: JobFailed}
      - {condition: '$.status == "running"', goto: Wait10s}
  - {type: succeed, name: JobSucceeded}
  - {type: fail, name: JobFailed}
"""


def test_the_polling_flow():
    """The polling tutorial: every kind of step but the two that nest, with a backward jump."""
    flow = parse_flow(POLLING)

    start, init, wait, status, check, succeeded, failed = flow.steps.steps
    assert start == TaskStep(
        name="StartJob",
        resource=FunctionResource("fnf-demo", "StartJob", None),
        resource_arn="acs:fc:cn-hangzhou:{accountID}:services/fnf-demo/functions/StartJob",
    )
    assert init == PassStep(name="Init", output_mappings=(Mapping(target="try_count", source=0),))
    assert wait == WaitStep(name="Wait10s", duration=10)
    assert [mapping.target for mapping in status.input_mappings] == ["job_id", "delay", "try_count"]
    assert isinstance(check, ChoiceStep)
    assert [(str(option.condition), option.goto, option.steps) for option in check.options] == [
        ('$.status == "success"', "JobSucceeded", None),
        ("$.try_count > 3", "JobFailed", None),
        ('$.status == "running"', "Wait10s", None),
    ]
    assert check.default is None
    assert succeeded == SucceedStep(name="JobSucceeded")
    assert failed == FailStep(name="JobFailed", error="", cause="")
    assert flow.steps.index["Wait10s"] == 2
    assert (flow.input_mappings, flow.output_mappings, flow.timeout_s, flow.warnings) == (None, None, None, ())


def test_the_compensating_flow():
    """The transaction tutorial: retries, catches that jump over the good end, and a fail at the end."""
    operation = "acs:fc:cn-hangzhou:1:services/fnf-demo/functions/Operation"
    names = ["BuyTrainTicket", "ReserveFlight", "ReserveHotel", "OrderSucceeded", "CancelFlight", "CancelTrainTicket"]
    gotos = ["OrderFailed", "CancelTrainTicket", "CancelFlight"]
    text = "version: v1\ntype: flow\nsteps:\n"
    for name, goto in zip(names[:3], gotos, strict=True):
        text += f"""
  - type: task
    name: {name}
    resourceArn: {operation}
    retry:
      - errors: [FC.Unknown]
        intervalSeconds: 1
        maxAttempts: 3
        multiplier: 2
    catch:
      - errors: [FC.Unknown]
        goto: {goto}
"""
    text += "  - {type: succeed, name: OrderSucceeded}\n"
    for name in names[4:]:
        text += f"  - {{type: task, name: {name}, resourceArn: '{operation}'}}\n"
    text += "  - {type: fail, name: OrderFailed}\n"

    flow = parse_flow(text)

    hotel = flow.steps.steps[2]
    assert hotel.retry == (RetryPolicy(errors=("FC.Unknown",)),)
    assert hotel.catch == (CatchPolicy(errors=("FC.Unknown",), goto="CancelFlight"),)
    assert [step.name for step in flow.steps.steps] == [*names, "OrderFailed"]
    assert flow.warnings == ()


def test_the_flow_of_the_mapping_chapter():
    """Mappings keep their order, their constants and their compiled paths."""
    flow = a_flow(
        """
        - type: pass
          name: a
          outputMappings:
            - {target: x, source: 1}
        - type: pass
          name: b
          inputMappings:
            - {target: y, source: $local.x}     # the parent's local
          outputMappings:
            - {target: z, source: $input.y}     # the step's own input
        """,
        "version: v1\ntype: flow\noutputMappings: [{target: n, source: $input.n}, {target: all, source: $local}]\n",
    )

    assert flow.steps.steps[1].input_mappings == (Mapping(target="y", source=Path.parse("$local.x")),)
    assert flow.output_mappings == (
        Mapping(target="n", source=Path.parse("$input.n")),
        Mapping(target="all", source=Path.parse("$local")),
    )


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1.0"])
def test_the_three_names_of_the_language(version):
    """One language, three version names."""
    assert a_flow("- {type: pass, name: a}", f"version: {version}\ntype: flow\n").steps.index == {"a": 0}


def test_a_flow_in_json():
    """JSON is taken too, indented with tabs or not, with escapes as Python writes them."""
    text = (
        '{\n\t"version": "v1",\n\t"type": "flow",\n\t"timeoutSeconds": 60,\n\t"steps": [{"type": "fail", "name": "f", '
    )
    text += '"error": "\\u4e2d\\ud83d\\ude00", "cause": "a\\/b"}]\n}'

    flow = parse_flow(text)

    assert flow.steps.steps == (FailStep(name="f", error="\u4e2d\U0001f600", cause="a/b"),)
    assert flow.timeout_s == 60


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("0", 0),
        ("-1.5", -1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("no", False),
        ("null", None),
        ("~", None),
        ("", None),
        ('""', ""),
        ("'0'", "0"),
        ("text", "text"),
        ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("0x10", 16),
        ("010", 8),
        ("089", "089"),
        ("1_000", 1000),
        ("!!str 5", "5"),
        ('["A", 1, {b: null}]', ["A", 1, {"b": None}]),
        ('{"a": 1, 2: [x]}', {"a": 1, "2": ["x"]}),
        ("|\n      two\n      lines", "two\nlines\n"),
    ],
)
def test_constants_keep_the_type_they_are_written_with(source, expected):
    """Any value YAML and JSON share can be a source; dates and clock times stay text."""
    step = a_step(f"type: pass\noutputMappings:\n  - target: t\n    source: {source}")

    assert step.output_mappings[0].source == expected
    assert type(step.output_mappings[0].source) is type(expected)


def test_absent_and_empty_mappings_differ():
    """No field means the default, an empty list means nothing; a field without a value counts as absent."""
    assert a_step("type: pass").input_mappings is None
    assert a_step("type: pass\ninputMappings:").input_mappings is None
    assert a_step("type: pass\ninputMappings: []").input_mappings == ()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("duration: 0", {"duration": 0}),
        ("duration: 172800", {"duration": 172_800}),
        ("duration: $.seconds", {"duration": path("$.seconds")}),
        ("timestamp: $.at", {"timestamp": path("$.at"), "timestamp_text": "$.at"}),
        (
            "timestamp: 2024-01-01T00:00:00Z",
            {"timestamp": 1_704_067_200_000, "timestamp_text": "2024-01-01T00:00:00Z"},
        ),
        (
            "timestamp: '2024-01-01T08:00:00.25+08:00'",
            {"timestamp": 1_704_067_200_250, "timestamp_text": "2024-01-01T08:00:00.25+08:00"},
        ),
    ],
)
def test_waits(fields, expected):
    """A wait has a duration or an instant, each a constant or a path; unquoted instants are no dates."""
    assert a_step(f"type: wait\n{fields}") == WaitStep(name="one", **expected)


def test_a_choice_with_steps_jumps_and_a_default():
    """Options carry nested steps, a jump, both or neither; jumps inside stay inside."""
    flow = a_flow(
        """
        - type: choice
          name: c
          choices:
            - condition: $.a
              steps:
                - {type: pass, name: inner1}
                - type: choice
                  name: again
                  choices: [{condition: $.b, goto: inner1}]
              goto: last
            - condition: true
          default:
            steps: [{type: succeed, name: inner2}]
          end: true
        - {type: pass, name: last}
        """
    )

    choice = flow.steps.steps[0]
    assert choice.end
    assert choice.options[0].steps.index == {"inner1": 0, "again": 1}
    assert choice.options[0].goto == "last"
    assert choice.options[1].condition == Condition.parse("true")
    assert (choice.options[1].steps, choice.options[1].goto) == (None, None)
    assert choice.default.steps.steps == (SucceedStep(name="inner2"),)
    assert choice.default.condition is None


def test_a_foreach_as_the_guide_shows_it():
    """Collection, item and index, and steps of its own."""
    step = a_step(
        """
        type: foreach
        iterationMapping: {collection: $.names, item: name, index: i}
        steps:
          - type: pass
            name: tag
            outputMappings:
              - {target: out, source: $input.name}
        outputMappings:
          - {target: outs, source: "$local[*].out"}
        """
    )

    assert isinstance(step, ForeachStep)
    assert (step.collection, step.item, step.index_name) == (path("$.names"), "name", "i")
    assert step.steps.index == {"tag": 0}
    assert step.output_mappings[0].source == Path.parse("$local[*].out")


def test_a_parallel_with_the_most_branches():
    """A hundred branches are taken."""
    branches = "".join(f"  - steps: [{{type: pass, name: b{number}}}]\n" for number in range(100))

    step = a_step(f"type: parallel\nbranches:\n{branches}")

    assert isinstance(step, ParallelStep)
    assert len(step.branches) == 100
    assert step.branches[99].steps == (PassStep(name="b99"),)


def test_a_task_with_everything():
    """Every field of a task arrives in its node."""
    step = a_task(
        """
        pattern: waitForCallback
        timeoutSeconds: 30
        serviceParams: {InvocationType: Async, StatefulAsyncInvocationID: $.id}
        inputMappings: [{target: taskToken, source: $context.task.token}]
        outputMappings: [{target: s, source: $local.status}]
        errorMappings:
          - {target: errMsg, source: $local.cause}
          - {target: errCode, source: $local.error}
        retry:
          - errors: [FnF.TaskTimeout, 404]
            intervalSeconds: 10
            maxIntervalSeconds: 60
            maxAttempts: 0
            multiplier: 1.5
          - {errors: [FnF.ALL]}
        catch:
          - {errors: [FnF.ALL], goto: one}
        end: true
        description: says nothing
        """
    )

    assert step == TaskStep(
        name="one",
        resource=FunctionResource("s", "f", None),
        resource_arn="acs:fc:::services/s/functions/f",
        pattern="waitForCallback",
        timeout_s=30,
        service_params={"InvocationType": "Async", "StatefulAsyncInvocationID": path("$.id")},
        input_mappings=(Mapping(target="taskToken", source=Path.parse("$context.task.token")),),
        output_mappings=(Mapping(target="s", source=Path.parse("$local.status")),),
        error_mappings=(
            Mapping(target="errMsg", source=Path.parse("$local.cause")),
            Mapping(target="errCode", source=Path.parse("$local.error")),
        ),
        retry=(
            RetryPolicy(
                errors=("FnF.TaskTimeout", "404"), interval_s=10, max_interval_s=60, max_attempts=0, multiplier=1.5
            ),
            RetryPolicy(errors=("FnF.ALL",)),
        ),
        catch=(CatchPolicy(errors=("FnF.ALL",), goto="one"),),
        end=True,
    )


@pytest.mark.parametrize(
    ("arn", "pattern", "parameters", "resource", "expected"),
    [
        ("acs:fc:::services/s.online/functions/f", "sync", "{InvocationType: Async}",
         FunctionResource("s", "f", "online"), {"InvocationType": "Async"}),
        ("acs:mns:::/queues/q/messages", "waitForCallback", "{MessageBody: $, Priority: 1, DelaySeconds: '604800'}",
         QueueResource("q"), {"MessageBody": path("$"), "Priority": 1, "DelaySeconds": 604_800}),
        ("acs:mns:::/topics/t/messages", "requestResponse",
         "{MessageBody: text, MessageTag: $.tag, MessageAttributes: {DirectMail: {}}}", TopicResource("t"),
         {"MessageBody": "text", "MessageTag": path("$.tag"), "MessageAttributes": {"DirectMail": {}}}),
        ("acs:fnf:::flow/child", "requestComplete", "{Input: {a: [$]}, ExecutionName: $.name}", FlowResource("child"),
         {"Input": {"a": ["$"]}, "ExecutionName": path("$.name")}),
    ],
    ids=["function", "queue", "topic", "flow"],
)  # fmt: skip
def test_targets_patterns_and_parameters(arn, pattern, parameters, resource, expected):
    """Each kind of target takes its own patterns and parameters."""
    step = a_task(f"pattern: {pattern}\nserviceParams: {parameters}", arn)

    assert step.resource == resource
    assert step.pattern == pattern.replace("requestComplete", "requestResponse")
    assert step.service_params == expected


@pytest.mark.parametrize(
    ("action", "parameters", "resource"),
    [
        ("fnf:StartExecution", "{FlowName: child, Input: $}", ActionResource("fnf", "StartExecution")),
        ("facebody:DetectFace", "{Anything: [1]}", ActionResource("facebody", "DetectFace")),
    ],
)
def test_tasks_by_action(action, parameters, resource):
    """An action stands in place of an ARN; those of other products take any parameters."""
    step = a_step(f"type: task\naction: {action}\nserviceParams: {parameters}")

    assert step.resource == resource
    assert step.resource_arn == ""


def test_anchors_and_merge_keys():
    """Repeated parts can be written once; a map's own keys win over merged ones."""
    flow = a_flow(
        """
        - type: task
          name: a
          resourceArn: &arn acs:fc:::services/s/functions/f
          retry: [&policy {errors: [FnF.ALL], maxAttempts: 5}]
        - type: task
          name: b
          resourceArn: *arn
          retry: [*policy]
        - type: task
          name: c
          resourceArn: *arn
          retry: [{<<: *policy, intervalSeconds: 7, maxAttempts: 1}, {<<: [*policy]}]
        """
    )

    _, b, c = flow.steps.steps
    assert b.retry == (RetryPolicy(errors=("FnF.ALL",), max_attempts=5),)
    assert c.retry == (RetryPolicy(errors=("FnF.ALL",), interval_s=7, max_attempts=1), *b.retry)


TASK = "- type: task\n  name: a\n  resourceArn: "
REMARKS = [
    ("- {type: succeed, name: a}\n- {type: pass, name: b}", ["no other step leads to 'b' (line 5)"]),
    (
        "- {type: pass, name: a, end: true}\n- {type: pass, name: b}\n- {type: pass, name: c}",
        ["no other step leads to 'b' (line 5)", "no other step leads to 'c' (line 6)"],
    ),
    (
        "- type: choice\n  name: a\n  choices: [{condition: $.x, goto: c}]\n  default: {goto: c}\n"
        "- {type: pass, name: b}\n- {type: pass, name: c}",
        ["no other step leads to 'b' (line 8)"],
    ),
    (
        "- type: foreach\n  name: a\n  iterationMapping: {collection: $.x, item: x}\n"
        "  steps: [{type: fail, name: b}, {type: pass, name: c}]",
        ["no other step leads to 'c' (line 7)"],
    ),
    (
        "- type: parallel\n  name: a\n  branches: [{steps: [{type: fail, name: b}, {type: pass, name: c}]}]",
        ["no other step leads to 'c' (line 6)"],
    ),
    (
        f"{TASK}acs:fc:::functions/f\n  errorMappings: []",
        ["steps[0].errorMappings: errorMappings have no effect without catch (line 7)"],
    ),
    (
        f"{TASK}acs:fc:::functions/f\n  pattern: sync",
        ["steps[0].pattern: sync is meant for functions with InvocationType Async (line 7)"],
    ),
    (f"{TASK}acs:fc:::functions/f\n  pattern: sync\n  serviceParams: {{InvocationType: $.how}}", []),
    (
        f"{TASK}acs:mns:::/queues/q/messages\n  serviceParams: {{MessageBody: $input}}",
        ["steps[0].serviceParams: MessageBody is the constant '$input': paths start with $ here (line 7)"],
    ),
]


@pytest.mark.parametrize(("steps", "expected"), REMARKS)
def test_what_is_allowed_but_not_meant_gives_a_warning(steps, expected):
    """Unreachable steps and the like are remarks for the log, each with its line."""
    assert list(a_flow(steps).warnings) == expected


def test_steps_that_only_jumps_lead_to_are_no_cause_for_a_warning():
    """Catches and options make later steps reachable, and a choice without default falls through."""
    flow = a_flow(
        """
        - type: task
          name: a
          resourceArn: acs:fc:::functions/f
          catch: [{errors: [FnF.ALL], goto: c}]
          end: true
        - type: pass
          name: b
          end: true
        - type: choice
          name: c
          choices: [{condition: $.x, goto: b}]
        - {type: pass, name: d}
        """
    )

    assert flow.warnings == ()
