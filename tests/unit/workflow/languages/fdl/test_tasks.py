"""Resource ARNs name what a task calls."""

import pytest

from emulator.services.workflow.languages.resources import parse_action, parse_arn
from emulator.services.workflow.ports import FlowResource, FunctionResource, QueueResource, TopicResource


@pytest.mark.parametrize(
    ("arn", "expected"),
    [
        ("acs:fc:cn-hangzhou:123:services/s/functions/f", FunctionResource("s", "f", None)),
        ("acs:fc:::services/s/functions/f", FunctionResource("s", "f", None)),
        ("acs:fc:cn-hangzhou:{accountID}:services/s/functions/f", FunctionResource("s", "f", None)),
        ("acs:fc:::services/fnf-demo.online/functions/provision", FunctionResource("fnf-demo", "provision", "online")),
        ("acs:fc:::services/fnf-demo.1/functions/provision", FunctionResource("fnf-demo", "provision", "1")),
        ("acs:fc:::services/s.LATEST/functions/f", FunctionResource("s", "f", "LATEST")),
        ("acs:fc:::services/s.a.b/functions/f", FunctionResource("s", "f", "a.b")),
        ("acs:fc:::functions/f", FunctionResource(None, "f", None)),
        ("acs:fc:cn-hangzhou:1:functions/f/LATEST", FunctionResource(None, "f", "LATEST")),
        ("acs:mns:cn-hangzhou:1:/queues/fnf-demo/messages", QueueResource("fnf-demo")),
        ("acs:mns:::/topics/t/messages", TopicResource("t")),
        ("acs:fnf:::flow/child", FlowResource("child")),
    ],
)
def test_documented_forms(arn, expected):
    """Region and account may be anything; the qualifier of a service follows its first dot."""
    assert parse_arn(arn) == expected


@pytest.mark.parametrize("text", ["", ":", "fnf", "fnf:", ":StartExecution", "fnf:Start Execution", "a:b:c", "fnf:\n"])
def test_what_is_no_action(text):
    """An action has exactly a service and an operation."""
    with pytest.raises(ValueError, match="serviceName"):
        parse_action(text)
