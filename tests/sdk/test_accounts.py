"""Several accounts in one emulator: own keys, own resources, and roles that lead from one into another."""

import base64
import io
import json
import sqlite3
import tarfile
import zipfile
from contextlib import closing

import pytest

from emulator.auth import mns
from emulator.http.message import Headers, Request
from emulator.kernel.clock import SystemClock
from emulator.testing import ApiError, Emulator
from emulator.wire.dates import http_date
from tests.unpacking import unpack

pytestmark = pytest.mark.sdk


@pytest.fixture
def localyun():
    with Emulator() as kit:
        yield kit


def zipped(code):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("index.py", code)
    return packed.getvalue()


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
        assert kit.account("1" * 32).queue("q").counters["active"] == 0

        assert "\n42 " in kit.command("account", "list")
        kit.command("account", "remove", "42")

        with pytest.raises(ApiError, match=r"^403"):
            other.queue("q")
        with pytest.raises(ApiError, match=r"^404.*There is no account 42\."):
            kit.api.admin("DELETE", "accounts/42")


FLOW = """
version: v1
type: flow
steps:
  - {type: wait, name: w, duration: 60}
  - type: task
    name: send
    resourceArn: acs:mns:::/queues/mine/messages
    serviceParams: {MessageBody: hello}
"""


def test_a_removed_account_leaves_nothing(localyun, tmp_path):
    """Not a row, file, timer or instance; other accounts have what they had, and one of that id begins anew."""
    import oss2

    for kit in (localyun, localyun.account("42")):
        kit.queue("mine").send("kept", delay_s=30)
        topic = kit.topic("news")
        topic.subscribe(f"acs:mns:{kit.region}:{kit.account_id}:queues/mine", name="to-queue")
        topic.subscribe("http://127.0.0.1:9/closed", name="to-nobody")
        topic.publish("extra")
        kit.flow("waiting", FLOW).start({}, name="one")
        schedule = {"FlowName": "waiting", "ScheduleName": "s", "CronExpression": "@every 60m", "Enable": True}
        kit.api.fnf("CreateSchedule", **schedule)
        code = base64.b64encode(zipped("def handler(event, context):\n    return 'here'\n" + f"# {kit.account_id}"))
        body = {
            "functionName": "say", "runtime": "python3.10", "handler": "index.handler",
            "code": {"zipFile": code.decode()},
        }  # fmt: skip
        assert kit.api.fc("POST", "/2023-03-30/functions", json.dumps(body).encode()).status_code == 200
        kit.api.fc("POST", "/2023-03-30/functions/say/invocations", b"1", **{"X-Fc-Invocation-Type": "Async"})
        assert kit.invoke("say").text == "here"
        bucket = oss2.Bucket(kit.oss.auth, kit.endpoint, f"bucket-of-{kit.account_id}")
        bucket.create_bucket()
        bucket.put_object("a.txt", f"content of {kit.account_id}")
        upload = bucket.init_multipart_upload("b.txt").upload_id
        bucket.upload_part("b.txt", upload, 1, b"part")
        assert rpc(kit, "2015-05-01", "CreateUser", UserName="somebody")[0] == 200

    localyun.settle()
    localyun.api.admin("DELETE", "accounts/42")

    archive = tmp_path / "state.tar"
    localyun.command("checkpoint", "export", str(archive))
    with tarfile.open(archive) as tar:
        members = tar.getnames()
        unpack(tar, tmp_path, "state.db")
    with closing(sqlite3.connect(tmp_path / "state.db")) as tables:
        owners = {
            name: {str(row[0]) for row in tables.execute(f'SELECT account FROM "{name}"')}
            for (name,) in tables.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            if "account" in {row[1] for row in tables.execute(f'PRAGMA table_info("{name}")')}
        }
        worlds = [row[0] for row in tables.execute("SELECT DISTINCT world FROM workflow_flows")]
        messages = tables.execute("SELECT count(*) FROM mns_messages").fetchone()[0]
        deliveries = tables.execute("SELECT count(*) FROM mns_deliveries").fetchone()[0]
    assert set().union(*owners.values()) == {localyun.account_id}
    assert (len(worlds), messages, deliveries) == (1, 2, 1)
    assert sum(name.startswith("files/code/") for name in members) == 1
    assert sum(name.startswith("files/objects/") for name in members) == 2

    localyun.clock.advance("61s")
    assert localyun.api.fnf("DescribeExecution", FlowName="waiting", ExecutionName="one")["Status"] == "Succeeded"
    assert localyun.invoke("say").text == "here"
    again = localyun.account("42")
    assert again.api.fnf("ListFlows")["Flows"] == []
    assert again.queue("mine").counters == {"active": 0, "inactive": 0, "delayed": 0}


@pytest.mark.parametrize("wrong", ["abc", "1" * 33, "\uff11"])
def test_an_account_id_is_digits(localyun, wrong):
    """Anything else is refused, and so is the installation's own."""
    with pytest.raises(ApiError, match=r"^400 InvalidAccountId"):
        localyun.api.admin("POST", "accounts", {"accountId": wrong})
    with pytest.raises(ApiError, match=r"^409 AccountAlreadyExists"):
        localyun.api.admin("POST", "accounts", {"accountId": localyun.account_id})
