"""AssumeRole and GetCallerIdentity."""

import json
import re

import pytest

from emulator.http.message import Headers, Request
from emulator.kernel.clock import SECOND, VirtualClock
from emulator.kernel.errors import AuthFailure, Reason, ServiceError
from emulator.kernel.identity import ACCOUNT_DIGITS, AccountId, Principal, Region
from emulator.kernel.ids import RandomIds
from emulator.services.sts.front import StsFront
from emulator.services.sts.service import SCHEMA, TemporaryKeys
from emulator.storage.database import Database
from emulator.storage.migration import migrate
from emulator.wire.dates import iso_seconds
from emulator.wire.request import OperationRequest
from emulator.wire.xml import parse

ACCOUNT = AccountId("1234567890123456")
ROLE = f"acs:ram::{ACCOUNT}:role/demo"
ROOT = Principal(ACCOUNT, "own", f"acs:ram::{ACCOUNT}:root")
POLICY = '{"Version":"1","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}'


class OneRole:
    """A role directory with a single role of half an hour, and with Bob."""

    def user_id(self, account, name):
        return "300000000000000042" if (account, name) == (ACCOUNT, "bob") else None

    def max_session_s(self, account, role, *, foreign):
        return 1800 if (account, role) == (ACCOUNT, "known") else None

    def may_assume(self, account, role, caller, facts, *, foreign):
        return caller.arn != f"acs:ram::{ACCOUNT}:user/stranger"


class Bench:
    def __init__(self, roles=None):
        self.clock = VirtualClock()
        self.database = Database(None)
        migrate(self.database, [SCHEMA])
        self.keys = TemporaryKeys(self.database, RandomIds())
        self.front = StsFront(self.keys, RandomIds(), roles)

    def context(self, action, principal=ROOT, **parameters):
        pairs = {"Action": action, "Version": "2015-04-01", "Format": "JSON", **parameters}
        body = "&".join(f"{name}={value}" for name, value in pairs.items()).encode()
        headers = Headers([("Content-Type", "application/x-www-form-urlencoded")])
        context = OperationRequest(Request("POST", "/", headers, body), self.clock.now())
        context.principal = principal
        context.region = Region("cn-hangzhou")
        context.request_id = self.front.new_request_id(context)
        return context

    def call(self, action, **parameters):
        return json.loads(self.front.handle(self.context(action, **parameters)).body)

    def refusal(self, action="AssumeRole", **parameters):
        with pytest.raises(ServiceError) as caught:
            self.call(action, **parameters)
        return caught.value


@pytest.fixture
def bench():
    bench = Bench()
    yield bench
    bench.database.close()


def test_assumed_role_gets_a_key_that_authenticates(bench):
    """The answer carries exactly what clients read, and the key is known from then on."""
    reply = bench.call("AssumeRole", RoleArn=ROLE, RoleSessionName="alice")

    credentials = reply["Credentials"]
    assert set(credentials) == {"AccessKeyId", "AccessKeySecret", "SecurityToken", "Expiration"}
    assert credentials["Expiration"] == iso_seconds(bench.clock.now() + 3600 * SECOND)
    assert reply["AssumedRoleUser"]["Arn"] == ROLE + "/alice"
    assert re.fullmatch(r"\d{18}:alice", reply["AssumedRoleUser"]["AssumedRoleId"])
    assert re.fullmatch(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}", reply["RequestId"])
    assert bench.keys.find(credentials["AccessKeyId"]).secret == credentials["AccessKeySecret"]


def test_account_of_a_role_has_at_most_as_many_digits_as_the_settings_allow(bench):
    """The role of the longest one is looked for."""
    codes = [
        bench.refusal(RoleArn=f"acs:ram::{'1' * digits}:role/demo", RoleSessionName="alice").code
        for digits in (ACCOUNT_DIGITS, ACCOUNT_DIGITS + 1)
    ]

    assert codes == ["EntityNotExist.Role", "InvalidParameter.RoleArn"]


def test_xml_answer_has_the_same_elements(bench):
    """Clients that ask for XML get the operation's response element."""
    answer = bench.front.handle(bench.context("AssumeRole", RoleArn=ROLE, RoleSessionName="alice", Format="XML"))

    root = parse(answer.body)

    assert root.name == "AssumeRoleResponse"
    assert root.find("Credentials").text_of("AccessKeyId").startswith("STS.")


@pytest.mark.parametrize("seconds", [900, 3600, 43_200])
def test_duration_is_what_was_asked_for(bench, seconds):
    """Fifteen minutes to twelve hours."""
    reply = bench.call("AssumeRole", RoleArn=ROLE, RoleSessionName="alice", DurationSeconds=seconds)

    assert reply["Credentials"]["Expiration"] == iso_seconds(bench.clock.now() + seconds * SECOND)


@pytest.mark.parametrize(
    "policy", [POLICY, '{"Version":"1","Statement":{"Effect":"Deny","Action":"fc:*","Resource":"*"}}']
)
def test_well_formed_policy_is_accepted(bench, policy):
    """A policy of the right form passes."""
    assert bench.call("AssumeRole", RoleArn=ROLE, RoleSessionName="alice", Policy=policy)["Credentials"]


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"RoleArn": ""}, "MissingRoleArn"),
        ({"RoleSessionName": ""}, "MissingRoleSessionName"),
        ({"RoleArn": "demo"}, "InvalidParameter.RoleArn"),
        ({"RoleArn": "acs:ram::x:role/demo"}, "InvalidParameter.RoleArn"),
        ({"RoleArn": ROLE + "/x"}, "InvalidParameter.RoleArn"),
        ({"RoleArn": ROLE + "%0A"}, "InvalidParameter.RoleArn"),
        ({"RoleSessionName": "a"}, "InvalidParameter.RoleSessionName"),
        ({"RoleSessionName": "a" * 65}, "InvalidParameter.RoleSessionName"),
        ({"RoleSessionName": "a b"}, "InvalidParameter.RoleSessionName"),
        ({"RoleSessionName": "%C3%A9t%C3%A9"}, "InvalidParameter.RoleSessionName"),
        ({"DurationSeconds": "899"}, "InvalidParameter.DurationSeconds"),
        ({"DurationSeconds": "43201"}, "InvalidParameter.DurationSeconds"),
        ({"DurationSeconds": "1h"}, "InvalidParameter.DurationSeconds"),
        ({"DurationSeconds": "9" * 5000}, "InvalidParameter.DurationSeconds"),
        ({"Policy": "{"}, "InvalidParameter.PolicyGrammar"),
        ({"Policy": "[]"}, "InvalidParameter.PolicyGrammar"),
        ({"Policy": "[" * 2000}, "InvalidParameter.PolicyGrammar"),
        ({"Policy": '{"Version":"1"}'}, "InvalidParameter.PolicyGrammar"),
        ({"Policy": '{"Version":"1","Statement":[]}'}, "InvalidParameter.PolicyGrammar"),
        ({"Policy": '{"Version":"1","Statement":[{"Effect":"Maybe"}]}'}, "InvalidParameter.PolicyGrammar"),
        ({"Policy": POLICY + " " * 2048}, "InvalidParameter.PolicyGrammar"),
    ],
)
def test_bad_parameters_are_refused_and_change_nothing(bench, parameters, code):
    """Each parameter has its own code, and no key is issued."""
    error = bench.refusal(**{"RoleArn": ROLE, "RoleSessionName": "alice", **parameters})

    assert (error.code, error.http_status) == (code, 400)
    assert bench.database.read("SELECT count(*) FROM sts_keys").fetchone()[0] == 0


def test_role_of_another_account_does_not_exist(bench):
    """Without a directory every role of the own account exists and none of any other."""
    error = bench.refusal(RoleArn="acs:ram::999:role/demo", RoleSessionName="alice")

    assert (error.code, error.http_status) == ("EntityNotExist.Role", 404)


def test_role_directory_decides_which_roles_exist_and_how_long():
    """With a directory only its roles exist, each with its own longest session."""
    bench = Bench(OneRole())
    known = f"acs:ram::{ACCOUNT}:role/known"

    missing = bench.refusal(RoleArn=ROLE, RoleSessionName="alice")
    too_long = bench.refusal(RoleArn=known, RoleSessionName="alice", DurationSeconds=1801)

    assert missing.code == "EntityNotExist.Role"
    assert too_long.code == "InvalidParameter.DurationSeconds"
    assert bench.call("AssumeRole", RoleArn=known, RoleSessionName="alice", DurationSeconds=1800)["Credentials"]
    bench.database.close()


@pytest.mark.parametrize(
    ("resource", "kind", "members"),
    [
        ("root", "Account", {"PrincipalId"}),
        ("user/bob", "RAMUser", {"PrincipalId", "UserId"}),
        ("assumed-role/demo/alice", "AssumedRoleUser", {"PrincipalId", "RoleId"}),
    ],
)
def test_caller_identity(bench, resource, kind, members):
    """The caller learns its account, its name and what kind of identity it is."""
    arn = f"acs:ram::{ACCOUNT}:{resource}"

    reply = bench.call("GetCallerIdentity", principal=Principal(ACCOUNT, "k", arn))

    assert (reply["AccountId"], reply["Arn"], reply["IdentityType"]) == (ACCOUNT, arn, kind)
    assert set(reply) == {"RequestId", "AccountId", "Arn", "IdentityType"} | members


def test_id_of_a_user_is_that_of_the_directory():
    """It stays when the user gets another name, so the name does not tell it."""
    bench = Bench(OneRole())
    bob = Principal(ACCOUNT, "k", f"acs:ram::{ACCOUNT}:user/bob")

    assert bench.call("GetCallerIdentity", principal=bob)["UserId"] == "300000000000000042"
    bench.database.close()


def test_role_id_is_the_same_in_both_operations(bench):
    """The id of a role does not change between calls."""
    assumed = bench.call("AssumeRole", RoleArn=ROLE, RoleSessionName="alice")["AssumedRoleUser"]["AssumedRoleId"]
    session = Principal(ACCOUNT, "STS.x", f"acs:ram::{ACCOUNT}:assumed-role/demo/alice", temporary=True)

    assert bench.call("GetCallerIdentity", principal=session)["PrincipalId"] == assumed


@pytest.mark.parametrize("action", ["AssumeRoleWithOIDC", "GenerateSessionAccessKey", "Nothing"])
def test_other_actions_do_not_exist(bench, action):
    """What is not served is called unknown."""
    error = bench.refusal(action)

    assert (error.code, error.http_status) == ("InvalidAction.NotFound", 404)


def test_only_the_unsigned_action_may_come_unsigned(bench):
    """The action that real clients send without a signature is told that it does not exist; others need one."""
    assert bench.front.allows_anonymous(bench.context("AssumeRoleWithOIDC"))
    assert not bench.front.allows_anonymous(bench.context("AssumeRole"))
    assert bench.front.auth_error(AuthFailure(Reason.MISSING_TOKEN), bench.context("AssumeRole")).code == (
        "MissingSecurityToken"
    )


def test_session_keeps_the_policy_that_narrows_it():
    """The key that authenticates with it carries the document, after a restart as well."""
    bench = Bench()
    key_id = bench.call("AssumeRole", RoleArn=ROLE, RoleSessionName="alice", Policy=POLICY)["Credentials"][
        "AccessKeyId"
    ]

    bench.keys._keys.clear()

    assert bench.keys.find(key_id).policy == POLICY
    bench.database.close()


def test_role_that_does_not_trust_the_caller_is_not_assumed():
    """The refusal names the action and the role."""
    bench = Bench(OneRole())
    stranger = Principal(ACCOUNT, "key", f"acs:ram::{ACCOUNT}:user/stranger")
    arn = f"acs:ram::{ACCOUNT}:role/known"

    refused = bench.refusal(principal=stranger, RoleArn=arn, RoleSessionName="alice", DurationSeconds=900)

    assert (refused.code, refused.http_status) == ("NoPermission", 403)
    assert f"Resource: {arn} Action: sts:AssumeRole" in refused.message
    bench.database.close()
