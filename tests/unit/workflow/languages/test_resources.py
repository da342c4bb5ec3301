"""Names in the ARNs that tasks call."""

import pytest

from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.languages.resources import impossible_name, parse_arn

FLOW = """version: v1
type: flow
steps:
  - type: task
    name: t
    resourceArn: {arn}
"""
STATE_MACHINE = """Type: StateMachine
Name: m
SpecVersion: v1
StartAt: t
States:
  - Type: Task
    Name: t
    Action: {action}
    Parameters:
      resourceArn: {arn}
      message: hello
    End: true
"""
TOPIC = "acs:mns:::/topics/order_news/messages"


@pytest.mark.parametrize(
    ("arn", "named"),
    [
        (TOPIC, "'order_news'"),
        ("acs:mns:cn-hangzhou:1:/queues/-orders/messages", "'-orders'"),
        ("acs:fc:::functions/2go", "'2go'"),
        ("acs:fc:::functions/问候", "'问候'"),
        ("acs:fc:::services/my shop/functions/f".replace(" ", "!"), "'my!shop'"),
        ("acs:fc:::services/shop.LATEST/functions/a~b", "'a~b'"),
        ("acs:fnf:::flow/a+b", "'a+b'"),
    ],
)
def test_name_that_nothing_can_have_is_found(arn, named):
    """The rules of each service."""
    assert named in impossible_name(parse_arn(arn))


@pytest.mark.parametrize(
    "arn",
    [
        "acs:mns:::/topics/order-news/messages",
        "acs:mns:::/queues/1/messages",
        "acs:fc:::functions/say_hello-2/LATEST",
        "acs:fc:::services/shop.LATEST/functions/_f",
        "acs:fnf:::flow/order_2",
        "acs:mns:::/topics/${topic}/messages",
        "acs:mns:::/queues/<your_queue>/messages",
        "acs:fc:::services/{service}/functions/{function}",
    ],
)
def test_possible_names_and_those_that_others_fill_in_are_taken(arn):
    """A tool puts names in the places of the last."""
    assert impossible_name(parse_arn(arn)) is None


def test_both_languages_warn_and_accept():
    """The task fails when it runs, as in the cloud."""
    flow = read_program(FLOW.format(arn=TOPIC))
    machine = read_program(STATE_MACHINE.format(arn=TOPIC, action="MNS:SendMessage"))

    text = "no queue or topic can be called 'order_news': their names have letters, digits and hyphens"
    assert [str(each) for each in flow.warnings] == [f"steps[0].resourceArn: {text} (line 6)"]
    assert [str(each) for each in machine.warnings] == [f"States[0].Parameters.resourceArn: {text} (line 10)"]
