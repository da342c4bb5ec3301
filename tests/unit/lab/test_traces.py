"""Trees of causes and effects, made from lines of the log."""

from hypothesis import given
from hypothesis import strategies as st

from emulator.kernel.tracing import push_key, step_key
from emulator.lab.traces import Effect, belongs, ids_of, trace_to_show, tree

MESSAGE, COPY = "A" * 32, "B" * 32
LINES = [
    Effect(1_000, "r1", "", {"execution": "e", "flow": "f"}),
    Effect(1_001, "r1", "", {"request": "r1", "service": "fnf", "operation": "StartExecution", "status": 200, "ms": 2}),
    Effect(
        1_030, "r1", step_key("f", "e", "call", 1), {
            "request": "c1", "function": "g", "result": "succeeded", "ms": 5,
        },
    ),
    Effect(1_031, "r1", "", {"execution": "e", "flow": "f", "step": "call", "attempt": 1, "result": "succeeded"}),
    Effect(1_040, "r1", step_key("f", "e", "send", 1), {"message_id": MESSAGE, "topic": "t"}),
    Effect(1_041, "r1", "", {"execution": "e", "flow": "f", "step": "send", "attempt": 1, "result": "succeeded"}),
    Effect(1_050, "r1", "", {"execution": "e", "flow": "f", "status": "Succeeded"}),
    Effect(
        1_060, "r1", "", {
            "attempt": 1, "message_id": MESSAGE, "subscription": "s", "topic": "t", "result": "delivered",
            "detail": f"queue q, message {COPY}",
        },
    ),
    Effect(1_061, "r1", push_key(MESSAGE, "p", 1), {"request": "c2", "function": "h"}),
    Effect(
        1_062, "r1", "", {
            "attempt": 1, "message_id": MESSAGE, "subscription": "p", "topic": "t", "result": "failed", "detail": "no",
        },
    ),
    Effect(
        2_000, "r2", "", {
            "request": "r2", "service": "mns", "operation": "ReceiveMessage", "status": 200, "ms": 1,
            "message_id": COPY, "cause": "r1",
        },
    ),
]  # fmt: skip


def outline(nodes):
    """Return kinds and names as nested lists."""
    return [[f"{node['kind']} {node['name']}".strip(), *outline(node["children"])] for node in nodes]


def test_effects_hang_below_their_causes():
    """From the request to the call that a push has made, and to who received the message."""
    assert outline(tree(LINES, "r1")) == [
        [
            "request fnf StartExecution",
            [
                "execution f/e",
                ["step call", ["call g"]],
                [
                    "step send",
                    [
                        "message t",
                        ["push t/s", ["message queue q", ["request mns ReceiveMessage"]]],
                        ["push t/p", ["call h"]],
                    ],
                ],
            ],
        ]
    ]


def test_nodes_have_times_and_results():
    """A span lasts from its first line, or its earliest effect, to its end."""
    (root,) = tree(LINES, "r1")
    (execution,) = root["children"]
    step = execution["children"][0]

    assert (execution["status"], execution["at_ms"], execution["duration_ms"]) == ("Succeeded", 1_000, 50)
    assert (step["at_ms"], step["duration_ms"], step["failed"]) == (1_025, 6, False)
    assert execution["children"][1]["children"][0]["children"][1]["failed"]


def test_every_id_leads_to_the_trace():
    """Requests, messages, copies of messages, calls, executions; the receiver's leads to what it received."""
    found = {id: trace_to_show(effect, id) for effect in reversed(LINES) for id in ids_of(effect)}

    assert found == dict.fromkeys(["r1", "r2", "c1", "c2", MESSAGE, COPY, "f/e"], "r1")
    assert all(belongs(effect, "r1") for effect in LINES)


@given(st.permutations(LINES))
def test_the_order_of_the_lines_changes_no_parent(lines):
    """Every node is in the tree once; only a receiver has to come after the message."""
    receiver = LINES[-1]
    ordered = [*(line for line in lines if line is not receiver), receiver]

    def count(nodes):
        return sum(1 + count(node["children"]) for node in nodes)

    assert count(tree(ordered, "r1")) == 11


@given(st.lists(st.sampled_from(LINES)))
def test_a_part_of_the_lines_makes_a_tree_too(lines):
    """What is missing above makes a node a root; nothing loops."""
    nodes = [*tree(lines, "r1")]
    for node in nodes:  # grows as it is gone through
        nodes += node["children"]

    keys = [node["key"] for node in nodes]
    assert len(keys) == len(set(keys))
