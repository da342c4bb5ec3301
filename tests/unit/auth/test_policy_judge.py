"""May this caller do that?"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.auth.policy import Verdict, judge, parse_policy, parse_trust_policy, trusts
from emulator.kernel.identity import Demand

SEND = Demand("mns:SendMessage", "acs:mns:cn-hangzhou:123:/queues/orders/messages")


def policy(*statements):
    return parse_policy(json.dumps({"Version": "1", "Statement": list(statements)}))


def statement(effect="Allow", action="mns:SendMessage", resource="*", **other):
    return {"Effect": effect, "Action": action, "Resource": resource, **other}


@pytest.mark.parametrize(
    ("statements", "verdict"),
    [
        ([], Verdict.NOT_ALLOWED),
        ([statement()], Verdict.ALLOWED),
        ([statement(action="*")], Verdict.ALLOWED),
        ([statement(action="MNS:sendmessage")], Verdict.ALLOWED),
        ([statement(action=["fc:*", "mns:Send*"])], Verdict.ALLOWED),
        ([statement(action="mns:ReceiveMessage")], Verdict.NOT_ALLOWED),
        ([statement("Deny")], Verdict.DENIED),
        ([statement(), statement("Deny", "mns:*")], Verdict.DENIED),
        ([statement("Deny", "fc:*"), statement()], Verdict.ALLOWED),
        ([statement(resource="acs:mns:*:*:/queues/orders/messages")], Verdict.ALLOWED),
        ([statement(resource="acs:mns:::/queues/orders/messages")], Verdict.ALLOWED),
        ([statement(resource="acs:mns:cn-hangzhou:123:/queues/o*")], Verdict.ALLOWED),
        ([statement(resource="acs:mns:cn-beijing:*:/queues/orders/messages")], Verdict.NOT_ALLOWED),
        ([statement(resource="acs:mns:*:456:/queues/orders/messages")], Verdict.NOT_ALLOWED),
        ([statement(resource="acs:mns:*:*:/queues/orders")], Verdict.NOT_ALLOWED),
        ([statement(resource="acs:mns:*:*:/queues/ORDERS/messages")], Verdict.NOT_ALLOWED),
        ([{"Effect": "Allow", "NotAction": "fc:*", "Resource": "*"}], Verdict.ALLOWED),
        ([{"Effect": "Allow", "NotAction": "mns:*", "Resource": "*"}], Verdict.NOT_ALLOWED),
        ([{"Effect": "Allow", "Action": "mns:*", "NotResource": "acs:mns:*:*:/topics/*"}], Verdict.ALLOWED),
        ([{"Effect": "Allow", "Action": "mns:*", "NotResource": "acs:mns:*:*:/queues/*"}], Verdict.NOT_ALLOWED),
        ([statement(Condition={"StringEquals": {"k": "v"}})], Verdict.ALLOWED),
        ([statement(Condition={"StringEquals": {"k": "w"}})], Verdict.NOT_ALLOWED),
        ([statement(), statement("Deny", Condition={"StringEquals": {"k": "w"}})], Verdict.ALLOWED),
    ],
)
def test_verdict_of_statements(statements, verdict):
    """Deny wins, and what nobody allows is not allowed; the order and the number of policies do not matter."""
    facts = {"k": ("v",)}

    assert judge([policy(*statements)] if statements else [], SEND, facts) is verdict
    assert judge([policy(each) for each in reversed(statements)], SEND, facts) is verdict


def test_any_name_of_the_thing_is_good_to_allow_and_to_deny():
    """A resource that goes by several names is meant by each."""
    demand = Demand("fnf:StartExecution", "acs:fnf:r:1:flow/f", ("acs:fnf:r:1:flows/f/executions/e",))
    allowed = statement(action="fnf:*", resource="acs:fnf:*:*:flows/f/executions/*")
    denied = statement("Deny", "fnf:*", "acs:fnf:*:*:flow/f")

    assert judge([policy(allowed)], demand, {}) is Verdict.ALLOWED
    assert judge([policy(allowed, denied)], demand, {}) is Verdict.DENIED


def test_facts_of_the_demand_itself_count():
    """Passing a role is bound to the service it is passed to."""
    demand = Demand("ram:PassRole", "acs:ram::1:role/r", (), (("acs:Service", "fc.aliyuncs.com"),))
    bound = statement(action="ram:PassRole", Condition={"StringEquals": {"acs:Service": "fc.aliyuncs.com"}})

    assert judge([policy(bound)], demand, {}) is Verdict.ALLOWED
    assert judge([policy(bound)], Demand("ram:PassRole", "acs:ram::1:role/r"), {}) is Verdict.NOT_ALLOWED


effects = st.sampled_from(["Allow", "Deny"])
patterns = st.sampled_from(["*", "mns:*", "mns:SendMessage", "fc:*", "mns:Receive*"])
resources = st.sampled_from(["*", "acs:mns:*:*:/queues/*", "acs:mns:*:*:/topics/*", SEND.resource])
some = st.lists(st.builds(statement, effects, patterns, resources), max_size=5)


@given(some, some)
def test_more_statements_never_lift_a_denial(first, more):
    """And an allowed call becomes denied only by a Deny."""
    before = judge([policy(*first)] if first else [], SEND, {})
    after = judge([policy(*first, *more)] if first or more else [], SEND, {})

    assert (before is Verdict.DENIED) <= (after is Verdict.DENIED)
    if not any(each["Effect"] == "Deny" for each in more):
        assert (before is Verdict.ALLOWED) <= (after is Verdict.ALLOWED)


@pytest.mark.parametrize(
    ("principal", "arn", "expected"),
    [
        ("acs:ram::1:root", "acs:ram::1:root", True),
        ("acs:ram::1:root", "acs:ram::1:user/alice", True),
        ("acs:ram::1:root", "acs:ram::1:assumed-role/r/s", True),
        ("acs:ram::1:root", "acs:ram::2:user/alice", False),
        ("acs:ram::1:user/alice", "acs:ram::1:user/alice", True),
        ("acs:ram::1:user/alice", "acs:ram::1:user/bob", False),
        ("acs:ram::1:user/alice", "acs:ram::1:root", False),
        ("acs:ram::1:role/r", "acs:ram::1:assumed-role/r/s", True),
        ("acs:ram::1:role/r", "acs:ram::1:assumed-role/other/s", False),
        ("*", "acs:ram::9:user/anybody", True),
    ],
)
def test_trust_in_accounts_users_and_roles(principal, arn, expected):
    """An account stands for everybody of it, a role for all of its sessions."""
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"RAM": [principal]}}
    document = parse_trust_policy(json.dumps({"Version": "1", "Statement": [trust]}))

    assert trusts(document, "sts:AssumeRole", arn=arn, facts={}) is expected
    assert not trusts(document, "sts:AssumeRole", service="fc.aliyuncs.com", facts={})


def test_trust_in_services_may_be_conditional_and_denied():
    """A denial of the same caller wins, a condition that fails leaves nothing."""

    def trusted(*statements, facts):
        document = json.dumps({"Version": "1", "Statement": list(statements)})
        return trusts(parse_trust_policy(document), "sts:AssumeRole", service="fc.aliyuncs.com", facts=facts)

    allow = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": ["fc.aliyuncs.com"]}}
    conditional = {**allow, "Condition": {"StringEquals": {"k": "v"}}}

    assert trusted(allow, facts={})
    assert not trusted(allow, {**allow, "Effect": "Deny"}, facts={})
    assert trusted(conditional, facts={"k": ("v",)})
    assert not trusted(conditional, facts={})
    assert not trusted({**allow, "Action": "sts:Other"}, facts={})
