"""``usage``, against an emulator: counted, narrowed down, priced, kept over a restart, set back to 0."""

import json

import pytest

from emulator.cli.commands.usage import amount_text

pytestmark = pytest.mark.starts_programs

FLOW = """version: v1
type: flow
steps:
  - type: parallel
    name: both
    branches:
      - steps: [{type: pass, name: one}]
      - steps: [{type: pass, name: two}]
"""
PRICES = """currency: CNY
prices:
  - {name: transitions, items: {fnf.transitions: 1}, per: 2, free: 1, price: 10}
"""


@pytest.fixture
def served(program):
    """An emulator with an execution of three steps that has ended, and a queue."""
    (program.folder / "flow.yml").write_text(FLOW, encoding="utf-8")
    (program.folder / "prices.yml").write_text(PRICES, encoding="utf-8")
    program.start()
    for words in (("flow", "create", "order", "flow.yml"), ("flow", "start", "order", "--name", "first"), ("settle",),
                  ("queue", "create", "q"), ("queue", "send", "q", "x" * 100)):  # fmt: skip
        assert program.run(*words).returncode == 0
    return program


def items(program, *words):
    done = program.run("usage", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["items"]


def test_usage_is_counted_and_narrowed_down_to_an_execution(served):
    """The queue's requests are not the execution's."""
    assert items(served)["fnf.transitions"] == 3
    assert items(served)["mns.requests.queue"] == 2
    assert items(served, "--execution", "order/first") == {"fnf.transitions": 3}


TEMPLATE = """ROSTemplateFormatVersion: '2015-09-01'
Resources:
  Orders:
    Type: ALIYUN::MNS::Queue
    Properties: {QueueName: orders}
"""


def test_looking_at_what_is_there_uses_nothing(program):
    """Plans, exports and comparisons read everything, buckets too; the cloud would not be asked."""
    (program.folder / "template.yml").write_text(TEMPLATE, encoding="utf-8")
    program.start()
    assert program.run("deploy").returncode == 0
    before = items(program)

    for words in (("deploy", "--plan"), ("export", "--output", "out"), ("diff",)):
        assert program.run(*words).returncode == 0

    assert items(program) == before
    assert not any(item.startswith("oss.") for item in before)


CALLS = """version: v1
type: flow
steps:
  - {type: task, name: call, resourceArn: "acs:fc:::services/shop/functions/call"}
"""


def test_call_of_an_execution_takes_a_millisecond_at_least(program):
    """As it does in the totals: a started one counts, whatever the trace can show."""
    code = program.folder / "functions" / "shop" / "call" / "index.py"
    code.parent.mkdir(parents=True)
    code.write_text("def handler(event, context):\n    return '{}'\n", encoding="utf-8")
    (code.parent / "function.yml").write_text("memorySize: 1024\n", encoding="utf-8")
    (program.folder / "flow.yml").write_text(CALLS, encoding="utf-8")
    program.start()
    for words in (("clock", "freeze"), ("flow", "create", "order", "flow.yml"),
                  ("flow", "start", "order", "--name", "first"), ("settle",)):  # fmt: skip
        assert program.run(*words).returncode == 0

    used = items(program, "--execution", "order/first")

    assert used["fc.memory_gb_seconds.active"] == 0.001
    assert items(program)["fc.memory_gb_seconds.active"] >= 0.001


def test_an_estimate_takes_off_what_is_free_and_names_what_it_assumes(served):
    """Two of three transitions at 10 for two; a thousand times, nearly all."""
    told = json.loads(served.run("usage", "--json", "--prices", "prices.yml").stdout)["estimate"]

    assert told["total"] == 10
    assert "fnf.transitions" in told["assumed"]
    assert "mns.requests.queue" in told["unpriced"]
    scaled = json.loads(served.run("usage", "--json", "--prices", "prices.yml", "--scale", "1e3").stdout)
    assert scaled["estimate"]["total"] == (3000 - 1) / 2 * 10
    shown = served.run("usage", "--prices", "prices.yml").stdout
    assert "10.0000" in shown
    assert "The retry of a task is not a transition." in shown


def test_counters_survive_a_restart_and_go_back_to_nothing_on_demand(served):
    """What is counted later is on top."""
    assert served.run("stop").returncode == 0
    served.start()
    assert items(served)["fnf.transitions"] == 3
    assert served.run("flow", "start", "order", "--name", "second").returncode == 0
    assert served.run("settle").returncode == 0
    assert items(served)["fnf.transitions"] == 6

    assert served.run("usage", "--reset").returncode == 0

    assert "fnf.transitions" not in items(served)


def test_what_cannot_be_told_is_refused_with_words(served):
    """And a code that is not 0."""
    cases = {
        ("--prices", "none.yml"): "none.yml cannot be read",
        ("--scale", "0"): "--scale takes a number above 0",
        ("--execution", "order/none"): "ExecutionNotExists",
        ("--deployment", "none"): "there is no deployment",
    }
    for words, said in cases.items():
        done = served.run("usage", *words)

        assert done.returncode != 0, words
        assert said in done.stderr


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0"), (12345, "12,345"), (0.5, "0.5"), (14279.1, "14,279.1"), (8.3676e-05, "0.000083676"),
        (1234567.89, "1,234,568"), (1e-12, "0"),
    ],
)  # fmt: skip
def test_amounts_have_no_exponent(amount, text):
    """Six digits that count, thousands apart."""
    assert amount_text(amount) == text
