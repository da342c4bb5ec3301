"""Graphs of flows in the state machine language."""

import json
from itertools import pairwise

from emulator.drawing.model import END, START, Edge, build, steps_of
from emulator.services.workflow.languages.programs import read_program

FC = "acs:fc:::services/shop.prod/functions/Order"


def graph(*states, start=None):
    document = {"Type": "StateMachine", "Name": "m", "SpecVersion": "v1", "StartAt": start or states[0]["Name"]}
    return build(read_program(json.dumps({**document, "States": list(states)})))


def a_task(name, action="FC:InvokeFunction", **fields):
    parameters = fields.pop("Parameters", {"resourceArn": FC})
    return {"Type": "Task", "Name": name, "Action": action, "Parameters": parameters, **fields}


def test_ways_lead_where_the_states_say():
    """Order has no meaning; loops go through Next and Choice, and ways on errors are named."""
    found = graph(
        {"Type": "Succeed", "Name": "done"},
        {
            "Type": "Choice", "Name": "over", "Default": "rest",
            "Branches": [
                {"Condition": "$Input.a == 1", "Next": "done"}, {"Condition": "$Input.a == 2", "Next": "lost"},
            ],
        },
        {"Type": "Wait", "Name": "rest", "Seconds.$": "$Input.s", "Next": "ask"},
        a_task("ask", Catch=[{"Errors": ["A", "B"], "Next": "lost"}], Next="over"),
        {"Type": "Fail", "Name": "lost", "Code": "Lost", "Detail.$": "$Input.why"},
        start="rest",
    )  # fmt: skip

    assert found.edges == (
        Edge(source=START, target="rest"),
        Edge(source="done", target=END),
        Edge(source="over", target="done", labels=("$Input.a == 1",)),
        Edge(source="over", target="lost", labels=("$Input.a == 2",)),
        Edge(source="over", target="rest", labels=("default",)),
        Edge(source="rest", target="ask"),
        Edge(source="ask", target="over"),
        Edge(source="ask", target="lost", labels=("A, B",), caught=True),
    )
    about = {node.name: (node.kind, node.about) for node in steps_of(found)}
    assert about["rest"] == ("wait", "$Input.s")
    assert about["ask"] == ("task", "shop.prod/Order")
    assert about["lost"] == ("fail", "Lost $Input.why")


def test_branches_and_processors_are_boxes():
    """What ends only in failure has no way out."""
    fails = {"StartAt": "f", "States": [{"Type": "Fail", "Name": "f"}]}
    passes = {"StartAt": "p", "States": [{"Type": "Pass", "Name": "p", "End": True}]}
    rule = {"Errors": ["E"], "MaxAttempts": 2, "IntervalSeconds": 1}
    found = graph(
        {"Type": "Map", "Name": "each", "ItemsPath": "$Input.x", "Processor": passes, "Retry": [rule], "Next": "both"},
        {"Type": "Parallel", "Name": "both", "Branches": [passes, fails], "End": True},
    )

    each, both = found.nodes[1:3]
    assert (each.kind, each.about, each.retry, each.scopes[0].label) == (
        "foreach", "$Input.x", "retry 2", "each iteration",
    )  # fmt: skip
    assert [scope.label for scope in both.scopes] == ["branch 0", "branch 1"]
    assert Edge(source="each", target="both") in found.edges
    assert not any(edge.source == "both" for edge in found.edges)


def test_tasks_say_what_they_call():
    """The resource where it is written down, else the action; the mode when something is waited for."""
    http = {"url": "http://127.0.0.1/", "method": "Get"}
    states = [
        a_task("a", Parameters={"resourceArn.$": "$Input.arn"}),
        a_task("b", "HTTP:Request", Parameters=http, TaskMode="WaitForCustomCallback"),
        a_task("c", "OSS:GetObject", Parameters={"bucket": "b", "key": "k"}),
        a_task("d", "ECS:DescribeInstances", Parameters={"n.$": "$Input.n", "m": 1}),
    ]
    joined = [{**state, "Next": following["Name"]} for state, following in pairwise(states)]

    found = graph(*joined, {**states[-1], "End": True})

    assert [node.about for node in steps_of(found)] == [
        "FC:InvokeFunction",
        "GET http://127.0.0.1/, WaitForCustomCallback",
        "object b/k",
        "ECS:DescribeInstances",
    ]
