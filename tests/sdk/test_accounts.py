"""Several accounts in one emulator: own keys, own resources, and roles that lead from one into another."""

import json

import pytest

from emulator.auth import mns
from emulator.http.message import Headers, Request
from emulator.kernel.clock import SystemClock
from emulator.testing import ApiError, Emulator
from emulator.wire.dates import http_date

pytestmark = pytest.mark.sdk


@pytest.fixture
def localyun():
    with Emulator() as kit:
        yield kit


def rpc(kit, version, action, **parameters):
    from urllib.parse import urlencode

    from emulator.auth import rpc as scheme
    from emulator.kernel.ids import RandomIds

    signed = scheme.signed_parameters(
        "POST", {"Action": action, "Version": version, **parameters}, key_id=kit.access_key_id,
        secret=kit.access_key_secret, timestamp=SystemClock().now(), nonce=RandomIds().uuid(),
    )  # fmt: skip
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = kit.api._send("POST", "/", headers, urlencode(signed).encode())
    return answer.status_code, answer.json()


def test_accounts_see_their_own_resources_only(localyun):
    """A queue, a flow and a function of one account do not exist for another, which may have its own of the names."""
    other = localyun.account()
    localyun.queue("orders").send("ours")
    other.queue("orders").send("theirs")
    localyun.flow("deal", "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: p\n")

    assert [each.body for each in localyun.queue("orders").messages] == ["ours"]
    assert [each.body for each in other.queue("orders").messages] == ["theirs"]
    with pytest.raises(ApiError, match="FlowNotExists"):
        other.flow("deal").start()
    assert rpc(other, "2015-04-01", "GetCallerIdentity")[1]["AccountId"] == other.account_id


def test_a_host_that_names_an_account_leads_there(localyun):
    """The key of that account is let in by its host name, that of another is refused."""
    other = localyun.account("1234567890123456")
    other.queue("orders")

    def ask(kit):
        pairs = [
            ("x-mns-version", "2015-06-06"),
            ("Date", http_date(SystemClock().now())),
            ("Host", f"{other.account_id}.mns.cn-hangzhou.aliyuncs.com"),
        ]
        request = Request("GET", "/queues/orders", Headers(pairs), b"")
        pairs.append(("Authorization", mns.authorization(request, kit.access_key_id, kit.access_key_secret)))
        return kit.api._send("GET", "/queues/orders", dict(pairs), None).status_code

    assert ask(other) == 200
    assert ask(localyun) == 403


def test_a_role_leads_into_another_account_for_those_it_trusts(localyun):
    """AssumeRole across accounts works when the role's trust policy names the caller's account, and only then."""
    other, third = localyun.account(), localyun.account()
    trust = {
        "Version": "1",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": "sts:AssumeRole",
                "Principal": {"RAM": [f"acs:ram::{localyun.account_id}:root"]},
            }
        ],
    }
    made = rpc(other, "2015-05-01", "CreateRole", RoleName="guest", AssumeRolePolicyDocument=json.dumps(trust))
    assert made[0] == 200, made
    arn = f"acs:ram::{other.account_id}:role/guest"

    status, answer = rpc(localyun, "2015-04-01", "AssumeRole", RoleArn=arn, RoleSessionName="visit")

    assert status == 200, answer
    assert answer["AssumedRoleUser"]["Arn"] == f"{arn}/visit"
    refused, why = rpc(third, "2015-04-01", "AssumeRole", RoleArn=arn, RoleSessionName="visit")
    assert (refused, why["Code"]) == (403, "NoPermission")
    missing, why = rpc(
        localyun, "2015-04-01", "AssumeRole", RoleArn=f"acs:ram::{other.account_id}:role/none", RoleSessionName="visit"
    )
    assert (missing, why["Code"]) == (404, "EntityNotExist.Role")


def test_accounts_are_kept_listed_and_removed(tmp_path):
    """The key of an account works after a restart, until the account is removed."""
    with Emulator(state=tmp_path) as kit:
        added = kit.api.admin("POST", "accounts", {"accountId": "42"})
        assert kit.api.admin("POST", "accounts", {"accountId": "42"}) == added
    with Emulator(state=tmp_path) as kit:
        assert kit.api.admin("GET", "accounts") == {"accounts": [added]}
        other = kit.account("42")
        other.queue("q")

        assert "\n42 " in kit.command("account", "list")
        kit.command("account", "remove", "42")

        with pytest.raises(ApiError, match=r"^403"):
            other.queue("q")
        with pytest.raises(ApiError, match=r"^404"):
            kit.api.admin("DELETE", "accounts/42")


@pytest.mark.parametrize("wrong", ["abc", "1" * 21, "\uff11"])
def test_an_account_id_is_digits(localyun, wrong):
    """Anything else is refused, and so is the installation's own."""
    with pytest.raises(ApiError, match=r"^400 InvalidAccountId"):
        localyun.api.admin("POST", "accounts", {"accountId": wrong})
    with pytest.raises(ApiError, match=r"^409 AccountAlreadyExists"):
        localyun.api.admin("POST", "accounts", {"accountId": localyun.account_id})
