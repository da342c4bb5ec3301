"""Operations of resource access management: parameters as clients write them, answers, refusals."""

import json
from pathlib import Path
from urllib.parse import urlencode

import pytest

from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Principal, Region
from emulator.kernel.ids import RandomIds
from emulator.services import ram
from emulator.services.ram import limits
from emulator.services.ram.errors import RamError
from emulator.services.ram.front import RamFront
from emulator.services.ram.service import AccessManagement
from emulator.storage.database import Database
from emulator.storage.migration import Schema, migrate
from emulator.wire.request import OperationRequest

ACCOUNT = "123"
POLICY = json.dumps({"Version": "1", "Statement": [{"Effect": "Allow", "Action": "mns:*", "Resource": "*"}]})
TRUST = json.dumps(
    {
        "Version": "1",
        "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": ["fc.aliyuncs.com"]}}],
    }
)
ROLE = {"RoleName": "r", "AssumeRolePolicyDocument": TRUST}
MINE = {"PolicyName": "mine", "PolicyDocument": POLICY}
CUSTOM = {"PolicyType": "Custom", "PolicyName": "mine"}
SYSTEM = {"PolicyType": "System", "PolicyName": "AliyunMNSFullAccess"}
TAGGED = {"ResourceType": "role", "ResourceNames.1": "r"}


class Ram:
    """Calls operations by name: `ram("CreateUser", UserName="alice")` returns the members of the answer."""

    def __init__(self, database):
        self.front = RamFront(AccessManagement(database, RandomIds()), RandomIds())
        self.now = 1_700_000_000_000
        self.caller = "root"

    def __call__(self, action, **parameters):
        body = urlencode({"Action": action, "Version": "2015-05-01", "Format": "JSON", **parameters}).encode()
        headers = Headers([("Content-Type", "application/x-www-form-urlencoded")])
        call = OperationRequest(Request("POST", "/", headers, body), Millis(self.now))
        call.principal = Principal(AccountId(ACCOUNT), "key", f"acs:ram::{ACCOUNT}:{self.caller}")
        call.region, call.request_id = Region("r"), "id"
        reply = json.loads(self.front.handle(call).body)
        assert reply.pop("RequestId") == "id"
        return reply

    def refusal(self, action, **parameters):
        with pytest.raises(RamError) as caught:
            self(action, **parameters)
        return caught.value.code


@pytest.fixture
def ram_service():
    database = Database(None)
    migrate(database, [Schema("ram", Path(ram.__file__).parent / "schema")])
    yield Ram(database)
    database.close()


@pytest.mark.parametrize(
    ("action", "parameters", "code"),
    [
        ("CreateUser", {}, "MissingUserName"),
        ("CreateUser", {"UserName": "a b"}, "InvalidParameter.UserName.InvalidChars"),
        ("CreateUser", {"UserName": "a" * 65}, "InvalidParameter.UserName.Length"),
        ("CreateUser", {"UserName": "a", "Comments": "x" * 129}, "InvalidParameter.Comments.Length"),
        ("CreateUser", {"UserName": "a", "Email": "nobody"}, "InvalidParameter.Email.Format"),
        ("CreateUser", {"UserName": "a", "Email": "x" * 65}, "InvalidParameter.Email.Length"),
        ("UpdateAccessKey", {"UserAccessKeyId": "k", "Status": "Asleep"}, "InvalidParameter.Status"),
        ("CreateAccessKey", {}, "MissingUserName"),
        ("CreateAccessKey", {"UserName": "nobody"}, "EntityNotExist.User"),
        ("CreateRole", {"RoleName": "r"}, "MissingAssumeRolePolicyDocument"),
        ("CreateRole", ROLE | {"AssumeRolePolicyDocument": "{"}, "MalformedPolicyDocument"),
        ("CreateRole", ROLE | {"MaxSessionDuration": "3599"}, "InvalidParameter.MaxSessionDuration"),
        ("CreateRole", ROLE | {"MaxSessionDuration": "000003600999"}, "InvalidParameter.MaxSessionDuration"),
        ("CreateRole", ROLE | {"MaxSessionDuration": "long"}, "InvalidParameter.MaxSessionDuration"),
        ("CreateRole", ROLE | {"Tag": "{}"}, "InvalidParameter.Tag"),
        ("CreateRole", ROLE | {"Tag": "{"}, "InvalidParameter.Tag"),
        ("CreateRole", ROLE | {"Tag": "[1]"}, "InvalidParameter.Tag"),
        ("CreateRole", ROLE | {"Tag": '[{"Key":1}]'}, "InvalidParameter.Tag"),
        ("CreateRole", ROLE | {"Tag": '[{"Key":"a","Value":2}]'}, "InvalidParameter.Tag"),
        ("CreateRole", ROLE | {"Tag": '[{"Key":""}]'}, "InvalidParameter.Tag"),
        ("CreateRole", ROLE | {"Tag": '[{"Key":"a"},{"Key":"a"}]'}, "InvalidParameter.Tag"),
        ("CreateRole", ROLE | {f"Tag.{number}.Key": str(number) for number in range(1, 22)}, "InvalidParameter.Tag"),
        ("CreatePolicy", {"PolicyName": "mine"}, "MissingPolicyDocument"),
        ("CreatePolicy", MINE | {"PolicyName": "a_b"}, "InvalidParameter.PolicyName.InvalidChars"),
        ("CreatePolicy", MINE | {"PolicyName": "a" * 129}, "InvalidParameter.PolicyName.Length"),
        ("CreatePolicy", MINE | {"PolicyDocument": " " * 6145}, "InvalidParameter.PolicyDocument.Length"),
        ("CreatePolicy", MINE | {"PolicyName": "AliyunMNSFullAccess"}, "EntityAlreadyExists.Policy"),
        ("GetPolicy", {"PolicyType": "Own", "PolicyName": "x"}, "InvalidParameter.PolicyType"),
        ("GetPolicy", CUSTOM, "EntityNotExist.Policy"),
        ("GetPolicy", {"PolicyType": "System", "PolicyName": "None"}, "EntityNotExist.Policy"),
        ("GetPolicyVersion", SYSTEM, "MissingVersionId"),
        ("GetPolicyVersion", SYSTEM | {"VersionId": "1"}, "InvalidParameter.VersionId.Format"),
        ("GetPolicyVersion", SYSTEM | {"VersionId": "v2"}, "EntityNotExist.Policy.Version"),
        ("UpdatePolicyDescription", SYSTEM, "NoPermission.SystemPolicy"),
        ("DeletePolicy", {"PolicyName": "none", "CascadingDelete": "perhaps"}, "InvalidParameter.CascadingDelete"),
        ("ListUsers", {"MaxItems": "0"}, "InvalidParameter.MaxItems"),
        ("ListUsers", {"MaxItems": "x"}, "InvalidParameter.MaxItems"),
        ("AddUserToGroup", {"UserName": "alice", "GroupName": "none"}, "EntityNotExist.User"),
        ("AttachPolicyToGroup", SYSTEM | {"GroupName": "none"}, "EntityNotExist.Group"),
        ("TagResources", {"ResourceType": "user", "ResourceNames.1": "r"}, "InvalidParameter.ResourceType"),
        ("TagResources", TAGGED, "EntityNotExist.Role"),
        ("TagResources", {"ResourceType": "role", "ResourceNames": '[""]'}, "InvalidParameter.ResourceNames"),
        ("TagResources", {"ResourceType": "role", "Tag.1.Key": "k"}, "MissingResourceNames"),
        ("ListTagResources", {"ResourceType": "role", "NextToken": "x"}, "InvalidParameter.NextToken"),
    ],
)  # fmt: skip
def test_refusals(ram_service, action, parameters, code):
    """Each with its documented code, and nothing is made."""
    assert ram_service.refusal(action, **parameters) == code
    assert [ram_service(f"List{kind}")[kind] for kind in ("Users", "Roles")] == [{"User": []}, {"Role": []}]


def test_a_user_is_what_was_said(ram_service):
    """What is left out stays as it was; a new name counts for its keys, groups and policies too."""
    made = ram_service("CreateUser", UserName="alice", Email="a@example.com", Comments="c")["User"]
    ram_service("CreateGroup", GroupName="devs")
    ram_service("AddUserToGroup", UserName="alice", GroupName="devs")
    key = ram_service("CreateAccessKey", UserName="alice")["AccessKey"]
    ram_service.now += 1_000

    changed = ram_service("UpdateUser", UserName="alice", NewUserName="bob", NewEmail="b@example.com")["User"]

    assert changed == ram_service("GetUser", UserName="bob")["User"]
    assert changed == {
        "UserId": made["UserId"], "UserName": "bob", "DisplayName": "", "MobilePhone": "",
        "Email": "b@example.com", "Comments": "c", "CreateDate": "2023-11-14T22:13:20Z",
        "UpdateDate": "2023-11-14T22:13:21Z",
    }  # fmt: skip
    assert ram_service("CreateUser", UserName="alice")["User"]["UserId"] != made["UserId"]
    assert ram_service("ListAccessKeys", UserName="bob")["AccessKeys"]["AccessKey"] == [
        {"AccessKeyId": key["AccessKeyId"], "Status": "Active", "CreateDate": "2023-11-14T22:13:20Z"}
    ]
    assert ram_service("ListGroupsForUser", UserName="bob")["Groups"]["Group"] == [
        {"GroupName": "devs", "Comments": "", "JoinDate": "2023-11-14T22:13:20Z"}
    ]
    assert ram_service("ListUsersForGroup", GroupName="devs")["Users"]["User"] == [
        {"UserName": "bob", "DisplayName": "", "JoinDate": "2023-11-14T22:13:20Z"}
    ]


def test_a_user_goes_when_nothing_hangs_on_it(ram_service):
    """Keys, policies and groups are taken off first."""
    ram_service("CreateUser", UserName="alice")
    ram_service("CreateGroup", GroupName="devs")
    ram_service("AddUserToGroup", UserName="alice", GroupName="devs")
    ram_service("AttachPolicyToUser", UserName="alice", **SYSTEM)
    key_id = ram_service("CreateAccessKey", UserName="alice")["AccessKey"]["AccessKeyId"]
    name = {"UserName": "alice"}

    assert ram_service.refusal("DeleteUser", **name) == "DeleteConflict.User.AccessKey"
    ram_service("DeleteAccessKey", UserAccessKeyId=key_id, **name)
    assert ram_service.refusal("DeleteUser", **name) == "DeleteConflict.User.Policy"
    ram_service("DetachPolicyFromUser", **name, **SYSTEM)
    assert ram_service.refusal("DeleteUser", **name) == "DeleteConflict.User.Group"
    assert ram_service.refusal("DeleteGroup", GroupName="devs") == "DeleteConflict.Group.User"
    ram_service("RemoveUserFromGroup", GroupName="devs", **name)
    assert ram_service.refusal("RemoveUserFromGroup", GroupName="devs", **name) == "EntityNotExist.User.Group"
    ram_service("DeleteUser", **name)
    assert ram_service.refusal("GetUser", **name) == "EntityNotExist.User"


def test_users_see_to_their_own_keys(ram_service):
    """Without a name the caller is meant; two keys are the most."""
    ram_service("CreateUser", UserName="alice")
    ram_service.caller = "user/alice"
    first = ram_service("CreateAccessKey")["AccessKey"]["AccessKeyId"]
    ram_service("CreateAccessKey")

    assert ram_service.refusal("CreateAccessKey") == "LimitExceeded.User.AccessKey"
    ram_service("UpdateAccessKey", UserAccessKeyId=first, Status="Inactive")
    keys = {each["AccessKeyId"]: each["Status"] for each in ram_service("ListAccessKeys")["AccessKeys"]["AccessKey"]}
    assert (len(keys), keys[first]) == (2, "Inactive")
    assert ram_service.refusal("DeleteAccessKey", UserAccessKeyId="none") == "EntityNotExist.User.AccessKey"


@pytest.mark.parametrize(("kind", "more"), [("User", {}), ("Group", {}), ("Role", {"AssumeRolePolicyDocument": TRUST})])
def test_lists_come_in_pages(ram_service, kind, more):
    """By name; the marker is the name of the last one."""
    for name in ("c", "a", "b"):
        ram_service(f"Create{kind}", **{f"{kind}Name": name}, **more)

    first = ram_service(f"List{kind}s", MaxItems="2")
    rest = ram_service(f"List{kind}s", MaxItems="2", Marker=first["Marker"])

    assert [each[f"{kind}Name"] for each in first[f"{kind}s"][kind]] == ["a", "b"]
    assert [each[f"{kind}Name"] for each in rest[f"{kind}s"][kind]] == ["c"]
    assert (first["IsTruncated"], first["Marker"], rest["IsTruncated"], "Marker" in rest) == (True, "b", False, False)


@pytest.mark.parametrize(
    ("kind", "more"), [("User", {}), ("Group", {}), ("Role", {"AssumeRolePolicyDocument": TRUST}), ("Policy", MINE)]
)
def test_names_are_given_once_and_kinds_are_limited(ram_service, monkeypatch, kind, more):
    """The same name again is a conflict, one too many is over the limit."""
    plural = "POLICIES" if kind == "Policy" else f"{kind.upper()}S"
    monkeypatch.setattr(limits, plural, 1)
    ram_service(f"Create{kind}", **more | {f"{kind}Name": "a"})

    assert ram_service.refusal(f"Create{kind}", **more | {f"{kind}Name": "a"}) == f"EntityAlreadyExists.{kind}"
    assert ram_service.refusal(f"Create{kind}", **more | {f"{kind}Name": "b"}) == f"LimitExceeded.{kind}"


def test_a_role_changes_where_the_request_says_so(ram_service):
    """A description may be emptied, a trust policy may not; lists leave the trust policy out."""
    made = ram_service("CreateRole", **ROLE, Description="d")["Role"]
    changed = ram_service("UpdateRole", RoleName="r", NewDescription="", NewMaxSessionDuration="7200")["Role"]
    kept = ram_service("UpdateRole", RoleName="r", NewAssumeRolePolicyDocument="")["Role"]
    (listed,) = ram_service("ListRoles")["Roles"]["Role"]

    assert made == changed | {"Description": "d", "MaxSessionDuration": 3600}
    assert changed | {"Tags": {"Tag": []}} == listed | {"AssumeRolePolicyDocument": TRUST}
    assert changed == kept
    assert (changed["Description"], changed["MaxSessionDuration"]) == ("", 7200)
    assert (
        ram_service.refusal("UpdateRole", RoleName="r", NewAssumeRolePolicyDocument=POLICY) == "MalformedPolicyDocument"
    )


def test_policies_of_the_system_come_first(ram_service):
    """One kind only when it is asked for; each says how many have it."""
    ram_service("CreatePolicy", **MINE, Description="d")
    ram_service("CreateGroup", GroupName="devs")
    ram_service("AttachPolicyToGroup", GroupName="devs", **CUSTOM)

    everything = ram_service("ListPolicies")["Policies"]["Policy"]
    custom = ram_service("ListPolicies", PolicyType="Custom")["Policies"]["Policy"]
    page = ram_service("ListPolicies", MaxItems="1", PolicyType="System")
    entities = ram_service("ListEntitiesForPolicy", **CUSTOM)

    assert [each["PolicyName"] for each in custom] == [everything[-1]["PolicyName"]] == ["mine"]
    assert (custom[0]["AttachmentCount"], custom[0]["DefaultVersion"]) == (1, "v1")
    assert ram_service("ListPolicies", Marker=page["Marker"])["Policies"]["Policy"] == everything[1:]
    assert [entities[f"{kind}s"] for kind in ("User", "Role")] == [{"User": []}, {"Role": []}]
    assert [each["GroupName"] for each in entities["Groups"]["Group"]] == ["devs"]


def test_a_policy_of_the_system_has_one_version(ram_service):
    """It can be read like any other."""
    (version,) = ram_service("ListPolicyVersions", **SYSTEM)["PolicyVersions"]["PolicyVersion"]
    read = ram_service("GetPolicy", **SYSTEM)

    assert (version["VersionId"], version["IsDefaultVersion"]) == ("v1", True)
    assert read["DefaultPolicyVersion"] == version
    assert json.loads(read["Policy"]["PolicyDocument"])["Statement"][0]["Action"] == ["mns:*"]


@pytest.mark.parametrize("names", [{"ResourceNames": '["r"]'}, {"ResourceNames.1": "r"}], ids=["JSON", "numbered"])
@pytest.mark.parametrize(
    "tags",
    [
        {"Tag": '[{"Key":"team","Value":"a"},{"Key":"free"}]'},
        {"Tag.1.Key": "team", "Tag.1.Value": "a", "Tag.2.Key": "free"},
    ],
    ids=["JSON", "numbered"],
)
def test_tags_are_set_found_and_removed(ram_service, names, tags):
    """Lists come as JSON or numbered; a search with a tag finds what has its key and, if it has one, its value."""
    ram_service("CreateRole", **ROLE)
    ram_service("CreateRole", **ROLE | {"RoleName": "other"}, **{"Tag.1.Key": "team", "Tag.1.Value": "b"})
    ram_service("TagResources", ResourceType="role", **names, **tags)

    def found(**parameters):
        listed = ram_service("ListTagResources", ResourceType="role", **parameters)["TagResources"]
        return [(each["ResourceName"], each["TagKey"], each["TagValue"]) for each in listed]

    assert found() == [("other", "team", "b"), ("r", "free", ""), ("r", "team", "a")]
    assert found(**names) == found(**{"Tag.1.Key": "team", "Tag.1.Value": "a"}) == found()[1:]
    page = ram_service("ListTagResources", ResourceType="role", PageSize="2")
    assert found(NextToken=page["NextToken"]) == [("r", "team", "a")]
    ram_service("UntagResources", ResourceType="role", **names, **{"TagKeys.1": "free"})
    assert found(**names) == [("r", "team", "a")]
    ram_service("UntagResources", ResourceType="role", **names, All="true")
    assert found(**names) == []
    assert ram_service.refusal("UntagResources", ResourceType="role", **names) == "MissingTagKeys"


def test_a_resource_has_twenty_tags(ram_service):
    """Those it has count."""
    ram_service("CreatePolicy", **MINE, **{f"Tag.{number}.Key": str(number) for number in range(1, 21)})
    tagged = {"ResourceType": "policy", "ResourceNames.1": "mine"}

    ram_service("TagResources", **tagged, **{"Tag.1.Key": "1", "Tag.1.Value": "changed"})

    assert ram_service.refusal("TagResources", **tagged, **{"Tag.1.Key": "another"}) == "LimitExceeded.Tag"
