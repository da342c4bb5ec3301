"""What each kind of state does: data flow, constructors, the system variables, Retry and Catch, limits."""

import json
from itertools import pairwise

import pytest

from emulator.services.workflow.engine.language import Result

FC = "acs:fc:::functions/f/LATEST"


def machine(*states, start=None):
    """Return a definition as JSON; states without Next end their scope."""
    return json.dumps({"Type": "StateMachine", "Name": "m", "SpecVersion": "v1", **scope(*states, start=start)})


def scope(*states, start=None):
    listed = [{**state} for state in states]
    for state in listed:
        if "Next" not in state and state["Type"] not in {"Choice", "Fail", "Succeed"}:
            state["End"] = True
    return {"StartAt": start or listed[0]["Name"], "States": listed}


def a_pass(name="p", **fields):
    return {"Type": "Pass", "Name": name, **fields}


def a_task(name="t", **fields):
    parameters = {"resourceArn": FC, **fields.pop("Parameters", {})}
    return {"Type": "Task", "Name": name, "Action": "FC:InvokeFunction", "Parameters": parameters, **fields}


def a_map(*states, name="each", path="$Input.items", **fields):
    return {"Type": "Map", "Name": name, "ItemsPath": path, "Processor": scope(*states), **fields}


def a_parallel(*scopes, name="both", **fields):
    return {"Type": "Parallel", "Name": name, "Branches": list(scopes), **fields}


def output(played):
    assert played.types[-1] == "ExecutionSucceeded", played.history[-1][0].detail
    return played.last_detail["output"]


def failure(played):
    assert played.types[-1] == "ExecutionFailed", played.history[-1][0].detail
    detail = played.last_detail
    return detail["error"], detail.get("cause", "")


def retry(errors=("E",), attempts=1, interval=1, **fields):
    return {"Errors": list(errors), "MaxAttempts": attempts, "IntervalSeconds": interval, **fields}


def test_a_pass_hands_on_its_constructed_input(play):
    """The published sample: an InputConstructor alone is the output, and numbers stay numbers."""
    played = play(machine(a_pass(InputConstructor={"FieldA": 321})), '{"FieldA":123}').run()

    assert output(played) == {"FieldA": 321}


def test_the_output_replaces_what_was_there(play):
    """Nothing is merged on the way."""
    played = play(machine(a_pass("a", OutputConstructor={"x": 1}, Next="b"), a_pass("b")), '{"y":2}').run()

    assert output(played) == {"x": 1}


def test_constructors_are_walked_at_any_depth(play):
    """Keys with the suffix are expressions in maps and lists; everything else is a literal, whatever it looks like."""
    made = {
        "a": {"b.$": "$Input.x", "c": "$Input.x"},
        "l": [{"d.$": "$Input.x"}, "uuid()"],
        "n": None,
        "gone.$": "$Input.q",
    }
    played = play(machine(a_pass(OutputConstructor=made)), '{"x":7}').run()

    assert output(played) == {"a": {"b": 7, "c": "$Input.x"}, "l": [{"d": 7}, "uuid()"], "n": None, "gone": None}


def test_the_system_variables_have_their_values(play):
    """$Context has the execution and the state, $Input the constructed and $Output the raw value."""
    made = {
        "execution.$": "$Context.Execution",
        "current.$": "$Context.Current",
        "in.$": "$Input.i",
        "out.$": "$Output.i",
        "error.$": "$Context.Current.Error",
        "token.$": "$Context.Current.TaskToken",
    }
    played = play(machine(a_pass(InputConstructor={"i": 1}, OutputConstructor=made)), '{"x":1}').run()

    assert output(played) == {
        "execution": {"Name": "e", "Input": {"x": 1}, "RoleArn": ""},
        "current": {"Name": "p", "Input": {"i": 1}, "Output": {"i": 1}, "RetryCount": 0},
        "in": 1,
        "out": 1,
        "error": None,
        "token": None,
    }


def test_an_input_constructor_sees_the_raw_input_as_input(play):
    """$Input is what came in while the new input is being made, afterwards what was made."""
    state = a_pass(InputConstructor={"n.$": "intAdd($Input.n, 1)"}, OutputConstructor={"n.$": "intAdd($Input.n, 1)"})

    assert output(play(machine(state), '{"n":1}').run()) == {"n": 3}


def test_global_is_written_with_the_raw_output_and_read_later(play):
    """GlobalConstructor merges after the output was made, which still sees the old store."""
    states = (
        a_task(
            "a", OutputConstructor={"seen.$": "$Global.r"}, GlobalConstructor={"r.$": "$Output.r", "k": 1}, Next="b"
        ),
        a_pass("b", GlobalConstructor={"k": 2}, Next="c"),
        a_pass("c", OutputConstructor={"seen.$": "$Input.seen", "all.$": "$Global"}),
    )
    played = play(machine(*states), script={"a": [Result(output='{"r":"raw"}')]}).run()

    assert output(played) == {"seen": None, "all": {"r": "raw", "k": 2}}


def test_the_last_writer_of_a_global_wins(play):
    """Branches write to one store."""
    branches = [scope(a_pass(f"b{n}", GlobalConstructor={"n": n})) for n in range(2)]
    after = a_pass("after", OutputConstructor={"n.$": "$Global.n"})

    assert output(play(machine(a_parallel(*branches, Next="after"), after)).run()) == {"n": 1}


def test_a_value_of_global_may_not_be_too_long(play):
    """More than 256 KiB end the execution as any data over its limit do."""
    states = [a_pass(f"s{n}", GlobalConstructor={"v.$": "toArray($Global.v, $Global.v, $Input.x)"}, Next=f"s{n + 1}")
              for n in range(8)]  # fmt: skip
    played = play(machine(*states, a_pass("s8")), json.dumps({"x": "x" * 5_000})).run()

    assert failure(played)[0] == "FnF.DataLimitExceeded"
    assert failure(played)[1] == "The value of 'v' in $Global has more than 262144 bytes."


def test_data_over_the_limit_ends_the_execution(play):
    """Input and output hold 64 KiB each; more cannot be caught."""
    big = a_task("t", Catch=[{"Errors": ["FnF.ALL"], "Next": "p"}], Next="p")
    kept = play(machine(a_pass()), json.dumps({"x": "x" * 60_000})).run()
    played = play(machine(big, a_pass()), script={"t": [Result(output=json.dumps({"x": "x" * 70_000}))]}).run()

    assert len(output(kept)["x"]) == 60_000
    assert failure(played)[0] == "FnF.DataLimitExceeded"


@pytest.mark.parametrize("fields", [{}, {"InputConstructor": {"n": 1}}], ids=["passed on", "replaced"])
def test_the_input_of_an_execution_counts_as_the_data_of_its_first_state(play, fields):
    """One that is too long ends the execution before a state is entered, even when a constructor would shorten it."""
    longest = play(machine(a_pass()), json.dumps({"x": "x" * (65_536 - 8)}, separators=(",", ":"))).run()
    played = play(machine(a_pass(**fields)), json.dumps({"x": "x" * (65_536 - 7)}, separators=(",", ":"))).run()

    assert len(output(longest)["x"]) == 65_536 - 8
    assert failure(played) == ("FnF.DataLimitExceeded", "The data of a step holds more than 65536 bytes.")
    assert played.types == ["ExecutionStarted", "ExecutionFailed"]


def test_a_constructor_may_not_make_too_much_data(play):
    """What a constructor makes counts, too."""
    state = a_pass(OutputConstructor={"a.$": "$Input.x", "b.$": "$Input.x"})

    assert failure(play(machine(state), json.dumps({"x": "x" * 40_000})).run())[0] == "FnF.DataLimitExceeded"


def test_random_values_differ_from_event_to_event(play):
    """Each state draws its own."""
    made = {"a.$": "uuid()", "b.$": "uuid()", "before.$": "$Input.a", "n.$": "randomInt(0, 1000000)"}
    played = play(machine(a_pass("a", OutputConstructor=made, Next="b"), a_pass("b", OutputConstructor=made))).run()

    found = output(played)
    assert len({found["a"], found["b"], found["before"]}) == 3
    assert 0 <= found["n"] < 1_000_000


TRIAGE = machine(
    {
        "Type": "Choice", "Name": "c", "Default": "none",
        "Branches": [{"Condition": "$Input.n > 1", "Next": "many"}, {"Condition": "$Input.n == 1", "Next": "one"}],
    },
    *(a_pass(name, OutputConstructor={"took": name}) for name in ("many", "one", "none")),
)  # fmt: skip


@pytest.mark.parametrize(("given", "taken"), [("2", "many"), ("1", "one"), ("0", "none"), ('"a"', "none")])
def test_a_choice_takes_the_first_branch_that_holds(play, given, taken):
    """Else the default; its StepExited tells where it leads."""
    played = play(TRIAGE, f'{{"n":{given}}}').run()

    assert output(played) == {"took": taken}
    assert played.details("c", "StepExited")[0]["goto"] == taken


@pytest.mark.parametrize("condition", ["$Input.n", "$Input.nothing", "length(1) == 1"])
def test_a_condition_that_gives_no_boolean_fails_the_state(play, condition):
    """There is no truth but true and false."""
    branch = {"Condition": condition, "Next": "p"}
    choice = {"Type": "Choice", "Name": "c", "Branches": [branch], "Default": "p"}

    assert failure(play(machine(choice, a_pass()), '{"n":1}').run())[0] == "FnF.RuntimeError"


def test_a_wait_lasts_its_seconds(play):
    """Its output is its input."""
    played = play(machine({"Type": "Wait", "Name": "w", "Seconds": 30}), '{"a":1}').run()

    assert output(played) == {"a": 1}
    assert played.history[-1][1] - played.history[0][1] == 30_000
    assert played.details("w", "StepStarted") == [{"input": {"a": 1}, "seconds": 30}]


def test_the_seconds_of_a_wait_may_be_an_expression(play):
    """A whole number in the range, evaluated when the state starts."""
    played = play(machine({"Type": "Wait", "Name": "w", "Seconds.$": "$Input.s"}), '{"s":5.0}').run()

    assert played.history[-1][1] - played.history[0][1] == 5_000


@pytest.mark.parametrize("given", ["0", "301", "1.5", '"1"', "true", "null"])
def test_seconds_out_of_range_fail_the_wait(play, given):
    """As the constant would have been refused."""
    played = play(machine({"Type": "Wait", "Name": "w", "Seconds.$": "$Input.s"}), f'{{"s":{given}}}').run()

    assert failure(played) == ("FnF.RuntimeError", "the seconds of a wait must be a whole number from 1 to 300")


def test_a_succeed_ends_its_scope_only(play):
    """In a branch the flow goes on above."""
    branch = scope({"Type": "Succeed", "Name": "s", "OutputConstructor": {"a": 1}}, a_pass("never"))
    played = play(machine(a_parallel(branch, Next="p"), a_pass())).run()

    assert output(played) == {"Branch0": {"a": 1}}
    assert played.steps("never") == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"Code": "C", "Detail": "d"}, ("C", "d")),
        ({}, ("FnF.Fail", "")),
        ({"Code.$": "$Input.c", "Detail.$": "$Input.d"}, ("X", '{"k":1}')),
        ({"InputConstructor": {"c": "Y"}, "Code.$": "$Input.c"}, ("Y", "")),
    ],
    ids=["constants", "nothing", "expressions", "constructed"],
)
def test_a_fail_ends_its_scope_with_its_error(play, fields, expected):
    """Code and Detail become error and cause."""
    played = play(machine({"Type": "Fail", "Name": "f", **fields}), '{"c":"X","d":{"k":1}}').run()

    assert failure(played) == expected


def test_branches_run_side_by_side_and_are_named_by_position(play):
    """All get the input; the result has one member each."""
    branches = [scope(a_pass(f"b{n}", OutputConstructor={"n": n, "x.$": "$Input.x"})) for n in range(2)]
    made = {"second.$": "$Output.Branch1"}

    whole = play(machine(a_parallel(*branches)), '{"x":5}').run()
    constructed = play(machine(a_parallel(*branches, InputConstructor={"x": 6}, OutputConstructor=made))).run()

    assert output(whole) == {"Branch0": {"n": 0, "x": 5}, "Branch1": {"n": 1, "x": 5}}
    assert output(constructed) == {"second": {"n": 1, "x": 6}}
    assert whole.details("ParallelBranch #1", "BranchEntered") == [{"index": 1, "input": {"x": 5}}]
    assert whole.details("ParallelBranch #1", "BranchExited") == [{"index": 1, "output": {"n": 1, "x": 5}}]


def test_a_map_runs_for_each_element_in_order(play):
    """The element is the input; one that is no object is wrapped."""
    mark = a_pass("mark", OutputConstructor={"got.$": "$Input", "by.$": "$Context.Execution.Input.by"})
    played = play(machine(a_map(mark)), '{"items":[{"a":1},2],"by":"me"}').run()

    assert output(played) == {"Items": [{"got": {"a": 1}, "by": "me"}, {"got": {"Item": 2}, "by": "me"}]}


@pytest.mark.parametrize(
    ("path", "fields", "expected"),
    [
        ("$Context.Execution.Input.items", {}, [{"Item": 1}, {"Item": 2}]),
        ("toArray(1, 'a')", {}, [{"Item": 1}, {"Item": "a"}]),
        ("$Input.items", {"ItemConstructor": {"v.$": "$Item", "all.$": "length($Input.items)"}},
         [{"v": 1, "all": 2}, {"v": 2, "all": 2}]),
        ("[]", {}, []),
    ],
    ids=["context", "function", "constructor", "empty"],
)  # fmt: skip
def test_elements_come_from_any_expression(play, path, fields, expected):
    """What does not follow from the input is recorded by StepStarted."""
    played = play(machine(a_map(a_pass("x"), path=path, **fields)), '{"items":[1,2]}').run()

    assert output(played) == {"Items": expected}


@pytest.mark.parametrize("path", ["$Input.n", "$Input.nothing", "length(1)"])
def test_a_map_over_no_array_fails(play, path):
    """The state cannot be evaluated."""
    assert failure(play(machine(a_map(a_pass("x"), path=path)), '{"n":1}').run())[0] == "FnF.RuntimeError"


def test_too_much_data_of_elements_fails_the_map(play):
    """Elements that have to be recorded are bounded."""
    constructor = {"a.$": "$Input.x"}
    played = play(
        machine(a_map(a_pass("p"), path="$Input.items", ItemConstructor=constructor)),
        json.dumps({"x": "x" * 30_000, "items": list(range(100))}),
    ).run()

    assert "elements" in failure(played)[1]


def test_a_map_keeps_to_its_concurrency(play):
    """A further iteration starts when one has ended."""
    wait = {"Type": "Wait", "Name": "w", "Seconds": 10}
    played = play(machine(a_map(wait, MaxConcurrency=2)), '{"items":[1,2,3,4,5]}').run()

    assert played.history[-1][1] - played.history[0][1] == 30_000


def test_a_task_sends_its_parameters_and_yields_the_result(play):
    """TaskScheduled has the evaluated parameters; the reply is the output."""
    task = a_task(Parameters={"body": {"x.$": "$Input.x"}})
    played = play(machine(task), '{"x":1}', script={"t": [Result(output='{"r":1}')]}).run()

    assert output(played) == {"r": 1}
    assert played.steps("t") == ["StepEntered", "TaskScheduled", "TaskStarted", "TaskSucceeded", "StepExited"]
    assert played.details("t", "TaskScheduled") == [
        {
            "input": {"body": {"x": 1}, "resourceArn": FC},
            "action": "FC:InvokeFunction",
            "taskMode": "RequestComplete",
            "retryCount": 0,
        }
    ]


def test_a_task_with_an_input_constructor_records_its_input(play):
    """So that it is not made again after a crash."""
    task = a_task(InputConstructor={"id.$": "uuid()"}, OutputConstructor={"same.$": "$Input.id"})
    played = play(machine(task), script={"t": [Result()]}).run()

    assert played.steps("t")[:3] == ["StepEntered", "StepStarted", "TaskScheduled"]
    assert output(played)["same"] == played.details("t", "StepStarted")[0]["input"]["id"]


def test_retries_wait_as_their_rule_says_and_get_fresh_parameters(play):
    """Interval times rate, up to the longest; the count and the token are those of the attempt."""
    rule = retry(attempts=4, interval=10, BackoffRate=2, MaxBackoffSeconds=30)
    task = a_task(
        TaskMode="WaitForCustomCallback",
        Parameters={"body": {"n.$": "$Context.Current.RetryCount", "token.$": "$Context.Current.TaskToken"}},
        Retry=[retry(("Other",)), rule, retry(("FnF.ALL",), attempts=9)],
    )
    played = play(
        machine(task), script={"t": [Result(error="E")] * 4 + [Result()]}, reports={"t": [Result()] * 5}
    ).run()

    starts = [at for event, at in played.history if event.type == "TaskScheduled"]
    bodies = [detail["input"]["body"] for detail in played.details("t", "TaskScheduled")]
    assert [round((b - a) / 1000) for a, b in pairwise(starts)] == [10, 20, 30, 30]
    assert [body["n"] for body in bodies] == [0, 1, 2, 3, 4]
    assert bodies[1]["token"] == "token-2-1"


def test_an_interval_is_constant_without_a_rate(play):
    """And an interval of nothing tries again at once."""
    for interval in (0, 7):
        task = a_task(Retry=[retry(attempts=2, interval=interval)])
        played = play(machine(task), script={"t": [Result(error="E"), Result(error="E"), Result()]}).run()

        assert played.history[-1][1] - played.history[0][1] == 2 * interval * 1000 + 30


def test_a_catch_hands_its_own_output_to_the_next_state(play):
    """The error is known there; the state's own constructors do not run, and End does not hold."""
    rule = {
        "Errors": ["E"],
        "OutputConstructor": {"code.$": "$Context.Current.Error.Code", "why.$": "$Context.Current.Error.Detail",
                              "x.$": "$Input.x", "n.$": "$Context.Current.RetryCount"},
        "Next": "p",
    }  # fmt: skip
    task = a_task(Retry=[retry()], Catch=[rule], OutputConstructor={"no": 1}, GlobalConstructor={"no": 1})
    played = play(machine(task, a_pass()), '{"x":1}', script={"t": [Result(error="E", cause="c")]}).run()

    assert output(played) == {"code": "E", "why": "c", "x": 1, "n": 1}
    assert played.state.variables == {}


def test_a_catch_without_constructor_hands_on_nothing(play):
    """A failed state has produced no output; the first rule that matches counts."""
    rules = [{"Errors": ["Other"], "Next": "x"}, {"Errors": ["FnF.ALL"], "Next": "p"}, {"Errors": ["E"], "Next": "x"}]
    played = play(
        machine(a_task(Catch=rules), a_pass(), a_pass("x")), '{"a":1}', script={"t": [Result(error="E")]}
    ).run()

    assert output(played) == {}
    assert played.steps("x") == []


def test_an_error_that_nothing_catches_fails_the_flow(play):
    """Error and cause go up unchanged."""
    assert failure(play(machine(a_task()), script={"t": [Result(error="E", cause="c")]}).run()) == ("E", "c")


@pytest.mark.parametrize(
    "fields",
    [{"Parameters": {"body": {"x.$": "length(1)"}}}, {"OutputConstructor": {"x.$": "length(1)"}},
     {"InputConstructor": {"x.$": "length(1)"}}, {"Timeout.$": "$Input.nothing"}],
    ids=["parameters", "output", "input", "timeout"],
)  # fmt: skip
def test_what_cannot_be_evaluated_can_be_caught(play, fields):
    """Faults of a task's own expressions are FnF.RuntimeError."""
    rule = {"Errors": ["FnF.RuntimeError"], "Next": "p"}
    played = play(machine(a_task(Catch=[rule], **fields), a_pass()), script={"t": [Result()]}).run()

    assert output(played) == {}


def test_a_catch_that_cannot_be_evaluated_fails_the_state(play):
    """There is no second catch."""
    rule = {"Errors": ["FnF.ALL"], "OutputConstructor": {"x.$": "length(1)"}, "Next": "p"}
    played = play(machine(a_task(Catch=[rule]), a_pass()), script={"t": [Result(error="E")]}).run()

    assert failure(played)[0] == "FnF.RuntimeError"


@pytest.mark.parametrize("kind", ["Pass", "Succeed", "Wait", "Fail", "Choice"])
def test_what_cannot_be_evaluated_fails_any_other_state(play, kind):
    """After it has been entered, with the reason."""
    fields = {
        "Wait": {"Seconds": 1}, "Choice": {"Branches": [{"Condition": "true", "Next": "p"}], "Default": "p"},
    }.get(kind, {})  # fmt: skip
    state = {"Type": kind, "Name": "s", "InputConstructor": {"x.$": "length(1)"}, **fields}
    played = play(machine(state, a_pass())).run()

    assert failure(played) == ("FnF.RuntimeError", "length() takes text, an array or a map, not a number")
    assert played.steps("s") == ["StepEntered", "StepFailed", "StepExited"]


def test_an_output_that_cannot_be_made_fails_a_wait_at_its_end(play):
    """The wait has been waited for."""
    state = {"Type": "Wait", "Name": "w", "Seconds": 1, "OutputConstructor": {"x.$": "length(1)"}}
    played = play(machine(state)).run()

    assert failure(played)[0] == "FnF.RuntimeError"
    assert played.history[-1][1] - played.history[0][1] == 1000


def test_an_attempt_that_takes_too_long_times_out(play):
    """Timeout is a number, its digits or an expression; 0 is without end."""
    for fields in ({"Timeout": 5}, {"Timeout": "5"}, {"Timeout.$": "$Input.s"}, {"Timeout.$": "'5'"}):
        played = play(
            machine(a_task(TaskMode="WaitForCustomCallback", **fields)), '{"s":5}', script={"t": [Result()]}
        ).run()
        assert failure(played) == ("FnF.TaskTimeout", "The task has not ended within 5 seconds.")
        assert played.details("t", "TaskScheduled")[0]["timeoutSeconds"] == 5
    for fields in ({"Timeout": 0}, {"Timeout.$": "0"}, {}):
        played = play(machine(a_task(TaskMode="WaitForCustomCallback", **fields)), script={"t": [Result()]}).run()
        assert played.state.outcome is None


def test_a_report_is_the_result_of_a_callback_task(play):
    """What was reported is $Output; a reported failure is the error."""
    task = a_task(TaskMode="WaitForCustomCallback")
    good = play(machine(task), script={"t": [Result(output='{"id":1}')]}, reports={"t": [Result(output='{"ok":1}')]})
    bad = play(machine(task), script={"t": [Result()]}, reports={"t": [Result(error="No", cause="way")]})

    assert output(good.run()) == {"ok": 1}
    assert failure(bad.run()) == ("No", "way")


def test_a_parallel_is_tried_again_as_a_whole(play):
    """All branches start once more after the pause, with the same input."""
    branches = (scope(a_task("a")), scope(a_pass("b", OutputConstructor={"n.$": "$Input.n"})))
    state = a_parallel(*branches, Retry=[retry(attempts=1, interval=5)], InputConstructor={"n.$": "randomInt(0, 9999)"})
    played = play(machine(state), script={"a": [Result(error="E")]}).run()

    starts = played.details("both", "StepStarted")
    assert failure(played)[0] == "E"
    assert len(played.details("a", "StepEntered")) == 2
    assert starts[0]["input"] == starts[1]["input"]
    assert starts[1]["retryCount"] == 1
    assert played.history[-1][1] - played.history[0][1] == 5_000 + 2 * 10


def test_a_failing_branch_takes_the_others_along_and_is_caught(play):
    """A Fail inside is an error of the parallel."""
    slow = scope({"Type": "Wait", "Name": "slow", "Seconds": 300})
    bad = scope({"Type": "Wait", "Name": "w", "Seconds": 1, "Next": "f"}, {"Type": "Fail", "Name": "f", "Code": "Bad"})
    rule = {"Errors": ["Bad"], "OutputConstructor": {"code.$": "$Context.Current.Error.Code"}, "Next": "p"}
    played = play(machine(a_parallel(slow, bad, Catch=[rule]), a_pass())).run()

    assert output(played) == {"code": "Bad"}
    assert played.history[-1][1] - played.history[0][1] == 1_000


def test_a_map_is_tried_again_and_then_fails(play):
    """The first error of an iteration is the map's."""
    state = a_map(a_task("a"), Retry=[retry(attempts=2, interval=0)])
    played = play(machine(state), '{"items":[1,2]}', script={"a": [Result(error="E")]}).run()

    assert failure(played)[0] == "E"
    assert len(played.details("each", "StepStarted")) == 3


def test_a_map_may_succeed_when_it_is_tried_again(play):
    """The failed try leaves nothing behind."""
    items = a_map(
        {
            "Type": "Choice",
            "Name": "c",
            "Branches": [{"Condition": "$Global.tried == true", "Next": "ok"}],
            "Default": "no",
        },
        {"Type": "Pass", "Name": "no", "GlobalConstructor": {"tried": True}, "Next": "f"},
        {"Type": "Fail", "Name": "f", "Code": "E"},
        a_pass("ok", OutputConstructor={"ok.$": "$Input.Item"}),
        Retry=[retry()],
    )
    played = play(machine(items), '{"items":[1,2]}').run()

    assert output(played) == {"Items": [{"ok": 1}, {"ok": 2}]}


def test_a_fault_in_the_output_of_a_parallel_is_caught(play):
    """Parallel and Map catch what cannot be evaluated, as tasks do."""
    rule = {"Errors": ["FnF.RuntimeError"], "Next": "p"}
    state = a_parallel(scope(a_pass("a")), OutputConstructor={"x.$": "length(1)"}, Catch=[rule])

    assert output(play(machine(state, a_pass())).run()) == {}


def test_a_loop_through_next_polls(play):
    """States may be visited any number of times."""
    states = (
        a_pass("count", OutputConstructor={"n.$": "intAdd($Input.n, 1)"}, Next="c"),
        {"Type": "Choice", "Name": "c", "Branches": [{"Condition": "$Input.n >= 3", "Next": "done"}], "Default": "w"},
        {"Type": "Wait", "Name": "w", "Seconds": 1, "Next": "count"},
        {"Type": "Succeed", "Name": "done"},
    )

    assert output(play(machine(*states), '{"n":0}').run()) == {"n": 3}


def test_timers_that_are_out_of_date_do_nothing(play):
    """A wake-up for a state that is not in a wait, or too early, changes nothing."""
    from emulator.kernel.clock import Millis
    from emulator.services.workflow.engine.decide import react
    from emulator.services.workflow.engine.language import TimerFired

    played = play(machine({"Type": "Wait", "Name": "w", "Seconds": 5}), until=0).run()
    retried = play(
        machine(a_task(Retry=[retry(interval=60)])), script={"t": [Result(error="E")]}, until=1_700_000_000_500
    ).run()

    for each, kind in ((played, "wait"), (played, "retry"), (retried, "retry"), (retried, "wait")):
        entry = each.state.strands[0].scopes[-1].entry
        assert react(each.facts, each.state, TimerFired(entry.id, kind, Millis(each.now))) == ()
