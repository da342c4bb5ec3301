"""What flows between steps: inputs, locals, outputs."""

import json

import pytest

from emulator.services.workflow.engine.language import Result


def flow(steps: str, tail: str = "") -> str:
    return f"version: v1\ntype: flow\nsteps:\n{steps}\n{tail}"


def output_of(played) -> dict:
    assert played.types[-1] == "ExecutionSucceeded", played.shown[-1]
    return played.last_detail["output"]


def test_inputs_come_from_the_parent_and_outputs_from_the_step(play):
    """In inputMappings $local is the flow's, in outputMappings $input is the step's own."""
    definition = flow(
        """
  - type: pass
    name: a
    outputMappings:
      - {target: x, source: 1}
  - type: pass
    name: b
    inputMappings:
      - {target: y, source: $local.x}
    outputMappings:
      - {target: z, source: $input.y}
outputMappings:
  - {target: n, source: $input.n}
  - {target: all, source: $local}
"""
    )

    played = play(definition, '{"n": 2}').run()

    assert played.shown[-1][4] == '{"output":{"all":{"x":1,"z":1},"n":2}}'
    assert played.details("b", "StepEntered") == [{"input": {"y": 1}, "local": {"x": 1}}]
    assert played.details("b", "StepSucceeded") == [{"output": {"z": 1}}]


def test_without_input_mappings_the_local_wins_over_the_input(play):
    """The default input is the scope's input with its local laid over it, key by key."""
    definition = flow(
        """
  - {type: pass, name: a, outputMappings: [{target: n, source: {"b": 2}}]}
  - {type: pass, name: b}
"""
    )

    played = play(definition, '{"n": {"a": 1}, "m": 3}').run()

    assert played.details("b", "StepEntered")[0]["input"] == {"n": {"b": 2}, "m": 3}


def test_a_path_that_matches_nothing_leaves_its_target_out(play):
    """A missing optional input is not passed on as null."""
    definition = flow(
        """
  - type: pass
    name: a
    inputMappings: [{target: delay, source: $input.delay}, {target: n, source: $input.n}]
"""
    )

    played = play(definition, '{"n": 1}').run()

    assert played.details("a", "StepEntered")[0]["input"] == {"n": 1}


def test_input_mappings_of_the_flow_shape_what_its_steps_see(play):
    """The history keeps the execution's own input."""
    definition = flow(
        "  - {type: pass, name: a}",
        "inputMappings: [{target: m, source: $input.n}]\noutputMappings: [{target: o, source: $input.m}]",
    )

    played = play(definition, '{"n": 1}').run()

    assert played.shown[0][4] == '{"input":{"n":1}}'
    assert played.details("a", "StepEntered")[0]["input"] == {"m": 1}
    assert output_of(played) == {"o": 1}


def test_a_choice_hands_on_what_its_option_made(play):
    """The option's scope begins with the choice's input and an empty local; its local becomes the choice's output."""
    definition = flow(
        """
  - {type: pass, name: before, outputMappings: [{target: a, source: 1}]}
  - type: choice
    name: c
    choices:
      - condition: $.a == 2
        goto: never
      - condition: $.a == 1
        steps:
          - {type: pass, name: inner, outputMappings: [{target: b, source: $input.a}]}
        goto: end
  - {type: fail, name: never}
  - {type: pass, name: end}
"""
    )

    played = play(definition).run()

    assert played.details("inner", "StepEntered") == [{"input": {"a": 1}, "local": {}}]
    assert played.details("c", "StepSucceeded") == [{"output": {"b": 1}}]
    assert played.details("c", "StepExited") == [{"local": {"a": 1, "b": 1}, "goto": "end"}]
    assert output_of(played) == {"a": 1, "b": 1}
    assert "never" not in {event[2] for event in played.shown}


def test_output_mappings_of_a_choice_see_the_local_of_its_option(play):
    """$local is what the option's steps made."""
    definition = flow(
        """
  - type: choice
    name: c
    default:
      steps: [{type: pass, name: inner, outputMappings: [{target: b, source: 1}, {target: d, source: 2}]}]
    choices: [{condition: $.no}]
    outputMappings: [{target: e, source: $local.b}]
"""
    )

    played = play(definition).run()

    assert output_of(played) == {"e": 1}


@pytest.mark.parametrize(
    ("given", "ran"),
    [({"n": 1}, "one"), ({"n": 2}, "default"), ({}, "default")],
    ids=["condition", "default", "missing key"],
)
def test_a_choice_takes_the_first_true_option_or_the_default(play, given, ran):
    """A comparison with a missing key is false."""
    definition = flow(
        """
  - type: choice
    name: c
    choices: [{condition: $.n == 1, goto: one}]
    default: {goto: default}
  - {type: succeed, name: one}
  - {type: succeed, name: default}
"""
    )

    played = play(definition, json.dumps(given)).run()

    assert played.steps(ran)


def test_without_a_default_nothing_matching_goes_on_with_the_next_sibling(play):
    """The choice just ends."""
    definition = flow("  - {type: choice, name: c, choices: [{condition: $.x, goto: c}]}\n  - {type: pass, name: next}")

    played = play(definition).run()

    assert played.steps("next")


def test_end_stops_the_list_unless_the_option_jumps(play):
    """goto wins over end; without a goto the scope ends."""
    definition = flow(
        """
  - type: choice
    name: c
    end: true
    choices: [{condition: $.jump, goto: target}]
  - {type: fail, name: never}
  - {type: pass, name: target, end: true}
  - {type: fail, name: neither}
"""
    )

    assert play(definition, '{"jump": true}').run().steps("target")
    assert play(definition, "{}").run().types[-2:] == ["StepExited", "ExecutionSucceeded"]


def test_succeed_ends_the_innermost_list_only(play):
    """Inside an option it ends the option; the flow goes on behind the choice, with the step's output merged."""
    definition = flow(
        """
  - type: choice
    name: c
    choices:
      - condition: 1 == 1
        steps:
          - {type: succeed, name: early, outputMappings: [{target: a, source: 1}]}
          - {type: fail, name: never}
  - {type: pass, name: after}
"""
    )

    played = play(definition).run()

    assert played.steps("after")
    assert output_of(played) == {"a": 1}


def test_a_parallel_lets_nothing_out_without_output_mappings(play):
    """Its local is the array of its branches' locals, in the order of the definition."""
    branches = """
    branches:
      - steps: [{type: wait, name: slow, duration: 3}, {type: pass, name: a, outputMappings: [{target: x, source: 1}]}]
      - steps: [{type: pass, name: b, outputMappings: [{target: x, source: 2}]}]
"""
    silent = flow("  - type: parallel\n    name: p" + branches)
    mapped = flow(
        "  - type: parallel\n    name: p"
        + branches
        + "    outputMappings: [{target: xs, source: '$local[*].x'}, {target: first, source: '$local[0]'}]"
    )

    assert output_of(play(silent).run()) == {}
    assert output_of(play(mapped).run()) == {"xs": [1, 2], "first": {"x": 1}}


def test_a_foreach_gives_each_iteration_its_element_and_index(play):
    """Item and index win over equal keys of the input; the results stay in the order of the array."""
    definition = flow(
        """
  - type: foreach
    name: each
    iterationMapping: {collection: $.names, item: name, index: i}
    steps:
      - {type: pass, name: tag, outputMappings: [{target: out, source: $input.name}, {target: at, source: $input.i}]}
    outputMappings:
      - {target: outs, source: "$local[*].out"}
      - {target: all, source: $local}
"""
    )

    played = play(definition, '{"names": ["a", "b"], "name": "hidden"}').run()

    assert output_of(played) == {"all": [{"at": 0, "out": "a"}, {"at": 1, "out": "b"}], "outs": ["a", "b"]}
    assert played.details("each", "IterationEntered")[1] == {
        "index": 1,
        "input": {"i": 1, "name": "b", "names": ["a", "b"]},
    }


@pytest.mark.parametrize(("given", "outcome"), [("[]", "ExecutionSucceeded"), ("3", "ExecutionFailed")])
def test_a_foreach_wants_an_array(play, given, outcome):
    """An empty array succeeds with an empty local; anything else fails the step with FnF.RuntimeError."""
    definition = flow(
        """
  - type: foreach
    name: each
    iterationMapping: {collection: $.names, item: name}
    steps: [{type: pass, name: p}]
    outputMappings: [{target: all, source: $local}]
"""
    )

    played = play(definition, f'{{"names": {given}}}').run()

    assert played.types[-1] == outcome
    if outcome == "ExecutionFailed":
        assert played.details("each", "StepFailed")[0]["error"] == "FnF.RuntimeError"
    else:
        assert output_of(played) == {"all": []}


def test_at_most_a_hundred_iterations_run_at_once(play):
    """The next one begins when an earlier one has ended."""
    definition = flow(
        """
  - type: foreach
    name: each
    iterationMapping: {collection: $.all, item: n}
    steps: [{type: wait, name: w, duration: 10}]
"""
    )
    running = []

    def count(facts, state) -> None:
        running.append(len(state.strands) - 1)

    played = play(definition, json.dumps({"all": list(range(150))}), check=count).run()

    assert played.types[-1] == "ExecutionSucceeded"
    assert max(running) == 100
    assert played.types.count("IterationEntered") == played.types.count("IterationExited") == 150
    assert played.now == played.state.started_at + 20_000


def test_a_task_hands_on_its_result(play):
    """The result is the local; without outputMappings it is the output too."""
    definition = flow(
        """
  - {type: task, name: t, resourceArn: 'acs:fc:::services/s/functions/f'}
  - type: task
    name: u
    resourceArn: 'acs:fc:::services/s/functions/f'
    inputMappings: [{target: id, source: $local.id}]
    outputMappings: [{target: got, source: $local.id}, {target: asked, source: $input.id}]
"""
    )
    script = {"t": [Result(output='{"id": 7}')], "u": [Result(output='{"id":8,"more":[]}')]}

    played = play(definition, '{"x": 1}', script=script).run()

    assert output_of(played) == {"asked": 7, "got": 8, "id": 7}
    assert played.details("u", "StepExited") == [
        {
            "input": {"id": 7},
            "local": {"asked": 7, "got": 8, "id": 7},
            "output": {"asked": 7, "got": 8},
            "resourceArn": "acs:fc:::services/s/functions/f",
        }
    ]


def test_the_context_tells_names_times_and_the_token_of_the_attempt(play):
    """A retried task gets a new token in the same input."""
    definition = flow(
        """
  - type: task
    name: t
    resourceArn: 'acs:fc:::services/s/functions/f'
    retry: [{errors: [E]}]
    inputMappings:
      - {target: token, source: $context.task.token}
      - {target: flow, source: $context.flow.name}
      - {target: execution, source: $context.execution.id}
      - {target: retries, source: $context.step.retryCount}
"""
    )

    played = play(definition, script={"t": [Result(error="E"), Result()]}).run()

    attempts = [detail["input"] for detail in played.details("t", "TaskScheduled")]
    assert attempts[0] == {"execution": "f:e", "flow": "f", "retries": 0, "token": "token-2-0"}
    assert attempts[1] == {"execution": "f:e", "flow": "f", "retries": 1, "token": "token-2-1"}


def test_text_beyond_ascii_is_written_as_it_is(play):
    """The engine's JSON is compact, sorted by key and not escaped."""
    played = play(flow("  - {type: pass, name: p}"), '{"b": "中<文>", "a": 1.5}').run()

    assert played.shown[0][4] == '{"input":{"a":1.5,"b":"中<文>"}}'
