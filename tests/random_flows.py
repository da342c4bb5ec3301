"""Flows of both languages drawn at random: steps in each other, retries, waits, failures, ids that are always new."""

import json
import random


def random_steps(draw, depth, numbers):
    """Return steps of the old language, none of which jumps backwards."""
    steps = []
    for _ in range(draw.randint(1, 4)):
        name = f"s{next(numbers)}"
        kind = draw.choice(["pass", "pass", "task", "wait", "choice", *(["parallel", "foreach"] if depth else [])])
        step = {"type": kind, "name": name}
        if kind == "pass":
            step["outputMappings"] = [{"target": draw.choice("abc"), "source": draw.randint(0, 9)}]
        elif kind == "task":
            step["resourceArn"] = f"acs:fc:::services/s/functions/{name}"
            step["retry"] = [{"errors": ["Busy"], "intervalSeconds": 2, "maxAttempts": 2}]
        elif kind == "wait":
            step["duration"] = draw.randint(0, 100)
        elif kind == "choice":
            inner = random_steps(draw, 0, numbers)
            step["choices"] = [{"condition": f"$.{draw.choice('abc')} > {draw.randint(0, 9)}", "steps": inner}]
        elif kind == "parallel":
            step["branches"] = [{"steps": random_steps(draw, depth - 1, numbers)} for _ in range(draw.randint(1, 3))]
        else:
            step["iterationMapping"] = {"collection": "$.items", "item": "item"}
            step["inputMappings"] = [{"target": "items", "source": draw.sample(range(9), draw.randint(0, 3))}]
            step["steps"] = random_steps(draw, depth - 1, numbers)
        steps.append(step)
    return steps


def random_scope(draw, depth, numbers):
    """Return states in a row, some with scopes of their own."""
    simple = ["Pass", "Wait", "Task", "Choice"]
    kinds = [draw.choice([*simple, *(["Parallel", "Map"] if depth else [])]) for _ in range(draw.randint(1, 5))]
    names = [f"s{next(numbers)}" for _ in range(len(kinds) + 1)]
    states = []
    for number, kind in enumerate(kinds):
        following = names[number + 1]
        state = {"Type": kind, "Name": names[number]}
        if kind == "Wait":
            state |= {"Seconds": draw.randint(1, 100), "Next": following}
        elif kind == "Choice":
            state |= {
                "Branches": [{"Condition": f"$Input.a > {draw.randint(0, 9)}", "Next": names[-1]}],
                "Default": following,
            }
        elif kind == "Task":
            arn = f"acs:fc:::functions/of-{names[number]}"
            state |= {"Action": "FC:InvokeFunction", "Parameters": {"resourceArn": arn}, "Next": following}
            state["Retry"] = [{"Errors": ["Busy"], "MaxAttempts": 2, "IntervalSeconds": 1}]
            state["OutputConstructor"] = {"a.$": "$Output.Body.a"}
        elif kind == "Parallel":
            branches = [random_scope(draw, depth - 1, numbers) for _ in range(draw.randint(1, 3))]
            state |= {"Branches": branches, "OutputConstructor": {"a.$": "$Output.Branch0.a"}, "Next": following}
        elif kind == "Map":
            items = [{"a": draw.randint(0, 9)} for _ in range(draw.randint(0, 3))]
            state |= {"InputConstructor": {"items": items, "a": 1}, "ItemsPath": "$Input.items", "Next": following}
            state |= {"Processor": random_scope(draw, depth - 1, numbers), "OutputConstructor": {"a.$": "$Input.a"}}
        else:
            state |= {"OutputConstructor": {"a": draw.randint(0, 9), "id.$": "uuid()"}, "Next": following}
        states.append(state)
    states.append({"Type": "Succeed", "Name": names[-1]})
    return {"StartAt": names[0], "States": states}


def random_machine(draw):
    """Return a state machine."""
    scope = random_scope(draw, 2, iter(range(1000)))
    return {"Type": "StateMachine", "Name": "m", "SpecVersion": "v1", **scope}


def random_definition(seed):
    draw = random.Random(seed)
    if seed % 2:
        return random_machine(draw), draw
    return {"version": "v1", "type": "flow", "steps": random_steps(draw, 2, iter(range(1000)))}, draw


def random_mutation(definition, history, draw):
    """Return the text of a definition with another name of a step that was entered, and the first event that has it."""
    entered = [event for event in history if event["Type"] == "StepEntered"]
    changed = draw.choice(entered)["StepName"]
    named = [each for each in history if changed in {each["StepName"], json.loads(each["EventDetail"]).get("goto")}]
    return json.dumps(definition).replace(f'"{changed}"', '"another"'), named[0]["EventId"]
