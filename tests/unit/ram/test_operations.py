"""Operations of resource access management through its front: what is kept, listed and refused."""

import json
from pathlib import Path
from urllib.parse import urlencode

import pytest

from benchmarks.big_state import copy_rows
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import AccountId, Principal, Region
from emulator.kernel.ids import CountingIds
from emulator.services import ram
from emulator.services.ram import limits
from emulator.services.ram.front import RamFront
from emulator.services.ram.service import AccessManagement
from emulator.services.ram.store import RamStore
from emulator.storage.database import Database
from emulator.storage.migration import Schema, migrate
from emulator.wire.request import OperationRequest
from tests.sqlite_steps import counted_steps

ACCOUNT = AccountId("123")
POLICY = json.dumps({"Version": "1", "Statement": [{"Effect": "Allow", "Action": "mns:*", "Resource": "*"}]})
TRUST = json.dumps(
    {
        "Version": "1",
        "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"RAM": "acs:ram::123:root"}}],
    }
)


class Ram:
    """The service behind its front: ``ram.do("CreateUser", UserName="alice")`` returns the decoded answer."""

    def __init__(self, database):
        self.access = AccessManagement(database, CountingIds())
        self.front = RamFront(self.access, CountingIds())
        self.arn = f"acs:ram::{ACCOUNT}:root"

    def do(self, action, **parameters):
        query = urlencode({"Action": action, "Version": "2015-05-01", "Format": "JSON", **parameters})
        call = OperationRequest(Request("POST", f"/?{query}", Headers([("Host", "h")])), Millis(1_000))
        call.region = Region("cn-hangzhou")
        call.principal = Principal(ACCOUNT, "key", self.arn)
        call.request_id = self.front.new_request_id(call)
        answer = json.loads(self.front.handle(call).body)
        del answer["RequestId"]
        return answer

    def refusal(self, action, **parameters):
        """Return the status and code of an error."""
        with pytest.raises(ServiceError) as caught:
            self.do(action, **parameters)
        return caught.value.http_status, caught.value.code

    def names(self, action, plural, singular, name, **parameters):
        return [each[name] for each in self.do(action, **parameters)[plural][singular]]


@pytest.fixture
def access():
    database = Database(None)
    migrate(database, [Schema("ram", Path(ram.__file__).parent / "schema")])
    yield Ram(database)
    database.close()


def test_a_user_is_what_was_given_and_changed(access):
    """An update changes what it names; the name may change too."""
    access.do("CreateUser", UserName="alice", DisplayName="A", Email="a@b.cn", Comments="first")

    access.do("UpdateUser", UserName="alice", NewUserName="bob", NewComments="second", NewMobilePhone="1-2")
    found = access.do("GetUser", UserName="bob")["User"]

    assert (found["DisplayName"], found["Email"], found["Comments"], found["MobilePhone"]) == (
        "A", "a@b.cn", "second", "1-2",
    )  # fmt: skip
    assert access.names("ListUsers", "Users", "User", "UserName") == ["bob"]
    assert access.refusal("GetUser", UserName="alice") == (404, "EntityNotExist.User")


def test_a_user_does_not_take_a_name_that_is_used(access):
    access.do("CreateUser", UserName="alice")
    access.do("CreateUser", UserName="bob")

    assert access.refusal("CreateUser", UserName="bob") == (409, "EntityAlreadyExists.User")
    assert access.refusal("UpdateUser", UserName="alice", NewUserName="bob") == (409, "EntityAlreadyExists.User")


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({}, "MissingUserName"),
        ({"UserName": "a b"}, "InvalidParameter.UserName.InvalidChars"),
        ({"UserName": "a" * 65}, "InvalidParameter.UserName.Length"),
        ({"UserName": "a", "Email": "nobody"}, "InvalidParameter.Email.Format"),
        ({"UserName": "a", "Comments": "x" * 129}, "InvalidParameter.Comments.Length"),
    ],
    ids=["no name", "characters", "length", "mail", "comments"],
)
def test_a_bad_user_is_refused(access, parameters, code):
    """Nothing is made."""
    assert access.refusal("CreateUser", **parameters) == (400, code)
    assert access.do("ListUsers")["Users"]["User"] == []


def test_a_key_lives_with_its_user(access):
    """Two at most; one that is inactive is found and does not count as active; the secret is shown once."""
    access.do("CreateUser", UserName="alice")
    first = access.do("CreateAccessKey", UserName="alice")["AccessKey"]
    access.do("CreateAccessKey", UserName="alice")
    key = {"UserName": "alice", "UserAccessKeyId": first["AccessKeyId"]}

    access.do("UpdateAccessKey", **key, Status="Inactive")

    assert access.access.keys.find(first["AccessKeyId"]).secret == first["AccessKeySecret"]
    assert not access.access.keys.find(first["AccessKeyId"]).active
    shown = access.do("ListAccessKeys", UserName="alice")["AccessKeys"]["AccessKey"]
    assert sorted(each["Status"] for each in shown) == ["Active", "Inactive"]
    assert all("AccessKeySecret" not in each for each in shown)
    assert access.refusal("CreateAccessKey", UserName="alice") == (409, "LimitExceeded.User.AccessKey")
    assert access.refusal("UpdateAccessKey", **key, Status="Off") == (400, "InvalidParameter.Status")
    access.do("DeleteAccessKey", **key)
    assert access.access.keys.find(first["AccessKeyId"]) is None
    assert access.refusal("DeleteAccessKey", **key) == (404, "EntityNotExist.User.AccessKey")


def test_a_caller_without_a_name_means_its_own_keys(access):
    """The account itself has to name a user."""
    access.do("CreateUser", UserName="alice")

    assert access.refusal("CreateAccessKey") == (400, "MissingUserName")
    access.arn = f"acs:ram::{ACCOUNT}:user/alice"
    own = access.do("CreateAccessKey")["AccessKey"]

    assert access.access.keys.find(own["AccessKeyId"]).arn == access.arn


def test_a_user_is_deleted_after_all_it_has(access):
    """Keys, policies and memberships stand in the way, in this order."""
    access.do("CreateUser", UserName="alice")
    access.do("CreateGroup", GroupName="team")
    key = access.do("CreateAccessKey", UserName="alice")["AccessKey"]["AccessKeyId"]
    system = {"PolicyType": "System", "PolicyName": "AliyunMNSFullAccess"}
    access.do("AttachPolicyToUser", UserName="alice", **system)
    access.do("AddUserToGroup", UserName="alice", GroupName="team")

    assert access.refusal("DeleteUser", UserName="alice") == (409, "DeleteConflict.User.AccessKey")
    access.do("DeleteAccessKey", UserName="alice", UserAccessKeyId=key)
    assert access.refusal("DeleteUser", UserName="alice") == (409, "DeleteConflict.User.Policy")
    access.do("DetachPolicyFromUser", UserName="alice", **system)
    assert access.refusal("DeleteUser", UserName="alice") == (409, "DeleteConflict.User.Group")
    access.do("RemoveUserFromGroup", UserName="alice", GroupName="team")
    access.do("DeleteUser", UserName="alice")
    assert access.refusal("DeleteUser", UserName="alice") == (404, "EntityNotExist.User")


def test_lists_come_in_pages(access):
    """The marker of one page begins the next."""
    for name in ("a", "b", "c"):
        access.do("CreateUser", UserName=name)

    first = access.do("ListUsers", MaxItems=2)
    second = access.do("ListUsers", MaxItems=2, Marker=first["Marker"])

    assert [each["UserName"] for each in first["Users"]["User"]] == ["a", "b"]
    assert [each["UserName"] for each in second["Users"]["User"]] == ["c"]
    assert (first["IsTruncated"], second["IsTruncated"]) == (True, False)
    assert access.refusal("ListUsers", MaxItems=0) == (400, "InvalidParameter.MaxItems")


def test_members_of_a_group_are_listed_from_both_sides(access):
    """A group with members or policies is not deleted."""
    access.do("CreateUser", UserName="alice")
    access.do("CreateGroup", GroupName="team", Comments="c")
    both = {"UserName": "alice", "GroupName": "team"}
    access.do("AddUserToGroup", **both)

    assert access.do("GetGroup", GroupName="team")["Group"]["Comments"] == "c"
    assert access.names("ListUsersForGroup", "Users", "User", "UserName", GroupName="team") == ["alice"]
    assert access.names("ListGroupsForUser", "Groups", "Group", "GroupName", UserName="alice") == ["team"]
    assert access.refusal("AddUserToGroup", **both) == (409, "EntityAlreadyExists.User.Group")
    assert access.refusal("DeleteGroup", GroupName="team") == (409, "DeleteConflict.Group.User")
    access.do("RemoveUserFromGroup", **both)
    assert access.refusal("RemoveUserFromGroup", **both) == (404, "EntityNotExist.User.Group")
    access.do("AttachPolicyToGroup", GroupName="team", PolicyType="System", PolicyName="AliyunMNSFullAccess")
    assert access.refusal("DeleteGroup", GroupName="team") == (409, "DeleteConflict.Group.Policy")
    access.do("DetachPolicyFromGroup", GroupName="team", PolicyType="System", PolicyName="AliyunMNSFullAccess")
    access.do("DeleteGroup", GroupName="team")
    assert access.names("ListGroups", "Groups", "Group", "GroupName") == []


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ("GetLoginProfile", "EntityNotExist.User.LoginProfile"),
        ("DeleteLoginProfile", "EntityNotExist.User.LoginProfile"),
        ("UnbindMFADevice", "EntityNotExist.User.MFADevice"),
    ],
)
def test_a_user_has_no_means_to_log_in(access, action, code):
    """Terraform's provider asks before it deletes a user."""
    access.do("CreateUser", UserName="alice")

    assert access.refusal(action, UserName="alice") == (404, code)
    assert access.refusal(action, UserName="bob") == (404, "EntityNotExist.User")


def test_a_group_keeps_members_and_policies_under_a_new_name(access):
    """An update changes what it names; a name that is used is refused."""
    access.do("CreateUser", UserName="alice")
    for name in ("team", "other"):
        access.do("CreateGroup", GroupName=name, Comments="first")
    access.do("AddUserToGroup", UserName="alice", GroupName="team")
    access.do("AttachPolicyToGroup", GroupName="team", PolicyType="System", PolicyName="AliyunMNSFullAccess")

    commented = access.do("UpdateGroup", GroupName="team", NewComments="second")["Group"]
    renamed = access.do("UpdateGroup", GroupName="team", NewGroupName="crew")["Group"]

    assert (commented["GroupName"], commented["Comments"]) == ("team", "second")
    assert (renamed["GroupName"], renamed["Comments"]) == ("crew", "second")
    assert access.names("ListGroups", "Groups", "Group", "GroupName") == ["crew", "other"]
    assert access.names("ListGroupsForUser", "Groups", "Group", "GroupName", UserName="alice") == ["crew"]
    policies = access.names("ListPoliciesForGroup", "Policies", "Policy", "PolicyName", GroupName="crew")
    assert policies == ["AliyunMNSFullAccess"]
    used = access.refusal("UpdateGroup", GroupName="crew", NewGroupName="other")
    assert used == (409, "EntityAlreadyExists.Group")
    assert access.refusal("UpdateGroup", GroupName="team") == (404, "EntityNotExist.Group")


def test_a_role_is_what_was_given_and_changed(access):
    """A description may be emptied, a trust policy may not."""
    made = access.do("CreateRole", RoleName="demo", AssumeRolePolicyDocument=TRUST, Description="first")["Role"]

    changed = access.do("UpdateRole", RoleName="demo", NewDescription="", NewMaxSessionDuration=7200)["Role"]

    assert made["Arn"] == f"acs:ram::{ACCOUNT}:role/demo"
    assert (made["Description"], made["MaxSessionDuration"]) == ("first", 3600)
    found = access.do("GetRole", RoleName="demo")["Role"]
    assert (found["Description"], found["MaxSessionDuration"], changed["RoleId"]) == ("", 7200, made["RoleId"])
    assert found["AssumeRolePolicyDocument"] == TRUST
    assert access.names("ListRoles", "Roles", "Role", "RoleName") == ["demo"]
    assert access.refusal("UpdateRole", RoleName="demo", NewAssumeRolePolicyDocument="{") == (
        400, "MalformedPolicyDocument",
    )  # fmt: skip
    access.do("DeleteRole", RoleName="demo")
    assert access.refusal("GetRole", RoleName="demo") == (404, "EntityNotExist.Role")


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"RoleName": "a b"}, "InvalidParameter.RoleName.InvalidChars"),
        ({"Description": "x" * 1025}, "InvalidParameter.Description.Length"),
        ({"MaxSessionDuration": "60"}, "InvalidParameter.MaxSessionDuration"),
        ({"MaxSessionDuration": "long"}, "InvalidParameter.MaxSessionDuration"),
        ({"AssumeRolePolicyDocument": POLICY}, "MalformedPolicyDocument"),
        ({"AssumeRolePolicyDocument": " " * 5000}, "InvalidParameter.AssumeRolePolicyDocument.Length"),
    ],
    ids=["characters", "description", "duration", "no number", "no trust policy", "document length"],
)
def test_a_bad_role_is_refused(access, parameters, code):
    """Nothing is made."""
    given = {"RoleName": "demo", "AssumeRolePolicyDocument": TRUST, **parameters}

    assert access.refusal("CreateRole", **given) == (400, code)
    assert access.do("ListRoles")["Roles"]["Role"] == []


def test_a_policy_has_versions(access):
    """Five at most, one in force, which stays; the oldest of the others makes room when asked."""
    access.do("CreatePolicy", PolicyName="mine", PolicyDocument=POLICY, Description="d")
    mine = {"PolicyName": "mine"}
    added = access.do("CreatePolicyVersion", **mine, PolicyDocument=POLICY, SetAsDefault="true")["PolicyVersion"]
    for _ in range(limits.POLICY_VERSIONS - 2):
        access.do("CreatePolicyVersion", **mine, PolicyDocument=POLICY)

    assert (added["VersionId"], added["IsDefaultVersion"]) == ("v2", True)
    more = {**mine, "PolicyDocument": POLICY}
    assert access.refusal("CreatePolicyVersion", **more) == (409, "LimitExceeded.Policy.Version")
    oldest = "DeleteOldestNonDefaultVersionWhenLimitExceeded"
    assert access.do("CreatePolicyVersion", **more, RotateStrategy=oldest)["PolicyVersion"]["VersionId"] == "v6"
    assert access.refusal("DeletePolicyVersion", **mine, VersionId="v2") == (
        409, "DeleteConflict.Policy.Version.Default",
    )  # fmt: skip
    access.do("SetDefaultPolicyVersion", **mine, VersionId="v6")
    access.do("DeletePolicyVersion", **mine, VersionId="v2")
    kept = access.do("ListPolicyVersions", **mine, PolicyType="Custom")["PolicyVersions"]["PolicyVersion"]
    assert [each["VersionId"] for each in kept] == ["v3", "v4", "v5", "v6"]
    found = access.do("GetPolicy", **mine, PolicyType="Custom")
    assert (found["Policy"]["DefaultVersion"], found["DefaultPolicyVersion"]["VersionId"]) == ("v6", "v6")
    version = access.do("GetPolicyVersion", **mine, PolicyType="Custom", VersionId="v3")["PolicyVersion"]
    assert (version["PolicyDocument"], version["IsDefaultVersion"]) == (POLICY, False)
    assert access.refusal("GetPolicyVersion", **mine, PolicyType="Custom", VersionId="v2") == (
        404, "EntityNotExist.Policy.Version",
    )  # fmt: skip
    assert access.refusal("GetPolicyVersion", **mine, PolicyType="Custom", VersionId="2") == (
        400, "InvalidParameter.VersionId.Format",
    )  # fmt: skip


def test_a_policy_is_deleted_when_nobody_has_it(access):
    """Its further versions only when the request says so."""
    access.do("CreatePolicy", PolicyName="mine", PolicyDocument=POLICY)
    access.do("CreatePolicyVersion", PolicyName="mine", PolicyDocument=POLICY)
    access.do("CreateRole", RoleName="demo", AssumeRolePolicyDocument=TRUST)
    attached = {"RoleName": "demo", "PolicyType": "Custom", "PolicyName": "mine"}
    access.do("AttachPolicyToRole", **attached)

    assert access.do("GetPolicy", PolicyName="mine", PolicyType="Custom")["Policy"]["AttachmentCount"] == 1
    assert access.refusal("AttachPolicyToRole", **attached) == (409, "EntityAlreadyExists.Role.Policy")
    assert access.refusal("DeleteRole", RoleName="demo") == (409, "DeleteConflict.Role.Policy")
    status, code = access.refusal("DeletePolicy", PolicyName="mine", CascadingDelete="true")
    assert (status, code.startswith("DeleteConflict.Policy.")) == (409, True)
    access.do("DetachPolicyFromRole", **attached)
    assert access.refusal("DetachPolicyFromRole", **attached) == (404, "EntityNotExist.Role.Policy")
    assert access.refusal("DeletePolicy", PolicyName="mine") == (409, "DeleteConflict.Policy.Version")
    access.do("DeletePolicy", PolicyName="mine", CascadingDelete="true")
    assert access.refusal("GetPolicy", PolicyName="mine", PolicyType="Custom") == (404, "EntityNotExist.Policy")


def test_policies_of_the_system_are_read_and_not_changed(access):
    """They come first in a list of all."""
    access.do("CreatePolicy", PolicyName="mine", PolicyDocument=POLICY)
    system = "AliyunMNSFullAccess"

    of_system = access.names("ListPolicies", "Policies", "Policy", "PolicyName", PolicyType="System")

    assert system in of_system
    assert access.names("ListPolicies", "Policies", "Policy", "PolicyName") == [*of_system, "mine"]
    assert access.names("ListPolicies", "Policies", "Policy", "PolicyName", PolicyType="Custom") == ["mine"]
    refused = (403, "NoPermission.SystemPolicy")
    assert access.refusal("DeletePolicy", PolicyName=system) == refused
    assert access.refusal("UpdatePolicyDescription", PolicyName=system, NewDescription="x") == refused
    access.do("UpdatePolicyDescription", PolicyName="mine", NewDescription="new")
    assert access.do("GetPolicy", PolicyName="mine", PolicyType="Custom")["Policy"]["Description"] == "new"
    assert access.do("GetPolicy", PolicyName=system, PolicyType="System")["Policy"]["DefaultVersion"] == "v1"


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"PolicyName": "a_b"}, "InvalidParameter.PolicyName.InvalidChars"),
        ({"PolicyDocument": "{"}, "MalformedPolicyDocument"),
        ({"PolicyDocument": " " * 6145}, "InvalidParameter.PolicyDocument.Length"),
        ({"PolicyDocument": ""}, "MissingPolicyDocument"),
    ],
    ids=["characters", "no JSON", "length", "nothing"],
)
def test_a_bad_policy_is_refused(access, parameters, code):
    """Nothing is made."""
    given = {"PolicyName": "mine", "PolicyDocument": POLICY, **parameters}

    assert access.refusal("CreatePolicy", **given) == (400, code)
    assert access.names("ListPolicies", "Policies", "Policy", "PolicyName", PolicyType="Custom") == []


def test_policies_of_users_groups_and_roles_are_listed(access):
    """In each kind of holder's own list."""
    access.do("CreateUser", UserName="alice")
    access.do("CreateGroup", GroupName="team")
    access.do("CreateRole", RoleName="demo", AssumeRolePolicyDocument=TRUST)
    for kind, holder in (
        ("User", {"UserName": "alice"}),
        ("Group", {"GroupName": "team"}),
        ("Role", {"RoleName": "demo"}),
    ):
        access.do(f"AttachPolicyTo{kind}", **holder, PolicyType="System", PolicyName="AliyunMNSFullAccess")

        listed = access.names(f"ListPoliciesFor{kind}", "Policies", "Policy", "PolicyName", **holder)

        assert listed == ["AliyunMNSFullAccess"]
    assert access.refusal("AttachPolicyToUser", UserName="alice", PolicyType="Other", PolicyName="x") == (
        400, "InvalidParameter.PolicyType",
    )  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        {"ResourceNames": '["demo"]', "Tag": '[{"Key": "k", "Value": "v"}, {"Key": "l"}]'},
        {"ResourceNames.1": "demo", "Tag.1.Key": "k", "Tag.1.Value": "v", "Tag.2.Key": "l"},
    ],
    ids=["JSON", "numbered"],
)
def test_tags_come_in_both_forms(access, given):
    """A tag without a value has an empty one."""
    access.do("CreateRole", RoleName="demo", AssumeRolePolicyDocument=TRUST)

    access.do("TagResources", ResourceType="role", **given)

    tags = access.do("ListTagResources", ResourceType="role")["TagResources"]
    assert [(each["ResourceName"], each["TagKey"], each["TagValue"]) for each in tags] == [
        ("demo", "k", "v"), ("demo", "l", ""),
    ]  # fmt: skip


def test_resources_are_found_by_their_tags(access):
    """By key, by key and value, in pages; some keys or all are removed."""
    for name, value in (("one", "x"), ("two", "y")):
        access.do("CreatePolicy", PolicyName=name, PolicyDocument=POLICY)
        tags = json.dumps([{"Key": "k", "Value": value}, {"Key": "other", "Value": "z"}])
        access.do("TagResources", ResourceType="policy", ResourceNames=f'["{name}"]', Tag=tags)

    def found(**parameters):
        listed = access.do("ListTagResources", ResourceType="policy", **parameters)["TagResources"]
        return [(each["ResourceName"], each["TagKey"]) for each in listed]

    everything = [("one", "k"), ("one", "other"), ("two", "k"), ("two", "other")]
    assert found(Tag='[{"Key": "k"}]') == everything
    assert found(Tag='[{"Key": "k", "Value": "y"}]') == everything[2:]
    assert found(ResourceNames='["one"]') == everything[:2]
    first = access.do("ListTagResources", ResourceType="policy", PageSize=3)
    assert found(PageSize=3, NextToken=first["NextToken"]) == everything[3:]
    access.do("UntagResources", ResourceType="policy", ResourceNames='["one"]', TagKeys='["k"]')
    access.do("UntagResources", ResourceType="policy", ResourceNames='["two"]', All="true")
    assert found() == [("one", "other")]


@pytest.mark.parametrize(
    ("action", "parameters", "code"),
    [
        ("TagResources", {"Tag": '[{"Key": "k"}]'}, "MissingResourceNames"),
        ("TagResources", {"ResourceNames": '["demo"]'}, "MissingTag"),
        ("TagResources", {"ResourceNames": '["demo"]', "Tag": '[{"Key": ""}]'}, "InvalidParameter.Tag"),
        ("TagResources", {"ResourceNames": '["demo"]', "Tag": '["k"]'}, "InvalidParameter.Tag"),
        ("TagResources", {"ResourceNames": "{", "Tag": '[{"Key": "k"}]'}, "InvalidParameter.ResourceNames"),
        ("TagResources", {"ResourceType": "user", "ResourceNames": '["demo"]'}, "InvalidParameter.ResourceType"),
        ("UntagResources", {"ResourceNames": '["demo"]'}, "MissingTagKeys"),
        ("UntagResources", {"ResourceNames": '["demo"]', "All": "maybe"}, "InvalidParameter.All"),
        ("ListTagResources", {"NextToken": "x"}, "InvalidParameter.NextToken"),
        ("ListTagResources", {"PageSize": "0"}, "InvalidParameter.PageSize"),
    ],
)
def test_bad_tags_are_refused(access, action, parameters, code):
    """And change nothing."""
    access.do("CreateRole", RoleName="demo", AssumeRolePolicyDocument=TRUST)

    assert access.refusal(action, **{"ResourceType": "role", **parameters}) == (400, code)
    assert access.do("ListTagResources", ResourceType="role")["TagResources"] == []


def test_a_resource_has_twenty_tags_at_most(access):
    access.do("CreateRole", RoleName="demo", AssumeRolePolicyDocument=TRUST)
    tags = [{"Key": f"k{number}"} for number in range(limits.TAGS)]
    access.do("TagResources", ResourceType="role", ResourceNames='["demo"]', Tag=json.dumps(tags))

    one_more = {"ResourceType": "role", "ResourceNames": '["demo"]', "Tag": '[{"Key": "more"}]'}

    assert access.refusal("TagResources", **one_more) == (409, "LimitExceeded.Tag")
    assert len(access.do("ListTagResources", ResourceType="role")["TagResources"]) == limits.TAGS


def test_reset_leaves_the_policies_of_the_system(access):
    access.do("CreateUser", UserName="alice")
    access.do("CreatePolicy", PolicyName="mine", PolicyDocument=POLICY)
    assert access.access.counts(ACCOUNT) == {"roles": 0, "users": 1, "policies": 1}

    access.access.reset()

    assert access.access.counts(ACCOUNT) == {"roles": 0, "users": 0, "policies": 0}
    assert access.names("ListPolicies", "Policies", "Policy", "PolicyName")


def test_lists_show_the_tags_of_roles_and_policies(access):
    """Each its own, none where there are none."""
    tag = {"Tag.1.Key": "team", "Tag.1.Value": "a"}
    access.do("CreateRole", RoleName="r", AssumeRolePolicyDocument=TRUST, **tag)
    access.do("CreateRole", RoleName="s", AssumeRolePolicyDocument=TRUST)
    access.do("CreatePolicy", PolicyName="p", PolicyDocument=POLICY, **tag)

    roles = access.do("ListRoles")["Roles"]["Role"]
    policies = access.do("ListPolicies", PolicyType="Custom")["Policies"]["Policy"]

    team = {"Tag": [{"TagKey": "team", "TagValue": "a"}]}
    assert [each["Tags"] for each in [*roles, *policies]] == [team, {"Tag": []}, team]


def test_lists_take_tags_and_show_attached_policies_of_services_that_are_not_here(access):
    """A tag without a value is any of its key."""
    access.do("CreateRole", RoleName="r", AssumeRolePolicyDocument=TRUST, Tag='[{"Key":"team","Value":"a"}]')
    access.do("CreateRole", RoleName="s", AssumeRolePolicyDocument=TRUST)
    access.do("CreatePolicy", PolicyName="p", PolicyDocument=POLICY, Tag='[{"Key":"team","Value":"a"}]')
    access.do("AttachPolicyToRole", RoleName="r", PolicyType="System", PolicyName="AliyunECSFullAccess")

    def roles(tag):
        return access.names("ListRoles", "Roles", "Role", "RoleName", Tag=tag)

    def policies(**filters):
        return access.names("ListPolicies", "Policies", "Policy", "PolicyName", **filters)

    assert roles('[{"Key":"team","Value":"a"}]') == roles('[{"Key":"team"}]') == ["r"]
    assert roles('[{"Key":"team","Value":"b"}]') == []
    assert policies(Tag='[{"Key":"team","Value":"a"}]') == ["p"]
    assert "AliyunECSFullAccess" in policies(PolicyType="System", MaxItems="100")


@pytest.mark.parametrize("tag", [{}, {"Tag.1.Key": "team", "Tag.1.Value": "tea"}, {"Tag.1.Key": "team"}])
def test_a_list_of_policies_or_roles_reads_its_page(access, monkeypatch, tag):
    """However many there are, also of those with a tag."""
    names = [f"n{number:02}" for number in range(30)]
    for name in names:
        access.do("CreatePolicy", PolicyName=name, PolicyDocument=POLICY)
        access.do("CreateRole", RoleName=name, AssumeRolePolicyDocument=TRUST)
        tags = {"Tag.1.Key": "team", "Tag.1.Value": "tea"}
        for kind in ("policy", "role"):
            access.do("TagResources", ResourceType=kind, **{"ResourceNames.1": name}, **tags)
    rows, every = [], RamStore._all
    monkeypatch.setattr(RamStore, "_all", lambda *given: (found := every(*given), rows.append(len(found)))[0])

    policies = access.do("ListPolicies", PolicyType="Custom", MaxItems="5", Marker="n07", **tag)
    roles = access.do("ListRoles", MaxItems="5", Marker="n07", **tag)

    assert [each["PolicyName"] for each in policies["Policies"]["Policy"]] == names[8:13]
    assert [each["RoleName"] for each in roles["Roles"]["Role"]] == names[8:13]
    assert (policies["Marker"], roles["Marker"]) == ("n12", "n12")
    assert max(rows) == 6


@pytest.mark.parametrize(
    ("action", "name", "table", "more"),
    [
        ("CreateRole", "RoleName", "ram_roles", {"AssumeRolePolicyDocument": TRUST}),
        ("CreateUser", "UserName", "ram_users", {}),
        ("CreateGroup", "GroupName", "ram_groups", {}),
        ("CreatePolicy", "PolicyName", "ram_policies", {"PolicyDocument": POLICY}),
    ],
)
def test_no_more_are_counted_than_there_may_be(access, action, name, table, more):
    """SQLite takes as many steps beside 3,200 as beside 1,600, which is more than there may be of any kind."""
    access.do(action, **{name: "one"}, **more)
    database, spent = access.access.store._database, []
    for first in (0, 1_600):
        columns = {row[1] for row in database.read(f"PRAGMA table_info({table})")}
        changed = {
            "name": f"name || ({first} + n)",
            **({"user_id": f"user_id || ({first} + n)"} if "user_id" in columns else {}),
        }
        copy_rows(database._connection, table, 1_600, changed, "name = 'one'")
        with counted_steps(database) as steps:
            assert access.refusal(action, **{name: "another"}, **more) == (409, f"LimitExceeded.{action[6:]}")
        spent += steps

    assert spent[1] <= spent[0] * 1.1, spent
