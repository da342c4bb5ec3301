"""Roles, users, groups and policies through the official clients of resource access management."""

import json

import pytest
from alibabacloud_ram20150501 import models
from alibabacloud_ram20150501.client import Client
from alibabacloud_tea_openapi.exceptions import ClientException
from aliyunsdkcore.acs_exception.exceptions import ServerException
from aliyunsdkcore.client import AcsClient
from aliyunsdkram.request.v20150501 import GetRoleRequest, GetUserRequest, ListRolesRequest

pytestmark = pytest.mark.sdk

POLICY = json.dumps({"Version": "1", "Statement": [{"Effect": "Allow", "Action": "mns:*", "Resource": "*"}]})


class Ram:
    """`alibabacloud_ram20150501` with less to type: `ram.create_role(role_name=...)` returns the decoded body."""

    def __init__(self, emulator, key_id=None, secret=None):
        self.client = Client(emulator.tea_config(key_id, secret))

    def __getattr__(self, operation):
        request = getattr(models, "".join(part.title() for part in operation.split("_")) + "Request")

        def call(**parameters):
            return getattr(self.client, operation)(request(**parameters)).body.to_map()

        return call


def refusal(call, **parameters):
    """Return code and status of what a call is refused with."""
    with pytest.raises(ClientException) as caught:
        call(**parameters)
    return caught.value.code, caught.value.status_code


@pytest.fixture
def ram(new_emulator):
    running = new_emulator(None, "--ephemeral").start()
    made = Ram(running)
    made.account = running.keys["accountId"]
    made.trust = json.dumps(
        {
            "Version": "1",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": "sts:AssumeRole",
                    "Principal": {"RAM": f"acs:ram::{made.account}:root", "Service": ["fc.aliyuncs.com"]},
                }
            ],
        }
    )
    return made


def test_role_is_what_was_given(ram):
    """CreateRole, GetRole, UpdateRole, ListRoles and DeleteRole tell the same role."""
    made = ram.create_role(role_name="demo", assume_role_policy_document=ram.trust, description="first")["Role"]

    ram.update_role(role_name="demo", new_description="second", new_max_session_duration=7200)
    found = ram.get_role(role_name="demo")["Role"]
    listed = ram.list_roles()["Roles"]["Role"]
    ram.delete_role(role_name="demo")

    assert made["Arn"] == found["Arn"] == f"acs:ram::{ram.account}:role/demo"
    assert made["RoleId"] == found["RoleId"]
    assert (made["Description"], found["Description"], found["MaxSessionDuration"]) == ("first", "second", 7200)
    assert found["AssumeRolePolicyDocument"] == ram.trust
    assert [role["RoleName"] for role in listed] == ["demo"]
    assert refusal(ram.get_role, role_name="demo") == ("EntityNotExist.Role", 404)


def test_role_with_policies_is_not_deleted(ram):
    """The policies are detached first."""
    ram.create_role(role_name="demo", assume_role_policy_document=ram.trust)
    attached = {"role_name": "demo", "policy_type": "System", "policy_name": "AliyunMNSFullAccess"}
    ram.attach_policy_to_role(**attached)

    assert refusal(ram.attach_policy_to_role, **attached) == ("EntityAlreadyExists.Role.Policy", 409)
    assert refusal(ram.delete_role, role_name="demo") == ("DeleteConflict.Role.Policy", 409)
    assert [each["PolicyName"] for each in ram.list_policies_for_role(role_name="demo")["Policies"]["Policy"]] == [
        "AliyunMNSFullAccess"
    ]
    ram.detach_policy_from_role(**attached)
    assert refusal(ram.detach_policy_from_role, **attached) == ("EntityNotExist.Role.Policy", 404)
    ram.delete_role(role_name="demo")


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"role_name": "a b"}, "InvalidParameter.RoleName.InvalidChars"),
        ({"role_name": "a" * 65}, "InvalidParameter.RoleName.Length"),
        ({"description": "x" * 1025}, "InvalidParameter.Description.Length"),
        ({"max_session_duration": 60}, "InvalidParameter.MaxSessionDuration"),
        ({"assume_role_policy_document": "{"}, "MalformedPolicyDocument"),
        ({"assume_role_policy_document": POLICY}, "MalformedPolicyDocument"),
        ({"assume_role_policy_document": " " * 5000}, "InvalidParameter.AssumeRolePolicyDocument.Length"),
    ],
    ids=["characters", "length", "description", "duration", "no JSON", "no trust policy", "document length"],
)
def test_bad_role_is_refused(ram, parameters, code):
    """Each with its documented code, and nothing is made."""
    given = {"role_name": "demo", "assume_role_policy_document": ram.trust, **parameters}

    assert refusal(ram.create_role, **given) == (code, 400)
    assert ram.list_roles()["Roles"]["Role"] == []


def test_policy_has_versions(ram):
    """Five at most, one in force; the one in force stays."""
    ram.create_policy(policy_name="mine", policy_document=POLICY, description="d")
    name = {"policy_name": "mine"}
    added = ram.create_policy_version(**name, policy_document=POLICY, set_as_default=True)["PolicyVersion"]
    for _ in range(3):
        ram.create_policy_version(**name, policy_document=POLICY)

    assert (added["VersionId"], added["IsDefaultVersion"]) == ("v2", True)
    assert refusal(ram.create_policy_version, **name, policy_document=POLICY) == ("LimitExceeded.Policy.Version", 409)
    assert refusal(ram.delete_policy_version, **name, version_id="v2")[0] == "DeleteConflict.Policy.Version.Default"
    assert refusal(ram.delete_policy, **name) == ("DeleteConflict.Policy.Version", 409)
    rotated = ram.create_policy_version(
        **name, policy_document=POLICY, rotate_strategy="DeleteOldestNonDefaultVersionWhenLimitExceeded"
    )
    versions = ram.list_policy_versions(**name, policy_type="Custom")["PolicyVersions"]["PolicyVersion"]
    assert rotated["PolicyVersion"]["VersionId"] == "v6"
    assert [each["VersionId"] for each in versions] == ["v2", "v3", "v4", "v5", "v6"]
    ram.set_default_policy_version(**name, version_id="v6")
    found = ram.get_policy(**name, policy_type="Custom")
    assert (found["Policy"]["DefaultVersion"], found["DefaultPolicyVersion"]["VersionId"]) == ("v6", "v6")
    version = ram.get_policy_version(**name, policy_type="Custom", version_id="v3")["PolicyVersion"]
    assert (version["PolicyDocument"], version["IsDefaultVersion"]) == (POLICY, False)
    ram.delete_policy(**name, cascading_delete=True)
    assert refusal(ram.get_policy, **name, policy_type="Custom") == ("EntityNotExist.Policy", 404)


def test_policy_that_somebody_has_is_not_deleted(ram):
    """ListEntitiesForPolicy says who."""
    ram.create_policy(policy_name="mine", policy_document=POLICY)
    ram.create_user(user_name="alice")
    ram.create_group(group_name="team")
    own = {"policy_type": "Custom", "policy_name": "mine"}
    ram.attach_policy_to_user(user_name="alice", **own)
    ram.attach_policy_to_group(group_name="team", **own)

    assert refusal(ram.delete_policy, policy_name="mine")[0] in {
        "DeleteConflict.Policy.User", "DeleteConflict.Policy.Group",
    }  # fmt: skip
    entities = ram.list_entities_for_policy(**own)
    assert [user["UserName"] for user in entities["Users"]["User"]] == ["alice"]
    assert [group["GroupName"] for group in entities["Groups"]["Group"]] == ["team"]
    assert ram.get_policy(**own)["Policy"]["AttachmentCount"] == 2


def test_policies_of_the_system_are_listed_and_fixed(ram):
    """They are there from the beginning, page by page, and cannot be changed."""
    names, marker = [], None
    for _ in range(20):
        page = ram.list_policies(policy_type="System", max_items=5, marker=marker)
        names += [policy["PolicyName"] for policy in page["Policies"]["Policy"]]
        marker = page.get("Marker")
        if not page["IsTruncated"]:
            break

    assert names == sorted(set(names))
    assert {"AliyunFCInvocationAccess", "AliyunMNSFullAccess", "AliyunFnFFullAccess", "AdministratorAccess"} < set(
        names
    )
    document = ram.get_policy(policy_type="System", policy_name="AliyunFCInvocationAccess")["Policy"]["PolicyDocument"]
    assert json.loads(document)["Statement"][0]["Action"] == ["fc:InvokeFunction"]
    assert refusal(ram.create_policy, policy_name="AdministratorAccess", policy_document=POLICY)[1] == 409
    assert refusal(ram.delete_policy, policy_name="AdministratorAccess")[1] == 403


def test_user_signs_with_its_own_key(ram, new_emulator):
    """A key is good at once, no longer when it is switched off, and gone when it is deleted."""
    running = new_emulator(None, "--ephemeral").start()
    root = Ram(running)
    root.create_user(user_name="alice", display_name="Alice")
    key = root.create_access_key(user_name="alice")["AccessKey"]
    alice = Ram(running, key["AccessKeyId"], key["AccessKeySecret"])

    assert alice.get_user(user_name="alice")["User"]["DisplayName"] == "Alice"
    assert [each["AccessKeyId"] for each in alice.list_access_keys()["AccessKeys"]["AccessKey"]] == [key["AccessKeyId"]]
    root.create_access_key(user_name="alice")
    assert refusal(root.create_access_key, user_name="alice") == ("LimitExceeded.User.AccessKey", 409)
    root.update_access_key(user_name="alice", user_access_key_id=key["AccessKeyId"], status="Inactive")
    assert refusal(alice.get_user, user_name="alice")[0] == "InvalidAccessKeyId.Inactive"
    assert refusal(root.delete_user, user_name="alice") == ("DeleteConflict.User.AccessKey", 409)
    for each in root.list_access_keys(user_name="alice")["AccessKeys"]["AccessKey"]:
        root.delete_access_key(user_name="alice", user_access_key_id=each["AccessKeyId"])
    assert refusal(alice.get_user, user_name="alice")[0] == "InvalidAccessKeyId.NotFound"
    root.delete_user(user_name="alice")


def test_renamed_user_keeps_what_it_has(ram):
    """Keys, policies and groups follow the new name."""
    ram.create_user(user_name="alice")
    key = ram.create_access_key(user_name="alice")["AccessKey"]["AccessKeyId"]
    ram.create_group(group_name="team")
    ram.add_user_to_group(user_name="alice", group_name="team")
    ram.attach_policy_to_user(user_name="alice", policy_type="System", policy_name="ReadOnlyAccess")

    ram.update_user(user_name="alice", new_user_name="bob")

    assert [each["AccessKeyId"] for each in ram.list_access_keys(user_name="bob")["AccessKeys"]["AccessKey"]] == [key]
    assert len(ram.list_policies_for_user(user_name="bob")["Policies"]["Policy"]) == 1
    assert [each["UserName"] for each in ram.list_users_for_group(group_name="team")["Users"]["User"]] == ["bob"]
    assert [each["GroupName"] for each in ram.list_groups_for_user(user_name="bob")["Groups"]["Group"]] == ["team"]
    assert refusal(ram.get_user, user_name="alice") == ("EntityNotExist.User", 404)


def test_group_is_emptied_before_it_is_deleted(ram):
    """Members and policies hold it."""
    ram.create_user(user_name="alice")
    ram.create_group(group_name="team", comments="all of us")
    ram.add_user_to_group(user_name="alice", group_name="team")

    again = refusal(ram.add_user_to_group, user_name="alice", group_name="team")
    assert again == ("EntityAlreadyExists.User.Group", 409)
    assert refusal(ram.delete_group, group_name="team") == ("DeleteConflict.Group.User", 409)
    assert refusal(ram.delete_user, user_name="alice") == ("DeleteConflict.User.Group", 409)
    ram.remove_user_from_group(user_name="alice", group_name="team")
    ram.delete_group(group_name="team")
    assert refusal(ram.get_group, group_name="team") == ("EntityNotExist.Group", 404)


def tags_of(ram, **parameters):
    tags = ram.list_tag_resources(**parameters)["TagResources"]
    return [(tag["ResourceName"], tag["TagKey"], tag["TagValue"]) for tag in tags]


def test_roles_and_policies_have_tags(ram):
    """Set with the resource or later, listed by resource and by tag, gone with the resource."""
    tag = models.TagResourcesRequestTag
    ram.create_role(
        role_name="a", assume_role_policy_document=ram.trust, tag=[models.CreateRoleRequestTag(key="k", value="1")]
    )
    ram.create_role(role_name="b", assume_role_policy_document=ram.trust)
    ram.create_policy(policy_name="p", policy_document=POLICY)
    ram.tag_resources(resource_type="role", resource_names=["a", "b"], tag=[tag(key="k", value="2"), tag(key="l")])
    ram.tag_resources(resource_type="policy", resource_names=["p"], tag=[tag(key="k", value="3")])
    ram.untag_resources(resource_type="role", resource_names=["a"], tag_keys=["l"])

    assert tags_of(ram, resource_type="role", resource_names=["a"]) == [("a", "k", "2")]
    assert tags_of(ram, resource_type="policy") == [("p", "k", "3")]
    by_tag = [models.ListTagResourcesRequestTag(key="l")]
    assert tags_of(ram, resource_type="role", tag=by_tag) == [("b", "k", "2"), ("b", "l", "")]
    first = ram.list_tag_resources(resource_type="role", page_size=2)
    assert tags_of(ram, resource_type="role", next_token=first["NextToken"]) == [("b", "l", "")]
    ram.untag_resources(resource_type="role", resource_names=["b"], all=True)
    ram.delete_role(role_name="a")
    assert tags_of(ram, resource_type="role") == []


def test_tags_of_what_does_not_exist_are_refused(ram):
    """As are types that have no tags here."""
    tag = [models.TagResourcesRequestTag(key="k", value="1")]

    assert refusal(ram.tag_resources, resource_type="role", resource_names=["x"], tag=tag) == (
        "EntityNotExist.Role",
        404,
    )
    assert refusal(ram.tag_resources, resource_type="group", resource_names=["x"], tag=tag) == (
        "InvalidParameter.ResourceType",
        400,
    )
    assert refusal(ram.tag_resources, resource_type="role", tag=tag) == ("MissingResourceNames", 400)


def test_everything_survives_a_restart(new_emulator):
    """Roles, policies, users and their keys are in the state file."""
    running = new_emulator().start()
    root = Ram(running)
    root.create_user(user_name="alice")
    key = root.create_access_key(user_name="alice")["AccessKey"]
    root.create_policy(policy_name="mine", policy_document=POLICY)
    root.attach_policy_to_user(user_name="alice", policy_type="Custom", policy_name="mine")

    running.kill()
    running.start()

    alice = Ram(running, key["AccessKeyId"], key["AccessKeySecret"])
    assert [each["PolicyName"] for each in alice.list_policies_for_user(user_name="alice")["Policies"]["Policy"]] == [
        "mine"
    ]


def test_classic_client_reads_and_is_refused(emulator):
    """`aliyun-python-sdk-ram` finds the same service."""
    client = AcsClient(emulator.keys["accessKeyId"], emulator.keys["accessKeySecret"], "cn-hangzhou")

    def send(module, name, **parameters):
        request = getattr(module, name)()
        request.set_endpoint(emulator.address)
        request.set_protocol_type("http")
        for parameter, value in parameters.items():
            getattr(request, f"set_{parameter}")(value)
        return json.loads(client.do_action_with_exception(request))

    try:
        assert isinstance(send(ListRolesRequest, "ListRolesRequest")["Roles"]["Role"], list)
        with pytest.raises(ServerException) as role:
            send(GetRoleRequest, "GetRoleRequest", RoleName="nobody")
        with pytest.raises(ServerException) as user:
            send(GetUserRequest, "GetUserRequest")
    finally:
        client.session.close()
    assert (role.value.get_error_code(), role.value.get_http_status()) == ("EntityNotExist.Role", 404)
    assert (user.value.get_error_code(), user.value.get_http_status()) == ("MissingUserName", 400)
